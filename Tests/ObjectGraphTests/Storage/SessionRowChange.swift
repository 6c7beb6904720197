import ObjectGraph

@testable import GraphCore

/// Rows and links that one save may write: each row is changed once, and no unique value is taken twice on the way.
struct SessionRowChange {
    private let model: ObjectModel
    private let kinds: SessionKinds
    private let people: [Int64: StoredRow]
    private let rooms: [Int64: StoredRow]
    private var next: [Int64]
    private var touched: Set<[Int64]> = []
    private var inserted: [(entity: Entity, key: Int64, values: [Value], isPlaceholder: Bool)] = []
    private var updated: [(row: StoredRow, slot: Int, value: Value)] = []
    private var vacated: [(row: StoredRow, slot: Int)] = []
    private var deleted: [Int: [Int64]] = [:]
    private var becoming: [(key: Int64, entity: Entity)] = []
    private var links: [RowChanges.Link] = []
    private var removedLinks: [RowChanges.Link] = []
    private var changesMail = false

    init(_ model: ObjectModel, people: [Int64: StoredRow], rooms: [Int64: StoredRow], _ counters: StoreCounters) {
        (self.model, self.people, self.rooms, next) = (model, people, rooms, counters.nextKeys)
        kinds = SessionKinds(model)
    }

    /// The keys behind those of new rows.
    var nextKeys: [(root: Int, key: Int64)] {
        Set(inserted.map(\.entity.rootIndex)).sorted().map { ($0, next[$0]) }
    }

    /// Whether a room is deleted, to which no other row of the save may then refer.
    private var losesRoom: Bool { deleted[kinds.room.rootIndex] != nil }

    private mutating func touch(_ root: Int64, _ key: Int64) -> Bool { touched.insert([root, key]).inserted }

    private func slot(_ name: String, _ entity: Entity) -> Int {
        entity.attribute(named: name)?.slot ?? entity.relationships.first { $0.name == name }?.slot ?? 0
    }

    private func mail(_ number: Int) -> Value { number > 3 ? .null : .text("m\(number)") }

    mutating func add(_ call: SessionCall.RowCall) {
        switch call {
        case .insert(let kind, let name, let key, let mail): insert(kind, name, key, mail)
        case .update(let key, let slot, let value): update(Int64(key), slot, value)
        case .swap(let first, let second): swap(Int64(first), Int64(second))
        case .delete(let person, let key): delete(person: person, Int64(key))
        case .become(let key, let guest):
            if let row = people[Int64(key)], row.entity === kinds.person, touch(0, row.pk) {
                becoming.append((row.pk, guest ? kinds.guest : kinds.member))
            }
        case .link(let owner, let destination, let place):
            let pair = Pair(owner: Int64(owner), destination: Int64(destination))
            guard isLinkable(pair) else { return }
            links.append(RowChanges.Link(table: 0, pair: pair, places: PairPlaces(destination: Int64(place))))
        case .unlink(let owner, let destination):
            let pair = Pair(owner: Int64(owner), destination: Int64(destination))
            guard isLinkable(pair) else { return }
            removedLinks.append(RowChanges.Link(table: 0, pair: pair, places: PairPlaces()))
        }
    }

    private mutating func isLinkable(_ pair: Pair) -> Bool {
        let isThere = people[pair.owner] != nil && people[pair.destination] != nil
        let isDeleted =
            deleted[kinds.person.rootIndex]?.contains { $0 == pair.owner || $0 == pair.destination } ?? false
        return isThere && !isDeleted && touched.insert([7, pair.owner, pair.destination]).inserted
    }

    private mutating func insert(_ kind: Int, _ name: Int, _ key: Int, _ mail: Int) {
        if key == 1 {
            let room = kinds.room
            var values = [Value](repeating: .null, count: room.slotCount)
            values[room.identitySlot] = .integer(Int64(name))
            values[slot("size", room)] = .double(Double(mail) / 4)
            insert(room, values, isPlaceholder: mail == 7)
            return
        }
        if losesRoom { return }
        let entity = kinds[kind]
        var values = [Value](repeating: .null, count: entity.slotCount)
        values[entity.identitySlot] = .text("p\(name)")
        values[slot("mail", entity)] = self.mail(mail)
        if kind == 1 { values[slot("badge", entity)] = mail > 5 ? .null : .integer(Int64(mail)) }
        values[slot("home", entity)] = rooms.keys.min().map { .integer($0) } ?? .null
        // A key that is taken is refused.
        if key == 0, people[1] != nil, touch(0, 1) {
            inserted.append((entity, 1, values, false))
        } else {
            insert(entity, values, isPlaceholder: mail == 7)
        }
    }

    private mutating func insert(_ entity: Entity, _ values: [Value], isPlaceholder: Bool) {
        inserted.append((entity, next[entity.rootIndex], values, isPlaceholder))
        next[entity.rootIndex] += 1
    }

    private mutating func update(_ key: Int64, _ number: Int, _ value: Int) {
        guard let row = people[key], number < 4, !losesRoom, touch(0, key) else { return }
        switch number {
        case 0, 1:
            if changesMail { return }
            changesMail = true
            updated.append((row, slot("mail", row.entity), mail(value)))
        case 2:
            let keys = rooms.keys.sorted()
            let home: Value = value < keys.count ? .integer(keys[value]) : .null
            updated.append((row, slot("home", row.entity), home))
        default: updated.append((row, slot("note", row.entity), value > 4 ? .null : .blob([UInt8(value)])))
        }
    }

    /// Two people take each other's mail: one gives its own up before.
    private mutating func swap(_ first: Int64, _ second: Int64) {
        guard let one = people[first], let other = people[second], first != second, !changesMail, !losesRoom,
            touch(0, first),
            touch(0, second)
        else { return }
        changesMail = true
        let place = slot("mail", one.entity)
        vacated += [(one, place), (other, place)]
        updated.append((other, place, one.values[place]))
        updated.append((one, place, other.values[place]))
    }

    private mutating func delete(person: Bool, _ key: Int64) {
        if person {
            let isLinked = (links + removedLinks).contains { $0.pair.owner == key || $0.pair.destination == key }
            if people[key] != nil, !isLinked, touch(0, key) { deleted[kinds.person.rootIndex, default: []].append(key) }
        } else if rooms[key] != nil, inserted.isEmpty, updated.isEmpty, touch(3, key) {
            deleted[kinds.room.rootIndex, default: []].append(key)
        }
    }

    /// The changes for a storage.
    func changes(joinsUpdates: Bool) -> RowChanges {
        var changes = RowChanges(entityCount: model.entities.count, joinsUpdates: joinsUpdates)
        changes.deletedKeys = deleted
        changes.removedLinks = removedLinks
        changes.links = links
        changes.entityChanges = becoming
        for (row, slot) in vacated {
            changes.vacate(kinds.person, key: row.pk, slots: [slot])
        }
        for (row, slot, value) in updated {
            let object = ContextObject(row: row)
            object[slot] = value
            object.state.isPlaceholder = false
            var slots = SlotSet()
            slots.insert(slot)
            changes.update(object, slots, setsPlaceholder: row.isPlaceholder)
        }
        for (entity, key, values, isPlaceholder) in inserted {
            let object = ContextObject(entity: entity, pk: key, values: values)
            object.state.isPlaceholder = isPlaceholder
            changes.insert(object)
        }
        return changes
    }
}

@testable import ObjectGraph

/// The rules of the object graph once more: slow, in plain dictionaries, written from the rules and not from the
/// sources. No chunks, no caches, no logs; a failed event is undone by keeping a copy of everything.
struct ReferenceGraph {
    struct Key: Hashable {
        let entity: Int
        let identity: Value
    }

    /// A reference names one life of an object: after a deletion the same identity is another object.
    struct Reference: Hashable {
        let key: Key
        let life: Int
    }

    struct Object {
        let life: Int
        var isPlaceholder = true
        var attributes: [Value]
        /// To-one relationships by position.
        var links: [Int: Reference] = [:]
    }

    struct Pair: Hashable {
        let table: Int
        let owner: Key
        let destination: Key
    }

    let model: ObjectModel
    var objects: [Key: Object] = [:]
    var pairs: Set<Pair> = []
    var tombstones: [Key: Tombstone] = [:]
    private var lives = 0
    private var madeByThisEvent: Set<Key> = []
    /// The rules that the event breaks: object, property, code.
    private var broken: Set<[String]> = []

    init(_ model: ObjectModel) { self.model = model }

    struct Stale: Error {}

    /// Why an event fails; where several rules are broken, any of the codes will do.
    struct Failure: Error {
        let codes: Set<String>
    }

    // MARK: Events

    /// Applies an event and returns the words that its outcome may have.
    mutating func apply(_ event: GraphEvent) -> Set<String> {
        let before = self
        madeByThisEvent = []
        broken = []
        do {
            if let root = event.operations.last, isStale(root) { return ["stale"] }
            for operation in event.operations where !isStale(operation) {
                switch operation.kind {
                case .upsert: try upsert(operation)
                case .delete: try delete(operation)
                }
            }
            try validateEverything(before)
            return ["applied"]
        } catch let failure as Failure {
            self = before
            return failure.codes
        } catch {
            self = before
            return ["stale"]
        }
    }

    private func key(_ operation: ObjectGraph.Operation) -> Key {
        Key(entity: operation.entity, identity: operation.identity)
    }

    private func isStale(_ operation: ObjectGraph.Operation) -> Bool {
        let entity = model.entities[operation.entity]
        if let object = objects[key(operation)], !object.isPlaceholder {
            guard let slot = entity.versionSlot else { return false }
            return isBefore(operation.version, object.attributes[slot])
        }
        guard let tombstone = tombstones[key(operation)] else { return false }
        if !operation.version.isNull, !tombstone.version.isNull {
            return !isBefore(tombstone.version, operation.version)
        }
        if let time = operation.time, let deleted = tombstone.time { return time <= deleted }
        return false
    }

    private func isBefore(_ left: Value, _ right: Value) -> Bool {
        if case .integer(let left) = left, case .integer(let right) = right { return left < right }
        return false
    }

    // MARK: Upserts

    private mutating func make(_ key: Key) {
        lives += 1
        let attributes = model.entities[key.entity].attributes
        var values = [Value](repeating: .null, count: attributes.count)
        values[model.entities[key.entity].identitySlot] = key.identity
        objects[key] = Object(life: lives, attributes: values)
        madeByThisEvent.insert(key)
    }

    private mutating func upsert(_ operation: ObjectGraph.Operation) throws {
        let key = key(operation)
        let entity = model.entities[operation.entity]
        if objects[key] == nil { make(key) }
        if objects[key]?.isPlaceholder == true {
            objects[key]?.isPlaceholder = false
            tombstones[key] = nil
            for attribute in entity.attributes where !attribute.isDerived && !attribute.defaultValue.isNull {
                objects[key]?.attributes[attribute.slot] = attribute.defaultValue
            }
            objects[key]?.attributes[entity.identitySlot] = key.identity
        }
        for given in operation.attributes where given.slot != entity.identitySlot {
            entity.attributes[given.slot].check(given.value, entity: entity.name) {
                broken.insert(["\(key)", $0.property ?? "", "\($0.code)"])
            }
            objects[key]?.attributes[given.slot] = given.value
        }
        if let slot = entity.versionSlot, !operation.version.isNull {
            objects[key]?.attributes[slot] = operation.version
        }
        for given in operation.relationships where objects[key] != nil {
            try change(entity.relationships[given.relationship], of: key, given.change, operation)
        }
    }

    private mutating func change(
        _ relationship: Relationship, of key: Key, _ change: RelationshipChange, _ operation: ObjectGraph.Operation
    ) throws {
        switch change {
        case .one(.null): setOne(relationship, of: key, nil)
        case .one(let identity):
            let destination = Key(entity: relationship.destinationIndex, identity: identity)
            if let tombstone = try find(destination, relationship, operation) {
                try lead(key, relationship, toGone: tombstone)
            } else {
                setOne(relationship, of: key, destination)
            }
        case .replace(let identities):
            let wanted = try existing(identities, relationship, operation)
            for old in destinations(of: key, relationship) where !wanted.contains(old) {
                unlink(key, relationship, old)
            }
            for destination in wanted { link(key, relationship, destination) }
        case .edit(let add, let remove):
            for destination in try existing(add, relationship, operation) { link(key, relationship, destination) }
            for identity in remove {
                let destination = Key(entity: relationship.destinationIndex, identity: identity)
                if objects[destination] != nil { unlink(key, relationship, destination) }
            }
        }
    }

    /// Makes a placeholder where need be; returns the tombstone where the destination is gone.
    private mutating func find(
        _ destination: Key, _ relationship: Relationship, _ operation: ObjectGraph.Operation
    ) throws -> Tombstone? {
        if objects[destination] != nil { return nil }
        if let tombstone = tombstones[destination] {
            guard let time = operation.time, let deleted = tombstone.time, time > deleted else { return tombstone }
        }
        if relationship.onMissing == .reject { throw Failure(codes: ["reference.missing"]) }
        make(destination)
        return nil
    }

    private mutating func existing(
        _ identities: [Value], _ relationship: Relationship, _ operation: ObjectGraph.Operation
    ) throws -> [Key] {
        var found: [Key] = []
        for identity in identities {
            let key = Key(entity: relationship.destinationIndex, identity: identity)
            if try find(key, relationship, operation) == nil { found.append(key) }
        }
        return found
    }

    private mutating func lead(_ key: Key, _ relationship: Relationship, toGone tombstone: Tombstone) throws {
        switch inverse(relationship)?.deleteRule {
        case .cascade:
            if madeByThisEvent.contains(key) { throw Stale() }
            try delete(key, version: .null, time: tombstone.time)
        case .deny: throw Failure(codes: ["reference.deleted"])
        case .nullify, .noAction, nil: setOne(relationship, of: key, nil)
        }
    }

    // MARK: Links

    func inverse(_ relationship: Relationship) -> Relationship? {
        relationship.inverseIndex.map { model.entities[relationship.destinationIndex].relationships[$0] }
    }

    private func reference(_ key: Key) -> Reference? { objects[key].map { Reference(key: key, life: $0.life) } }

    func isAlive(_ reference: Reference) -> Bool { objects[reference.key]?.life == reference.life }

    func destinations(of key: Key, _ relationship: Relationship) -> [Key] {
        guard let object = objects[key] else { return [] }
        switch relationship.storage {
        case .column: return object.links[relationship.index].map { isAlive($0) ? [$0.key] : [] } ?? []
        case .inverseColumn:
            let own = Reference(key: key, life: object.life)
            return objects.filter {
                $0.key.entity == relationship.destinationIndex && $0.value.links[relationship.inverseIndex ?? -1] == own
            }.map(\.key)
        case .join(let table, let isOwner):
            return pairs.filter { $0.table == table && (isOwner ? $0.owner : $0.destination) == key }
                .map { isOwner ? $0.destination : $0.owner }
        }
    }

    private mutating func setOne(_ relationship: Relationship, of key: Key, _ destination: Key?) {
        let new = destination.flatMap { reference($0) }
        let old = objects[key]?.links[relationship.index]
        if old == new { return }
        let own = reference(key)
        objects[key]?.links[relationship.index] = new
        guard let inverse = inverse(relationship), !inverse.isToMany else { return }
        // One to one: the former partners of both ends are left alone.
        if let old, isAlive(old), objects[old.key]?.links[inverse.index] == own {
            objects[old.key]?.links[inverse.index] = nil
        }
        guard let destination else { return }
        if let rival = objects[destination]?.links[inverse.index], rival != own, isAlive(rival) {
            objects[rival.key]?.links[relationship.index] = nil
        }
        objects[destination]?.links[inverse.index] = own
    }

    private mutating func link(_ key: Key, _ relationship: Relationship, _ destination: Key) {
        switch relationship.storage {
        case .column: break
        case .inverseColumn: if let inverse = inverse(relationship) { setOne(inverse, of: destination, key) }
        case .join(let table, let isOwner): for pair in both(table, isOwner, key, destination) { pairs.insert(pair) }
        }
    }

    private mutating func unlink(_ key: Key, _ relationship: Relationship, _ destination: Key) {
        switch relationship.storage {
        case .column: break
        case .inverseColumn:
            if let inverse = inverse(relationship), objects[destination]?.links[inverse.index] == reference(key) {
                setOne(inverse, of: destination, nil)
            }
        case .join(let table, let isOwner): for pair in both(table, isOwner, key, destination) { pairs.remove(pair) }
        }
    }

    private func both(_ table: Int, _ isOwner: Bool, _ key: Key, _ other: Key) -> [Pair] {
        let pair = Pair(table: table, owner: isOwner ? key : other, destination: isOwner ? other : key)
        let isSymmetric = model.joinTables[table].isOwnInverse
        return isSymmetric ? [pair, Pair(table: table, owner: pair.destination, destination: pair.owner)] : [pair]
    }

    // MARK: Deletions

    private mutating func delete(_ operation: ObjectGraph.Operation) throws {
        if objects[key(operation)] == nil {
            tombstones[key(operation)] = Tombstone(version: operation.version, time: operation.time)
        } else {
            try delete(key(operation), version: operation.version, time: operation.time)
        }
    }

    private mutating func delete(_ root: Key, version: Value, time: Int64?) throws {
        var gone: Set<Key> = [root]
        var size = 0
        while size != gone.count {
            size = gone.count
            for key in gone {
                for relationship in model.entities[key.entity].relationships where relationship.deleteRule == .cascade {
                    gone.formUnion(destinations(of: key, relationship))
                }
            }
        }
        var isDenied = false
        for key in gone {
            for relationship in model.entities[key.entity].relationships where relationship.deleteRule == .deny {
                if !gone.isSuperset(of: destinations(of: key, relationship)) {
                    broken.insert(["\(key)", relationship.name, "1600"])
                    isDenied = true
                }
            }
        }
        if isDenied { throw failure }
        for key in gone {
            for relationship in model.entities[key.entity].relationships where relationship.deleteRule == .nullify {
                guard let inverse = inverse(relationship), !inverse.isToMany else { continue }
                for destination in destinations(of: key, relationship) where !gone.contains(destination) {
                    objects[destination]?.links[inverse.index] = nil
                }
            }
        }
        for key in gone {
            let isRoot = key == root && !version.isNull
            tombstones[key] = Tombstone(version: isRoot ? version : lastVersion(of: key, time), time: time)
        }
        for key in gone { remove(key) }
    }

    /// The object's version, or the time of the deletion where versions are times and it is later.
    private func lastVersion(of key: Key, _ time: Int64?) -> Value {
        let entity = model.entities[key.entity]
        guard let slot = entity.versionSlot, let version = objects[key]?.attributes[slot] else { return .null }
        guard entity.attributes[slot].type == .date, let time else { return version }
        return isBefore(.integer(time), version) ? version : .integer(time)
    }

    /// Links in join tables go with either end; references without inverse read null.
    private mutating func remove(_ key: Key) {
        guard let reference = reference(key) else { return }
        objects[key] = nil
        pairs = pairs.filter { !isEnd(key, $0) }
        for (other, object) in objects {
            for (index, link) in object.links where link == reference {
                if model.entities[other.entity].relationships[index].inverseIndex == nil {
                    objects[other]?.links[index] = nil
                }
            }
        }
    }

    private func isEnd(_ key: Key, _ pair: Pair) -> Bool { pair.owner == key || pair.destination == key }

    // MARK: Validation

    /// One broken rule keeps its code, several have 1560.
    private var failure: Failure {
        Failure(codes: ["validation.\(broken.count == 1 ? broken.first?.last ?? "" : "1560")"])
    }

    private mutating func validateEverything(_ before: ReferenceGraph) throws {
        for (key, object) in objects where !object.isPlaceholder {
            let entity = model.entities[key.entity]
            func note(_ property: String, _ code: String) { broken.insert(["\(key)", property, code]) }
            for attribute in entity.attributes where !attribute.isDerived {
                let value = object.attributes[attribute.slot]
                if value.isNull, !attribute.isOptional { note(attribute.name, "1570") }
                let old = before.objects[key]
                let isChanged = old?.life != object.life || old?.attributes[attribute.slot] != value
                // Who had the value before is in the right.
                if attribute.isUnique, !value.isNull, isChanged, hasTwin(key, attribute.slot, value) {
                    note(attribute.name, "1551")
                }
            }
            for relationship in entity.relationships {
                if !relationship.isToMany, !relationship.isOptional, object.links[relationship.index] == nil {
                    note(relationship.name, "1570")
                }
                if relationship.isToMany, let code = countFailure(of: key, relationship) {
                    note(relationship.name, code)
                }
            }
        }
        if !broken.isEmpty { throw failure }
    }

    private func hasTwin(_ key: Key, _ slot: Int, _ value: Value) -> Bool {
        objects.contains { $0.key.entity == key.entity && $0.key != key && $0.value.attributes[slot] == value }
    }

    private func countFailure(of key: Key, _ relationship: Relationship) -> String? {
        let count = destinations(of: key, relationship).count
        if let maximum = relationship.maximumCount, count > maximum { return "1590" }
        if count < relationship.minimumCount, count > 0 || !relationship.isOptional { return "1580" }
        return nil
    }
}

import ObjectGraph

@testable import GraphCore

/// The rules of the object graph once more: slow, in plain dictionaries, written from the rules and not from the
/// sources. No chunks, no caches, no logs; a failed event is undone by keeping a copy of everything.
struct ReferenceGraph {
    struct Key: Hashable {
        /// The position of the entity at the top of the hierarchy.
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
        /// The object's own entity.
        var entity: Entity
        var isPlaceholder = true
        var attributes: [Value]
        /// To-one relationships by slot.
        var links: [Int: Reference] = [:]
        /// When the links were made or put in order, by slot.
        var tickets: [Int: Int] = [:]
    }

    struct Pair: Hashable {
        let table: Int
        let owner: Key
        let destination: Key
    }

    struct Turns {
        var owner: Int
        var destination: Int
    }

    let model: ObjectModel
    var objects: [Key: Object] = [:]
    /// The links of join tables, with their turns in the lists of the owner and of the destination.
    var pairs: [Pair: Turns] = [:]
    var tombstones: [Key: Tombstone] = [:]
    private var lives = 0
    private var turns = 0
    /// The rules that the event breaks: object, property, code.
    var broken: Set<[String]> = []

    init(_ model: ObjectModel) { self.model = model }

    /// Why an event fails; where several rules are broken, any of the codes will do.
    struct Failure: Error {
        let codes: Set<String>
    }

    // MARK: Events

    /// Applies an event and returns the words that its outcome may have.
    mutating func apply(_ event: ChangeSet) -> Set<String> {
        if let root = event.operations.last, isStale(root) { return ["stale"] }
        return together { graph in
            for operation in event.operations where !graph.isStale(operation) {
                switch operation.kind {
                case .upsert: if let operation = try graph.met(operation) { try graph.upsert(operation) }
                case .delete: try graph.delete(operation)
                // Events at random hold none: an operation beside others may not empty an entity.
                case .truncate: throw Failure(codes: ["delete.too_large"])
                }
            }
        }
    }

    /// Does what `body` does as a whole or not at all, and returns the words that the outcome may have.
    mutating func together(_ body: (inout ReferenceGraph) throws -> Void) -> Set<String> {
        let before = self
        broken = []
        do {
            try body(&self)
            try validateEverything(before)
            return ["applied"]
        } catch let failure as Failure {
            self = before
            return failure.codes
        } catch {
            preconditionFailure("\(error)")
        }
    }

    func key(_ operation: ObjectOperation) -> Key {
        key(operation.entity, operation.identity)
    }

    func key(_ entity: Int, _ identity: Value) -> Key {
        Key(entity: model.entities[entity].rootIndex, identity: identity)
    }

    func entity(_ key: Key) -> Entity { objects[key]?.entity ?? model.entities[key.entity] }

    func isStale(_ operation: ObjectOperation) -> Bool {
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

    func isBefore(_ left: Value, _ right: Value) -> Bool {
        if case .integer(let left) = left, case .integer(let right) = right { return left < right }
        return false
    }

    // MARK: Upserts

    private mutating func make(_ key: Key, _ entity: Entity) {
        lives += 1
        var values = [Value](repeating: .null, count: entity.slotCount)
        values[entity.identitySlot] = key.identity
        objects[key] = Object(life: lives, entity: entity, attributes: values)
    }

    /// An event names an object by its own entity, or by one above or below it.
    func checkKind(_ key: Key, _ entity: Entity) throws {
        guard let known = objects[key]?.entity, !known.isKind(of: entity), !entity.isKind(of: known) else { return }
        throw Failure(codes: ["entity.mismatch"])
    }

    /// An object is of the most special entity that anything has named it by.
    private mutating func name(_ key: Key, _ entity: Entity) throws {
        try checkKind(key, entity)
        guard let known = objects[key], !known.entity.isKind(of: entity) else { return }
        objects[key]?.entity = entity
        if known.isPlaceholder { return }
        if entity.isAbstract { throw Failure(codes: ["entity.abstract"]) }
        for attribute in entity.attributes where !attribute.isDerived {
            let isNew = known.entity.attribute(named: attribute.name) == nil
            if isNew { objects[key]?.attributes[attribute.slot] = attribute.defaultValue }
        }
    }

    private mutating func upsert(_ operation: ObjectOperation) throws {
        let key = key(operation)
        let entity = model.entities[operation.entity]
        let hasArrived = objects[key]?.isPlaceholder == false
        if objects[key] == nil { make(key, entity) }
        try name(key, entity)
        if objects[key]?.isPlaceholder == true {
            let entity = self.entity(key)
            if entity.isAbstract { throw Failure(codes: ["entity.abstract"]) }
            objects[key]?.isPlaceholder = false
            tombstones[key] = nil
            for attribute in entity.attributes where !attribute.isDerived && !attribute.defaultValue.isNull {
                objects[key]?.attributes[attribute.slot] = attribute.defaultValue
            }
            objects[key]?.attributes[entity.identitySlot] = key.identity
        }
        for given in operation.attributes where given.slot != entity.identitySlot {
            // Nothing takes an object's version away.
            if given.slot == entity.versionSlot, given.value.isNull, hasArrived,
                entity.attributes[given.slot].isOptional
            {
                continue
            }
            entity.attributes[given.slot].check(given.value, entity: entity.name) {
                broken.insert(["\(key)", $0.property ?? "", "\($0.code)"])
            }
            objects[key]?.attributes[given.slot] = given.value
        }
        if let slot = entity.versionSlot, !operation.version.isNull {
            objects[key]?.attributes[slot] = operation.version
        }
        var deletion: Tombstone?
        for given in operation.relationships {
            let tombstone = try change(entity.relationships[given.relationship], of: key, given.change, operation)
            deletion = deletion ?? tombstone
        }
        if let deletion { try delete(key, version: .null, time: deletion.time) }
    }

    /// Returns the tombstone of a deletion that takes the object with it.
    private mutating func change(
        _ relationship: Relationship, of key: Key, _ change: RelationshipChange, _ operation: ObjectOperation
    ) throws -> Tombstone? {
        switch change {
        case .one(.null): setOne(relationship, of: key, nil)
        case .one(let identity):
            let destination = self.key(relationship.destinationIndex, identity)
            if let tombstone = try find(destination, relationship, operation) {
                return try lead(key, relationship, toGone: tombstone)
            } else {
                setOne(relationship, of: key, destination)
            }
        case .replace(let identities):
            let wanted = try existing(identities, relationship, operation)
            for old in destinations(of: key, relationship) where !wanted.contains(old) {
                unlink(key, relationship, old)
            }
            for destination in wanted { link(key, relationship, destination) }
            if relationship.isOrdered { order(wanted, relationship, of: key) }
        case .edit(let add, let remove):
            for destination in try existing(add, relationship, operation) { link(key, relationship, destination) }
            for identity in remove {
                let destination = self.key(relationship.destinationIndex, identity)
                if objects[destination] != nil { unlink(key, relationship, destination) }
            }
        }
        return nil
    }

    /// Makes a placeholder where need be; returns the tombstone where the destination is gone.
    private mutating func find(
        _ destination: Key, _ relationship: Relationship, _ operation: ObjectOperation
    ) throws -> Tombstone? {
        if objects[destination] != nil {
            try name(destination, model.entities[relationship.destinationIndex])
            return nil
        }
        if let tombstone = tombstones[destination] {
            guard let time = operation.time, let deleted = tombstone.time, time > deleted else { return tombstone }
        }
        if relationship.onMissing == .reject { throw Failure(codes: ["reference.missing"]) }
        make(destination, model.entities[relationship.destinationIndex])
        return nil
    }

    private mutating func existing(
        _ identities: [Value], _ relationship: Relationship, _ operation: ObjectOperation
    ) throws -> [Key] {
        var found: [Key] = []
        for identity in identities {
            let key = self.key(relationship.destinationIndex, identity)
            if try find(key, relationship, operation) == nil { found.append(key) }
        }
        return found
    }

    private mutating func lead(_ key: Key, _ relationship: Relationship, toGone tombstone: Tombstone) throws
        -> Tombstone?
    {
        switch inverse(relationship)?.deleteRule {
        case .cascade: return tombstone
        case .deny: throw Failure(codes: ["reference.deleted"])
        case .nullify, .noAction, nil:
            setOne(relationship, of: key, nil)
            return nil
        }
    }

    // MARK: Links

    func inverse(_ relationship: Relationship) -> Relationship? {
        relationship.inverseIndex.map { model.entities[relationship.destinationIndex].relationships[$0] }
    }

    func reference(_ key: Key) -> Reference? { objects[key].map { Reference(key: key, life: $0.life) } }

    func isAlive(_ reference: Reference) -> Bool { objects[reference.key]?.life == reference.life }

    func destinations(of key: Key, _ relationship: Relationship) -> [Key] {
        guard let object = objects[key] else { return [] }
        switch relationship.storage {
        case .column(let slot): return object.links[slot].map { isAlive($0) ? [$0.key] : [] } ?? []
        case .inverseColumn(let slot):
            let own = Reference(key: key, life: object.life)
            let root = model.entities[relationship.destinationIndex].rootIndex
            return objects.filter { $0.key.entity == root && $0.value.links[slot] == own }
                .sorted { $0.value.tickets[slot] ?? 0 < $1.value.tickets[slot] ?? 0 }.map(\.key)
        case .join(let table, let isOwner):
            return pairs.filter { $0.key.table == table && (isOwner ? $0.key.owner : $0.key.destination) == key }
                .sorted { isOwner ? $0.value.owner < $1.value.owner : $0.value.destination < $1.value.destination }
                .map { isOwner ? $0.key.destination : $0.key.owner }
        }
    }

    private mutating func setOne(_ relationship: Relationship, of key: Key, _ destination: Key?) {
        guard case .column(let slot) = relationship.storage else { return }
        let new = destination.flatMap { reference($0) }
        let old = objects[key]?.links[slot]
        if old == new { return }
        let own = reference(key)
        objects[key]?.links[slot] = new
        let turn = nextTurn()
        objects[key]?.tickets[slot] = turn
        guard let inverse = inverse(relationship), case .column(let inverseSlot) = inverse.storage else { return }
        // One to one: the former partners of both ends are left alone.
        if let old, isAlive(old), objects[old.key]?.links[inverseSlot] == own {
            objects[old.key]?.links[inverseSlot] = nil
        }
        guard let destination else { return }
        if let rival = objects[destination]?.links[inverseSlot], rival != own, isAlive(rival) {
            objects[rival.key]?.links[slot] = nil
        }
        objects[destination]?.links[inverseSlot] = own
    }

    private mutating func nextTurn() -> Int {
        turns += 1
        return turns
    }

    /// Puts all destinations of an ordered relationship into the order of a list; of one that stands twice the first
    /// counts.
    private mutating func order(_ wanted: [Key], _ relationship: Relationship, of key: Key) {
        var seen: Set<Key> = []
        for destination in wanted where seen.insert(destination).inserted {
            switch relationship.storage {
            case .column: break
            case .inverseColumn(let slot):
                let turn = nextTurn()
                objects[destination]?.tickets[slot] = turn
            case .join(let table, let isOwner):
                let pair = Pair(
                    table: table, owner: isOwner ? key : destination, destination: isOwner ? destination : key)
                let turn = nextTurn()
                if isOwner { pairs[pair]?.owner = turn } else { pairs[pair]?.destination = turn }
            }
        }
    }

    private mutating func link(_ key: Key, _ relationship: Relationship, _ destination: Key) {
        switch relationship.storage {
        case .column: break
        case .inverseColumn: if let inverse = inverse(relationship) { setOne(inverse, of: destination, key) }
        case .join(let table, let isOwner):
            for pair in both(table, isOwner, key, destination) where pairs[pair] == nil {
                let turn = nextTurn()
                pairs[pair] = Turns(owner: turn, destination: turn)
            }
        }
    }

    private mutating func unlink(_ key: Key, _ relationship: Relationship, _ destination: Key) {
        switch relationship.storage {
        case .column: break
        case .inverseColumn(let slot):
            if let inverse = inverse(relationship), objects[destination]?.links[slot] == reference(key) {
                setOne(inverse, of: destination, nil)
            }
        case .join(let table, let isOwner): for pair in both(table, isOwner, key, destination) { pairs[pair] = nil }
        }
    }

    private func both(_ table: Int, _ isOwner: Bool, _ key: Key, _ other: Key) -> [Pair] {
        let pair = Pair(table: table, owner: isOwner ? key : other, destination: isOwner ? other : key)
        let isSymmetric = model.joinTables[table].isOwnInverse
        return isSymmetric ? [pair, Pair(table: table, owner: pair.destination, destination: pair.owner)] : [pair]
    }
}

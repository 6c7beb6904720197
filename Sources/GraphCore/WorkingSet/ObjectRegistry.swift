/// The objects, links and tombstones that a chunk touches, read from the store in bulk and changed in memory.
///
/// A link is never trusted by itself: the logs below say where a link may be, the objects' current values say whether
/// it is. So undoing an event restores values only, and logs may hold too much but never too little.
package final class ObjectRegistry {
    package let model: ObjectModel
    /// Where objects, links and tombstones are read.
    package let reader: any RowReader
    /// The number of destinations above which a deletion is carried out inside the store.
    package var setDeletionThreshold: Int

    /// The position of each entity's root: what follows is kept by root, for keys and identities are the hierarchy's.
    package let roots: [Int]
    package let byIdentity: [IdentityTable]
    package let byKey: [KeyTable]
    let names = OperationNames()
    /// Objects by the values that have to be unique together.
    package var byUnique: [Unique: [ContextObject]] = [:]
    /// The values whose holders were looked up in the store.
    var loadedUnique: Set<Unique> = []
    /// The next place in ordered relationships.
    var nextPlaces: [LinkKey: Int64] = [:]
    /// The ordered relationships that were put in order as a whole.
    package var orderedLists: Set<LinkKey> = []
    /// The changed objects in the order of their first change.
    package var listed: [ContextObject] = []
    let changedNames = ChangedNames()
    package var pairs: [JoinTableRegistry]
    package var nextKeys: [Int64]
    /// Whether tombstones are asked for; a registry that only reads knows none.
    var storeHasTombstones = false
    package var placeholderCount = 0
    /// The sums behind running aggregates; nil where others write the store too, and inside
    /// the store.
    package private(set) var aggregateMemory: AggregateMemory?
    /// The number of objects that were read from the store.
    private(set) var loadedCount = 0

    /// The shapes of all relationships, entity by entity.
    private let shapes: [RelationshipShape]
    /// The position of each entity's first shape.
    private let firstShapes: [Int]

    /// The facts about a relationship that a survey asks for each time that an event names it.
    struct RelationshipShape {
        let destinationRoot: Int
        let isInJoinTable: Bool

        init(_ relationship: Relationship, _ roots: [Int]) {
            destinationRoot = roots[relationship.destinationIndex]
            switch relationship.storage {
            case .join: isInJoinTable = true
            case .column, .inverseColumn: isInJoinTable = false
            }
        }
    }

    /// Returns the shape of a relationship, given by the positions of its entity and of itself.
    func shape(_ entity: Int, _ relationship: Int) -> RelationshipShape { shapes[firstShapes[entity] + relationship] }

    /// Tells whether the model has ordered relationships.
    package let hasOrder: Bool
    private var members: [LinkKey: [Int64]] = [:]
    /// Members that were noted and not asked for: few lists are, and an event notes two members.
    private var notedMembers: [(key: LinkKey, destination: Int64)] = []
    private var loadedMembers: Set<LinkKey> = []

    /// The tombstone of an object in the store and in the chunk.
    package struct TombstoneEntry {
        package let stored: Tombstone?
        package var current: Tombstone?
        package var isChanged = false
    }

    package struct Unique: Hashable {
        let constraint: Int
        let values: [Value]
    }

    /// A to-many relationship of one object.
    package struct LinkKey: KeyHashable {
        /// The position of the entity that declares the relationship. Relationships of entities beside each other have the
        /// same positions, and an event may name an object by the wrong entity.
        let entity: Int
        let relationship: Int
        let pk: Int64

        init(_ relationship: Relationship, of pk: Int64) {
            entity = relationship.entityIndex
            self.relationship = relationship.index
            self.pk = pk
        }

        package var keyHash: KeyHash { KeyHash(pk, Int64(entity), Int64(relationship)) }
    }

    /// The memory of the objects' values, until the next reset.
    private var arena = ValueArena()
    /// Whether each object has memory of its own: one that is read or changed again and again then frees what it was.
    private let keepsObjectsApart: Bool

    /// The memory of one object, or of what is read at once.
    var nextArena: ValueArena { keepsObjectsApart ? ValueArena() : arena }

    /// The greatest number of destinations that a list replaces, or that are counted one by one.
    package var maximumListedDestinations = 10_000

    /// Signals that a relationship leads to more objects than memory should hold.
    package struct TooManyDestinations: Error {}

    /// - Parameter keepsObjectsApart: for a registry that lives long between its resets.
    package init(
        _ reader: any RowReader, model: ObjectModel, setDeletionThreshold: Int, keepsObjectsApart: Bool = false
    ) {
        self.keepsObjectsApart = keepsObjectsApart
        self.reader = reader
        self.model = model
        self.setDeletionThreshold = setDeletionThreshold
        let roots = model.entities.map(\.rootIndex)
        self.roots = roots
        shapes = model.entities.flatMap(\.relationships).map { RelationshipShape($0, roots) }
        var count = 0
        firstShapes = model.entities.map { entity in
            defer { count += entity.relationships.count }
            return count
        }
        hasOrder = model.entities.contains { $0.relationships.contains(where: \.isOrdered) }
        byIdentity = model.entities.map { _ in IdentityTable() }
        byKey = model.entities.map { _ in KeyTable() }
        pairs = model.joinTables.map { JoinTableRegistry($0) }
        nextKeys = []
    }

    /// Continues the counters of a store, for a registry that writes.
    package func take(_ counters: StoreCounters, remembersAggregates: Bool) {
        aggregateMemory = remembersAggregates ? AggregateMemory() : nil
        nextKeys = counters.nextKeys
        storeHasTombstones = counters.hasTombstones
    }

    /// Forgets all objects; what is remembered does not grow with the stream.
    ///
    /// Objects that somebody still holds keep their memory.
    package func reset() {
        for index in byIdentity.indices {
            byIdentity[index].removeAll()
            byKey[index].removeAll()
        }
        names.removeAll()
        byUnique.removeAll(keepingCapacity: true)
        loadedUnique.removeAll(keepingCapacity: true)
        nextPlaces.removeAll(keepingCapacity: true)
        orderedLists.removeAll(keepingCapacity: true)
        listed.removeAll(keepingCapacity: true)
        for index in pairs.indices { pairs[index].reset() }
        members.removeAll(keepingCapacity: true)
        notedMembers.removeAll(keepingCapacity: true)
        loadedMembers.removeAll(keepingCapacity: true)
        placeholderCount = 0
        loadedCount = 0
        if isKnownUniquelyReferenced(&arena) { arena.reset() } else { arena = ValueArena() }
    }

    // MARK: Objects

    /// Returns the object of an identity that the context holds, of whatever entity of the hierarchy, or nil.
    package func known(_ entity: Int, _ identity: Value) -> ContextObject? { byIdentity[roots[entity]][identity] }

    func known(_ entity: Int, _ identity: PackedValue) -> ContextObject? { byIdentity[roots[entity]][identity] }

    /// Returns the object of a primary key that the context holds, or nil.
    package func known(_ entity: Int, pk: Int64) -> ContextObject? { byKey[roots[entity]][pk] }

    /// Notes an object of a row whose values stand in the arena.
    @discardableResult
    package func register(_ row: PackedRow) -> ContextObject {
        if let known = byKey[row.entity.rootIndex][row.pk] { return known }
        if keepsObjectsApart { return note(ContextObject(row: row.stored)) }
        return note(ContextObject(row: row, in: arena, isApart: false))
    }

    @discardableResult
    package func register(_ row: StoredRow) -> ContextObject {
        if let known = byKey[row.entity.rootIndex][row.pk] { return known }
        if keepsObjectsApart { return note(ContextObject(row: row)) }
        return note(ContextObject(row: PackedRow(row, in: arena), in: arena, isApart: false))
    }

    private func note(_ object: ContextObject) -> ContextObject {
        let root = object.entity.rootIndex
        byKey[root][object.pk] = object
        loadedCount += 1
        byIdentity[root].setObject(object, of: object.original.packed(object.entity.identitySlot))
        noteUniqueValues(of: object)
        return object
    }

    /// Makes a new object that holds nothing but its identity: a placeholder until it is completed.
    package func makeObject(entity: Entity, identity: Value) -> ContextObject {
        let arena = nextArena
        let object = makeObject(entity: entity, identity: arena.pack(identity), in: arena)
        byIdentity[entity.rootIndex].setObject(object, of: object.packedIdentity)
        return object
    }

    /// - Parameter place: the place of the identity.
    func makeObject(entity: Entity, identity: PackedValue, at place: Int) -> ContextObject {
        let arena = nextArena
        let object = makeObject(entity: entity, identity: arena.copy(identity), in: arena)
        byIdentity[entity.rootIndex].setObject(object, at: place)
        return object
    }

    private func makeObject(entity: Entity, identity: PackedValue, in arena: ValueArena) -> ContextObject {
        let root = entity.rootIndex
        let object = ContextObject(
            entity: entity, pk: nextKeys[root], identity: identity, in: arena, isApart: keepsObjectsApart)
        nextKeys[root] += 1
        byKey[root][object.pk] = object
        list(object)
        return object
    }

    /// Makes room for new objects of the given entities.
    package func reserve(_ entities: some Sequence<Entity>) {
        var counts = Array(repeating: 0, count: byKey.count)
        for entity in entities { counts[entity.rootIndex] += 1 }
        for (root, count) in counts.enumerated() where count > 0 {
            byKey[root].reserveCapacity(count)
            byIdentity[root].reserveCapacity(count)
        }
    }

    package func list(_ object: ContextObject) {
        if object.isListed { return }
        object.isListed = true
        listed.append(object)
    }

    /// Returns the object of a primary key, read from the store if need be, or nil where there is none.
    package func object(entity: Int, pk: Int64) throws(StoreError) -> ContextObject? {
        if let known = byKey[roots[entity]][pk] { return known }
        try load(entity: entity, primaryKeys: [pk])
        return byKey[roots[entity]][pk]
    }

    package func load(entity: Int, primaryKeys: [Int64]) throws(StoreError) {
        let root = roots[entity]
        let missing = primaryKeys.filter { byKey[root][$0] == nil }
        if missing.isEmpty { return }
        try reader.load([.rows(entity: root, .primaryKeys(missing))], in: nextArena) { _, answer in
            if case .row(let row) = answer { register(row) }
        }
    }

    /// Reads the tombstones of objects, as far as they are not known.
    package func loadTombstones(of objects: [ContextObject]) throws(StoreError) {
        guard storeHasTombstones, !objects.isEmpty else { return }
        var unknown: [[Value]] = Array(repeating: [], count: roots.count)
        for object in objects where !object.isNew {
            let (root, identity) = (object.entity.rootIndex, object.identity)
            if byIdentity[root].tombstone(of: identity) == nil, !byIdentity[root].wasNamed(identity) {
                unknown[root].append(identity)
            }
        }
        let arena = nextArena
        let wanted = unknown.indices.filter { !unknown[$0].isEmpty }.map { root in
            (root: root, identities: unknown[root].map { arena.pack($0) })
        }
        if wanted.isEmpty { return }
        try reader.load([.tombstones(wanted)], in: arena) { _, answer in
            if case .tombstone(let root, let identity, let tombstone) = answer { note(tombstone, root, identity) }
        }
    }

    /// Notes the tombstone that the store has of an identity.
    func note(_ tombstone: Tombstone, _ root: Int, _ identity: Value) {
        byIdentity[root].setTombstone(TombstoneEntry(stored: tombstone, current: tombstone), of: identity)
    }

    // MARK: Reading again

    /// Forgets which to-many relationships are known as a whole: they are read again when they are asked for.
    package func forgetLists() {
        loadedMembers.removeAll(keepingCapacity: true)
        for index in pairs.indices { pairs[index].forgetUnchanged() }
    }

    /// Forgets the objects that are as they were read, and all lists.
    package func forgetUnchanged(keeping isKept: (ContextObject) -> Bool) {
        let kept = byKey.map { $0.values.filter(isKept) }
        members.removeAll()
        notedMembers.removeAll()
        forgetLists()
        for index in byKey.indices {
            byKey[index].removeAll()
            byIdentity[index].forgetObjects()
        }
        for object in kept.joined() { replace(with: object) }
        listed = listed.filter { byKey[$0.entity.rootIndex][$0.pk] === $0 }
    }

    /// Puts an object in the place of the one with its key, and notes what its columns lead to.
    package func replace(with object: ContextObject) {
        byKey[object.entity.rootIndex][object.pk] = object
        byIdentity[object.entity.rootIndex][object.identity] = object
        for relationship in object.entity.relationships {
            guard case .column(let slot) = relationship.storage, let inverse = model.inverse(of: relationship),
                let pk = object.state.values.packed(slot).integer
            else { continue }
            noteMember(object.pk, of: LinkKey(inverse, of: pk))
        }
    }

    /// Makes a new object under a key that it had before: it was deleted in the meantime.
    package func makeObject(entity: Entity, identity: Value, pk: Int64) -> ContextObject {
        let next = nextKeys[entity.rootIndex]
        nextKeys[entity.rootIndex] = pk
        let object = makeObject(entity: entity, identity: identity)
        nextKeys[entity.rootIndex] = max(next, pk + 1)
        return object
    }

    // MARK: Links kept in the destinations' columns

    /// Notes that `destination` may be among the destinations of an object.
    func noteMember(_ destination: Int64, of key: LinkKey) {
        notedMembers.append((key, destination))
    }

    /// Returns the objects that may be among the destinations of an object.
    private func members(of key: LinkKey) -> [Int64] {
        for noted in notedMembers { members[noted.key, default: []].append(noted.destination) }
        notedMembers.removeAll(keepingCapacity: true)
        return members[key] ?? []
    }

    /// Returns which lists of several objects the store has to be asked for.
    func unreadLists(of owners: [ContextObject], _ relationship: Relationship) -> [LinkKey] {
        owners.filter { !$0.isNew }.map { linkKey($0, relationship) }.filter { !loadedMembers.contains($0) }
    }

    /// Notes the rows that the store has for the lists of several objects.
    func noteMembers(of keys: [LinkKey], _ relationship: Relationship, slot: Int, _ rows: [PackedRow]) {
        for row in rows {
            register(row)
            if let owner = row.values.packed(slot).integer {
                noteMember(row.pk, of: LinkKey(relationship, of: owner))
            }
        }
        loadedMembers.formUnion(keys)
    }

    package func linkKey(_ object: ContextObject, _ relationship: Relationship) -> LinkKey {
        LinkKey(relationship, of: object.pk)
    }

    /// Returns the objects that a relationship of an object leads to now; in their order, where they have one.
    package func destinations(of object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        try loadDestinations(of: [object], relationship, limit: nil)
        return try loadedDestinations(of: object, relationship)
    }

    /// Returns the same of an object whose destinations were read.
    func loadedDestinations(of object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        let destination = relationship.destinationIndex
        switch relationship.storage {
        case .column(let slot):
            guard let pk = object.state.values.packed(slot).integer,
                let found = try self.object(entity: destination, pk: pk),
                found.isAlive
            else { return [] }
            return [found]
        case .inverseColumn(let slot):
            var seen: Set<Int64> = []
            let found = members(of: linkKey(object, relationship)).compactMap { pk -> ContextObject? in
                guard seen.insert(pk).inserted, let found = known(destination, pk: pk), found.isAlive,
                    found.state.values.packed(slot).integer == object.pk
                else { return nil }
                return found
            }
            guard let place = relationship.positionSlot else { return found }
            return found.sorted {
                ($0.state.values.packed(place).integer ?? .max, $0.pk)
                    < ($1.state.values.packed(place).integer ?? .max, $1.pk)
            }
        case .join(let table, let isOwner):
            let keys = pairs[table].linked(to: object.pk, isOwner: isOwner)
            try load(entity: destination, primaryKeys: keys)
            return keys.compactMap { known(destination, pk: $0) }.filter(\.isAlive)
        }
    }
}

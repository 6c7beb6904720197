/// Reads rows, links and tombstones at one moment: all that the context asks of a store before it applies events.
///
/// A plan holds everything that can be asked at once, so a storage over a network answers it in one round trip.
package protocol RowReader: AnyObject {
    /// Answers the requests of a plan, in their order.
    ///
    /// - Parameters:
    ///   - arena: the memory of the rows' values. The reader puts a row there before it calls `each`. It keeps nothing
    ///     there beyond that call, which may empty the arena, where no key of the plan stands in it.
    ///   - each: takes the position of a request in the plan, and one of its answers. It may not call the reader.
    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError)
}

/// One question of a read plan. Its lists hold each key once; a key that the store does not have gets no answer.
package enum ReadRequest {
    /// Rows of the hierarchy of an entity, given by its position, by their keys; at most `limit` rows.
    case rows(entity: Int, RowKeys, limit: Int? = nil)
    /// Links of a join table by the keys of the objects on one side; at most `limit` links.
    case links(table: Int, of: [Int64], isOwnerSide: Bool, limit: Int? = nil)
    /// The links that the store has, of the given links.
    case existingLinks(table: Int, [Pair])
    /// The greatest place in an ordered relationship of each owner that has destinations.
    case greatestPlaces(Relationship, owners: [Int64])
    /// Tombstones in the hierarchies of roots, given by their positions, by the identities of the deleted objects.
    case tombstones([(root: Int, identities: [PackedValue])])
}

extension ReadRequest {
    /// The request with its values in another memory.
    package func copy(in arena: ValueArena) -> ReadRequest {
        switch self {
        case .rows(let entity, .identities(let identities), let limit):
            .rows(entity: entity, .identities(identities.map { arena.copy($0) }), limit: limit)
        case .rows(let entity, .values(let values, let slot), let limit):
            .rows(entity: entity, .values(values.map { arena.copy($0) }, slot: slot), limit: limit)
        case .tombstones(let lists):
            .tombstones(lists.map { (root: $0.root, identities: $0.identities.map { arena.copy($0) }) })
        case .rows, .links, .existingLinks, .greatestPlaces: self
        }
    }
}

/// The keys by which rows are found. Packed ones are valid during the call.
package enum RowKeys {
    case identities([PackedValue])
    case primaryKeys([Int64])
    /// Values of one slot, such as the keys of a relationship's owners.
    case values([PackedValue], slot: Int)
    /// Lists of values that a uniqueness constraint is on, in the order of its slots.
    case unique([[Value]], UniquenessConstraint)
}

/// One answer to a request.
package enum ReadAnswer {
    case row(PackedRow)
    case link(Pair, PairPlaces)
    case place(owner: Int64, greatest: Int64)
    case tombstone(root: Int, identity: Value, Tombstone)
}

// One request at a time, for questions that no plan foresaw.
extension RowReader {
    /// Reads rows of the hierarchy of an entity, given by its position; at most `limit` of them.
    package func rows(
        of entity: Int, _ keys: RowKeys, limit: Int? = nil, each: (StoredRow) -> Void
    ) throws(StoreError) {
        let arena = ValueArena()
        try load([.rows(entity: entity, keys, limit: limit)], in: arena) { _, answer in
            guard case .row(let row) = answer else { return }
            each(row.stored)
            arena.reset()
        }
    }

    /// Reads the row of an identity in the hierarchy of an entity, where there is one.
    package func row(of entity: Int, identity: Value, each: (StoredRow) -> Void) throws(StoreError) {
        let arena = ValueArena()
        defer { withExtendedLifetime(arena) {} }
        try rows(of: entity, .identities([arena.pack(identity)]), each: each)
    }

    /// Reads the links of objects on one side of a join table, at most `limit` of them.
    package func links(
        in table: Int, of keys: [Int64], isOwnerSide: Bool, limit: Int? = nil, each: (Pair, PairPlaces) -> Void
    ) throws(StoreError) {
        let request = ReadRequest.links(table: table, of: keys, isOwnerSide: isOwnerSide, limit: limit)
        try load([request], in: ValueArena()) { _, answer in
            if case .link(let pair, let places) = answer { each(pair, places) }
        }
    }
}

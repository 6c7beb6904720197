/// Reads rows, links and tombstones at one moment: all that the context asks of a store before it applies events.
///
/// A plan holds everything that can be asked at once, so a storage over a network answers it in one round trip.
package protocol RowReader: AnyObject {
    /// Answers the requests of a plan, in their order.
    ///
    /// - Parameter each: takes the position of a request in the plan, and one of its answers. It may not call the reader.
    func load(_ plan: [ReadRequest], each: (Int, ReadAnswer) -> Void) throws(StoreError)
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
    case tombstones([(root: Int, identities: [Value])])
}

/// The keys by which rows are found.
package enum RowKeys {
    case identities([Value])
    case primaryKeys([Int64])
    /// Values of one slot, such as the keys of a relationship's owners.
    case values([Value], slot: Int)
    /// Lists of values that a uniqueness constraint is on, in the order of its slots.
    case unique([[Value]], UniquenessConstraint)
}

/// One answer to a request.
///
/// A row comes as the array that the object keeps: handing over columns would copy each value once more.
package enum ReadAnswer {
    case row(StoredRow)
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
        try load([.rows(entity: entity, keys, limit: limit)]) { _, answer in
            if case .row(let row) = answer { each(row) }
        }
    }

    /// Reads the links of objects on one side of a join table, at most `limit` of them.
    package func links(
        in table: Int, of keys: [Int64], isOwnerSide: Bool, limit: Int? = nil, each: (Pair, PairPlaces) -> Void
    ) throws(StoreError) {
        try load([.links(table: table, of: keys, isOwnerSide: isOwnerSide, limit: limit)]) { _, answer in
            if case .link(let pair, let places) = answer { each(pair, places) }
        }
    }
}

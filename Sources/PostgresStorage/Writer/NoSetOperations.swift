/// The set operations of a draft: there are none before its transaction begins.
struct NoSetOperations: SetOperations {
    func delete(
        _ entity: Entity, pk: Int64, tombstone: Tombstone, _ work: SetWork, into tally: inout ChangeTally
    ) throws { throw StoreError.conflict }

    func truncate(_ entity: Entity, time: Int64?, _ work: SetWork, into tally: inout ChangeTally) throws {
        throw StoreError.conflict
    }

    func delete(_ request: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally) throws -> Int {
        throw StoreError.conflict
    }

    func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int { throw StoreError.conflict }

    func recomputation(of marks: DerivedMarks, _ work: SetWork) throws(StoreError) -> any DerivedComputation {
        throw .conflict
    }
}

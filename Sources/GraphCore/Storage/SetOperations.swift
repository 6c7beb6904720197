/// Work that a storage does by itself, on more objects than memory should hold. It has the same effects as the rules in
/// memory. The work's history and tally take each change.
///
/// The caller undoes everything where a call throws.
package protocol SetOperations {
    /// Deletes an object and all that the delete rules reach from it.
    ///
    /// - Throws: ``ValidationFailures`` where a rule refuses; ``StoreError``.
    func delete(
        _ entity: Entity, pk: Int64, tombstone: Tombstone, _ work: SetWork, into tally: inout ChangeTally) throws

    /// Deletes the objects of an entity and of those below it, and all that the delete rules reach from them.
    ///
    /// Placeholders stay, and objects whose version is a date later than `time`, in microseconds since 1970 UTC.
    ///
    /// - Throws: as ``delete(_:pk:tombstone:_:into:)``.
    func truncate(_ entity: Entity, time: Int64?, _ work: SetWork, into tally: inout ChangeTally) throws

    /// Deletes the objects that a request selects, and all that the delete rules reach from them.
    ///
    /// - Returns: the number of selected objects.
    /// - Throws: as ``delete(_:pk:tombstone:_:into:)``; ``FetchPredicateError``.
    func delete(_ request: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally) throws -> Int

    /// Sets attributes of the objects that a request selects.
    ///
    /// - Returns: the number of changed objects.
    /// - Throws: ``BatchError`` where a value breaks a rule; ``FetchPredicateError``; ``StoreError``.
    func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int

    /// Prepares to compute derived values again from the rows. Marks are followed through the links that are stored at the
    /// time of the call, so it comes before the rows are written.
    func recomputation(of marks: DerivedMarks, _ work: SetWork) throws(StoreError) -> any DerivedComputation
}

/// The tools of every set operation.
package struct SetWork {
    /// The history that takes the changes, with the time of the save.
    package let history: HistoryWriter
    package let plan: DerivedPlan
    package let validators: Validators
    /// How many objects are saved together where a storage has no set operations of its own.
    var pageLength = 1000
    /// The keys of the objects that later pages delete, by the position of their root; no derived value of theirs is computed.
    var leaving: [Set<Int64>] = []

    func isLeaving(_ object: ContextObject) -> Bool {
        !leaving.isEmpty && leaving[object.entity.rootIndex].contains(object.pk)
    }
}

/// Derived values that have to be computed again from the rows.
package struct DerivedMarks {
    /// The objects whose attribute is computed again, by their primary keys.
    package var owners: [DerivedNode: Set<Int64>] = [:]
    /// Objects, by their primary keys, that key paths pass through so many steps away from their readers.
    package var sources: [(path: Int, depth: Int, keys: [Int64])] = []

    package var isEmpty: Bool { owners.isEmpty && sources.isEmpty }
}

/// A computation of derived values from the rows, prepared before the rows were written.
package protocol DerivedComputation {
    /// Computes the marked values and all values that follow from them.
    ///
    /// - Parameter absorb: takes an object's entity, key, changed slots and values; true where the caller writes the
    ///   object's change into the history.
    func run(absorb: (Int, Int64, [Int], [Value]) -> Bool) throws(StoreError)

    /// Appends one change for each object that nobody absorbed, in the order of entities and keys.
    func writeHistory(_ history: HistoryWriter, into tally: inout ChangeTally) throws(StoreError)
}

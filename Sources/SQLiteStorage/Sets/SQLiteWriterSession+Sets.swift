extension SQLiteWriterSession: SetOperations {
    func delete(
        _ entity: Entity, pk: Int64, tombstone: Tombstone, _ work: SetWork, into tally: inout ChangeTally
    ) throws {
        try SetDeletion(store: self, work).delete(entity: entity, pk: pk, tombstone: tombstone, into: &tally)
    }

    func truncate(_ entity: Entity, time: Int64?, _ work: SetWork, into tally: inout ChangeTally) throws {
        try SetDeletion(store: self, work).truncate(entity, time: time, into: &tally)
    }

    func delete(_ request: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally) throws -> Int {
        // A placeholder may still be of an abstract entity.
        let selections = try request.entities.map { entity throws(FetchPredicateError) in
            let selection = try BatchSelection(
                request, entity: entity, includesPlaceholders: true, time: work.history.time)
            return (entity, selection)
        }
        var count = 0
        try SetDeletion(store: self, work).delete(
            tombstone: Tombstone(version: .null, time: work.history.time), root: nil, into: &tally
        ) { deletion throws(StoreError) in
            for (entity, selection) in selections { count += try deletion.seed(selection, of: entity) }
        }
        return count
    }

    func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int {
        let before = tally
        var mayPassValuesOn = false
        do {
            return try work.history.undoingOnFailure {
                try update(request, checked, vacates: false, &mayPassValuesOn, work, into: &tally)
            }
        } catch let error as StoreError where mayPassValuesOn && error.code == .constraint {
            // Objects may collide only on the way to their final values; clearing all values first shows which.
            tally = before
            return try update(request, checked, vacates: true, &mayPassValuesOn, work, into: &tally)
        }
    }

    /// - Parameters:
    ///   - vacates: whether all objects lose their unique values before any gets its new one.
    ///   - mayPassValuesOn: becomes true if a collision may disappear in the final state.
    private func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, vacates: Bool, _ mayPassValuesOn: inout Bool,
        _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int {
        let propagation = DerivedPropagation(store: self, plan: work.plan, time: work.history.time)
        let function = try ArithmeticFunction(connection)
        // The statements call it until the end of the request.
        defer { withExtendedLifetime(function) {} }
        // An abstract entity has no objects but placeholders, which an update leaves alone.
        let updates = try checked.entities.filter { !$0.isAbstract }.map { entity in
            let assignments = try BatchAssignments(
                request, entity: entity, plan: work.plan, time: work.history.time)
            return try BatchUpdate(
                store: self, history: work.history, entity: entity, assignments: assignments, request: checked,
                propagation: propagation, function: function)
        }
        mayPassValuesOn = updates.contains(where: \.mayPassValuesOn)
        // All entities' objects and new values are chosen before the first object changes.
        let keys = try updates.map { try $0.keys(mustList: vacates || updates.count > 1) }
        if vacates {
            for case (let update, let keys?) in zip(updates, keys) { try update.vacate(keys) }
        }
        var count = 0
        for (update, keys) in zip(updates, keys) {
            count += try update.run(keys, vacated: vacates && update.mayPassValuesOn, into: &tally)
        }
        try propagation.run()
        try propagation.writeHistory(work.history, into: &tally)
        return count
    }

    func recomputation(of marks: DerivedMarks, _ work: SetWork) throws(StoreError) -> any DerivedComputation {
        let propagation = DerivedPropagation(store: self, plan: work.plan, time: work.history.time)
        try propagation.mark(marks)
        return propagation
    }
}

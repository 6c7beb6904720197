/// Set operations on rows in memory, for a storage that has none of its own.
///
/// The graph applies its own rules to the objects, as it does to those of a chunk, and saves them. All that a deletion
/// reaches is in memory at the time.
package struct RowSetOperations: SetOperations {
    private let session: any WriterSession
    /// A snapshot of the open transaction.
    private let snapshot: any SnapshotSession

    private var model: ObjectModel { session.model }

    /// - Parameter snapshot: a snapshot of the session's open transaction, which finds the objects of requests.
    package init(_ session: any WriterSession, snapshot: any SnapshotSession) {
        self.session = session
        self.snapshot = snapshot
    }

    // MARK: Deletions

    package func delete(
        _ entity: Entity, pk: Int64, tombstone: Tombstone, _ work: SetWork, into tally: inout ChangeTally
    ) throws {
        try delete([pk], of: entity, tombstone, work, &tally)
    }

    package func truncate(_ entity: Entity, time: Int64?, _ work: SetWork, into tally: inout ChangeTally) throws {
        var request = FetchRequest(entity.name)
        request.includesPlaceholders = false
        let keys = try keys(of: try request.checked(with: model)) { row in
            guard let time, let slot = row.entity.versionSlot, row.entity.attributes[slot].type == .date,
                case .integer(let version) = row.values[slot]
            else { return true }
            return version <= time
        }
        try delete(keys, of: entity, Tombstone(version: .null, time: time), work, &tally)
    }

    package func delete(
        _ request: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int {
        let keys = try keys(of: request.at(work.history.time))
        let tombstone = Tombstone(version: .null, time: work.history.time)
        try delete(keys, of: request.entity, tombstone, work, &tally)
        return keys.count
    }

    /// Returns the keys of the objects of a request that meet a condition.
    private func keys(
        of request: CheckedFetchRequest, where isWanted: (StoredRow) -> Bool = { _ in true }
    ) throws -> [Int64] {
        let keys = try snapshot.objects(request).map(\.pk)
        return try snapshot.storedRows(request.entity, primaryKeys: keys).filter(isWanted).map(\.pk)
    }

    private func delete(
        _ keys: [Int64], of entity: Entity, _ tombstone: Tombstone, _ work: SetWork, _ tally: inout ChangeTally
    ) throws {
        try change(work, &tally) { registry, applier in
            try registry.load(entity: entity.index, primaryKeys: keys)
            let roots = keys.compactMap { registry.known(entity.index, pk: $0) }
            try applier.delete(roots, at: tombstone.time, version: tombstone.version)
        }
    }

    // MARK: Updates

    package func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int {
        // A value that breaks a rule refuses the request, whether there are objects or not.
        let assignments = try checked.entities.filter { !$0.isAbstract }.map { entity in
            try BatchAssignments(request, entity: entity, plan: work.plan, time: work.history.time)
        }
        let keys = try keys(of: checked.at(work.history.time)) { !$0.isPlaceholder }
        var count = 0
        try change(work, &tally) { registry, applier in
            try registry.load(entity: checked.entity.index, primaryKeys: keys)
            let objects = keys.compactMap { registry.known(checked.entity.index, pk: $0) }
            for assignments in assignments {
                for object in objects where object.entity === assignments.entity {
                    if try assign(assignments, object, applier) { count += 1 }
                }
            }
        }
        return count
    }

    /// Gives an object its new values, and tells whether any differs.
    ///
    /// - Throws: ``BatchError`` where a value breaks a rule.
    private func assign(
        _ assignments: BatchAssignments, _ object: ContextObject, _ applier: EventApplier
    ) throws -> Bool {
        let old = object.state.values
        var values = old
        for column in assignments.columns where !column.isDerived {
            let attribute = column.attribute
            switch column.source {
            case .constant(let value): values[attribute.slot] = value
            case .computed(let expression):
                // Assignments read the values of before.
                let value = expression.value(old, of: attribute)
                if let failure = BatchAssignments.failure(of: value, attribute, object.entity) {
                    throw BatchError(ValidationFailures(failure.about(object)))
                }
                values[attribute.slot] = value
            case .derived: break
            }
        }
        if values == old { return false }
        applier.willChange(object)
        object.state.values = values
        return true
    }

    // MARK: Derived values

    package func recomputation(of marks: DerivedMarks, _ work: SetWork) throws(StoreError) -> any DerivedComputation {
        try RowDerivation(session, marks, plan: work.plan, time: work.history.time)
    }

    // MARK: The save

    /// Calls `body` with a registry of its own, checks the changes as those of an event, and saves them.
    ///
    /// - Throws: ``ValidationFailures`` where a rule refuses; what `body` throws; ``StoreError``.
    private func change(
        _ work: SetWork, _ tally: inout ChangeTally, _ body: (ObjectRegistry, EventApplier) throws -> Void
    ) throws {
        let registry = ObjectRegistry(session, model: model, setDeletionThreshold: .max)
        registry.take(try session.counters(), remembersAggregates: false)
        let applier = EventApplier(registry: registry, validators: work.validators)
        applier.begin()
        try body(registry, applier)
        try applier.validateTouched()
        try Saver(registry: registry, session: session, work: work).save(into: &tally)
    }
}

extension CheckedFetchRequest {
    /// The request at a time, in microseconds since 1970 UTC, unless it has one of its own.
    fileprivate func at(_ time: Int64) -> CheckedFetchRequest {
        var request = self
        request.now = now ?? time
        return request
    }
}

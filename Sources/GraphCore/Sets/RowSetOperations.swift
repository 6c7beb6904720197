/// Set operations on rows in memory, for a storage that has none of its own.
///
/// The graph applies its own rules to the objects, as to the objects of a chunk, and saves them page by page. In memory
/// are the keys of all objects and the rows of a page. Each page asks the storage, so a server sees that the work goes
/// on. An update that sets a unique attribute takes all its objects as one page, because values may change places.
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
        let keys = try keys(of: try request.checked(with: model), work) { row in
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
        let keys = try keys(of: request.at(work.history.time), work)
        let tombstone = Tombstone(version: .null, time: work.history.time)
        try delete(keys, of: request.entity, tombstone, work, &tally)
        return keys.count
    }

    /// Returns the keys of the objects of a request that meet a condition.
    private func keys(
        of request: CheckedFetchRequest, _ work: SetWork, where isWanted: ((StoredRow) -> Bool)? = nil
    ) throws -> [Int64] {
        var keys: [Int64] = []
        try snapshot.objects(request, withOrder: false) { object, _ in
            keys.append(object.pk)
            return true
        }
        guard let isWanted else { return keys }
        return try Pages(keys, length: work.pageLength).flatMap { page in
            let wanted = Set(
                try snapshot.storedRows(request.entity, primaryKeys: page).filter(isWanted).map(\.pk))
            return page.filter { wanted.contains($0) }
        }
    }

    private func delete(
        _ keys: [Int64], of entity: Entity, _ tombstone: Tombstone, _ work: SetWork, _ tally: inout ChangeTally
    ) throws {
        var deletion = PagedDeletion(session, work, tombstone)
        try deletion.delete(keys, of: entity, into: &tally)
    }

    // MARK: Updates

    package func update(
        _ request: BatchUpdateRequest, _ checked: CheckedFetchRequest, _ work: SetWork, into tally: inout ChangeTally
    ) throws -> Int {
        // A value that breaks a rule refuses the request, whether there are objects or not.
        let assignments = try checked.entities.filter { !$0.isAbstract }.map { entity in
            try BatchAssignments(request, entity: entity, plan: work.plan, time: work.history.time)
        }
        let keys = try keys(of: checked.at(work.history.time), work) { !$0.isPlaceholder }
        // Unique values may pass from one object to another, so these objects are saved together.
        let changesUnique = assignments.contains { $0.changesUniqueValues }
        let save = try PagedSave(session, work)
        var count = 0
        for page in Pages(keys, length: changesUnique ? keys.count : work.pageLength) {
            try save.page { registry, applier in
                try registry.load(entity: checked.entity.index, primaryKeys: page)
                let objects = page.compactMap { registry.known(checked.entity.index, pk: $0) }
                for assignments in assignments {
                    for object in objects where object.entity === assignments.entity {
                        if try assign(assignments, object, applier) { count += 1 }
                    }
                }
            }
        }
        try save.finish(into: &tally)
        return count
    }

    /// Gives an object its new values, and tells whether any differs.
    ///
    /// - Throws: ``BatchError`` where a value breaks a rule.
    private func assign(
        _ assignments: BatchAssignments, _ object: ContextObject, _ applier: EventApplier
    ) throws -> Bool {
        let old = object.state.values.array
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
        object.setValues(values)
        return true
    }

    // MARK: Derived values

    package func recomputation(of marks: DerivedMarks, _ work: SetWork) throws(StoreError) -> any DerivedComputation {
        try RowDerivation(session, marks, work)
    }
}

extension BatchAssignments {
    /// Whether a uniqueness constraint is on an assigned value.
    fileprivate var changesUniqueValues: Bool {
        let assigned = Set(columns.map(\.attribute.slot))
        return entity.uniquenessConstraints.contains { !assigned.isDisjoint(with: $0.slots) }
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

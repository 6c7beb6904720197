import GraphCore

// Objects from the store.
extension EditingContext {
    /// Returns the objects that a request asks for.
    ///
    /// Objects of entities below the request's are among them, each with its own entity. Unsaved changes count. The
    /// values in the context decide about the objects that it inserted or changed, and deleted objects are left out.
    /// For all other objects the store's values count, even where a key path leads from an unchanged object to a
    /// changed one. Derived values are as of the last save. The request's `properties` have no effect. See
    /// docs/reference/fetching.md.
    ///
    /// - Parameters:
    ///   - request: which objects, in which order.
    ///   - batchSize: nil to read all rows at once; otherwise the objects are faults, and touching one reads this many.
    ///   - prefetch: relationship key paths such as `messages.sender`, whose objects are read with one query per step,
    ///     two over a join table.
    ///   - includesPendingChanges: false to judge and sort by what is saved; deleted objects are left out all the same.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model. ``EditingError`` where a key path does not,
    ///   or where a changed object leads to too many others. ``StoreError``.
    public func fetch(
        _ request: FetchRequest, batchSize: Int? = nil, prefetch: [String] = [], includesPendingChanges: Bool = true
    ) throws -> [ManagedObject] {
        let checked = try ofObjects(request)
        let paths = try prefetch.map { try RelationshipPath($0, from: checked.entity, in: model) }
        let found = try find(checked, includesPendingChanges: includesPendingChanges)
        let pks = found.map(\.pk)
        if batchSize == nil || !paths.isEmpty { try registry.load(entity: checked.entity.index, primaryKeys: pks) }
        let batch = batchSize.map { FaultBatch(pks: pks, size: max(1, min($0, FaultBatch.maximumSize))) }
        let objects = found.compactMap { pk, entity -> ManagedObject? in
            let row = registry.known(checked.entity.index, pk: pk)
            // A row that went between the two looks is left out.
            if row == nil, batch == nil || !paths.isEmpty { return nil }
            if let row, willBeDeleted(row) || !row.isAlive { return nil }
            let object = handle(ManagedObjectID(row?.entity ?? entity, pk))
            if row == nil { object.batch = batch }
            return object
        }
        for path in paths { try load(path, from: pks, checked.entity) }
        return objects
    }

    /// Returns the number of objects that a request asks for, with regard to its limit and offset.
    ///
    /// - Parameters:
    ///   - request: the objects to count.
    ///   - includesPendingChanges: false to count what is saved, objects with unsaved deletions too.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``EditingError``, ``StoreError``.
    public func count(_ request: FetchRequest, includesPendingChanges: Bool = true) throws -> Int {
        let checked = try ofObjects(request)
        if try !includesPendingChanges || pendingRows(of: checked.entity).isEmpty {
            return try writer.store.read { try $0.count(checked) }
        }
        return try find(checked, includesPendingChanges: true).count
    }

    private func ofObjects(_ request: FetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        var wanted = request
        wanted.properties = []
        return try wanted.checked(with: model)
    }

    /// Returns the primary keys in their order, each with its object's entity as far as that is known.
    private func find(
        _ checked: CheckedFetchRequest, includesPendingChanges: Bool
    ) throws -> [(pk: Int64, entity: Entity)] {
        let pending = includesPendingChanges ? try pendingRows(of: checked.entity) : []
        if pending.isEmpty {
            return try writer.store.read { context in
                var found: [(pk: Int64, entity: Entity)] = []
                try context.fetch(checked) { object in
                    found.append((object.pk, object.entity))
                    return true
                }
                return found
            }
        }
        let pks = try writer.store.read { try PendingFetch(checked, self, $0, pending).primaryKeys() }
        // Only rows tell which entity of a hierarchy an object has.
        if !checked.entity.subentityIndexes.isEmpty {
            try registry.load(entity: checked.entity.index, primaryKeys: pks)
        }
        return pks.map { ($0, checked.entity) }
    }

    private func load(_ path: RelationshipPath, from pks: [Int64], _ entity: Entity) throws {
        var objects = pks.compactMap { registry.known(entity.index, pk: $0) }
        for step in path.steps { objects = try registry.follow(step, from: objects) }
    }
}

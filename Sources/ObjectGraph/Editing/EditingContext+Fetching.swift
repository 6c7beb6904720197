// Objects from the store.
extension EditingContext {
    /// Returns the objects that a request asks for.
    ///
    /// Objects of entities below the request's are among them, each with its own entity. The condition and the order are
    /// about what is saved; objects that this context deletes are left out, and those
    /// that it has read before keep the values that it knows. The request's `properties` have no effect.
    ///
    /// - Parameters:
    ///   - batchSize: nil to read all rows at once; otherwise the objects are faults, and touching one reads this many.
    ///   - prefetch: relationship key paths such as `messages.sender`, whose objects are read with one query per step,
    ///     two over a join table.
    /// - Throws: ``PredicateError`` where the request does not fit the model, ``EditingError`` where a key path does not,
    ///   ``StoreError``.
    public func fetch(
        _ request: FetchRequest, batchSize: Int? = nil, prefetch: [String] = []
    ) throws -> [ManagedObject] {
        var wanted = request
        wanted.properties = []
        let checked = try wanted.checked(with: model)
        let paths = try prefetch.map { try RelationshipPath($0, from: checked.entity, in: model) }
        var pks: [Int64] = []
        var entities: [Entity] = []
        try writer.store.read { context in
            try context.fetch(checked) { object in
                pks.append(object.pk)
                entities.append(object.entity)
                return true
            }
        }
        if batchSize == nil || !paths.isEmpty { try registry.load(entity: checked.entity.index, primaryKeys: pks) }
        let batch = batchSize.map { FaultBatch(pks: pks, size: max(1, min($0, KeyList.maximumWidth))) }
        let objects = zip(pks, entities).compactMap { pk, entity -> ManagedObject? in
            let row = registry.known(checked.entity.index, pk: pk)
            // A row that went between the two looks is left out.
            if row == nil, batch == nil || !paths.isEmpty { return nil }
            if let row, isDoomed(row) || !row.isAlive { return nil }
            let object = handle(ManagedObjectID(row?.entity ?? entity, pk))
            if row == nil { object.batch = batch }
            return object
        }
        for path in paths { try load(path, from: pks, checked.entity) }
        return objects
    }

    private func load(_ path: RelationshipPath, from pks: [Int64], _ entity: Entity) throws {
        var objects = pks.compactMap { registry.known(entity.index, pk: $0) }
        for step in path.steps { objects = try registry.follow(step, from: objects) }
    }
}

/// A way along relationships, such as `messages.sender`.
struct RelationshipPath {
    let steps: [Relationship]

    init(_ text: String, from entity: Entity, in model: ObjectModel) throws(EditingError) {
        var steps: [Relationship] = []
        var current = entity
        for name in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let relationship = current.relationship(named: String(name)) else {
                throw .unknownProperty(String(name), "relationship", current)
            }
            steps.append(relationship)
            current = model.entities[relationship.destinationIndex]
        }
        self.steps = steps
    }
}

import GraphCore

// Setting relationships: they take objects where attributes take values.
extension EditingContext {
    /// Returns the objects that a relationship is given.
    ///
    /// - Throws: ``EditingError``: `editing.type` where it is given something else, or objects of another entity;
    ///   `editing.other_context`, `editing.object_gone`; ``StoreError``.
    func linkedObjects(
        _ value: (any PropertyValue)?, _ relationship: Relationship, _ entity: Entity
    ) throws -> [ManagedObject] {
        guard let objects = try Self.objects(value, isToMany: relationship.isToMany) else {
            throw EditingError.wrongType(
                "\(entity.name).\(relationship.name)",
                (relationship.isToMany ? "an array of objects of " : "an object of ")
                    + model.entities[relationship.destinationIndex].name,
                given: value)
        }
        for object in objects { _ = try destination(object, relationship) }
        return objects
    }

    private static func objects(
        _ value: (any PropertyValue)?, isToMany: Bool
    ) throws(EditingError) -> [ManagedObject]? {
        switch (value, isToMany) {
        case (let objects as [ManagedObject], true): return objects
        case (let objects as [any ObjectView], true):
            var found: [ManagedObject] = []
            for object in objects { found.append(try object.managed()) }
            return found
        case (let object as ManagedObject, false): return [object]
        case (let object as any ObjectView, false): return [try object.managed()]
        case (nil, _): return []
        case (let value?, _): return value.predicateExpression == .null ? [] : nil
        }
    }

    /// Leads a relationship to objects: to none, or to one, where it is to-one.
    package func link(_ object: ManagedObject, _ relationship: Relationship, to objects: [ManagedObject]) throws {
        if relationship.isToMany {
            try replace(relationship, of: object, with: objects)
        } else {
            try lead(object, relationship, to: objects.first)
        }
    }

    package func destination(_ object: ManagedObject, _ relationship: Relationship) throws -> ContextObject {
        let row = try changeableRow(of: object)
        try checkKind(of: row, relationship)
        return row
    }

    func checkKind(of row: ContextObject, _ relationship: Relationship) throws(EditingError) {
        let entity = model.entities[relationship.destinationIndex]
        if row.entity.isKind(of: entity) { return }
        throw EditingError(
            .type, "\(relationship.name) leads to objects of \(entity.name), not of \(row.entity.name)")
    }
}

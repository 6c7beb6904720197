/// Finds out what deleting objects does to others, in memory.
///
/// The set to delete is closed first, over relationships whose rule deletes destinations. A worklist over a visited set
/// does that, so cycles end and the order does not matter. Rules that refuse are asked afterwards: a destination that is
/// deleted too refuses nothing. Survivors then lose their references to the deleted objects.
/// Source: NSManagedObject headers; observations of FreeCoreData's tests.
package struct DeletePropagation {
    package let registry: ObjectRegistry

    package init(registry: ObjectRegistry) { self.registry = registry }

    /// A survivor that loses its reference to a deleted object.
    package struct Nullification {
        let deleted: ContextObject
        /// The relationship from the deleted object to the survivor.
        let relationship: Relationship
        let destination: ContextObject
    }

    package struct Plan {
        /// The objects to delete, the given ones first.
        package var deleted: [ContextObject]
        package var nullified: [Nullification]

        package init(deleted: [ContextObject], nullified: [Nullification]) {
            self.deleted = deleted
            self.nullified = nullified
        }
    }

    /// Returns the deletions and changes to carry out.
    ///
    /// - Throws: ``ValidationFailures`` with code 1600 where rules refuse;
    ///   ``ObjectRegistry/TooManyDestinations`` where the deletion reaches too far for memory.
    package func plan(_ roots: [ContextObject]) throws -> Plan {
        let deleted = try closure(of: roots)
        var failures = ValidationFailures()
        failures.add(try refusals(of: deleted))
        try failures.check()
        return Plan(deleted: deleted, nullified: try nullifications(of: deleted))
    }

    /// Returns the objects to delete with others, the given ones first.
    ///
    /// - Parameter onCascade: called with each object to delete and each destination that its rules delete too.
    package func closure(
        of roots: [ContextObject], onCascade: (ContextObject, ContextObject) -> Void = { _, _ in }
    ) throws -> [ContextObject] {
        var deleted = roots
        var toDelete = Set(roots.map(ObjectIdentifier.init))
        var next = 0
        while next < deleted.count {
            let object = deleted[next]
            next += 1
            for relationship in object.entity.relationships where relationship.deleteRule.deletesDestinations {
                for destination in try destinations(of: object, relationship) {
                    onCascade(object, destination)
                    if toDelete.insert(ObjectIdentifier(destination)).inserted { deleted.append(destination) }
                }
            }
            if deleted.count > registry.setDeletionThreshold { throw ObjectRegistry.TooManyDestinations() }
        }
        return deleted
    }

    /// Returns the survivors' references to deleted objects.
    package func nullifications(of deleted: [ContextObject]) throws -> [Nullification] {
        let toDelete = Set(deleted.map(ObjectIdentifier.init))
        var nullified: [Nullification] = []
        for object in deleted {
            for relationship in object.entity.relationships
            where relationship.isCleared(by: rule(relationship, of: object)) {
                for destination in try destinations(of: object, relationship)
                where !toDelete.contains(ObjectIdentifier(destination)) {
                    nullified.append(
                        Nullification(deleted: object, relationship: relationship, destination: destination))
                }
            }
        }
        return nullified
    }

    /// Returns the deletions that a rule refuses, once the whole set to delete is known.
    package func refusals(of deleted: [ContextObject]) throws -> [ValidationFailure] {
        let toDelete = Set(deleted.map(ObjectIdentifier.init))
        return try deleted.flatMap { try refusals(of: $0, toDelete) }
    }

    private func destinations(of object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        try registry.destinations(of: object, relationship, limit: registry.setDeletionThreshold)
    }

    private func refusals(of object: ContextObject, _ toDelete: Set<ObjectIdentifier>) throws -> [ValidationFailure] {
        try object.entity.relationships.compactMap { relationship in
            guard rule(relationship, of: object).refusesWhileDestinationsStay else { return nil }
            let remaining = try destinations(of: object, relationship).filter {
                !toDelete.contains(ObjectIdentifier($0))
            }
            if remaining.isEmpty { return nil }
            return ValidationFailure.deniedDelete(relationship, of: object.entity).about(object)
        }
    }

    private func rule(_ relationship: Relationship, of object: ContextObject) -> DeleteRule {
        object.isUnsaved ? relationship.deleteRule.ofUnsavedObject : relationship.deleteRule
    }
}

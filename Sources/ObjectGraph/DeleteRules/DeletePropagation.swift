/// Finds out what deleting objects does to others, in memory.
///
/// The deleted set is closed first, over relationships with the rule 'cascade', by a worklist over a visited set, so
/// cycles end and the order does not matter. 'deny' is asked after that: it is lifted for destinations that are
/// deleted too. 'nullify' then lets the survivors forget the deleted.
/// Source: NSManagedObject headers; observations of FreeCoreData's tests.
struct DeletePropagation {
    let registry: ObjectRegistry

    /// A survivor that has to forget a deleted object.
    struct LettingGo {
        let deleted: ContextObject
        /// The relationship from the deleted object to the survivor.
        let relationship: Relationship
        let destination: ContextObject
    }

    struct Plan {
        /// The objects to delete, the given ones first.
        var deleted: [ContextObject]
        var letGo: [LettingGo] = []
    }

    /// Returns what to do.
    ///
    /// - Throws: ``ValidationFailures`` with code 1600 where rules 'deny' refuse;
    ///   ``ObjectRegistry/TooManyDestinations`` where the deletion reaches too far for memory.
    func plan(_ roots: [ContextObject]) throws -> Plan {
        let deleted = try closure(of: roots)
        var failures = ValidationFailures()
        failures.add(try refusals(of: deleted))
        try failures.check()
        return Plan(deleted: deleted, letGo: try lettingGo(of: deleted))
    }

    /// Returns the objects that go with others by the rule 'cascade', the given ones first.
    ///
    /// - Parameter onCascade: called with each object that goes and each one that its rules take along.
    func closure(
        of roots: [ContextObject], onCascade: (ContextObject, ContextObject) -> Void = { _, _ in }
    ) throws -> [ContextObject] {
        var deleted = roots
        var doomed = Set(roots.map(ObjectIdentifier.init))
        var next = 0
        while next < deleted.count {
            let object = deleted[next]
            next += 1
            for relationship in object.entity.relationships where relationship.deleteRule == .cascade {
                for destination in try destinations(of: object, relationship) {
                    onCascade(object, destination)
                    if doomed.insert(ObjectIdentifier(destination)).inserted { deleted.append(destination) }
                }
            }
            if deleted.count > registry.setDeletionThreshold { throw ObjectRegistry.TooManyDestinations() }
        }
        return deleted
    }

    /// Returns what survivors have to forget of deleted objects.
    func lettingGo(of deleted: [ContextObject]) throws -> [LettingGo] {
        let doomed = Set(deleted.map(ObjectIdentifier.init))
        var letGo: [LettingGo] = []
        for object in deleted {
            for relationship in object.entity.relationships where letsGo(relationship) {
                for destination in try destinations(of: object, relationship)
                where !doomed.contains(ObjectIdentifier(destination)) {
                    letGo.append(LettingGo(deleted: object, relationship: relationship, destination: destination))
                }
            }
        }
        return letGo
    }

    /// Returns the deletions that a rule 'deny' refuses, once the whole deleted set is known.
    func refusals(of deleted: [ContextObject]) throws -> [ValidationFailure] {
        let doomed = Set(deleted.map(ObjectIdentifier.init))
        return try deleted.flatMap { try refusals(of: $0, doomed) }
    }

    private func destinations(of object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        try registry.destinations(of: object, relationship, limit: registry.setDeletionThreshold)
    }

    private func refusals(of object: ContextObject, _ doomed: Set<ObjectIdentifier>) throws -> [ValidationFailure] {
        try object.entity.relationships.compactMap { relationship in
            guard relationship.deleteRule == .deny else { return nil }
            let remaining = try destinations(of: object, relationship).filter {
                !doomed.contains(ObjectIdentifier($0))
            }
            if remaining.isEmpty { return nil }
            return ValidationFailure(
                reason: .deniedDelete, entity: object.entity.name, property: relationship.name,
                limit: "forbids the deletion while there are objects in it"
            ).about(object)
        }
    }

    /// Tells whether survivors forget the deleted object. A link in a join table belongs to both ends and goes with
    /// either; 'no action' leaves only references in columns as they are.
    private func letsGo(_ relationship: Relationship) -> Bool {
        switch relationship.deleteRule {
        case .nullify, .cascade: return true
        case .deny: return false
        case .noAction:
            if case .join = relationship.storage { return true }
            return false
        }
    }
}

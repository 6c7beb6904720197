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
    /// - Throws: ``ValidationFailure`` with code 1600 where a rule 'deny' refuses;
    ///   ``ObjectRegistry/TooManyDestinations`` where the deletion reaches too far for memory.
    func plan(_ roots: [ContextObject]) throws -> Plan {
        var plan = Plan(deleted: roots)
        var doomed = Set(roots.map(ObjectIdentifier.init))
        var next = 0
        while next < plan.deleted.count {
            let object = plan.deleted[next]
            next += 1
            for relationship in object.entity.relationships where relationship.deleteRule == .cascade {
                for destination in try destinations(of: object, relationship)
                where doomed.insert(ObjectIdentifier(destination)).inserted {
                    plan.deleted.append(destination)
                }
            }
            if plan.deleted.count > registry.setDeletionThreshold { throw ObjectRegistry.TooManyDestinations() }
        }
        for object in plan.deleted { try deny(object, doomed) }
        for object in plan.deleted {
            for relationship in object.entity.relationships where letsGo(relationship) {
                for destination in try destinations(of: object, relationship)
                where !doomed.contains(ObjectIdentifier(destination)) {
                    plan.letGo.append(LettingGo(deleted: object, relationship: relationship, destination: destination))
                }
            }
        }
        return plan
    }

    private func destinations(of object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        try registry.destinations(of: object, relationship, limit: registry.setDeletionThreshold)
    }

    private func deny(_ object: ContextObject, _ doomed: Set<ObjectIdentifier>) throws {
        for relationship in object.entity.relationships where relationship.deleteRule == .deny {
            let remaining = try destinations(of: object, relationship).filter {
                !doomed.contains(ObjectIdentifier($0))
            }
            if remaining.isEmpty { continue }
            throw ValidationFailure(
                reason: .deniedDelete, entity: object.entity.name, property: relationship.name,
                limit: "forbids the deletion while there are objects in it")
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

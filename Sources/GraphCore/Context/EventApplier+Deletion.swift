// Deletions and their effects by the delete rules.
extension EventApplier {
    /// Signals that a deletion reaches more objects than memory should hold.
    struct LargeDeletion: Error {
        struct Root {
            let entity: Int
            let pk: Int64

            init(_ object: ContextObject) {
                entity = object.entity.index
                pk = object.pk
            }
        }

        let roots: [Root]
        /// The version that the event states, or null.
        let version: Value
        let time: Int64?
    }

    func delete(_ operation: OperationPointer, _ known: ContextObject?) throws {
        let operation = operation.pointee
        if let known, known.isAlive {
            try checkKind(of: known, registry.model.entities[operation.entity])
            try delete([known], at: operation.time, version: operation.version.value)
            return
        }
        // A deletion of something unknown is remembered: its late events change nothing.
        _ = bury(
            operation.identity.value, of: operation.entity, version: operation.version.value, time: operation.time)
    }

    /// Gives an identity its tombstone; what an earlier deletion has stated stays.
    private func bury(_ identity: Value, of entity: Int, version: Value, time: Int64?) -> Tombstone {
        let former = registry.byIdentity[registry.roots[entity]].tombstone(of: identity)?.current
        let tombstone = Tombstone(version: version, time: time).following(former)
        setTombstone(tombstone, entity: entity, identity: identity)
        return tombstone
    }

    /// Deletes objects, and applies the delete rules to others.
    package func delete(_ roots: [ContextObject], at time: Int64?, version: Value = .null) throws {
        let plan: DeletePropagation.Plan
        do {
            plan = try DeletePropagation(registry: registry).plan(roots)
        } catch let denied as ValidationFailures {
            failures.add(denied)
            throw failures
        } catch is ObjectRegistry.TooManyDestinations {
            throw LargeDeletion(roots: roots.map { LargeDeletion.Root($0) }, version: version, time: time)
        }
        try carryOut(plan, rootCount: roots.count, at: time, version: version)
    }

    /// Lets survivors forget the objects of a plan and buries these.
    package func carryOut(
        _ plan: DeletePropagation.Plan, rootCount: Int, at time: Int64?, version: Value = .null
    ) throws {
        for effect in plan.nullified { try unlinkOrClear(effect) }
        // A placeholder may have the tombstone of its predecessor. Other objects have none.
        try registry.loadTombstones(of: plan.deleted.filter(\.state.isPlaceholder))
        for (index, object) in plan.deleted.enumerated() {
            let isRoot = index < rootCount
            let own = isRoot && !version.isNull ? version : tombstoneVersion(object, at: time)
            willChange(object)
            object.state.deletion = bury(object.identity, of: object.entity.index, version: own, time: time)
        }
    }

    private func unlinkOrClear(_ effect: DeletePropagation.Nullification) throws {
        if effect.relationship.isToMany {
            try unlink(effect.deleted, effect.relationship, effect.destination)
        } else if let inverse = inverse(of: effect.relationship) {
            // A to-one end: the other side forgets the deleted object.
            if inverse.isToMany {
                if inverse.minimumCount > 0 { countChecks.append((effect.destination, inverse)) }
            } else {
                try setDestination(nil, inverse, of: effect.destination)
            }
        }
    }

    /// The later of the object's own version and the time of the deletion, where they can be compared.
    private func tombstoneVersion(_ object: ContextObject, at time: Int64?) -> Value {
        guard let slot = object.entity.versionSlot, object.entity.attributes[slot].type == .date, let time else {
            return object.version
        }
        let deleted = Value.integer(time)
        return object.version.isOlder(than: deleted) ?? true ? deleted : object.version
    }
}

// Events whose values collide with those of other objects, where the model says who wins.
extension EventApplier {
    /// Returns the operation as the entity's merge policy lets it through, or nil where it changes nothing.
    ///
    /// Whether the event's own object is known decides, not whether it is stored: so chunks make no difference.
    ///
    /// - Throws: ``ValidationFailures`` where the deletion of a displaced object is refused. Collisions that the policy
    ///   does not resolve are left to the validation.
    func meetUniqueValues(_ operation: Operation, _ entity: Entity) throws -> Operation? {
        guard let policy = entity.mergePolicy.flatMap({ MergePolicy(named: $0) }) else { return operation }
        if case .error = policy { return operation }
        var operation = operation
        // Each collision is resolved at most once: an object that was displaced or merged into collides no more.
        let known = registry.known(entity.index, operation.identity)
        let own = known.flatMap { $0.isAlive && $0.entity.isKind(of: entity) ? $0.entity : nil } ?? entity
        for constraint in own.uniquenessConstraints {
            guard let holder = try holder(operation, entity, constraint),
                let resolved = try resolve(operation, entity, constraint.slots, holder, policy)
            else { continue }
            guard let passed = resolved.operation else { return nil }
            operation = passed
        }
        return operation
    }

    /// Returns who has the values already that an operation's object will have, where the operation names one of them.
    private func holder(
        _ operation: Operation, _ entity: Entity, _ constraint: UniquenessConstraint
    ) throws -> ContextObject? {
        let names =
            operation.attributes.map(\.slot)
            + operation.relationships.compactMap { entity.relationships[$0.relationship].slot }
        guard constraint.slots.contains(where: names.contains) else { return nil }
        let known = registry.known(entity.index, operation.identity)
        var values = known.flatMap { $0.isAlive ? $0.state.values : nil } ?? entity.defaults
        values[entity.identitySlot] = operation.identity
        for attribute in operation.attributes { values[attribute.slot] = attribute.value }
        for change in operation.relationships {
            let relationship = entity.relationships[change.relationship]
            guard let slot = relationship.slot, case .one(let identity) = change.change else { continue }
            // What is not known yet gets a new key, which nobody holds.
            let destination = registry.known(relationship.destinationIndex, identity)
            values[slot] = destination.map { .integer($0.pk) } ?? .null
        }
        guard let key = registry.uniqueKey(values, constraint) else { return nil }
        try registry.loadHolders([key])
        return registry.byUnique[key]?.first {
            $0.isAlive && $0.identity != operation.identity && registry.uniqueKey($0.state.values, constraint) == key
        }
    }

    /// What a policy makes of an operation: another one, or nothing.
    private struct Resolution {
        let operation: Operation?
    }

    private func resolve(
        _ operation: Operation, _ entity: Entity, _ slots: [Int], _ holder: ContextObject, _ policy: MergePolicy
    ) throws -> Resolution? {
        let isKnown = registry.known(entity.index, operation.identity)?.isAlive == true
        let canBeOne = holder.entity.isKind(of: entity) || entity.isKind(of: holder.entity)
        let writer = EventConflict(operation: operation, entity: entity, holder: holder, policy: policy)
        switch writer.effectivePolicy {
        case .overwrite:
            try delete([holder], at: operation.time)
            note(writer, nil, .context)
            return nil
        case .rollback:
            for difference in try writer.differences(in: registry) { note(writer, difference, .store) }
            return Resolution(operation: nil)
        case .storeTrump where isKnown:
            var rest = operation
            rest.attributes.removeAll { slots.contains($0.slot) }
            rest.relationships.removeAll { change in
                entity.relationships[change.relationship].slot.map(slots.contains) ?? false
            }
            for attribute in operation.attributes where slots.contains(attribute.slot) {
                let stored = holder.state.values[attribute.slot]
                note(
                    writer, EventConflict.Difference(slot: attribute.slot, local: attribute.value, stored: stored),
                    .store)
            }
            return Resolution(operation: rest)
        // Objects of entities beside each other cannot become one.
        case .storeTrump where canBeOne:
            return try merge(writer.filled(), writer)
        case .objectTrump where !isKnown && canBeOne: return try merge(writer.winning(), writer)
        // Two objects that are both there cannot become one.
        default: return nil
        }
    }

    /// Lets an operation on the holder stand for the event's, and notes what it takes and what it leaves.
    private func merge(_ merged: Operation, _ conflict: EventConflict) throws -> Resolution {
        let relationships = conflict.entity.relationships
        let kept = Set(merged.attributes.map(\.slot)).union(
            merged.relationships.compactMap { relationships[$0.relationship].slot })
        for difference in try conflict.differences(in: registry) {
            note(conflict, difference, kept.contains(difference.slot) ? .context : .store)
        }
        return Resolution(operation: merged)
    }

    private func note(
        _ conflict: EventConflict, _ difference: EventConflict.Difference?, _ winner: MergeDecision.Winner
    ) {
        let entity = conflict.entity
        let model = registry.model
        notes.append(
            ConflictNote(
                kind: .uniqueness, entity: entity.name, identity: conflict.holder.identity,
                property: difference.map { entity.columnNames[$0.slot] },
                local: difference.map { entity.json($0.local, slot: $0.slot, in: model) },
                stored: difference.map { entity.json($0.stored, slot: $0.slot, in: model) },
                policy: conflict.policy.name, decision: winner))
    }
}

/// An event's object that claims a unique value, and the one that has it.
private struct EventConflict {
    let operation: Operation
    let entity: Entity
    let holder: ContextObject
    let policy: MergePolicy

    /// The policy, with the last writer decided by the versions.
    var effectivePolicy: MergePolicy {
        guard case .lastWriterWins = policy else { return policy }
        let isLater = !operation.version.isNull && holder.version.isOlder(than: operation.version) != false
        return isLater ? .objectTrump : .storeTrump
    }

    /// A property to which the event gives another value than the holder's; of a to-one relationship, the identities.
    struct Difference {
        let slot: Int
        let local: Value
        let stored: Value
    }

    func differences(in registry: ObjectRegistry) throws(StoreError) -> [Difference] {
        var differences: [Difference] = []
        for attribute in operation.attributes
        where attribute.slot != entity.identitySlot && !entity.attributes[attribute.slot].isDerived {
            let stored = holder.state.values[attribute.slot]
            // The last value that the event gives is the one.
            differences.removeAll { $0.slot == attribute.slot }
            if attribute.value == stored { continue }
            differences.append(Difference(slot: attribute.slot, local: attribute.value, stored: stored))
        }
        for change in operation.relationships {
            let relationship = entity.relationships[change.relationship]
            guard let slot = relationship.slot, case .one(let identity) = change.change else { continue }
            var stored = Value.null
            if case .integer(let pk) = holder.state.values[slot] {
                stored = try registry.object(entity: relationship.destinationIndex, pk: pk)?.identity ?? .null
            }
            if identity != stored { differences.append(Difference(slot: slot, local: identity, stored: stored)) }
        }
        return differences
    }

    /// The operation on the holder, which takes all of it; a version does not go back.
    func winning() -> Operation {
        var merged = operation
        merged.identity = holder.identity
        guard let slot = entity.versionSlot, operation.version.isOlder(than: holder.version) == true else {
            return merged
        }
        merged.version = .null
        merged.attributes.removeAll { $0.slot == slot }
        return merged
    }

    /// The operation on the holder, with what the holder lacks; what it has in sets and lists stays there.
    func filled() -> Operation {
        var merged = operation
        merged.identity = holder.identity
        merged.version = .null
        merged.attributes.removeAll { !holder.state.values[$0.slot].isNull }
        merged.relationships = operation.relationships.compactMap { change in
            var change = change
            switch change.change {
            case .one:
                guard let slot = entity.relationships[change.relationship].slot, holder.state.values[slot].isNull else {
                    return nil
                }
            case .replace(let identities): change.change = .edit(add: identities, remove: [])
            case .edit(let add, _): change.change = .edit(add: add, remove: [])
            }
            return change
        }
        return merged
    }
}

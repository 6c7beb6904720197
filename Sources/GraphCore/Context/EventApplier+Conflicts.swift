// Events whose values collide with other objects' values, where the model says which object wins.
extension EventApplier {
    /// The effect of a merge policy on an operation.
    enum Passage {
        case unchanged
        case changed(ObjectOperation)
        case refused
    }

    /// Lets the entity's merge policy change or refuse an operation whose unique values other objects hold.
    ///
    /// Whether the event's own object is known decides, not whether it is stored: so chunks make no difference.
    ///
    /// - Throws: ``ValidationFailures`` where the deletion of a displaced object is refused. Collisions that the policy
    ///   does not resolve are left to the validation.
    func meetUniqueValues(
        _ packed: PackedOperation, _ entity: Entity, _ policy: MergePolicy
    ) throws -> Passage {
        if case .error = policy { return .unchanged }
        var operation = packed.value
        var isChanged = false
        // Each collision is resolved at most once: an object that was displaced or merged into collides no more.
        let known = registry.known(entity.index, operation.identity)
        let own = known.flatMap { $0.isAlive && $0.entity.isKind(of: entity) ? $0.entity : nil } ?? entity
        for constraint in own.uniquenessConstraints {
            guard let holder = try holder(operation, entity, constraint),
                let resolved = try resolve(operation, entity, constraint.slots, holder, policy)
            else { continue }
            guard let passed = resolved.operation else { return .refused }
            (operation, isChanged) = (passed, true)
        }
        return isChanged ? .changed(operation) : .unchanged
    }

    /// Returns who has the values already that an operation's object will have, where the operation names one of them.
    private func holder(
        _ operation: ObjectOperation, _ entity: Entity, _ constraint: UniquenessConstraint
    ) throws -> ContextObject? {
        let names =
            operation.attributes.map(\.slot)
            + operation.relationships.compactMap { entity.relationships[$0.relationship].slot }
        guard constraint.slots.contains(where: names.contains) else { return nil }
        var values = valuesToBe(operation, entity)
        values[entity.identitySlot] = operation.identity
        for attribute in operation.attributes { values[attribute.slot] = attribute.value }
        for change in operation.relationships {
            let relationship = entity.relationships[change.relationship]
            guard let slot = relationship.slot, case .one(let identity) = change.change else { continue }
            // Nobody holds a destination that is not known yet, or that was deleted: it would come under a new key. The
            // former key of a deleted one may still dangle in other objects.
            let destination = registry.known(relationship.destinationIndex, identity).flatMap { $0.isAlive ? $0 : nil }
            values[slot] = destination.map { .integer($0.pk) } ?? .null
        }
        guard let key = registry.uniqueKey(values, constraint) else { return nil }
        try registry.loadHolders([key])
        return registry.holder(of: key, constraint) { $0.identity != operation.identity }
    }

    /// Returns the values of an operation's object before the operation: the store's values, and defaults. Defaults
    /// fill an object that is new, that arrives, or that becomes one of an entity further down.
    private func valuesToBe(_ operation: ObjectOperation, _ entity: Entity) -> [Value] {
        guard let known = registry.known(entity.index, operation.identity), known.isAlive else {
            return entity.defaults
        }
        var values = known.state.values.array
        let own = known.entity.isKind(of: entity) ? known.entity : entity
        if !known.state.isPlaceholder, own === known.entity { return values }
        for (slot, value) in own.defaults.enumerated() where values[slot].isNull {
            if known.state.isPlaceholder || !known.entity.attributes.hasAttribute(at: slot) { values[slot] = value }
        }
        return values
    }

    /// The operation that a policy lets through, or none.
    private struct Resolution {
        let operation: ObjectOperation?
    }

    private func resolve(
        _ operation: ObjectOperation, _ entity: Entity, _ slots: [Int], _ holder: ContextObject, _ policy: MergePolicy
    ) throws -> Resolution? {
        let isKnown = registry.known(entity.index, operation.identity)?.isAlive == true
        let canBeOne = holder.entity.isKind(of: entity) || entity.isKind(of: holder.entity)
        let writer = EventConflict(operation: operation, entity: entity, holder: holder, policy: policy)
        switch writer.effectivePolicy {
        case .overwrite:
            // Read before it is deleted.
            let stored = holder.entity.json(try writer.held(in: registry), in: registry.model)
            try delete([holder], at: operation.time)
            note(writer, property: nil, .context, entity.json(writer.given, in: registry.model), stored)
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

    /// Lets an operation on the holder stand for the event's, and notes which values it takes and which it leaves.
    private func merge(_ merged: ObjectOperation, _ conflict: EventConflict) throws -> Resolution {
        // The look-up of unique values has read no tombstone, and an object that has arrived has none.
        if conflict.holder.state.isPlaceholder { try registry.loadTombstones(of: [conflict.holder]) }
        let relationships = conflict.entity.relationships
        let kept = Set(merged.attributes.map(\.slot)).union(
            merged.relationships.compactMap { relationships[$0.relationship].slot })
        for difference in try conflict.differences(in: registry) {
            note(conflict, difference, kept.contains(difference.slot) ? .context : .store)
        }
        return Resolution(operation: merged)
    }

    private func note(
        _ conflict: EventConflict, _ difference: EventConflict.Difference, _ winner: MergeDecision.Winner
    ) {
        let (entity, model) = (conflict.entity, registry.model)
        note(
            conflict, property: entity.slotNames[difference.slot], winner,
            entity.json(difference.local, slot: difference.slot, in: model),
            entity.json(difference.stored, slot: difference.slot, in: model))
    }

    private func note(
        _ conflict: EventConflict, property: String?, _ winner: MergeDecision.Winner, _ local: String, _ stored: String
    ) {
        notes.append(
            ConflictNote(
                kind: .uniqueness, entity: conflict.entity.name, identity: conflict.holder.identity,
                property: property, local: local, stored: stored, policy: conflict.policy.name, decision: winner))
    }
}

/// An event's object that claims a unique value, and the one that has it.
private struct EventConflict {
    let operation: ObjectOperation
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

    /// The event's values of attributes and to-one relationships, by slot; of several values of one, the last.
    var given: [(slot: Int, value: Value)] {
        var values: [Int: Value] = [:]
        for attribute in operation.attributes { values[attribute.slot] = attribute.value }
        for change in operation.relationships {
            if let slot = entity.relationships[change.relationship].slot, case .one(let identity) = change.change {
                values[slot] = identity
            }
        }
        return values.map { ($0.key, $0.value) }
    }

    /// The holder's values, by slot; of a to-one relationship, the destination's identity.
    func held(in registry: ObjectRegistry) throws(StoreError) -> [(slot: Int, value: Value)] {
        var values: [(slot: Int, value: Value)] = []
        for slot in holder.entity.editableSlots {
            let value = try registry.shown(holder.state.values[slot], slot, holder.entity)
            if !value.isNull { values.append((slot, value)) }
        }
        return values
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
            let stored = try registry.shown(holder.state.values[slot], slot, holder.entity)
            if identity != stored { differences.append(Difference(slot: slot, local: identity, stored: stored)) }
        }
        return differences
    }

    /// The operation on the holder, which takes all of it; a version does not go back.
    func winning() -> ObjectOperation {
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
    func filled() -> ObjectOperation {
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

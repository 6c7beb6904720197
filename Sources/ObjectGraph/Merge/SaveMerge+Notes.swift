import GraphCore

// Conflicts in words: for policies, for errors, for the store's notes.
extension SaveMerge {
    func conflict(
        _ kind: MergeConflict.Kind, _ edit: EditSet.Edit, _ decision: MergeDecision
    ) throws -> MergeConflict {
        let (here, there) = (Set(decision.changedHere), Set(decision.changedThere))
        let properties = try here.union(there).sorted().map { slot in
            MergeConflict.Property(
                name: edit.object.entity.slotNames[slot],
                snapshot: try shown(decision.snapshot[slot], slot, edit.object.entity, inContext: true),
                local: try shown(decision.local[slot], slot, edit.object.entity, inContext: true),
                stored: kind == .deletedInStore
                    ? .null : try shown(decision.stored[slot], slot, edit.object.entity, inContext: false),
                isChangedInContext: here.contains(slot), isChangedInStore: there.contains(slot))
        }
        return MergeConflict(
            kind: kind, objectID: ManagedObjectID(edit.object), identity: edit.object.identity, properties: properties,
            constraint: [])
    }

    func conflict(_ edit: EditSet.Edit, _ collision: Collision) throws -> MergeConflict {
        let entity = edit.object.entity
        let differing = edit.slots.filter { edit.object.state.values[$0] != collision.holder.state.values[$0] }
        let properties = try differing.map { slot in
            MergeConflict.Property(
                name: entity.slotNames[slot], snapshot: .null,
                local: try shown(edit.object.state.values[slot], slot, entity, inContext: true),
                stored: try shown(collision.holder.state.values[slot], slot, entity, inContext: false),
                isChangedInContext: true, isChangedInStore: false)
        }
        return MergeConflict(
            kind: .uniqueness, objectID: ManagedObjectID(edit.object), identity: edit.object.identity,
            properties: properties, constraint: collision.slots.map { entity.slotNames[$0] })
    }

    /// Returns a value as people know it: of a to-one relationship the destination's identity.
    private func shown(_ value: Value, _ slot: Int, _ entity: Entity, inContext: Bool) throws -> Value {
        if inContext, let relationship = entity.relationship(at: slot), case .integer(let pk) = value,
            let known = edits.registry.known(relationship.destinationIndex, pk: pk)
        {
            return known.identity
        }
        return try registry.shown(value, slot, entity)
    }

    /// Returns values that a program gave by name, in stored form.
    func slots(_ values: [String: Value], _ entity: Entity) throws -> [Int: Value] {
        var slots: [Int: Value] = [:]
        for (name, value) in values {
            if let attribute = entity.attribute(named: name), !attribute.isDerived,
                attribute.slot != entity.identitySlot
            {
                guard let stored = attribute.type.value(given: value) else {
                    throw EditingError(.type, "\(entity.name).\(name) has to be \(attribute.type.expectation)")
                }
                slots[attribute.slot] = stored
            } else if let relationship = entity.relationship(named: name), let slot = relationship.slot {
                slots[slot] = try key(of: value, relationship, entity)
            } else {
                throw EditingError.unknownProperty(name, "attribute or to-one relationship that can be set", entity)
            }
        }
        return slots
    }

    /// Returns the key of the object that a to-one relationship is to lead to, by its identity; null leads nowhere.
    private func key(of identity: Value, _ relationship: Relationship, _ entity: Entity) throws -> Value {
        if identity.isNull { return .null }
        let destination = model.entities[relationship.destinationIndex]
        if let identity = destination.identity.type.value(given: identity) {
            try registry.reader.row(of: destination.index, identity: identity) {
                registry.register($0)
            }
            if let found = registry.known(destination.index, identity), found.isAlive,
                found.entity.isKind(of: destination)
            {
                return .integer(found.pk)
            }
        }
        throw EditingError(
            .type,
            "\(entity.name).\(relationship.name) was given by the merge policy and leads to no \(destination.name); give the "
                + "identity of one that is in the store, or null")
    }

    // MARK: Notes for review

    func note(
        _ kind: MergeConflict.Kind, _ edit: EditSet.Edit, _ row: ContextObject, _ slot: Int,
        _ winner: MergeDecision.Winner
    ) throws {
        let entity = edit.object.entity
        notes.append(
            ConflictNote(
                kind: kind, entity: entity.name, identity: row.identity, property: entity.slotNames[slot],
                local: json(try shown(edit.object.state.values[slot], slot, entity, inContext: true), slot, entity),
                stored: json(try shown(row.original[slot], slot, entity, inContext: false), slot, entity),
                policy: edits.policy(of: edit).name, decision: winner))
    }

    /// Notes the outcome for an object that the context changed and another writer deleted.
    func noteDeletedInStore(_ edit: EditSet.Edit, _ winner: MergeDecision.Winner) throws {
        let local = try json(edit.object.state.values, edit.slots, edit.object.entity, inContext: true)
        note(.deletedInStore, edit, winner, of: edit.object.identity, local: local, stored: nil)
    }

    /// Notes the outcome for an object that the context deleted and another writer changed.
    func noteDeletedInContext(
        _ edit: EditSet.Edit, _ row: ContextObject, _ winner: MergeDecision.Winner
    ) throws {
        let changed = row.entity.editableSlots.filter { edit.object.original[$0] != row.original[$0] }
        let stored = try json(row.original, changed, row.entity, inContext: false)
        note(.deletedInContext, edit, winner, of: edit.object.identity, local: nil, stored: stored)
    }

    /// Notes an object that was deleted because the context's claims its unique values.
    func noteDisplaced(_ holder: ContextObject, by edit: EditSet.Edit) throws {
        let lost = holder.entity.editableSlots.filter { !holder.state.values[$0].isNull }
        note(
            .uniqueness, edit, .context, of: holder.identity,
            local: try json(edit.object.state.values, edit.slots, edit.object.entity, inContext: true),
            stored: try json(holder.state.values, lost, holder.entity, inContext: false))
    }

    private func note(
        _ kind: MergeConflict.Kind, _ edit: EditSet.Edit, _ winner: MergeDecision.Winner, of identity: Value,
        local: String?, stored: String?
    ) {
        notes.append(
            ConflictNote(
                kind: kind, entity: edit.object.entity.name, identity: identity, property: nil, local: local,
                stored: stored, policy: edits.policy(of: edit).name, decision: winner))
    }

    private func json(
        _ values: SlotValues, _ slots: [Int], _ entity: Entity, inContext: Bool
    ) throws -> String {
        entity.json(
            try slots.map { ($0, try shown(values[$0], $0, entity, inContext: inContext)) }, in: model)
    }

    private func json(_ value: Value, _ slot: Int, _ entity: Entity) -> String {
        entity.json(value, slot: slot, in: model)
    }
}

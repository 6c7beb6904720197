import GraphCore

// Deletions: their conflicts with changes of others, and their effects in the store by the delete rules.
extension SaveMerge {
    // MARK: Objects that others deleted

    /// Resolves an object that the context changed and another writer deleted.
    ///
    /// - Parameter placeholder: the row that a later reference to the identity made, if there is one.
    func meetLoss(
        _ edit: EditSet.Edit, placeholder: ContextObject?, _ refused: inout [MergeConflict]
    ) throws {
        let decision = MergeDecision(
            entity: edit.object.entity, snapshot: edit.object.original.array, local: edit.object.state.values.array,
            stored: edit.object.original.array, changedHere: edit.slots)
        var policy = edits.policy(of: edit)
        var given: [Int: Value] = [:]
        if case .custom(let closure) = policy {
            switch try closure(try conflict(.deletedInStore, edit, decision)) {
            case .policy(let chosen): policy = chosen
            case .values(let values):
                given = try slots(values, edit.object.entity)
                policy = .overwrite
            }
        }
        switch policy {
        case .error, .custom: refused.append(try conflict(.deletedInStore, edit, decision))
        case .storeTrump, .rollback: try noteDeletedInStore(edit, .store)
        case .objectTrump, .overwrite: try insertAgain(edit, given, placeholder)
        case .lastWriterWins(let attribute):
            let slot = try MergeDecision.decidingSlot(attribute, edit.object.entity)
            let tombstone = registry.byIdentity[edit.object.entity.rootIndex].tombstone(of: edit.object.identity)?
                .current
            let isLater = MergeDecision.isLater(
                edit.object.state.values[slot], than: tombstone?.version ?? .null,
                edit.object.entity.attributes[slot].type)
            if isLater, tombstone?.version.isNull == false {
                try insertAgain(edit, given, placeholder)
            } else {
                try noteDeletedInStore(edit, .store)
            }
        }
    }

    /// Makes an object again that another writer deleted, as the context has it. It keeps its key, unless the rule 'no
    /// action' left references to it that dangle: these must not come alive again. A placeholder of its identity becomes
    /// the object, and keeps the links of its inverses where the context has none.
    private func insertAgain(
        _ edit: EditSet.Edit, _ given: [Int: Value], _ placeholder: ContextObject?
    ) throws {
        let object = edit.object
        let made = try placeholder ?? newRow(of: object)
        try applier.narrow(made, to: object.entity)
        targets[ObjectKey(object)] = made
        var values = Dictionary(uniqueKeysWithValues: object.entity.editableSlots.map { ($0, object.state.values[$0]) })
        for slot in object.entity.linkColumns.map(\.slot)
        where object.state.values[slot].isNull && !edit.slots.contains(slot) {
            values[slot] = nil
        }
        for (slot, value) in given { values[slot] = value }
        updates.append(Update(edit, made, values))
        try noteDeletedInStore(edit, .context)
    }

    private func newRow(of object: ContextObject) throws -> ContextObject {
        // The memory has sums of the former object, which do not hold for the new one.
        registry.aggregateMemory?.removeAll()
        let made =
            try isLedToByDanglingReferences(object)
            ? registry.makeObject(entity: object.entity, identity: object.identity)
            : registry.makeObject(entity: object.entity, identity: object.identity, pk: object.pk)
        applier.noteCreated(made)
        return made
    }

    private func isLedToByDanglingReferences(_ object: ContextObject) throws(StoreError) -> Bool {
        for relationship in object.entity.relationships where relationship.deleteRule.leavesDanglingReferences {
            guard case .column(let slot)? = model.inverse(of: relationship)?.storage else { continue }
            var isFound = false
            try registry.reader.rows(
                of: relationship.destinationIndex, .values([.integer(object.pk)], slot: slot), limit: 1
            ) { _ in isFound = true }
            if isFound { return true }
        }
        return false
    }

    // MARK: Objects that the context deletes

    /// A merge policy's decision about an object that the context deleted.
    private struct Verdict {
        let edit: EditSet.Edit
        let row: ContextObject
        /// The winning side; nil where nobody else changed the object.
        var winner: MergeDecision.Winner?
        /// The values that a program gives the object that stays.
        var values: [Int: Value]?

        var stays: Bool { winner == .store || winner == .custom }
    }

    /// Asks the policies about the changes of other writers, and chooses the objects to delete.
    ///
    /// A cascaded object is deleted as long as an object that cascades to it is deleted, whatever its own policy says. It
    /// survives if all of these survive.
    func meetDeletions(_ refused: inout [MergeConflict]) throws {
        var verdicts: [Verdict] = []
        for edit in edits.deleted {
            // An object that another context has deleted too is no conflict.
            guard let row = registry.known(edit.object.entity.index, pk: edit.object.pk), row.isAlive else { continue }
            if let verdict = try verdict(edit, row, &refused) { verdicts.append(verdict) }
        }
        let staying = Set(verdicts.filter(\.stays).map { ObjectKey($0.edit.object) })
        let going = edits.origins.going(edits.deleted.map { ObjectKey($0.object) }, staying: staying)
        for verdict in verdicts {
            let goes = going.contains(ObjectKey(verdict.edit.object))
            if goes { willDelete(verdict.row) }
            guard let winner = verdict.winner else { continue }
            if !goes, let values = verdict.values { updates.append(Update(verdict.edit, verdict.row, values)) }
            try noteDeletedInContext(verdict.edit, verdict.row, goes ? .context : winner == .custom ? .custom : .store)
        }
    }

    private func verdict(
        _ edit: EditSet.Edit, _ row: ContextObject, _ refused: inout [MergeConflict]
    ) throws -> Verdict? {
        var verdict = Verdict(edit: edit, row: row)
        let decision = MergeDecision(
            entity: edit.object.entity, snapshot: edit.object.original.array, local: edit.object.state.values.array,
            stored: row.original.array, changedHere: [])
        if decision.changedThere.isEmpty { return verdict }
        var policy = edits.policy(of: edit)
        if case .custom(let closure) = policy {
            switch try closure(try conflict(.deletedInContext, edit, decision)) {
            case .policy(let chosen): policy = chosen
            case .values(let values):
                verdict.winner = .custom
                verdict.values = try slots(values, edit.object.entity)
                return verdict
            }
        }
        switch policy {
        case .error, .custom:
            refused.append(try conflict(.deletedInContext, edit, decision))
            return nil
        case .storeTrump, .rollback: verdict.winner = .store
        case .objectTrump, .overwrite: verdict.winner = .context
        case .lastWriterWins(let attribute):
            let slot = try MergeDecision.decidingSlot(attribute, edit.object.entity)
            let isLater = MergeDecision.isLater(
                edit.object.state.values[slot], than: row.original[slot], edit.object.entity.attributes[slot].type)
            verdict.winner = isLater ? .context : .store
        }
        return verdict
    }

    func deleteObjects() throws {
        let propagation = DeletePropagation(registry: registry)
        deleted = try propagation.closure(of: toDelete.filter(\.isAlive))
        let plan = DeletePropagation.Plan(deleted: deleted, nullified: try propagation.nullifications(of: deleted))
        try applier.carryOut(plan, rootCount: deleted.count, at: time)
        if deleted.isEmpty, !registry.byIdentity.contains(where: \.hasTombstones) { return }
        // An object made here lives, whatever had its identity before.
        for object in targets.values where object.isAlive && !object.state.isPlaceholder {
            registry.byIdentity[object.entity.rootIndex][object.identity] = object
            if registry.byIdentity[object.entity.rootIndex].tombstone(of: object.identity)?.current != nil {
                applier.setTombstone(nil, entity: object.entity.index, identity: object.identity)
            }
        }
    }
}

import GraphCore

// Edits of editing contexts: they can be undone and done again, and report all failures at once.
extension EventApplier {
    /// Carries out an edit and returns what undoes it; an edit that fails leaves no trace.
    package func edit(_ body: () throws -> Void) throws -> [JournalEntry] {
        begin()
        do {
            try body()
        } catch {
            undo()
            throw error
        }
        // A new object that is undone is void but stays known: it may be made again.
        return journal.map { entry in
            guard case .created(let object, _) = entry else { return entry }
            var state = object.snapshot()
            state.isVoid = true
            return .state(object, state)
        }
    }

    /// Undoes edits and returns what does them again.
    static func revert(_ entries: [JournalEntry], in registry: ObjectRegistry) -> [JournalEntry] {
        var inverse: [JournalEntry] = []
        for entry in entries.reversed() {
            switch entry {
            case .state(let object, let state):
                inverse.append(.state(object, object.snapshot()))
                object.restore(state)
            case .created: break
            case .pair(let table, let pair, let state):
                let current =
                    registry.pairs[table].state(pair) ?? JoinTableRegistry.State(original: false, current: false)
                inverse.append(.pair(table: table, pair, current))
                registry.pairs[table].set(pair, state.current)
                registry.pairs[table].setPlaces(pair, state.places)
            case .entity(let object, let entity):
                inverse.append(.entity(object, object.entity))
                object.entity = entity
            case .tombstone(let entity, let identity, let entry):
                let identities = registry.byIdentity[entity]
                inverse.append(
                    .tombstone(entity: entity, identity: identity, identities.tombstone(of: identity)))
                identities.setTombstone(entry, of: identity)
            }
        }
        return inverse
    }

    /// Returns every rule that objects break: their values, their counts, the deletions that 'deny' refuses.
    ///
    /// - Parameter checksUniqueness: whether the registry knows all that could claim the objects' unique values.
    package func failures(
        of objects: [ContextObject], counts: [(object: ContextObject, relationship: Relationship)],
        deleted: [ContextObject], checksUniqueness: Bool
    ) throws -> [ValidationFailure] {
        var failures: [ValidationFailure] = []
        for object in objects where object.isAlive && !object.state.isPlaceholder {
            let entity = object.entity
            func report(_ failure: ValidationFailure) { failures.append(failure.about(object)) }
            let values = object.state.values
            for limits in entity.limits {
                let value = values[limits.slot]
                if !object.isNew, object.original[limits.slot] == value { continue }
                limits.check(value, of: entity, report: report)
            }
            if !object.state.transients.isEmpty {
                for (slot, value) in object.state.transients.sorted(by: { $0.key < $1.key }) {
                    entity.transientAttributes[slot].check(value, entity: entity.name, report: report)
                }
            }
            for slot in entity.requiredSlots where registry.readsNull(object, slot) {
                report(.missing(entity.slotNames[slot], of: entity))
            }
            if !checksUniqueness || entity.uniquenessConstraints.isEmpty { continue }
            for failure in try uniquenessFailures(of: object) { report(failure) }
        }
        var seen: Set<CountCheck> = []
        for check in counts where check.object.isAlive && !check.object.state.isPlaceholder {
            let key = CountCheck(object: ObjectKey(check.object), relationship: check.relationship.index)
            guard seen.insert(key).inserted else { continue }
            if let failure = try countFailure(of: check.object, check.relationship) {
                failures.append(failure.about(check.object))
            }
        }
        return failures + (try DeletePropagation(registry: registry).refusals(of: deleted))
    }

    private struct CountCheck: Hashable {
        let object: ObjectKey
        let relationship: Int
    }
}

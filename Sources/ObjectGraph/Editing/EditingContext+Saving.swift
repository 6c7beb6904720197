import GraphCore

// From changes in memory to a save.
extension EditingContext {
    // MARK: What has changed

    /// The objects that the next save inserts, in the order in which they were made.
    public var insertedObjects: [ManagedObject] { changedRows { $0.isNew && $0.isAlive }.map(handle) }
    /// The objects that the next save changes.
    public var updatedObjects: [ManagedObject] { updatedRows().map(handle) }
    /// The objects that the next save deletes. Objects that a delete rule reaches are among them after
    /// ``processPendingChanges()``.
    public var deletedObjects: [ManagedObject] { deletedRows().map(handle) }

    /// Tells whether there is anything to save.
    public var hasChanges: Bool {
        !pending.deletions.isEmpty
            || registry.listed.contains { $0.isNew && $0.isAlive || !$0.isNew && !$0.isAlive || isChanged($0) }
            || registry.pairs.contains { !$0.changes.isEmpty } || !reorderedKeys().isEmpty
    }

    private func changedRows(_ isIncluded: (ContextObject) -> Bool) -> [ContextObject] {
        registry.listed.filter {
            // An object that was read again stands in the list as it was before, too.
            isIncluded($0) && ($0.isNew || registry.known($0.entity.index, pk: $0.pk) === $0)
        }
    }

    private func updatedRows() -> [ContextObject] {
        let linked = linkedKeys()
        return changedRows { !$0.isNew && $0.isAlive && (hasChangedValues($0) || linked.contains(ObjectKey($0))) }
    }

    private func deletedRows() -> [ContextObject] {
        let toDelete = pending.deletions.compactMap { registry.known($0.entity, pk: $0.pk) }.filter {
            !$0.isNew && $0.isAlive
        }
        return changedRows { !$0.isNew && !$0.isAlive } + toDelete
    }

    func willBeDeleted(_ row: ContextObject) -> Bool {
        row.state.deletion != nil && !row.isNew || pending.deletions.contains(ObjectKey(row))
    }

    func isChanged(_ row: ContextObject) -> Bool {
        hasChangedValues(row) || linkedKeys().contains(ObjectKey(row))
    }

    func hasChangedValues(_ row: ContextObject) -> Bool {
        row.isAlive && (row.wasPlaceholder && !row.state.isPlaceholder || !changedSlots(row).isEmpty)
    }

    func changedSlots(_ row: ContextObject) -> [Int] {
        row.entity.editableSlots.filter { !row.keeps($0) }
    }

    /// The objects at the ends of changed links that have the relationship.
    func linkedKeys() -> Set<ObjectKey> {
        var keys: Set<ObjectKey> = []
        for registry in registry.pairs {
            for change in registry.changes {
                let join = registry.join
                if change.state.isChanged || change.state.movesDestination {
                    keys.insert(ObjectKey(entity: model.entities[join.ownerEntity].rootIndex, pk: change.pair.owner))
                }
                if join.destinationRelationship != nil, change.state.isChanged || change.state.movesOwner {
                    keys.insert(
                        ObjectKey(
                            entity: model.entities[join.destinationEntity].rootIndex, pk: change.pair.destination))
                }
            }
        }
        return keys.union(reorderedKeys())
    }

    /// The objects of an entity that differ from the store's: new, changed and deleted ones. A link that the other side made
    /// or removed counts, too.
    ///
    /// - Throws: ``StoreError``.
    func pendingRows(of entity: Entity) throws -> [ContextObject] {
        var keys = linkedKeys().union(pending.deletions)
        for row in changedRows({ $0.isNew || !$0.isAlive || hasChangedValues($0) }) {
            keys.insert(ObjectKey(row))
            for relationship in row.entity.relationships where relationship.inverseIndex != nil {
                guard let slot = relationship.slot else { continue }
                let (old, new) = (row.original[slot], row.state.values[slot])
                for case .integer(let pk) in [old, new] where old != new || row.isNew || !row.isAlive {
                    keys.insert(ObjectKey(entity: registry.roots[relationship.destinationIndex], pk: pk))
                }
            }
        }
        keys = keys.filter { $0.entity == entity.rootIndex }
        try registry.load(entity: entity.index, primaryKeys: keys.map(\.pk))
        return keys.compactMap { registry.known($0.entity, pk: $0.pk) }
            .filter { $0.entity.isKind(of: entity) || $0.originalEntity.isKind(of: entity) }
    }

    /// Returns values by the names of their properties, to-one destinations by their identities.
    package func values(of row: ContextObject, _ values: SlotValues, slots: [Int]) throws -> [String: Value] {
        var named: [String: Value] = [:]
        for slot in slots { named[row.entity.slotNames[slot]] = try registry.shown(values[slot], slot, row.entity) }
        return named
    }

    // MARK: The end of a change cycle

    /// Applies the delete rules to the objects that were marked for deletion; a save does so by itself.
    ///
    /// A rule 'deny' does not stop this; it fails the validation of the save, unless what it protects goes too.
    ///
    /// - Throws: ``EditingError`` with code `editing.too_large`; ``StoreError``; what the hook throws.
    public func processPendingChanges() throws {
        var prepared: Set<ObjectKey> = []
        let propagation = DeletePropagation(registry: registry)
        var closure: [ContextObject] = []
        var origins = pending.deleted
        repeat {
            origins = pending.deleted
            let roots = pending.deletions.compactMap { registry.known($0.entity, pk: $0.pk) }.filter(\.isAlive)
            if roots.isEmpty {
                pending.deletions = []
                return
            }
            closure = try refusingLargeDeletions {
                try propagation.closure(of: roots) { origins.note(ObjectKey($1), goesWith: ObjectKey($0)) }
            }
            origins.note(roots.map { ObjectKey($0) })
            let new = closure.filter { !prepared.contains(ObjectKey($0)) }
            guard let hook = options.hooks.prepareForDeletion, !new.isEmpty else { break }
            // A hook's changes may change the objects to delete.
            for row in new {
                prepared.insert(ObjectKey(row))
                try hook(handle(row))
            }
        } while true
        let nullified = try refusingLargeDeletions { try propagation.nullifications(of: closure) }
        let plan = DeletePropagation.Plan(deleted: closure, nullified: nullified)
        let entries = try applier.edit { try applier.carryOut(plan, rootCount: closure.count, at: nil) }
        for check in applier.countChecks {
            pending.countChecks.append(CountCheck(object: ObjectKey(check.object), relationship: check.relationship))
        }
        pending.deletions = []
        pending.deleted = origins
        editCount += 1
        undoStack.amend(entries)
    }

    private func refusingLargeDeletions<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch is ObjectRegistry.TooManyDestinations {
            throw EditingError(
                .tooLarge,
                "The deletion reaches more than \(options.maximumDeletionCount) objects; delete them by a batch request, "
                    + "or raise maximumDeletionCount")
        }
    }

    // MARK: Saving

    /// Saves all changes in one transaction of the history, or none.
    ///
    /// The steps in their order:
    ///
    /// 1. delete rules
    /// 2. the hook of the context
    /// 3. validation
    /// 4. the hooks of the objects, until they change nothing
    /// 5. primary keys
    /// 6. conflicts with the saves of others, then conflicts of unique values
    /// 7. validation of the resolutions
    /// 8. the write
    ///
    /// A save that fails leaves the context as it was and harms no later one.
    ///
    /// - Throws: ``EditingError``: `editing.validation` with all failures, `editing.merge_conflict`,
    ///   `editing.constraint_conflict`, `editing.unstable_hooks`, or `editing.unknown_entity` for the name of a policy.
    ///   ``StoreError``. The errors of hooks and policies.
    @discardableResult
    public func save() throws -> SaveResult {
        try checkRefusals()
        for name in options.mergePolicies.keys where model.entity(named: name) == nil {
            throw EditingError.unknownEntity(name, model)
        }
        try processPendingChanges()
        guard hasChanges else { return SaveResult() }
        try options.hooks.contextWillSave?(self)
        try processPendingChanges()
        try validate()
        try callWillSaveHooks()
        try checkRefusals()
        let held = heldObjects()
        let edits = try editSet()
        let outcome: EditOutcome
        do {
            outcome = try writer.save(edits, author: options.author, name: options.name)
        } catch {
            throw named(error)
        }
        rebuild(outcome, held)
        callDidSaveHooks(outcome.result)
        return outcome.result
    }

    /// Checks all changes against the model, as far as that can be done without asking others, and asks the writer's
    /// ``EntityValidator``s.
    ///
    /// - Throws: ``EditingError`` with code `editing.validation` and all failures; ``StoreError``.
    public func validate() throws {
        try processPendingChanges()
        let changed = changedRows { $0.isAlive }
        let checks = pending.countChecks.compactMap { check in
            registry.known(check.object.entity, pk: check.object.pk).map {
                (object: $0, relationship: check.relationship)
            }
        }
        let deleted = changedRows { $0.state.deletion != nil && !$0.state.isVoid }
        let failures =
            try refusingLargeDeletions {
                try applier.failures(of: changed, counts: checks, deleted: deleted, checksUniqueness: false)
            } + validatorFailures()
        if !failures.isEmpty { throw EditingError(failures) }
    }

    /// Returns the findings of the program's validators about the changes, as the context sees them.
    private func validatorFailures() -> [ValidationFailure] {
        let validators = writer.applier.validators
        if validators.isEmpty { return [] }
        return writer.exclusively {
            changedRows { _ in true }.flatMap { row -> [ValidationFailure] in
                let hook: KeyPath<EntityValidator, ((inout ObjectValidation) -> Void)?>
                let isArriving = row.isNew || row.wasPlaceholder
                if !row.isAlive {
                    if isArriving { return [] }
                    hook = \.validateForDelete
                } else if row.state.isPlaceholder {
                    return []
                } else if isArriving {
                    hook = \.validateForInsert
                } else if isChanged(row) {
                    hook = \.validateForUpdate
                } else {
                    return []
                }
                return validators.failures(
                    row.entity, values: (row.isAlive ? row.state.values : row.original).array,
                    oldValues: isArriving ? nil : row.original.array, hook
                ).map { $0.about(row) }
            }
        }
    }

    /// Gives failures that the writer found the ids that the objects have in this context.
    private func named(_ error: any Error) -> any Error {
        guard var error = error as? EditingError else { return error }
        for (index, failure) in error.failures.enumerated() {
            guard let identity = failure.identity, let entity = model.entity(named: failure.entity),
                let row = registry.known(entity.index, identity)
            else { continue }
            error.failures[index].objectID = ManagedObjectID(row)
        }
        return error
    }

    private func callWillSaveHooks() throws {
        guard let hook = options.hooks.willSave else { return }
        for _ in 0..<100 {
            let before = editCount
            for row in changedRows({ $0.isNew && $0.isAlive }) + updatedRows() + deletedRows() { try hook(handle(row)) }
            try processPendingChanges()
            if editCount == before { return }
        }
        throw EditingError(
            .unstableHooks, "The will-save hooks still change objects after 100 rounds; let them set only what differs")
    }

    private func callDidSaveHooks(_ result: SaveResult) {
        if let hook = options.hooks.didSave {
            for id in result.inserted + result.updated + result.deleted { hook(handle(id)) }
        }
        options.hooks.contextDidSave?(self, result)
    }

    /// Gathers the changes to save.
    private func editSet() throws -> EditSet {
        var edits = EditSet(registry: registry)
        edits.inserted = changedRows { $0.isNew && $0.isAlive }.map { EditSet.Edit($0) }
        for row in changedRows({ !$0.isNew && hasChangedValues($0) }) {
            let slots = changedSlots(row).filter { !isClearedByDeletion(row, $0) }
            if slots.isEmpty, row.wasPlaceholder == row.state.isPlaceholder { continue }
            edits.updated.append(EditSet.Edit(row, changedSlots: slots))
        }
        edits.deleted = changedRows { !$0.isNew && $0.state.deletion != nil }.map { EditSet.Edit($0) }
        edits.origins = pending.deleted
        for edit in [edits.inserted, edits.updated, edits.deleted].joined() {
            let entity = edit.object.entity
            if edits.policies[entity.index] == nil { edits.policies[entity.index] = policy(of: entity) }
        }
        for (table, pairs) in registry.pairs.enumerated() {
            for change in pairs.changes where change.state.isChanged {
                if !change.state.current, isCutByDeletion(change.pair, pairs.join) { continue }
                edits.links.append(EditSet.Link(table: table, pair: change.pair, isLinked: change.state.current))
            }
        }
        edits.links.sort {
            ($0.table, $0.pair.owner, $0.pair.destination) < ($1.table, $1.pair.owner, $1.pair.destination)
        }
        edits.orders = try changedOrders()
        edits.countChecks = pending.countChecks.map { ($0.object, $0.relationship) }
        return edits
    }

    /// Tells whether a to-one relationship is empty only because its destination is deleted. The delete rules clear it again
    /// in the store, so it is no change of the object's own.
    private func isClearedByDeletion(_ row: ContextObject, _ slot: Int) -> Bool {
        guard row.state.values[slot].isNull, case .integer(let pk) = row.original[slot],
            let relationship = row.entity.relationship(at: slot)
        else { return false }
        return registry.known(relationship.destinationIndex, pk: pk)?.state.deletion != nil
    }

    /// Tells the same of a link of a join table.
    private func isCutByDeletion(_ pair: Pair, _ join: JoinTable) -> Bool {
        registry.known(join.ownerEntity, pk: pair.owner)?.state.deletion != nil
            || registry.known(join.destinationEntity, pk: pair.destination)?.state.deletion != nil
    }

    private func policy(of entity: Entity) -> MergePolicy {
        // The policy of the nearest entity, from this one upwards.
        let names = [entity.name] + entity.ancestorIndexes.map { model.entities[$0].name }
        return names.lazy.compactMap { self.options.mergePolicies[$0] }.first
            ?? entity.mergePolicy.flatMap { MergePolicy(named: $0) } ?? options.mergePolicy
    }

    // MARK: After a save

    /// Begins again with the rows that the save left, of the objects that somebody holds.
    ///
    /// - Parameter outcome: what the save did; nil for the rows as they were read.
    package func rebuild(_ outcome: EditOutcome?, _ objects: [ManagedObject]? = nil) {
        let held = objects ?? heldObjects()
        var rows: [StoredRow] = []
        rows.reserveCapacity(held.count)
        var transients: [ObjectKey: [Int: Value]] = [:]
        // Includes objects that others linked, and displaced objects: only the store knew of their deletion.
        let deleted = Set((outcome?.result.deleted ?? []).map(\.key))
        for object in held {
            let key = object.objectID.key
            let target = outcome?.target(of: key)
            let now = target.map { ObjectKey($0) } ?? key
            let saved = target.flatMap { $0.isAlive ? $0.row : nil }
            if now != key {
                let entity = saved?.entity ?? model.entities[object.objectID.entityIndex]
                object.objectID = ManagedObjectID(entity, now.pk)
            }
            // Where the object was saved, the context's row serves for transient attributes only.
            let isTold = saved?.entity.transientAttributes.isEmpty == true
            let row = isTold ? nil : registry.known(key.entity, pk: key.pk)
            // A save does not write transient attributes, so they stay.
            if outcome != nil, let row, !row.state.transients.isEmpty { transients[now] = row.state.transients }
            if let saved {
                rows.append(saved)
            } else if !deleted.contains(now), let row, !row.isNew,
                outcome == nil || row.isAlive && !hasChangedValues(row)
            {
                let stored = StoredRow(
                    pk: row.pk, entity: row.originalEntity, isPlaceholder: row.wasPlaceholder,
                    values: row.original.array)
                rows.append(stored)
            }
        }
        clearPending()
        registry.reset()
        keepHandles(held)
        for row in rows {
            let object = registry.register(row)
            if let values = transients[ObjectKey(object)] { object.state.transients = values }
        }
    }
}

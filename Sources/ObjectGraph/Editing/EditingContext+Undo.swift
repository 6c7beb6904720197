import GraphCore

// Taking changes back, and reading again.
extension EditingContext {
    /// Tells whether there is a change to undo.
    public var canUndo: Bool { !undoStack.done.isEmpty }
    /// Tells whether there is an undone change to do again.
    public var canRedo: Bool { !undoStack.undone.isEmpty }

    /// Makes one group of the changes in `body`: they are undone together.
    public func undoGroup<Result>(_ body: () throws -> Result) rethrows -> Result {
        undoStack.begin()
        defer { undoStack.end() }
        return try body()
    }

    /// Makes one group of the changes in `body`. Where `body` throws, the context undoes them all, with the changes of
    /// hooks that it called.
    func wholeOrNothing<Result>(_ body: () throws -> Result) throws -> Result {
        try undoGroup {
            undoStack.attempt(pending, refusals)
            do {
                let result = try body()
                undoStack.keepAttempt()
                return result
            } catch {
                if let failed = undoStack.dropAttempt() {
                    _ = EventApplier.revert(failed.entries, in: registry)
                    (pending, refusals) = (failed.pending, failed.refusals)
                    editCount += 1
                }
                throw error
            }
        }
    }

    /// Undoes the last group of changes; without one, nothing happens.
    ///
    /// Saving, refreshing and resetting end what can be undone.
    public func undo() {
        guard let group = undoStack.takeDone() else { return }
        undoStack.pushUndone(reverted(group))
    }

    /// Does the group of changes that was undone last again.
    public func redo() {
        guard let group = undoStack.takeUndone() else { return }
        undoStack.pushDone(reverted(group))
    }

    private func reverted(_ group: UndoStack.Group) -> UndoStack.Group {
        let now = pending
        let inverse = EventApplier.revert(group.entries, in: registry)
        pending = group.before
        editCount += 1
        return UndoStack.Group(entries: inverse, before: now)
    }

    /// Drops all changes that are not saved; objects have the values again that were last read or saved.
    public func rollback() {
        rebuild(nil)
    }

    /// Forgets everything, changes that are not saved included; objects that are still held become faults.
    public func reset() {
        let held = heldObjects()
        clearPending()
        registry.reset()
        for object in held { object.deletedRow = nil }
        keepHandles(held)
    }

    func clearPending() {
        pending = Pending()
        refusals = Refusals()
        undoStack.clear(dropsPending: true)
    }

    /// Reads an object's row again. Its unsaved changes are kept on top of it (`mergeChanges`), or dropped.
    ///
    /// After a merge the snapshot is the new row: the next save meets no conflict with what was read.
    ///
    /// - Throws: ``EditingError`` with code `editing.object_gone` where the row is gone, unless changes of it are kept;
    ///   ``StoreError``.
    public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
        let id = object.objectID
        refusals.settle(object)
        if id.isTemporary { return }
        undoStack.clear()
        registry.forgetLists()
        guard try refresh([id], mergeChanges: mergeChanges).isEmpty else { throw EditingError.gone(id) }
    }

    /// Turns all objects without changes into faults, and forgets the objects that nobody holds.
    ///
    /// Unsaved changes stay, on top of the rows as they were read.
    public func refreshAll() {
        undoStack.clear()
        let linked = linkedKeys()
        let toDelete = Set(pending.deletions)
        registry.forgetUnchanged {
            $0.isNew || !$0.isAlive || hasChangedValues($0) || hasMoved($0) || linked.contains(ObjectKey($0))
                || toDelete.contains(ObjectKey($0))
        }
        keepHandles(heldObjects())
    }

    /// Merges the changes that another context has saved. Objects known here are read again, with unsaved changes kept
    /// on top.
    ///
    /// An object that was deleted and has no changes here stays readable as it was for those who hold it, until
    /// ``reset()``. It says ``ManagedObject/isDeleted``, and setting a property of it throws `editing.object_gone`.
    ///
    /// - Throws: ``StoreError``.
    public func mergeChanges(from result: SaveResult) throws {
        try takeUp(result.inserted + result.updated + result.deleted)
    }

    /// Merges changes of the history that any process saved, such as an element of a ``HistorySequence``.
    ///
    /// Source: +[NSManagedObjectContext mergeChangesFromRemoteContextSave:intoContexts:].
    ///
    /// - Throws: ``StoreError``.
    public func mergeChanges(from history: HistoryResult) throws {
        try takeUp(
            history.objects.compactMap { object in
                model.entity(named: object.entity).map { ManagedObjectID($0, object.pk) }
            })
    }

    /// Merges the changes of a batch request, delete rules and derived values included. They may concern more objects
    /// than fit into memory, so all objects that are known here are read again.
    ///
    /// - Throws: ``StoreError``.
    public func mergeChanges(from result: BatchResult) throws {
        if result.token == nil { return }
        try takeUp(
            registry.byKey.flatMap { objects in
                objects.values.filter { $0.pk > 0 }.map { ManagedObjectID($0) }
            })
    }

    private func takeUp(_ ids: [ManagedObjectID]) throws {
        undoStack.clear()
        registry.forgetLists()
        let known = Dictionary(
            ids.compactMap { id in registry.known(id.entityIndex, pk: id.pk).map { (id.key, $0) } }
        ) { first, _ in first }
        // An object that the program still holds stays readable as it was.
        for id in try refresh(ids.filter { known[$0.key] != nil }, mergeChanges: true) {
            heldObject(id)?.deletedRow = known[id.key]
        }
    }

    /// Reads rows again. Returns the ids of the rows that are gone and have no changes in this context.
    private func refresh(_ ids: [ManagedObjectID], mergeChanges: Bool) throws -> [ManagedObjectID] {
        var gone: [ManagedObjectID] = []
        for (index, group) in Dictionary(grouping: ids, by: \.entityIndex).sorted(by: { $0.key < $1.key }) {
            var rows: [Int64: StoredRow] = [:]
            try registry.reader.rows(of: index, .primaryKeys(group.map(\.pk))) { rows[$0.pk] = $0 }
            for id in group {
                let old = registry.known(index, pk: id.pk)
                if let row = rows[id.pk] {
                    take(row, over: mergeChanges ? old : nil)
                } else if let old, mergeChanges, isChanged(old) {
                    continue
                } else {
                    registry.byKey[registry.roots[index]][id.pk] = nil
                    if let old, registry.known(index, old.identity) === old {
                        registry.byIdentity[registry.roots[index]][old.identity] = nil
                    }
                    gone.append(id)
                }
            }
        }
        return gone
    }

    private func take(_ row: StoredRow, over old: ContextObject?) {
        let fresh = ContextObject(row: row)
        if let old {
            for slot in changedSlots(old) { fresh[slot] = old.state.values[slot] }
            if old.wasPlaceholder, !old.state.isPlaceholder {
                fresh.arrive { old.entity.attributes.hasAttribute(at: $0) }
            }
            fresh.state.deletion = old.state.deletion
            fresh.state.transients = old.state.transients
            forEachPlace(of: old) { _, _, _, place in
                if !old.keeps(place) {
                    fresh[place] = old.state.values[place]
                }
            }
        } else {
            pending.deletions.removeAll { $0 == ObjectKey(fresh) }
            for join in registry.pairs.indices {
                let table = registry.pairs[join].join
                if row.entity.isKind(of: model.entities[table.ownerEntity]) {
                    registry.pairs[join].revert(row.pk, isOwner: true)
                }
                if row.entity.isKind(of: model.entities[table.destinationEntity]) {
                    registry.pairs[join].revert(row.pk, isOwner: false)
                }
            }
        }
        registry.replace(with: fresh)
        if isChanged(fresh) || hasMoved(fresh) || !fresh.isAlive { registry.list(fresh) }
    }
}

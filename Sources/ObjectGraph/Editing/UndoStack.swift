import GraphCore

/// The changes that can be undone and done again, in groups.
struct UndoStack {
    struct Group {
        var entries: [EventApplier.JournalEntry]
        /// The pending changes before the group's first one.
        let before: EditingContext.Pending
    }

    /// Changes that are to happen whole or not at all, whether they can be undone later or not.
    struct Attempt {
        fileprivate(set) var entries: [EventApplier.JournalEntry] = []
        fileprivate(set) var pending: EditingContext.Pending
        fileprivate(set) var refusals: Refusals
        /// The number of changes in the group that was open before the first one.
        fileprivate var groupedCount = 0
        fileprivate var beganGroup = false
        /// Whether groups were undone or done again in between.
        fileprivate var movedGroups = false
    }

    private(set) var undone: [Group] = []
    private(set) var done: [Group] = []
    /// How deep groups are nested; their changes form one.
    var depth = 0
    private var isOpen = false
    /// The innermost last.
    private var attempts: [Attempt] = []

    /// Notes a change, in the open group or in one of its own.
    mutating func record(_ entries: [EventApplier.JournalEntry], before: EditingContext.Pending, levels: Int) {
        undone.removeAll()
        note(entries)
        if levels <= 0 { return }
        if isOpen, !done.isEmpty { return add(entries) }
        done.append(Group(entries: entries, before: before))
        if let attempt = attempts.indices.last { attempts[attempt].beganGroup = true }
        isOpen = depth > 0
        if done.count > levels { done.removeFirst(done.count - levels) }
    }

    /// Notes changes that the changes of the last group entailed. They end what can be done again, as any change does.
    mutating func amend(_ entries: [EventApplier.JournalEntry]) {
        undone.removeAll()
        note(entries)
        if !done.isEmpty { add(entries) }
    }

    private mutating func add(_ entries: [EventApplier.JournalEntry]) {
        done[done.count - 1].entries += entries
        if let attempt = attempts.indices.last { attempts[attempt].groupedCount += entries.count }
    }

    private mutating func note(_ entries: [EventApplier.JournalEntry]) {
        if let attempt = attempts.indices.last { attempts[attempt].entries += entries }
    }

    mutating func begin() { depth += 1 }

    mutating func end() {
        depth -= 1
        if depth == 0 { isOpen = false }
    }

    /// Returns the group to undo. Changes that follow are no part of the one before it, within a group too.
    mutating func takeDone() -> Group? {
        moveGroups()
        return done.popLast()
    }

    /// Returns the group to do again.
    mutating func takeUndone() -> Group? {
        moveGroups()
        return undone.popLast()
    }

    private mutating func moveGroups() {
        isOpen = false
        for attempt in attempts.indices { attempts[attempt].movedGroups = true }
    }

    mutating func pushDone(_ group: Group) {
        note(group.entries)
        done.append(group)
    }

    mutating func pushUndone(_ group: Group) {
        note(group.entries)
        undone.append(group)
    }

    /// Forgets all changes; an attempt takes back only the objects that it has made.
    ///
    /// - Parameter dropsPending: whether the pending changes and the refusals are settled, too.
    mutating func clear(dropsPending: Bool = false) {
        done.removeAll()
        undone.removeAll()
        isOpen = false
        attempts = attempts.map { attempt in
            var rest = Attempt(pending: attempt.pending, refusals: attempt.refusals)
            if dropsPending { (rest.pending, rest.refusals) = (EditingContext.Pending(), Refusals()) }
            rest.entries = attempt.entries.filter { entry in
                if case .state(let object, _) = entry { object.isNew } else { false }
            }
            return rest
        }
    }

    // MARK: Attempts

    /// Begins an attempt, with what is pending before it.
    mutating func attempt(_ pending: EditingContext.Pending, _ refusals: Refusals) {
        attempts.append(Attempt(pending: pending, refusals: refusals))
    }

    /// Ends an attempt that succeeded: its changes now belong to the attempt around it.
    mutating func keepAttempt() {
        guard let inner = attempts.popLast(), let outer = attempts.indices.last else { return }
        attempts[outer].entries += inner.entries
        attempts[outer].groupedCount += inner.groupedCount
        attempts[outer].beganGroup = attempts[outer].beganGroup || inner.beganGroup
    }

    /// Ends an attempt that failed and forgets its changes. The caller takes them back.
    mutating func dropAttempt() -> Attempt? {
        guard let failed = attempts.popLast() else { return nil }
        undone.removeAll()
        if failed.movedGroups {
            done.removeAll()
            isOpen = false
        } else if failed.beganGroup {
            done.removeLast(min(1, done.count))
            isOpen = false
        } else if let last = done.indices.last {
            done[last].entries.removeLast(min(failed.groupedCount, done[last].entries.count))
        }
        return failed
    }
}

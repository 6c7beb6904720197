/// The changes that can be undone and done again, in groups.
struct UndoStack {
    struct Group {
        var entries: [EventApplier.JournalEntry]
        /// The pending changes before the group's first one.
        let before: EditingContext.Pending
    }

    private(set) var undone: [Group] = []
    private(set) var done: [Group] = []
    /// How deep groups are nested; their changes form one.
    var depth = 0
    private var isOpen = false

    /// Notes a change, in the open group or in one of its own.
    mutating func record(_ entries: [EventApplier.JournalEntry], before: EditingContext.Pending, levels: Int) {
        undone.removeAll()
        if levels <= 0 { return }
        if isOpen, !done.isEmpty {
            done[done.count - 1].entries += entries
            return
        }
        done.append(Group(entries: entries, before: before))
        isOpen = depth > 0
        if done.count > levels { done.removeFirst(done.count - levels) }
    }

    /// Notes what followed from the last group's changes.
    mutating func amend(_ entries: [EventApplier.JournalEntry]) {
        if !done.isEmpty { done[done.count - 1].entries += entries }
    }

    mutating func begin() { depth += 1 }

    mutating func end() {
        depth -= 1
        if depth == 0 { isOpen = false }
    }

    /// Returns the group to undo. Changes that follow are no part of the one before it, within a group too.
    mutating func takeDone() -> Group? {
        isOpen = false
        return done.popLast()
    }

    /// Returns the group to do again.
    mutating func takeUndone() -> Group? {
        isOpen = false
        return undone.popLast()
    }

    mutating func pushDone(_ group: Group) { done.append(group) }
    mutating func pushUndone(_ group: Group) { undone.append(group) }

    mutating func clear() {
        done.removeAll()
        undone.removeAll()
        isOpen = false
    }
}

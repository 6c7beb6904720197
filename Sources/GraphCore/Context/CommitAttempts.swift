/// Decides whether a chunk of one of several writers is drafted before it takes the store's lock, or takes the lock first.
///
/// A draft lets others commit meanwhile, and is lost where they change what it has read. After drafts that succeeded, a lost
/// chunk is drafted again. It then finds what the others have made, such as objects that all of them name. A chunk that is
/// lost once more takes the lock first, and so does one that a draft cannot save. Where draft after draft is lost, longer
/// and longer runs of chunks take the lock first; each draft that succeeds halves the next run.
package struct CommitAttempts: Sendable {
    /// The longest run of chunks that take the lock first.
    package static let longestRun = 32

    /// How many chunks still take the lock first.
    private var remaining = 0
    private var nextRun = 1
    /// Whether the chunk was lost, and is drafted again.
    private var isSecond = false

    /// Makes attempts that begin with a draft.
    package init() {}

    /// Whether the next chunk is drafted.
    package var drafts: Bool { remaining == 0 }

    /// Notes that a draft was lost.
    ///
    /// - Parameter toAnother: whether another writer has changed what it had read. Otherwise the lock alone can help.
    package mutating func lost(toAnother: Bool) {
        if toAnother, nextRun == 1, !isSecond {
            isSecond = true
            return
        }
        isSecond = false
        remaining = nextRun
        nextRun = min(nextRun * 2, Self.longestRun)
    }

    /// Notes that a chunk was committed.
    ///
    /// - Parameter isDraft: whether it had been drafted.
    package mutating func committed(isDraft: Bool) {
        isSecond = false
        if isDraft { nextRun = max(1, nextRun / 2) } else { remaining = max(0, remaining - 1) }
    }
}

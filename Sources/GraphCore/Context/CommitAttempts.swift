/// Decides whether a chunk of one of several writers is drafted before it takes the store's lock, or takes the lock first.
///
/// A draft lets others commit meanwhile, and is lost where they change what it has read. A chunk that was lost takes the lock
/// first, so it is lost once at most. Where draft after draft is lost, longer and longer runs of chunks take the lock
/// first; each draft that succeeds halves the next run.
package struct CommitAttempts: Sendable {
    /// The longest run of chunks that take the lock first.
    package static let longestRun = 32

    /// How many chunks still take the lock first.
    private var remaining = 0
    private var nextRun = 1

    /// Makes attempts that begin with a draft.
    package init() {}

    /// Whether the next chunk is drafted.
    package var drafts: Bool { remaining == 0 }

    /// Takes that a draft was lost.
    package mutating func lost() {
        remaining = nextRun
        nextRun = min(nextRun * 2, Self.longestRun)
    }

    /// Takes that a chunk was committed.
    ///
    /// - Parameter isDraft: whether it had been drafted.
    package mutating func committed(isDraft: Bool) {
        if isDraft { nextRun = max(1, nextRun / 2) } else { remaining = max(0, remaining - 1) }
    }
}

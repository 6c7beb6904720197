/// The result of one batch of a purge.
public struct PurgeResult: Sendable, Equatable {
    /// The number of transactions that were removed.
    public var transactionCount = 0
    /// The number of rows of changes that were removed.
    public var changeRowCount = 0
    /// The cursors that held older transactions back, by name with their tokens.
    public var holdingCursors: [String: Int64] = [:]
    /// The cursors whose unread transactions were removed, by name with their tokens. Their next read throws
    /// `history.expired`.
    public var passedCursors: [String: Int64] = [:]
    /// Tells whether no further batch is needed.
    public var isFinished = true

    /// Makes a result; without arguments, the result of a batch that removed nothing.
    public init(
        transactionCount: Int = 0, changeRowCount: Int = 0, holdingCursors: [String: Int64] = [:],
        passedCursors: [String: Int64] = [:], isFinished: Bool = true
    ) {
        self.transactionCount = transactionCount
        self.changeRowCount = changeRowCount
        self.holdingCursors = holdingCursors
        self.passedCursors = passedCursors
        self.isFinished = isFinished
    }

    /// Adds the result of the next batch.
    public mutating func add(_ other: PurgeResult) {
        transactionCount += other.transactionCount
        changeRowCount += other.changeRowCount
        holdingCursors = other.holdingCursors
        passedCursors.merge(other.passedCursors) { first, _ in first }
        isFinished = other.isFinished
    }
}

/// A request to remove old history.
public struct HistoryPurge: Sendable {
    /// The end of the removed part; the transaction at the end is kept.
    public enum Bound: Sendable {
        /// Transactions saved before this time, in microseconds since 1970 UTC. Tokens order the history, not the
        /// clock: the purge ends before the first transaction, by token, that is not older.
        case time(Int64)
        /// Transactions before this token; its own transaction is kept.
        case token(Int64)
    }

    /// The end of the removed part; the transaction at the end is kept.
    public var bound: Bound
    /// The maximum number of transactions in a batch.
    public var transactionLimit = 1000
    /// The maximum number of rows of changes in a batch; a larger transaction takes several batches.
    public var changeLimit = 20_000
    /// The purge passes cursors that were last saved before this time, in microseconds since 1970 UTC. With nil it keeps
    /// the transactions that any cursor has not read.
    public var passesCursorsSavedBefore: Int64?

    /// Makes a purge that passes no cursor.
    public init(before bound: Bound) { self.bound = bound }
}

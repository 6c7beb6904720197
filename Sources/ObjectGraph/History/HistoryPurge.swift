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

    /// Makes a result; without arguments, that of a batch that removed nothing.
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

extension WriterContext {
    /// Removes one batch of old history: at most `limit` transactions from before a time, that time excluded.
    ///
    /// Transactions that a named cursor has not read stay, and the result names the cursor.
    ///
    /// - Parameters:
    ///   - time: microseconds since 1970 UTC.
    ///   - limit: the maximum number of transactions to remove in this batch.
    /// - Throws: ``StoreError``.
    public func purgeHistory(before time: Int64, limit: Int = 1000) throws(StoreError) -> PurgeResult {
        var purge = HistoryPurge(before: .time(time))
        purge.transactionLimit = limit
        return try purgeHistory(purge)
    }

    /// Removes one batch of old history in a transaction of its own; call it until ``PurgeResult/isFinished``.
    ///
    /// - Throws: ``StoreError``.
    public func purgeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        try commit()
        return try write("purge the history") { store in try HistoryRemoval(store: store).bite(purge) }
    }
}

/// Removes history on the writing connection.
///
/// Readers no longer see a transaction once its row is removed. Its changes may follow in later batches, up to the
/// change that `nextChange` names.
struct HistoryRemoval {
    let store: WriterConnection

    func bite(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        var result = PurgeResult()
        let end = try removeTransactions(purge, &result)
        try removeChanges(before: end, limit: purge.changeLimit, &result)
        return result
    }

    // MARK: Transactions

    private func removeTransactions(_ purge: HistoryPurge, _ result: inout PurgeResult) throws(StoreError) -> Int64 {
        let pending = try metadata("nextChange") ?? 1
        // Changes that an earlier batch left go first.
        if try store.integer("SELECT 1 FROM _history_change WHERE id < ? LIMIT 1", { $0.bind(1, pending) }) != nil {
            result.isFinished = false
            return pending
        }
        let wanted = try lastWanted(purge.bound)
        var allowed = wanted
        for (name, cursor) in try cursors() where cursor.token < wanted {
            if let limit = purge.passesCursorsSavedBefore, cursor.time < limit {
                result.passedCursors[name] = cursor.token
            } else {
                result.holdingCursors[name] = cursor.token
                allowed = min(allowed, cursor.token)
            }
        }
        guard let chosen = try choose(through: allowed, purge) else {
            result.passedCursors = [:]
            return pending
        }
        result.passedCursors = result.passedCursors.filter { $0.value < chosen.token }
        result.transactionCount = chosen.count
        result.isFinished = chosen.token >= allowed
        let removal = try store.statement("DELETE FROM _history_transaction WHERE token <= ?")
        removal.bind(1, chosen.token)
        try removal.run()
        let metadata = try store.statement(
            """
            INSERT INTO _metadata (key, value) VALUES ('purgedToken', ?1), ('nextChange', ?2) \
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """)
        metadata.bind(1, String(chosen.token))
        metadata.bind(2, String(chosen.nextChange))
        try metadata.run()
        return chosen.nextChange
    }

    /// The last token before the bound.
    private func lastWanted(_ bound: HistoryPurge.Bound) throws(StoreError) -> Int64 {
        let last = try store.integer("SELECT max(token) FROM _history_transaction") ?? 0
        switch bound {
        case .token(let token): return min(last, max(0, token - 1))
        case .time(let time):
            let young = try store.integer("SELECT min(token) FROM _history_transaction WHERE time >= ?") {
                $0.bind(1, time)
            }
            // Without a row, min is null and reads as 0; tokens begin with 1.
            return young.flatMap { $0 > 0 ? $0 - 1 : nil } ?? last
        }
    }

    private func cursors() throws(StoreError) -> [String: (token: Int64, time: Int64)] {
        let statement = try store.statement("SELECT name, token, time FROM _cursor")
        var cursors: [String: (token: Int64, time: Int64)] = [:]
        while try statement.step() { cursors[statement.text(0)] = (statement.integer(1), statement.integer(2)) }
        return cursors
    }

    private typealias Choice = (token: Int64, nextChange: Int64, count: Int)

    /// The oldest transactions within the limits, at least one.
    private func choose(through token: Int64, _ purge: HistoryPurge) throws(StoreError) -> Choice? {
        let statement = try store.statement(
            """
            SELECT token, firstChange + changeCount, changeCount FROM _history_transaction WHERE token <= ? \
            ORDER BY token LIMIT ?
            """)
        statement.bind(1, token)
        statement.bind(2, max(1, purge.transactionLimit))
        defer { statement.reset() }
        var choice: Choice?
        var changeCount = 0
        while try statement.step() {
            changeCount += Int(statement.integer(2))
            if choice != nil, changeCount > purge.changeLimit { break }
            choice = (statement.integer(0), statement.integer(1), (choice?.count ?? 0) + 1)
        }
        return choice
    }

    // MARK: Changes

    private func removeChanges(before end: Int64, limit: Int, _ result: inout PurgeResult) throws(StoreError) {
        guard let first = try store.integer("SELECT id FROM _history_change ORDER BY id LIMIT 1"), first < end else {
            return try removeRanges(before: end, &result)
        }
        // The ids of plain rows have no gaps but those that ranges fill.
        let bound = try store.integer("SELECT id FROM _history_change WHERE id < ?1 ORDER BY id LIMIT 1 OFFSET ?2") {
            $0.bind(1, end)
            $0.bind(2, max(1, limit))
        }
        let changes = try store.statement("DELETE FROM _history_change WHERE id < ?")
        changes.bind(1, bound ?? end)
        try changes.run()
        result.changeRowCount += Int(store.changedRowCount)
        if bound != nil { result.isFinished = false }
        try removeRanges(before: bound ?? end, &result)
    }

    private func removeRanges(before end: Int64, _ result: inout PurgeResult) throws(StoreError) {
        let ranges = try store.statement("DELETE FROM _history_range WHERE id < ?")
        ranges.bind(1, end)
        try ranges.run()
        result.changeRowCount += Int(store.changedRowCount)
    }

    private func metadata(_ key: String) throws(StoreError) -> Int64? {
        try store.integer("SELECT CAST(value AS INTEGER) FROM _metadata WHERE key = ?") { $0.bind(1, key) }
    }
}

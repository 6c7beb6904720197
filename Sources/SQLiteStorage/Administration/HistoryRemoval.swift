extension WriterConnection {
    func removeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        try HistoryRemoval(store: self).removeBatch(purge)
    }
}

/// Removes history on the writing connection.
///
/// A transaction is gone for readers once its row is; its changes may follow in later batches, up to the change that
/// `nextChange` names.
private struct HistoryRemoval {
    let store: WriterConnection

    func removeBatch(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        var result = PurgeResult()
        let end = try removeTransactions(purge, &result)
        try removeChanges(before: end, limit: purge.changeLimit, &result)
        return result
    }

    // MARK: Transactions

    private func removeTransactions(_ purge: HistoryPurge, _ result: inout PurgeResult) throws(StoreError) -> Int64 {
        let pending = try metadata("nextChange") ?? 1
        // The changes that an earlier batch left go first.
        if try store.integer("SELECT 1 FROM _history_change WHERE id < ? LIMIT 1", { $0.bind(1, pending) }) != nil {
            result.isFinished = false
            return pending
        }
        var decision = PurgeDecision(purge, through: try lastWanted(purge.bound), try cursors())
        try choose(purge, &decision)
        decision.describe(in: &result)
        guard let last = decision.last else { return pending }
        try store.run("DELETE FROM _history_transaction WHERE token <= ?", last.token)
        try store.run(
            """
            INSERT INTO _metadata (key, value) VALUES ('purgedToken', ?1), ('nextChange', ?2) \
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """, String(last.token), String(last.nextChange))
        return last.nextChange
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

    private func cursors() throws(StoreError) -> [StoredCursor] {
        let statement = try store.statement("SELECT name, token, time FROM _cursor")
        var cursors: [StoredCursor] = []
        while try statement.step() { cursors.append(StoredCursor(statement)) }
        return cursors
    }

    /// Lets the decision take the oldest transactions within the limits.
    private func choose(_ purge: HistoryPurge, _ decision: inout PurgeDecision) throws(StoreError) {
        let statement = try store.statement(
            """
            SELECT token, firstChange + changeCount, changeCount FROM _history_transaction WHERE token <= ? \
            ORDER BY token LIMIT ?
            """)
        statement.bindAll(decision.allowed, max(1, purge.transactionLimit))
        defer { statement.reset() }
        while try statement.step() {
            let (token, next) = (statement.integer(0), statement.integer(1))
            if !decision.take(token: token, nextChange: next, changeCount: Int(statement.integer(2))) { break }
        }
    }

    // MARK: Changes

    private func removeChanges(before end: Int64, limit: Int, _ result: inout PurgeResult) throws(StoreError) {
        guard let first = try store.integer("SELECT id FROM _history_change ORDER BY id LIMIT 1"), first < end else {
            return try removeRanges(before: end, &result)
        }
        // The ids of plain rows have no gaps but those that ranges fill.
        let bound = try store.integer("SELECT id FROM _history_change WHERE id < ?1 ORDER BY id LIMIT 1 OFFSET ?2") {
            $0.bindAll(end, max(1, limit))
        }
        try store.run("DELETE FROM _history_change WHERE id < ?", bound ?? end)
        result.changeRowCount += Int(store.changedRowCount)
        if bound != nil { result.isFinished = false }
        try removeRanges(before: bound ?? end, &result)
    }

    private func removeRanges(before end: Int64, _ result: inout PurgeResult) throws(StoreError) {
        try store.run("DELETE FROM _history_range WHERE id < ?", end)
        result.changeRowCount += Int(store.changedRowCount)
    }

    private func metadata(_ key: String) throws(StoreError) -> Int64? {
        try store.integer("SELECT CAST(value AS INTEGER) FROM _metadata WHERE key = ?") { $0.bind(1, key) }
    }
}

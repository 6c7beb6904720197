// The removal of old history and old tombstones.
extension SQLWriterSession {
    /// A transaction is gone for readers once its row is; its changes may follow in later batches, up to the change that
    /// `nextChange` names.
    package func removeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        var result = PurgeResult()
        let end = try removeTransactions(purge, &result)
        try removeChanges(before: end, limit: max(1, purge.changeLimit), &result)
        return result
    }

    private var action: String { "remove old history" }

    // MARK: Transactions

    private func removeTransactions(_ purge: HistoryPurge, _ result: inout PurgeResult) throws(StoreError) -> Int64 {
        let key = "SELECT CAST(value AS bigint) FROM _metadata WHERE key = 'nextChange'" as SQLFragment
        let pending = try number(key, action) ?? 1
        // The changes that an earlier batch left go first.
        if try number("SELECT id FROM _history_change WHERE id < \(bind: pending) LIMIT 1", action) != nil {
            result.isFinished = false
            return pending
        }
        let cursors = try all("SELECT name, token, time FROM _cursor", action) { StoredCursor($0) }
        var decision = PurgeDecision(purge, through: try lastWanted(purge.bound), cursors)
        try choose(purge, &decision)
        decision.describe(in: &result)
        guard let last = decision.last else { return pending }
        try change("DELETE FROM _history_transaction WHERE token <= \(bind: last.token)", action)
        try putMetadata(["purgedToken": "\(last.token)", "nextChange": "\(last.nextChange)"])
        return last.nextChange
    }

    /// The last token before the bound.
    private func lastWanted(_ bound: HistoryPurge.Bound) throws(StoreError) -> Int64 {
        let last = try number("SELECT max(token) FROM _history_transaction", action) ?? 0
        switch bound {
        case .token(let token): return min(last, max(0, token - 1))
        case .time(let time):
            let young = "SELECT min(token) FROM _history_transaction WHERE time >= \(bind: time)" as SQLFragment
            return try number(young, action).map { $0 - 1 } ?? last
        }
    }

    /// Lets the decision take the oldest transactions within the limits.
    private func choose(_ purge: HistoryPurge, _ decision: inout PurgeDecision) throws(StoreError) {
        try query(
            """
            SELECT token, "firstChange" + "changeCount", "changeCount" FROM _history_transaction \
            WHERE token <= \(bind: decision.allowed) ORDER BY token LIMIT \(bind: Int64(max(1, purge.transactionLimit)))
            """, action
        ) { row in
            decision.take(token: row.integer(0), nextChange: row.integer(1), changeCount: Int(row.integer(2)))
        }
    }

    // MARK: Changes

    private func removeChanges(before end: Int64, limit: Int, _ result: inout PurgeResult) throws(StoreError) {
        // The ids of plain rows have no gaps, except where ranges fill them.
        let bound = try number(
            """
            SELECT id FROM _history_change WHERE id < \(bind: end) ORDER BY id LIMIT 1 OFFSET \(bind: Int64(limit))
            """, action)
        if bound != nil { result.isFinished = false }
        for table in ["_history_change", "_history_range"] {
            result.changeRowCount += try change("DELETE FROM \(table) WHERE id < \(bind: bound ?? end)", action)
        }
    }

    // MARK: Tombstones

    package func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int, countsOnly: Bool
    ) throws(StoreError) -> TombstonePurgeResult {
        let action = "remove tombstones"
        let end = try end(of: sweep, limit: max(1, limit), action)
        var window: SQLFragment = "FROM _tombstone WHERE (entity, identity) > \(Self.place(sweep))"
        if let end { window += " AND (entity, identity) <= \(Self.place(end))" }
        let examined = try number("SELECT count(*) \(window)", action) ?? 0
        let old: SQLFragment = "\(window) AND saved < \(bind: time)"
        let count =
            countsOnly
            ? Int(try number("SELECT count(*) \(old)", action) ?? 0) : try change("DELETE \(old)", action)
        return TombstonePurgeResult(examinedCount: Int(examined), removedCount: count, next: end)
    }

    /// The last tombstone of a batch that others follow, or nil where the batch reaches the end.
    private func end(of sweep: TombstoneSweep, limit: Int, _ action: String) throws(StoreError) -> TombstoneSweep? {
        let found = try all(
            """
            SELECT entity, identity FROM _tombstone WHERE (entity, identity) > \(Self.place(sweep)) \
            ORDER BY entity, identity LIMIT 2 OFFSET \(bind: Int64(limit - 1))
            """, action
        ) { ($0.text(0), $0.value(1)) }
        guard found.count == 2 else { return nil }
        var end = TombstoneSweep()
        (end.entity, end.identity) = found[0]
        return end
    }

    /// A place in the order of tombstones; without an entity, the one before all.
    private static func place(_ sweep: TombstoneSweep) -> SQLFragment {
        let identity = sweep.identity.isNull ? Value.blob([]) : sweep.identity
        return "(\(bind: sweep.entity ?? ""), \(bind: .recorded(identity)))"
    }
}

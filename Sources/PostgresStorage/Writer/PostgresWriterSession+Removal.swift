// The removal of old history and old tombstones.
extension PostgresWriterSession {
    func removeHistory(_ purge: HistoryPurge) throws(StoreError) -> PurgeResult {
        var result = PurgeResult()
        let end = try removeTransactions(purge, &result)
        try removeChanges(before: end, limit: max(1, purge.changeLimit), &result)
        return result
    }

    /// Runs a query with whole numbers as parameters, and returns its first row.
    private func first(_ sql: String, _ numbers: Int64...) throws(StoreError) -> PostgresRow? {
        var statement = PostgresStatement(sql)
        for number in numbers { statement.bind(number) }
        return try connection.run(statement, "remove old records").first
    }

    // MARK: Transactions

    private func removeTransactions(_ purge: HistoryPurge, _ result: inout PurgeResult) throws(StoreError) -> Int64 {
        let pending =
            try first("SELECT value::int8 FROM _metadata WHERE key = 'nextChange'").map { $0.integer(0) } ?? 1
        // The changes that an earlier batch left go first.
        if try first("SELECT 1 FROM _history_change WHERE id < $1::int8 LIMIT 1", pending) != nil {
            result.isFinished = false
            return pending
        }
        let cursors = try connection.run(PostgresStatement("SELECT name, token, time FROM _cursor")).rows.map {
            StoredCursor($0)
        }
        var decision = PurgeDecision(purge, through: try lastWanted(purge.bound), cursors)
        try choose(purge, &decision)
        decision.describe(in: &result)
        guard let last = decision.last else { return pending }
        _ = try first("DELETE FROM _history_transaction WHERE token <= $1::int8", last.token)
        putMetadata(["purgedToken": "\(last.token)", "nextChange": "\(last.nextChange)"])
        return last.nextChange
    }

    /// The last token before the bound.
    private func lastWanted(_ bound: HistoryPurge.Bound) throws(StoreError) -> Int64 {
        let last = try first("SELECT max(token) FROM _history_transaction")?.integer(0) ?? 0
        switch bound {
        case .token(let token): return min(last, max(0, token - 1))
        case .time(let time):
            let young = try first("SELECT min(token) FROM _history_transaction WHERE time >= $1::int8", time)
            return young?.optionalInteger(0).map { $0 - 1 } ?? last
        }
    }

    /// Lets the decision take the oldest transactions within the limits.
    private func choose(_ purge: HistoryPurge, _ decision: inout PurgeDecision) throws(StoreError) {
        var statement = PostgresStatement(
            """
            SELECT token, "firstChange" + "changeCount", "changeCount" FROM _history_transaction \
            WHERE token <= $1::int8 ORDER BY token LIMIT $2::int8
            """)
        statement.bind(decision.allowed, Int64(max(1, purge.transactionLimit)))
        for row in try connection.run(statement, "remove old history").rows {
            let (token, next) = (row.integer(0), row.integer(1))
            if !decision.take(token: token, nextChange: next, changeCount: Int(row.integer(2))) { break }
        }
    }

    // MARK: Changes

    private func removeChanges(before end: Int64, limit: Int, _ result: inout PurgeResult) throws(StoreError) {
        let bound = try first(
            "SELECT id FROM _history_change WHERE id < $1::int8 ORDER BY id LIMIT 1 OFFSET $2::int8", end, Int64(limit))
        let last = bound?.integer(0) ?? end
        if bound != nil { result.isFinished = false }
        for table in ["_history_change", "_history_range"] {
            var removal = PostgresStatement("DELETE FROM \(table) WHERE id < $1::int8")
            removal.bind(last)
            result.changeRowCount += try connection.run(removal, "remove old history").changedRowCount
        }
    }

    // MARK: Tombstones

    func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int
    ) throws(StoreError) -> TombstonePurgeResult {
        var window = PostgresStatement(
            """
            SELECT entity, identity FROM _tombstone WHERE (entity, identity) > ($1::text, $2::bytea) \
            ORDER BY entity, identity LIMIT $3::int8
            """)
        try bind(sweep, to: &window)
        window.bind(Int64(max(1, limit)) + 1)
        let found = try connection.run(window, "remove tombstones").rows.map { ($0.text(0), $0.value(1, .anyValue)) }
        let examined = found.prefix(max(1, limit))
        guard let last = examined.last else {
            return TombstonePurgeResult(examinedCount: 0, removedCount: 0, next: nil)
        }
        var end = TombstoneSweep()
        (end.entity, end.identity) = last
        var removal = PostgresStatement(
            """
            DELETE FROM _tombstone WHERE (entity, identity) > ($1::text, $2::bytea) \
            AND (entity, identity) <= ($3::text, $4::bytea) AND saved < $5::int8
            """)
        try bind(sweep, to: &removal)
        try bind(end, to: &removal)
        removal.bind(time)
        let removed = try connection.run(removal, "remove tombstones").changedRowCount
        return TombstonePurgeResult(
            examinedCount: examined.count, removedCount: removed, next: found.count > examined.count ? end : nil)
    }

    /// Binds a place in the order of tombstones; without an entity, the one before all.
    private func bind(_ sweep: TombstoneSweep, to statement: inout PostgresStatement) throws(StoreError) {
        statement.bind(sweep.entity ?? "")
        if sweep.identity.isNull {
            statement.bind(Blob([]))
        } else {
            try statement.bind(sweep.identity, as: .anyValue)
        }
    }
}

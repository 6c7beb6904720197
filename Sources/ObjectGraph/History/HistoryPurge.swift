/// What a purge did.
public struct PurgeResult: Sendable, Equatable {
    /// The number of transactions that were removed.
    public let transactionCount: Int
    /// The cursors that held older transactions back, by name with their tokens.
    public let holdingCursors: [String: Int64]
}

extension WriterContext {
    /// Removes old history in small bites: transactions before a time (exclusive), at most `limit` of them.
    ///
    /// A transaction that a named cursor has not read stays, and the result names the cursor.
    ///
    /// - Parameter time: microseconds since 1970 UTC.
    /// - Throws: ``StoreError``.
    public func purgeHistory(before time: Int64, limit: Int = 1000) throws(StoreError) -> PurgeResult {
        try commit()
        return try write("purge the history") { store in
            // Tokens order the history, not the clock: everything before the first transaction that is young enough.
            let young = try store.integer(
                "SELECT token FROM _history_transaction WHERE time >= ? ORDER BY token LIMIT 1"
            ) { $0.bind(1, time) }
            let last = try store.integer("SELECT max(token) FROM _history_transaction") ?? 0
            let wanted = young.map { $0 - 1 } ?? last
            let holding = try Self.cursors(store).filter { $0.value < wanted }
            let allowed = min(wanted, holding.values.min() ?? wanted)
            let removed = try Self.remove(store, through: allowed, limit: limit)
            return PurgeResult(transactionCount: removed, holdingCursors: holding)
        }
    }

    private static func cursors(_ store: WriterConnection) throws(StoreError) -> [String: Int64] {
        let statement = try store.statement("SELECT name, token FROM _cursor")
        var cursors: [String: Int64] = [:]
        while try statement.step() { cursors[statement.text(0)] = statement.integer(1) }
        return cursors
    }

    private static func remove(
        _ store: WriterConnection, through token: Int64, limit: Int
    ) throws(StoreError) -> Int {
        let statement = try store.statement(
            """
            SELECT max(token), max(firstChange + changeCount), count(*) FROM (SELECT token, firstChange, changeCount \
            FROM _history_transaction WHERE token <= ? ORDER BY token LIMIT ?)
            """)
        statement.bind(1, token)
        statement.bind(2, limit)
        guard try statement.step(), !statement.isNull(0) else {
            statement.reset()
            return 0
        }
        let (last, nextChange, count) = (statement.integer(0), statement.integer(1), statement.integer(2))
        statement.reset()
        let changes = try store.statement("DELETE FROM _history_change WHERE id < ?")
        changes.bind(1, nextChange)
        try changes.run()
        let transactions = try store.statement("DELETE FROM _history_transaction WHERE token <= ?")
        transactions.bind(1, last)
        try transactions.run()
        let metadata = try store.statement(
            """
            INSERT INTO _metadata (key, value) VALUES ('purgedToken', ?1), ('nextChange', ?2) \
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """)
        metadata.bind(1, String(last))
        metadata.bind(2, String(nextChange))
        try metadata.run()
        return Int(count)
    }
}

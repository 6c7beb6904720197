import GRDB

extension ReadContext {
    /// Returns the tokens of all cursors by name.
    public func cursors() throws -> [String: Int64] {
        let rows = try Row.fetchAll(database, sql: "SELECT name, token FROM _cursor")
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }

    /// Returns all named readers of the history with how far behind they are, by name.
    public func historyCursors() throws -> [HistoryCursor] {
        let purged = try purgedToken()
        let sql = """
            SELECT c.name, c.token, c.time, (SELECT count(*) FROM _history_transaction t WHERE t.token > c.token), \
            (SELECT time FROM _history_transaction t WHERE t.token > c.token ORDER BY t.token LIMIT 1) \
            FROM _cursor c ORDER BY c.name
            """
        return try Row.fetchAll(database, sql: sql).map { row in
            HistoryCursor(
                name: row[0], token: row[1], time: row[2], lag: row[3], oldestUnread: row[4], isExpired: row[1] < purged
            )
        }
    }
}

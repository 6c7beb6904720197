import GRDB

extension ReadContext {
    /// The last token, or 0 while there is no history.
    public func lastToken() throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT max(token) FROM _history_transaction") ?? purgedToken()
    }

    /// The last token whose changes were purged, or 0.
    public func purgedToken() throws -> Int64 {
        try metadata("purgedToken").flatMap { Int64($0) } ?? 0
    }

    /// Returns the transactions after a token in their order: at most `limit`, and together no more than
    /// `maximumChangeCount` changes. Of one that alone has more, the first page is returned:
    /// ``HistoryTransaction/nextIndex`` tells where ``transaction(_:from:limit:)`` goes on.
    ///
    /// - Throws: ``StoreError`` with code `history.expired` where transactions after the token were purged.
    public func history(
        after token: Int64, limit: Int = 100, maximumChangeCount: Int = 10_000
    ) throws -> [HistoryTransaction] {
        let purged = try purgedToken()
        if token < purged {
            throw StoreError(
                .historyExpired, "The history up to token \(purged) was purged, token \(token) is older",
                remedy: "Read the store itself, then go on from token \(purged)")
        }
        let sql = """
            SELECT token, time, author, context, source, firstChange, changeCount FROM _history_transaction \
            WHERE token > ? ORDER BY token LIMIT ?
            """
        var result: [HistoryTransaction] = []
        var total = 0
        let rows = try Row.fetchCursor(database, sql: sql, arguments: [token, limit])
        while let row = try rows.next() {
            let count: Int = row[6]
            if !result.isEmpty, total + count > maximumChangeCount { break }
            total += count
            result.append(try transaction(row, from: 0, limit: maximumChangeCount))
        }
        return result
    }

    /// Returns a page of a transaction's changes: at most `limit`, beginning with the one at `index`; nil where the
    /// history does not hold the transaction.
    public func transaction(_ token: Int64, from index: Int, limit: Int) throws -> HistoryTransaction? {
        let sql = """
            SELECT token, time, author, context, source, firstChange, changeCount FROM _history_transaction \
            WHERE token = ?
            """
        return try Row.fetchOne(database, sql: sql, arguments: [token]).map {
            try transaction($0, from: index, limit: limit)
        }
    }

    private func transaction(_ row: Row, from index: Int, limit: Int) throws -> HistoryTransaction {
        let (first, count): (Int64, Int) = (row[5], row[6])
        let size = max(0, min(limit, count - index))
        return HistoryTransaction(
            token: row[0], time: row[1], author: row[2], context: row[3], source: row[4],
            changes: try changes(first: first + Int64(index), count: size), changeCount: count, firstIndex: index)
    }

    private func changes(first: Int64, count: Int) throws -> [HistoryChange] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT entity, object, identity, change, properties, tombstone FROM _history_change \
                WHERE id >= ? AND id < ? ORDER BY id
                """)
        return try Row.fetchAll(statement, arguments: [first, first + Int64(count)]).map { row in
            let properties: String? = row[4]
            return HistoryChange(
                entity: row[0], pk: row[1], identity: Value(row[2] as DatabaseValue),
                kind: ChangeKind(rawValue: row[3]) ?? .update,
                properties: properties?.split(separator: ",").map { String($0) } ?? [], tombstone: row[5])
        }
    }

    /// Returns the tokens of all cursors by name.
    public func cursors() throws -> [String: Int64] {
        let rows = try Row.fetchAll(database, sql: "SELECT name, token FROM _cursor")
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }
}

extension Value {
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let number): self = .integer(number)
        case .double(let number): self = .double(number)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob([UInt8](data))
        }
    }
}

import GRDB

/// A transaction of a connection that reads: a snapshot of a store in SQLite.
struct SQLiteSnapshot: SQLSnapshot {
    typealias Dialect = SQLiteDialect

    let database: Database
    let model: ObjectModel
    /// The caches that the connection keeps from read to read, or nil.
    var caches: ReaderCaches?

    // MARK: Statements

    func connection() throws(StoreError) -> OpaquePointer {
        guard let connection = database.sqliteConnection else {
            throw StoreError.closed
        }
        return connection
    }

    /// Returns a prepared statement of this connection; one that it has kept, where there is one.
    func statement(_ sql: String) throws(StoreError) -> PreparedStatement {
        let connection = try connection()
        if let caches { return try caches.statements.take(sql, connection) }
        return try PreparedStatement(connection, sql: sql)
    }

    /// Calls `each` with a statement on each row; false where it ended the rows early.
    @discardableResult
    func step(_ sql: String, _ bindings: [Value], each: (PreparedStatement) throws -> Bool) throws -> Bool {
        let statement = try statement(sql)
        defer { caches?.statements.giveBack(statement, sql) }
        for (index, value) in bindings.enumerated() { statement.bind(index + 1, value) }
        while try statement.step() {
            if try !each(statement) { return false }
        }
        return true
    }

    func step(_ query: SQLFragment, each: (PreparedStatement) throws -> Bool) throws {
        let sql = query.sql
        let statement = try statement(sql)
        defer { caches?.statements.giveBack(statement, sql) }
        statement.bind(query.parameters)
        while try statement.step() {
            if try !each(statement) { return }
        }
    }

    /// Returns the results of `body` for all rows.
    func all<Result>(
        _ sql: String, _ bindings: [Value], _ body: (PreparedStatement) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try step(sql, bindings) { row in
            results.append(try body(row))
            return true
        }
        return results
    }

    // MARK: What SQLite adds

    func hasTable(_ name: String) throws -> Bool {
        try integer("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = \(bind: name)") == 1
    }

    func deadLettersHaveTimestamps() throws -> Bool {
        try columnNames(of: "_dead_letter").contains(DeadLetter.timestampColumn)
    }

    func narrowed(_ selection: HistorySelection) throws -> HistorySelection {
        guard var token = selection.after else { return selection }
        if let since = selection.since {
            // The index by time tells where to begin; the order is still by token.
            let query: SQLFragment = "SELECT min(token) FROM _history_transaction WHERE time >= \(bind: since)"
            let earliest = try first(query) { $0.optionalInteger(0) } ?? nil
            token = max(token, (earliest ?? .max) - 1)
        }
        let query: SQLFragment =
            "SELECT firstChange FROM _history_transaction WHERE token > \(bind: token) ORDER BY token LIMIT 1"
        let first = try first(query) { $0.integer(0) } ?? .max
        var narrowed = selection
        narrowed.ids = max(selection.ids.lowerBound, min(first, selection.ids.upperBound))..<selection.ids.upperBound
        return narrowed
    }
}

extension ReadContext {
    /// Makes the context of a transaction of a connection that reads.
    init(database: Database, model: ObjectModel, caches: ReaderCaches? = nil) {
        self.init(
            SQLiteSnapshot(database: database, model: model, caches: caches), model: model, requests: caches?.requests)
    }

    /// Returns the snapshot, for what only SQLite offers.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where the storage is another one.
    func sqlite() throws(StoreError) -> SQLiteSnapshot {
        guard let snapshot = session as? SQLiteSnapshot else {
            throw StoreError(
                .unavailable, "The store is not kept by SQLite", remedy: "Use a store that a file of SQLite keeps")
        }
        return snapshot
    }

    func connection() throws(StoreError) -> OpaquePointer { try sqlite().connection() }
}

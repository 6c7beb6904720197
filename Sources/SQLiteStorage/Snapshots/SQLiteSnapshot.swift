import GRDB

/// A transaction of a connection that reads: a snapshot of a store in SQLite.
struct SQLiteSnapshot: SnapshotSession {
    let database: Database
    let model: ObjectModel
    /// The caches that the connection keeps from read to read, or nil.
    var caches: ReaderCaches?

    func storeID() throws -> String { try metadata("storeID") ?? "" }

    func historyEpochs() throws -> HistoryEpochs { HistoryEpochs(text: try metadata(HistoryEpochs.metadataKey)) }

    func metadata(_ key: String) throws -> String? {
        try first("SELECT value FROM _metadata WHERE key = ?", [.text(key)]) { $0.text(0) }
    }

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

    /// Returns what `body` makes of each row.
    func all<Result>(
        _ sql: String, _ bindings: [Value] = [], _ body: (PreparedStatement) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try step(sql, bindings) { row in
            results.append(try body(row))
            return true
        }
        return results
    }

    /// Returns what `body` makes of the first row, or nil.
    func first<Result>(
        _ sql: String, _ bindings: [Value] = [], _ body: (PreparedStatement) throws -> Result
    ) throws -> Result? {
        var result: Result?
        try step(sql, bindings) { row in
            result = try body(row)
            return false
        }
        return result
    }

    /// Returns the number in the first column of the first row; 0 where there is none.
    func integer(_ sql: String, _ bindings: [Value] = []) throws -> Int64 {
        try first(sql, bindings) { $0.integer(0) } ?? 0
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

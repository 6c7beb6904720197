/// A snapshot in a SQL engine, which answers for the store's own tables in one way on all engines.
package protocol SQLSnapshot: SnapshotSession {
    associatedtype Dialect: SQLDialect
    associatedtype Row: SQLRow

    var model: ObjectModel { get }

    /// Calls `each` with every row of a query, until it returns false.
    func step(_ query: SQLFragment, each: (Row) throws -> Bool) throws

    /// Returns a selection whose ids begin with the first that a selected transaction can have, where an engine wants it.
    func narrowed(_ selection: HistorySelection) throws -> HistorySelection

    /// Tells whether a store that nobody has opened for writing since has a table that this version adds.
    func hasTable(_ name: String) throws -> Bool

    /// Tells whether dead letters have a column for the timestamps of their records.
    func deadLettersHaveTimestamps() throws -> Bool
}

extension SQLSnapshot {
    package func narrowed(_ selection: HistorySelection) throws -> HistorySelection { selection }

    package func hasTable(_ name: String) throws -> Bool { true }

    // MARK: Statements

    /// Returns the results of `body` for all rows.
    package func all<Result>(_ query: SQLFragment, _ body: (Row) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        try step(query) { row in
            results.append(try body(row))
            return true
        }
        return results
    }

    /// Returns the result of `body` for the first row, or nil.
    package func first<Result>(_ query: SQLFragment, _ body: (Row) throws -> Result) throws -> Result? {
        var result: Result?
        try step(query) { row in
            result = try body(row)
            return false
        }
        return result
    }

    /// Returns the number in the first column of the first row; 0 where there is none.
    package func integer(_ query: SQLFragment) throws -> Int64 { try first(query) { $0.integer(0) } ?? 0 }

    // MARK: The store

    package func storeID() throws -> String { try metadata("storeID") ?? "" }

    package func historyEpochs() throws -> HistoryEpochs {
        HistoryEpochs(text: try metadata(HistoryEpochs.metadataKey))
    }

    package func metadata(_ key: String) throws -> String? {
        try first("SELECT value FROM _metadata WHERE key = \(bind: key)") { $0.text(0) }
    }

    package func note(_ key: String) throws -> String? { try metadata(key) }

    package func count(_ entity: Entity) throws -> (objects: Int, placeholders: Int) {
        let table = SQLText.quoted(entity.viewName)
        return (
            Int(try integer("SELECT count(*) FROM \(table)")),
            Int(try integer("SELECT count(*) FROM \(table) WHERE _placeholder"))
        )
    }

    // MARK: Audit

    package func auditEntries(before id: Int64, key: String?, limit: Int) throws -> [AuditEntry] {
        let condition: SQLFragment = key.map { " AND \"idempotencyKey\" = \(bind: $0)" } ?? ""
        return try all(
            """
            SELECT \(Dialect.names(of: .audit)) FROM _audit \
            WHERE id < \(bind: id)\(condition) ORDER BY id DESC LIMIT \(bind: Int64(limit))
            """
        ) { AuditEntry($0) }
    }

    package func auditCount(before time: Int64) throws -> Int {
        Int(try integer("SELECT count(*) FROM _audit WHERE time < \(bind: time)"))
    }
}

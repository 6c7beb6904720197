import GRDB

/// Rows of one table that a migration copies in batches, in the order of their keys.
struct MigrationPortion {
    private let insertion: String
    private let keys: String
    private let key: String
    /// Whether the rows are of objects, not of the history, the dead letters and the like.
    let areObjects: Bool

    /// - Parameters:
    ///   - insertion: the statement that copies the rows; it ends in a condition over the old row `s`.
    ///   - keys: the query of their keys, as `key`; it ends in a condition, too.
    ///   - key: the key of the old row.
    init(insertion: String, keys: String, key: String, areObjects: Bool) {
        self.insertion = insertion
        self.keys = keys
        self.key = key
        self.areObjects = areObjects
    }

    /// Makes the portion of an entity's rows.
    init(_ part: MigrationScript.Part) {
        self.init(
            insertion: part.insertion,
            keys: "SELECT s.pk AS key FROM \(part.from) s WHERE \(MigrationChecks.kind(part.old))", key: "s.pk",
            areObjects: true)
    }

    /// Returns the number of rows behind a key.
    func rowCount(after last: Int64, _ database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT count(*) FROM (\(keys) AND \(key) > ?)", arguments: [last]) ?? 0
    }

    /// Returns the last key of the next batch, or nil behind the last row.
    func end(after last: Int64, limit: Int, _ database: Database) throws -> Int64? {
        try Int64.fetchOne(
            database, sql: "SELECT max(key) FROM (\(keys) AND \(key) > ? ORDER BY \(key) LIMIT ?)",
            arguments: [last, limit])
    }

    /// The statement that copies a batch.
    func insertion(after last: Int64, to end: Int64) -> String {
        "\(insertion) AND \(key) > \(last) AND \(key) <= \(end)"
    }
}

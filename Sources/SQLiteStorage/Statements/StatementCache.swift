import GRDBSQLite

/// The prepared statements of one connection, by their texts; the cache keeps the last used ones.
///
/// Values are bound and never part of a text, so requests of one shape share a statement.
final class StatementCache {
    static let maximumCount = 64
    /// Longer texts are lists of keys and the like, which hardly come again.
    static let maximumLength = 4096

    private var statements = RecentlyUsed<String, PreparedStatement>(maximumCount: maximumCount)

    /// Returns the statement of a text; nobody else gets it until it is given back.
    func take(_ sql: String, _ connection: OpaquePointer) throws(StoreError) -> PreparedStatement {
        if let known = statements.take(sql) { return known }
        return try PreparedStatement(connection, sql: sql)
    }

    /// Makes a statement ready for its next use.
    func giveBack(_ statement: PreparedStatement, _ sql: String) {
        statement.reset()
        statement.clearBindings()
        if sql.utf8.count <= Self.maximumLength { statements.keep(statement, for: sql) }
    }

    var count: Int { statements.count }
}

import GRDBSQLite
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Statements over SQLite's C interface.
@Suite struct PreparedStatementTests {
    @Test(arguments: [Value.text(String(repeating: "a", count: 200)), .blob([UInt8](repeating: 1, count: 200))])
    func `a value that SQLite cannot bind is no NULL`(value: Value) throws {
        var opened: OpaquePointer?
        try #require(sqlite3_open(":memory:", &opened) == SQLITE_OK)
        let connection = try #require(opened)
        defer { sqlite3_close_v2(connection) }
        let statement = try PreparedStatement(connection, sql: "SELECT ?1 IS NULL")
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 100)
        statement.bind(1, value)
        #expect(throws: StoreError.self) { try statement.step() }
        statement.bind(1, "short")
        #expect(try statement.step())
        #expect(statement.integer(0) == 0)
        statement.reset()
    }

    @Test func `tells of too little memory with a remedy`() {
        let error = StoreError(resultCode: SQLITE_NOMEM, action: "open the store")
        #expect(error.code == .unavailable)
        #expect("\(error)".contains("no memory"))
    }
}

import GRDBSQLite

struct Failure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}

/// Ends the run where the ways compared do not do the same.
func expect(_ isTrue: Bool, line: Int = #line, file: String = #fileID) throws {
    if !isTrue { throw Failure(message: "\(file):\(line): the result is not what it should be") }
}

/// Bare SQLite with the pragmas that the store's writer has.
final class RawDatabase {
    private var handle: OpaquePointer?

    init(path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw Failure(message: "cannot open \(path)") }
        try run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
            PRAGMA wal_autocheckpoint = 16000; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF
            """)
    }

    private var message: String { String(cString: sqlite3_errmsg(handle)) }

    func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw Failure(message: message) }
    }

    func prepare(_ sql: String) throws -> RawStatement {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw Failure(message: message)
        }
        return RawStatement(statement)
    }

    /// Returns all rows of a query.
    func rows(_ sql: String) throws -> [[RawValue]] {
        try prepare(sql).rows()
    }

    /// Returns the first column of a query as texts.
    func texts(_ sql: String) throws -> [String] {
        try rows(sql).compactMap { if case .text(let text) = $0[0] { text } else { nil } }
    }

    func integer(_ sql: String) throws -> Int? {
        guard case .integer(let number)? = try rows(sql).first?.first else { return nil }
        return number
    }

    /// Returns the details of a query's plan in one line.
    func plan(_ sql: String) throws -> String {
        try rows("EXPLAIN QUERY PLAN \(sql)").compactMap { if case .text(let text) = $0[3] { text } else { nil } }
            .joined(separator: "; ")
    }

    /// Moves the log into the file, so that the file can be copied by itself.
    func close() throws {
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        sqlite3_close(handle)
    }
}

enum RawValue {
    case null
    case integer(Int)
    case text(String)
}

final class RawStatement {
    private let statement: OpaquePointer

    init(_ statement: OpaquePointer) { self.statement = statement }

    deinit { sqlite3_finalize(statement) }

    func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw Failure(message: String(cString: sqlite3_errmsg(sqlite3_db_handle(statement))))
        }
    }

    /// Returns all rows, and makes the statement ready for its next use.
    func rows() throws -> [[RawValue]] {
        var rows: [[RawValue]] = []
        while try step() { rows.append(row) }
        sqlite3_reset(statement)
        return rows
    }

    func run(_ values: RawValue...) throws {
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            switch value {
            case .null: sqlite3_bind_null(statement, position)
            case .integer(let number): sqlite3_bind_int64(statement, position, Int64(number))
            case .text(let text): sqlite3_bind_text(statement, position, text, -1, Self.transient)
            }
        }
        _ = try step()
        sqlite3_reset(statement)
    }

    var row: [RawValue] {
        (0..<sqlite3_column_count(statement)).map { column in
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: .integer(Int(sqlite3_column_int64(statement, column)))
            case SQLITE_TEXT: .text(sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "")
            default: .null
            }
        }
    }

    /// SQLITE_TRANSIENT, which is no constant for Swift: SQLite copies the bytes at once.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}

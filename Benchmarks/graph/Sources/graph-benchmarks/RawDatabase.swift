import Foundation
import GRDBSQLite

/// Bare SQLite with the pragmas that the store's writer has.
final class RawDatabase {
    private var handle: OpaquePointer?

    struct Failure: Error {
        let message: String
    }

    init(path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw Failure(message: "cannot open \(path)") }
        try run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
            PRAGMA wal_autocheckpoint = 16000; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON
            """)
    }

    func run(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw Failure(message: String(cString: sqlite3_errmsg(handle)))
        }
    }

    func texts(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw Failure(message: String(cString: sqlite3_errmsg(handle)))
        }
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            if let text = sqlite3_column_text(statement, 0) { texts.append(String(cString: text)) }
        }
        return texts
    }

    func close() throws {
        try run("PRAGMA wal_checkpoint(TRUNCATE)")
        sqlite3_close(handle)
    }
}

import Foundation
import ObjectGraph

@testable import GraphCore
@testable import SQLiteStorage

/// Lets SQLite check foreign keys at each commit, without the ON DELETE clauses that would clear references by themselves:
/// a commit fails that leaves one dangling.
///
/// `INGEST_TEST_KEYS=enforced` turns it on for all stores in memory. A store that stays on disk loses its clauses for good.
enum KeyEnforcement {
    static let isOn = ProcessInfo.processInfo.environment["INGEST_TEST_KEYS"] == "enforced"

    /// Tells whether it is on in the run of a seed: in every other four.
    static func isOn(_ seed: UInt64) -> Bool { isOn || seed & 4 == 0 }

    /// Turns it on for the writing connection, before that prepares its statements.
    static func turnOn(_ store: Store) throws {
        try store.sqlite().onWriter { handle in
            let connection = SQLiteWriterSession(handle, model: store.model)
            for sql in [
                "PRAGMA writable_schema = ON",
                """
                UPDATE sqlite_schema SET sql = replace(replace(sql, ' ON DELETE SET NULL', ''), ' ON DELETE CASCADE', '') \
                WHERE type = 'table'
                """,
                "PRAGMA writable_schema = RESET",
                "PRAGMA foreign_keys = ON",
            ] { try connection.runOnce(sql) }
        }
    }
}

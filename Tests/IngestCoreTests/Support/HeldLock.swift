import TestSupport

/// The write lock of a store, held by a connection that is not the worker's.
final class HeldLock {
    private let shell: SQLiteShell

    init(_ path: String) throws {
        shell = try SQLiteShell(path, "-bail")
        _ = try shell.ask("PRAGMA busy_timeout = 30000")
        try shell.tell("BEGIN IMMEDIATE")
        guard try shell.ask("SELECT 'held'") == "held" else {
            throw BrokerProcess.Failure(description: "sqlite3 did not get the lock of \(path)")
        }
    }

    func release() {
        try? shell.tell("ROLLBACK")
        shell.close()
    }
}

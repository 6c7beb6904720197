import GRDB
import GRDBSQLite

/// The connections that snapshots are read on, each with the statements and requests that it has met before.
///
/// GRDB's own pool prepares the statements around each read again, which short reads feel.
final class ReaderPool: Sendable {
    private struct Reader {
        let queue: DatabaseQueue
        let caches = ReaderCaches()
    }

    private let readers: ConnectionPool<Reader>
    private let open: @Sendable () throws -> DatabaseQueue

    /// - Parameters:
    ///   - maximumCount: how many connections read at the same time; others wait.
    ///   - open: makes a connection that only reads.
    init(maximumCount: Int, open: @escaping @Sendable () throws -> DatabaseQueue) {
        readers = ConnectionPool(maximumCount: maximumCount) { reader in
            // A connection with prepared statements cannot be closed.
            reader.caches.removeAll()
            try? reader.queue.close()
        }
        self.open = open
    }

    /// Calls `body` inside a transaction that only reads.
    ///
    /// - Parameter interruption: ends a statement of `body` early; nil for never.
    func read<Result>(
        _ interruption: ReadInterruption?, _ body: (Database, ReaderCaches) throws -> Result
    ) throws -> Result {
        try readers.use(open: { Reader(queue: try open()) }) { reader in
            try reader.queue.unsafeRead { database in
                guard let connection = database.sqliteConnection else { throw StoreError.closed }
                let statements = reader.caches.statements
                // A connection that could not end its transaction would read the state of that one, or nothing.
                try PreparedStatement.undoTransaction(on: connection)
                try Self.run("BEGIN", connection, statements)
                do {
                    let result = try Self.reading(interruption, connection) { try body(database, reader.caches) }
                    try Self.run("COMMIT", connection, statements)
                    return result
                } catch {
                    try? PreparedStatement.undoTransaction(on: connection)
                    throw error
                }
            }
        }
    }

    /// So many of SQLite's instructions, some microseconds, lie between two looks at the interruption.
    private static let instructionsBetweenLooks: Int32 = 4096

    private static func reading<Result>(
        _ interruption: ReadInterruption?, _ connection: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        guard let interruption else { return try body() }
        // sqlite3_interrupt() would miss a statement that has not begun yet.
        sqlite3_progress_handler(
            connection, instructionsBetweenLooks,
            { pointer in
                guard let pointer else { return 0 }
                return Unmanaged<ReadInterruption>.fromOpaque(pointer).takeUnretainedValue().isRequested ? 1 : 0
            }, Unmanaged.passUnretained(interruption).toOpaque())
        defer { sqlite3_progress_handler(connection, 0, nil, nil) }
        return try interruption.whileReading(body)
    }

    private static func run(
        _ sql: String, _ connection: OpaquePointer, _ statements: StatementCache
    ) throws(StoreError) {
        let statement = try statements.take(sql, connection)
        defer { statements.giveBack(statement, sql) }
        try statement.run()
    }

    /// Closes the connections. A connection that is reading closes when it has read.
    func close() { readers.close() }
}

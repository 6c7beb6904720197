import Dispatch
import Foundation
import Synchronization

/// A store in one schema of a PostgreSQL database.
final class PostgresStorage: Storage {
    let model: ObjectModel
    let address: ConnectionAddress
    let options: PostgresOptions
    let tables: [PostgresTable]
    private let readers: ConnectionPool<PostgresConnection>
    /// Whether a writer of this process is in a transaction.
    private let isWriting = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)
    /// Whether the store was opened once: a server that cannot be reached afterwards is waited for.
    private let wasOpened = Atomic<Bool>(false)

    /// - Throws: as ``ConnectionAddress/init(_:schema:)`` and ``PostgresSchema/checkNames(_:)``.
    init(url: String, schema: String, model: ObjectModel, options: PostgresOptions) throws(StoreError) {
        try PostgresSchema.checkNames(model)
        self.model = model
        address = try ConnectionAddress(url, schema: schema)
        self.options = options
        tables = PostgresTable.all(model)
        readers = ConnectionPool(maximumCount: options.maximumReaderCount)
    }

    var path: String { address.description }

    var size: StoreSize? {
        let query = PostgresStatement(
            """
            SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::int8 FROM pg_class \
            WHERE relnamespace = to_regnamespace(quote_ident(current_schema())) AND relkind = 'r'
            """)
        let bytes = try? reading(nil) { try $0.run(query, "read the store's size").first?.integer(0) }
        return bytes.map { StoreSize(bytes: Int($0), logBytes: nil) }
    }

    // MARK: Reading

    func read<Result>(
        _ interruption: ReadInterruption?, _ body: (any SnapshotSession, FetchRequestCache?) throws -> Result
    ) throws -> Result {
        try reading(interruption) { connection in
            connection.enqueue(.beginReading)
            if let limit = interruption?.limitSeconds { connection.enqueue(.limit(seconds: limit)) }
            let result = try body(PostgresSnapshot(connection, model, tables, interruption), nil)
            try connection.run(PostgresStatement("COMMIT"), "read the store")
            return result
        }
    }

    /// Calls `body` with a connection, on which it begins and ends a transaction. Where it throws, the transaction is undone.
    private func reading<Result>(
        _ interruption: ReadInterruption?, _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
        func fate(_ connection: PostgresConnection) -> ConnectionPool<PostgresConnection>.Fate {
            // A request to end a statement may still be on its way to the server, and would meet the next one.
            if interruption?.isRequested == true { return .closed }
            // A server that ends one connection has most likely ended all.
            return connection.isLost ? .closedWithIdle : .kept
        }
        return try readers.use(open: { try connect(.reader) }, fate: fate) { connection in
            do {
                guard let interruption else { return try body(connection) }
                let cancellation = connection.cancellation()
                return try interruption.whileReading(end: { cancellation?.send() }) { try body(connection) }
            } catch {
                connection.undo()
                throw error
            }
        }
    }

    func makeRowReader() throws(StoreError) -> any RowReader {
        PostgresRowReader(try connect(.reader), model, tables)
    }

    // MARK: Writing

    func makeWriterSession() throws(StoreError) -> any WriterSession {
        if isWriting.load(ordering: .acquiring) {
            throw StoreError(
                .leased, "Another writer context of this process is writing this store",
                remedy: "Use that writer context, or close it first")
        }
        return try PostgresWriterSession(self)
    }

    /// Notes whether a writer of this process is in a transaction.
    func noteTransaction(_ isOpen: Bool) { isWriting.store(isOpen, ordering: .releasing) }

    /// Makes a connection. A server that answered once and cannot be reached now is waited for.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` or `store.disconnected`.
    func connect(_ role: PostgresConnection.Role) throws(StoreError) -> PostgresConnection {
        if isClosed.load(ordering: .acquiring) { throw .closed }
        do {
            return try PostgresConnection(address, role, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        } catch {
            if !wasOpened.load(ordering: .acquiring) || error.code != .unavailable { throw error }
            throw StoreError(.disconnected, error.message, remedy: error.remedy)
        }
    }

    /// Notes that the store was found, or made.
    func noteOpened() { wasOpened.store(true, ordering: .releasing) }

    /// - Throws: as ``connect(_:)``.
    func checkOpen() throws(StoreError) {
        if isClosed.load(ordering: .acquiring) { throw .closed }
    }

    // MARK: Soundness

    // The server looks after its disk: it checks and restores its files by itself.
    var needsVerification: Bool { false }

    func note(_ error: StoreError) {}

    func noteSound() {}

    func close() throws(StoreError) {
        isClosed.store(true, ordering: .releasing)
        readers.close()
    }
}

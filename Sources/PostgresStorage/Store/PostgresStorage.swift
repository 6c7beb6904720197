import Dispatch
import Foundation
import Synchronization

/// A store in one schema of a PostgreSQL database.
final class PostgresStorage: Sendable {
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
    /// The store that the schema held when its model was compared; nil before, and once another one has taken its place.
    private let readStore = Mutex<StoreMark?>(nil)
    /// The table of the lease that a writer of this process holds; nil before one has claimed the store.
    private let writtenTable = Mutex<Int64?>(nil)

    /// - Throws: as ``ConnectionAddress/init(_:schema:)`` and ``PostgresSchema/checkLimits(_:)``.
    init(url: String, schema: String, model: ObjectModel, options: PostgresOptions) throws(StoreError) {
        try PostgresSchema.checkLimits(model)
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
            let mark = try comparedMark(connection)
            connection.enqueue(.beginReading)
            connection.enqueue(StoreMark.query) { result throws(StoreError) in try self.check(result, mark) }
            if let limit = interruption?.limitSeconds { connection.enqueue(.limit(seconds: limit)) }
            let result = try body(PostgresSnapshot(connection, model, tables, interruption), nil)
            let end = try connection.run([StoreMark.query, PostgresStatement("COMMIT")], "read the store")
            try check(end[0], mark)
            return result
        }
    }

    /// Returns the mark of the store whose model is this one's.
    ///
    /// - Throws: ``StoreError`` with code `store.model_mismatch` where a migration has put another store in its place.
    private func comparedMark(_ connection: PostgresConnection) throws(StoreError) -> StoreMark {
        if let mark = readStore.withLock(\.self) { return mark }
        let mark = StoreMark(try connection.run(StoreMark.query, "read the store"))
        try checkMetadata(connection, adopts: false)
        readStore.withLock { $0 = mark }
        return mark
    }

    /// A migration or a rebuild exchanges schemas without waiting for readers, and the server resolves names by the present
    /// schemas, whatever the snapshot. So a reader may meet two stores, and finds out at its beginning and at its end.
    private func check(_ result: PostgresResult, _ mark: StoreMark) throws(StoreError) {
        if StoreMark(result) == mark { return }
        readStore.withLock { $0 = nil }
        throw StoreError(
            .disconnected, "Could not read the store: another one has taken its place", remedy: "Read it again")
    }

    /// Calls `body` with a connection, on which it begins and ends a transaction. Where it throws, the transaction is undone.
    private func reading<Result>(
        _ interruption: ReadInterruption?, _ body: (PostgresConnection) throws -> Result
    ) throws -> Result {
        func fate(_ connection: PostgresConnection) -> ConnectionPool<PostgresConnection>.Fate {
            // A request to end a statement may still be on its way to the server, and would meet the next one.
            if interruption?.isRequested == true { return .closed }
            // A server that ends one connection has most likely ended all. Statements of a former store have no use.
            return connection.isLost || readStore.withLock { $0 == nil } ? .closedWithIdle : .kept
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

    // MARK: Writing

    /// - Throws: ``StoreError`` with code `store.leased` where a writer of this process is in a transaction.
    func checkNobodyWrites() throws(StoreError) {
        if !isWriting.load(ordering: .acquiring) { return }
        throw StoreError(
            .leased, "Another writer context of this process is writing this store",
            remedy: "Use that writer context, or close it first")
    }

    /// Notes whether a writer of this process is in a transaction.
    func noteTransaction(_ isOpen: Bool) { isWriting.store(isOpen, ordering: .releasing) }

    /// Notes the table of the lease that a writer of this process has claimed.
    func noteWritten(_ table: Int64) { writtenTable.withLock { $0 = table } }

    func checkPlace() throws(StoreError) {
        guard let table = writtenTable.withLock(\.self) else { return }
        let query = PostgresStatement("SELECT to_regclass('_lease')::oid::int8")
        // A server that does not answer tells nothing of the place; the next transaction meets it.
        guard let result = try? reading(nil, { try $0.run(query, "find the store") }) else { return }
        if result.first?.optionalInteger(0) != table { throw StoreError.displaced(path) }
    }

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

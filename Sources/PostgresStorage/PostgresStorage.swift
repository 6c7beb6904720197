import Dispatch
import Foundation
import Synchronization

/// A store in one schema of a PostgreSQL database.
final class PostgresStorage: Storage {
    let model: ObjectModel
    let address: ConnectionAddress
    let options: PostgresOptions
    let tables: [PostgresTable]
    private let readers: PostgresReaderPool
    /// Whether a writer of this process is in a transaction.
    private let isWriting = Atomic<Bool>(false)
    private let isClosed = Atomic<Bool>(false)

    init(model: ObjectModel, address: ConnectionAddress, options: PostgresOptions) {
        self.model = model
        self.address = address
        self.options = options
        tables = PostgresTable.all(model)
        readers = PostgresReaderPool(maximumCount: options.maximumReaderCount) { () throws(StoreError) in
            try PostgresConnection(address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        }
    }

    var path: String { address.description }

    // MARK: Reading

    func read<Result>(_ body: (any SnapshotSession, FetchRequestCache?) throws -> Result) throws -> Result {
        try readers.read { connection in
            connection.enqueue(PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
            let result = try body(PostgresSnapshot(connection, model, tables), nil)
            try connection.run(PostgresStatement("COMMIT"), "read the store")
            return result
        }
    }

    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (any SnapshotSession) throws -> Result
    ) async throws -> Result {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Swift.Result { try self.read { session, _ in try body(session) } })
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
                remedy: "Use that one, or close it first")
        }
        return try PostgresWriterSession(self)
    }

    /// Notes whether a writer of this process is in a transaction.
    func noteTransaction(_ isOpen: Bool) { isWriting.store(isOpen, ordering: .releasing) }

    /// - Throws: ``StoreError`` with code `store.unavailable` once the store is closed.
    func connect(_ role: PostgresConnection.Role) throws(StoreError) -> PostgresConnection {
        if isClosed.load(ordering: .acquiring) { throw .closed }
        return try PostgresConnection(address, role, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
    }

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

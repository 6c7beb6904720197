import CSQLiteSettings
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// A store in one file of SQLite.
final class SQLiteStorage: Storage {
    /// The file's path.
    let path: String
    private let model: ObjectModel
    let database: any DatabaseWriter
    private let readers: ReaderPool
    private let isTemporary: Bool
    /// Whether its disk failed under it, which the disk may have refused to note.
    private let hasFailed = Atomic<Bool>(false)

    init(model: ObjectModel, path: String, database: any DatabaseWriter, options: Store.Options, isTemporary: Bool) {
        self.model = model
        self.path = path
        self.database = database
        self.isTemporary = isTemporary
        readers = ReaderPool(maximumCount: options.maximumReaderCount) {
            try DatabaseQueue(path: path, configuration: Self.configuration(options, isReadOnly: true))
        }
    }

    deinit {
        keepLogIfUnverified()
        readers.close()
        guard isTemporary else { return }
        try? database.close()
        MigrationFile.remove(path)
    }

    /// Calls `body` on the writing connection; a transaction may stay open after it.
    func onWriter<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try database.unsafeReentrantWrite { database in
            guard let connection = database.sqliteConnection else {
                throw StoreError.closed
            }
            return try body(connection)
        }
    }

    var size: StoreSize? {
        func bytes(_ path: String) -> Int? {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.intValue
        }
        return StoreSize(bytes: bytes(path) ?? 0, logBytes: bytes(path + "-wal") ?? 0)
    }

    // MARK: Reading

    func read<Result>(
        _ interruption: ReadInterruption?, _ body: (any SnapshotSession, FetchRequestCache?) throws -> Result
    ) throws -> Result {
        do {
            return try readers.read(interruption) { database, caches in
                try body(SQLiteSnapshot(database: database, model: model, caches: caches), caches.requests)
            }
        } catch {
            throw StoreError.translated(error, action: "read the store")
        }
    }

    func makeRowReader() throws(StoreError) -> any RowReader { try ReaderConnection(path: path, model: model) }

    // MARK: Writing

    func makeWriterSession() throws(StoreError) -> any WriterSession {
        do {
            return try onWriter { handle in
                let session = WriterConnection(handle, model: model, storage: self)
                if session.isInTransaction {
                    throw StoreError(
                        .leased, "Another writer context of this process is writing this store",
                        remedy: "Use that writer context, or close it first")
                }
                return session
            }
        } catch {
            throw StoreError(sqlite: error, action: "open the store for writing")
        }
    }

    // MARK: Soundness

    /// The file beside the store that says its disk failed, or that damage was found.
    var suspicionPath: String { path + "-suspect" }

    var needsVerification: Bool {
        hasFailed.load(ordering: .acquiring) || FileManager.default.fileExists(atPath: suspicionPath)
    }

    func note(_ error: StoreError) {
        guard error.isDiskFailure else { return }
        hasFailed.store(true, ordering: .releasing)
        // The disk may refuse this as well; then the next start knows no better than SQLite does.
        _ = FileManager.default.createFile(
            atPath: suspicionPath, contents: Data("\(error.code.rawValue)\n".utf8),
            attributes: [.posixPermissions: 0o600])
    }

    func noteSound() {
        try? FileManager.default.removeItem(atPath: suspicionPath)
        hasFailed.store(false, ordering: .releasing)
    }

    /// Lets the writing connection be closed without SQLite's checkpoint. The others only read, and make none.
    private func keepLogIfUnverified() {
        guard needsVerification else { return }
        // A store that is closed already has no connection.
        try? onWriter { _ = sqlite3_leave_log_on_close($0) }
    }

    func close() throws(StoreError) {
        keepLogIfUnverified()
        readers.close()
        do {
            try database.close()
        } catch {
            throw StoreError(sqlite: error, action: "close the store")
        }
    }
}

import CSQLiteSettings
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// A store in one file of SQLite.
final class SQLiteStorage: Sendable {
    /// The file's path.
    let path: String
    let model: ObjectModel
    let database: any DatabaseWriter
    private let readers: ReaderPool
    private let isTemporary: Bool
    /// The files that were opened; another one may get the name of either.
    private let opened: (store: FileIdentity?, log: FileIdentity?)
    /// The path of the write-ahead log, which SQLite keeps beside the file that a link leads to.
    private let logPath: String
    /// Whether its disk failed under it, which the disk may have refused to note.
    private let hasFailed = Atomic<Bool>(false)
    /// Whether SQLite could not undo the writing connection's transaction, such as for want of memory.
    private let owesRollback = Atomic<Bool>(false)

    init(model: ObjectModel, path: String, database: any DatabaseWriter, options: Store.Options, isTemporary: Bool) {
        self.model = model
        self.path = path
        self.database = database
        self.isTemporary = isTemporary
        logPath = StoreSwap.destination(of: path) + "-wal"
        opened = (FileIdentity(path), FileIdentity(logPath))
        readers = ReaderPool(maximumCount: options.maximumReaderCount) {
            try DatabaseQueue(path: path, configuration: Self.configuration(options, isReadOnly: true))
        }
    }

    deinit {
        keepLogIfUnverified()
        readers.close()
        guard isTemporary else { return }
        try? database.close()
        DurableFile.removeDatabase(path)
    }

    /// Calls `body` on the writing connection; a transaction may stay open after it.
    ///
    /// Where SQLite could not undo a transaction, it does so first: nothing may join that transaction, or commit it.
    func onWriter<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try database.unsafeReentrantWrite { database in
            guard let connection = database.sqliteConnection else {
                throw StoreError.closed
            }
            if owesRollback.load(ordering: .relaxed) { try undoTransaction(connection) }
            return try body(connection)
        }
    }

    /// Undoes the transaction that is open on the writing connection, if one is. Where that fails, the connection's next
    /// use begins with it.
    func undoTransaction(_ connection: OpaquePointer) throws(StoreError) {
        owesRollback.store(true, ordering: .relaxed)
        try PreparedStatement.undoTransaction(on: connection)
        owesRollback.store(false, ordering: .relaxed)
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

    // MARK: The file's place

    func checkPlace() throws(StoreError) {
        // A file that has gone lives on without a name until it is closed. A lost log takes its commits with it.
        guard let store = opened.store, FileIdentity(path) == store,
            opened.log == nil || FileIdentity(logPath) == opened.log
        else { throw StoreError.displaced(path) }
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
        let descriptor = DurableFile.open(suspicionPath, O_TRUNC)
        guard descriptor >= 0 else { return }
        _ = DurableFile.write(Array("\(error.code.rawValue)\n".utf8), to: descriptor)
        Glibc.close(descriptor)
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

import CSQLiteSettings
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// A store: one SQLite file that holds the objects of a model, their history and the worker's own tables.
///
/// One process writes, through one ``WriterContext``; any number read snapshots.
public final class Store: Sendable {
    /// How a store is opened.
    public struct Options: Sendable {
        /// The page cache of the writing connection.
        public var cacheMegabytes = 16
        /// For how long a lock of another process is waited for.
        public var busyTimeoutMilliseconds = 5000
        /// How many connections read at the same time.
        public var maximumReaderCount = 4
        /// Whether the history has an index by object, made when the store is opened for writing: what changed one
        /// object is found at once then, and writing takes about a quarter more time.
        public var indexesHistoryByObject = false
        /// The identity of the store that a new one is to replace, noted when it is made.
        public var replaces: String?
        /// What the settings are known by with which a new store is built to replace another.
        public var builtWith: String?
        /// When the write-ahead log is carried over.
        var checkpoints = CheckpointDecision()

        /// Makes options with their defaults.
        public init() {}
    }

    /// The model that the store was opened with.
    public let model: ObjectModel
    /// The file's path.
    public let path: String
    let database: any DatabaseWriter
    private let readers: ReaderPool
    private let isTemporary: Bool
    /// Whether its disk failed under it, which the disk may have refused to note.
    let hasFailed = Atomic<Bool>(false)
    /// Wakes readers of this process when its writer has committed.
    public let signal = ChangeSignal()

    private init(
        model: ObjectModel, path: String, database: any DatabaseWriter, options: Options, isTemporary: Bool
    ) {
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
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }

    /// Opens the store at a path for writing, and makes it where there is none.
    ///
    /// - Throws: ``StoreError``: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.newer_format`.
    public static func open(
        path: String, model: ObjectModel, options: Options = Options()
    ) throws(StoreError) -> Store {
        try open(path: path, model: model, options: options, isTemporary: false)
    }

    /// Makes a store that vanishes with the last reference to it, for tests and previews.
    ///
    /// It lives in memory where the system offers a file system there, otherwise in the temporary folder; snapshots
    /// and transactions are those of any other store.
    public static func inMemory(model: ObjectModel, options: Options = Options()) throws(StoreError) -> Store {
        let folder = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        let path = "\(folder)/objectgraph-\(UUID().uuidString).sqlite"
        return try open(path: path, model: model, options: options, isTemporary: true)
    }

    /// Opens an existing store for reading.
    ///
    /// - Throws: ``StoreError``.
    public static func openForReading(
        path: String, model: ObjectModel, options: Options = Options()
    ) throws(StoreError) -> Store {
        guard FileManager.default.fileExists(atPath: path) else {
            throw StoreError(
                .unavailable, "There is no store at \(path)", remedy: "Run or replay first, or name another path")
        }
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration(options, isReadOnly: true))
            try queue.read { database in
                if try checkMetadata(database, model: model, path: path) < Schema.formatVersion {
                    throw olderFormat(path)
                }
            }
            return Store(model: model, path: path, database: queue, options: options, isTemporary: false)
        } catch {
            throw StoreError(error, action: "open the store at \(path)")
        }
    }

    /// The error of a store whose layout has to be brought up to date before it is read.
    static func olderFormat(_ path: String) -> StoreError {
        StoreError(
            .olderFormat, "The store at \(path) was made by an older version",
            remedy: "Start the worker once, or any command that writes: it brings the store up to date")
    }

    private static func open(
        path: String, model: ObjectModel, options: Options, isTemporary: Bool
    ) throws(StoreError) -> Store {
        try StoreSwap.complete(path: path)
        try makeFile(path)
        do {
            let checkpoints = LogCheckpoints(
                options.checkpoints, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds)
            let pool = try DatabasePool(
                path: path, configuration: configuration(options, isReadOnly: false, keeping: checkpoints))
            try pool.writeWithoutTransaction { database in
                try prepareWriter(database, options, checkpoints)
                try database.inTransaction(.immediate) {
                    try makeReady(database, model: model, path: path, options: options)
                    return .commit
                }
            }
            return Store(model: model, path: path, database: pool, options: options, isTemporary: isTemporary)
        } catch {
            throw StoreError(error, action: "open the store at \(path)")
        }
    }

    /// Lays the store out, or brings one of an older layout up to date.
    private static func makeReady(_ database: Database, model: ObjectModel, path: String, options: Options) throws {
        if try database.tableExists("_metadata") {
            let format = try checkMetadata(database, model: model, path: path)
            if format < Schema.formatVersion { try LayoutUpgrade(model).run(database, from: format) }
            // Stores that were made before conflicts were kept have no table for them.
            try database.execute(sql: Schema.conflictTable)
            try database.execute(sql: Schema.deadLetterIndex)
        } else {
            try create(database, model: model, path: path, options: options)
        }
        if options.indexesHistoryByObject { try database.execute(sql: Schema.historyObjectIndex) }
    }

    /// Makes an empty file that only its owner reads; SQLite gives its log the same permissions.
    ///
    /// A file that is there is not touched: closing any descriptor of it would drop the locks that other connections
    /// of this process hold.
    private static func makeFile(_ path: String) throws(StoreError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let descriptor = Glibc.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor < 0, errno == EEXIST { return }
        guard descriptor >= 0 else {
            throw StoreError(
                .unavailable, "Could not open the store at \(path): \(String(cString: strerror(errno)))",
                remedy: "Check that the folder exists and may be written")
        }
        Glibc.close(descriptor)
    }

    /// Makes the configuration of connections; what they keep lives as long as they do.
    private static func configuration(
        _ options: Options, isReadOnly: Bool, keeping checkpoints: LogCheckpoints? = nil
    ) -> Configuration {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        // The graph keeps references whole: to enforce them as well, SQLite would look each one up once more.
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(Double(options.busyTimeoutMilliseconds) / 1000)
        configuration.maximumReaderCount = options.maximumReaderCount
        // The writer keeps its transaction open between the chunks of one commit.
        configuration.allowsUnsafeTransactions = true
        configuration.prepareDatabase { database in
            withExtendedLifetime(checkpoints) {}
            try database.execute(sql: "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000")
            if let connection = database.sqliteConnection { try SQLFunctions.install(connection) }
        }
        return configuration
    }

    private static func prepareWriter(
        _ database: Database, _ options: Options, _ checkpoints: LogCheckpoints
    ) throws {
        // Measured: docs/evidence/performance.md.
        try database.execute(
            sql: """
                PRAGMA cache_size = \(-1000 * max(1, options.cacheMegabytes));
                PRAGMA journal_size_limit = 67108864;
                PRAGMA foreign_keys = OFF;
                PRAGMA synchronous = NORMAL
                """)
        if let connection = database.sqliteConnection { checkpoints.follow(connection) }
    }

    /// The version of the SQLite library in use.
    public static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    // MARK: Metadata

    /// The name under which a store notes which other it was built to replace.
    static let replacesKey = "replaces"
    /// The name under which it notes the settings that it was built with.
    static let builtWithKey = "builtWith"

    private static func create(
        _ database: Database, model: ObjectModel, path: String, options: Options
    ) throws {
        if let table = try String.fetchOne(
            database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' LIMIT 1")
        {
            throw StoreError(
                .corrupt, "The database at \(path) is no store: it has a table '\(table)' of somebody else",
                remedy: "Name another path")
        }
        for statement in Schema(model).statements { try database.execute(sql: statement) }
        var values = [
            "formatVersion": String(Schema.formatVersion), "storeID": UUID().uuidString.lowercased(),
        ]
        values[replacesKey] = options.replaces
        values[builtWithKey] = options.builtWith
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            try database.execute(sql: "INSERT INTO _metadata (key, value) VALUES (?, ?)", arguments: [key, value])
        }
        try StoredModel.record(model, in: database)
    }

    /// Checks that the store is of this model, and returns its layout's version.
    private static func checkMetadata(_ database: Database, model: ObjectModel, path: String) throws -> Int {
        func metadata(_ key: String) throws -> String? {
            try String.fetchOne(database, sql: "SELECT value FROM _metadata WHERE key = ?", arguments: [key])
        }
        guard try database.tableExists("_metadata"), let format = try metadata("formatVersion").flatMap({ Int($0) })
        else {
            throw StoreError(.corrupt, "The database at \(path) is no store", remedy: "Name another path")
        }
        if format > Schema.formatVersion {
            throw StoreError(
                .newerFormat, "The store at \(path) was made by a newer version (layout \(format))",
                remedy: "Use that version; the store is unharmed")
        }
        let stored = try StoredModel(database)
        switch stored.agreement(with: model) {
        case .same: break
        case .serves: if !database.configuration.readonly { try StoredModel.record(model, in: database) }
        case .differs: throw stored.mismatch(model, path: path)
        }
        return format
    }

    /// Lets SQLite do without its count of used memory, which costs a lock at each allocation: about 4 % of an import.
    ///
    /// It is for the whole process and has effect only before its first use of SQLite, so it is a program's to call,
    /// and not this library's.
    public static func disableMemoryStatistics() {
        _ = sqlite3_config_without_memory_statistics()
    }

    /// Returns the store's own identity, made with it.
    public func identity() throws -> String {
        try read { try $0.session.storeID() }
    }

    // MARK: Reading

    /// Calls `body` with a snapshot: all it reads is of one commit.
    ///
    /// - Throws: ``StoreError``, and what `body` throws.
    public func read<Result>(_ body: (ReadContext) throws -> Result) throws -> Result {
        do {
            return try readers.read { try body(ReadContext(database: $0, model: model, caches: $1)) }
        } catch {
            let failure = StoreError.translated(error, action: "read the store")
            if let failure = failure as? StoreError { note(failure) }
            throw failure
        }
    }

    /// As ``read(_:)``, without blocking the task's thread; nil once the task is cancelled.
    func reading<Result: Sendable>(
        _ body: @escaping @Sendable (ReadContext) throws -> Result
    ) async throws -> Result? {
        do {
            return try await database.read { [model] in try body(ReadContext(database: $0, model: model)) }
        } catch {
            // A cancelled task ends its statement too.
            if error is CancellationError || Task.isCancelled { return nil }
            throw StoreError.translated(error, action: "read the store")
        }
    }

    /// Closes all connections, and carries the write-ahead log over to the store.
    ///
    /// After a failure of its disk the log stays as it is: a checkpoint would write what nobody has verified.
    ///
    /// - Throws: ``StoreError``.
    public func close() throws(StoreError) {
        keepLogIfUnverified()
        readers.close()
        do {
            try database.close()
        } catch {
            throw StoreError(error, action: "close the store")
        }
    }
}

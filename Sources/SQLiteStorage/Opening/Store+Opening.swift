import CSQLiteSettings
import Foundation
import GRDB
import GRDBSQLite

extension Store {
    /// How a store is opened.
    public struct Options: Sendable {
        /// The page cache of the writing connection.
        public var cacheMegabytes = 16
        /// For how long a lock of another process is waited for.
        public var busyTimeoutMilliseconds = 5000
        /// How many connections read at the same time.
        public var maximumReaderCount = 6
        /// Whether opening the store for writing makes an index of the history by object. The changes of one object are
        /// then found at once, and writing takes about a quarter more time.
        public var indexesHistoryByObject = false
        /// The identity of the store that a new one is to replace, noted when it is made.
        public var replaces: String?
        /// The fingerprint of the settings with which a new store is built to replace another.
        public var builtWith: String?
        /// When the write-ahead log is carried over.
        var checkpoints = CheckpointDecision()

        /// Makes options with their defaults.
        public init() {}
    }

    /// Opens the store at a path for writing, and makes it where there is none.
    ///
    /// - Throws: ``StoreError``: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.model_unsuited`,
    ///   `store.newer_format`.
    public static func open(
        path: String, model: ObjectModel, options: Options = Options()
    ) throws(StoreError) -> Store {
        try open(path: path, model: model, options: options, isTemporary: false)
    }

    /// Makes a store that vanishes with the last reference to it, for tests and previews.
    ///
    /// It lives in memory where the system offers a file system there, otherwise in the temporary folder. Snapshots and
    /// transactions work as in any other store.
    ///
    /// - Throws: ``StoreError``.
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
        guard try exists(path: path) else { throw StoreError.noStore(at: path) }
        do {
            return Store(try SQLiteStorage.openForReading(path: path, model: model, options: options), model: model)
        } catch {
            throw StoreError(sqlite: error, action: "open the store at \(path)")
        }
    }

    /// Tells whether there is a file at a path.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where this user may not look, or where the disk fails.
    package static func exists(path: String) throws(StoreError) -> Bool {
        if access(path, F_OK) == 0 { return true }
        let reason = errno
        if [ENOENT, ENOTDIR].contains(reason) { return false }
        throw StoreError(
            .unavailable, "Could not look for the store at \(path): \(String(cString: strerror(reason)))",
            remedy: "Run the command as the worker's user, or let this user into the folder: chmod o+x, chgrp")
    }

    private static func open(
        path: String, model: ObjectModel, options: Options, isTemporary: Bool
    ) throws(StoreError) -> Store {
        let storage = try SQLiteStorage.open(path: path, model: model, options: options, isTemporary: isTemporary)
        return Store(storage, model: model)
    }

    /// The version of the SQLite library in use.
    public static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    /// Lets SQLite do without its count of used memory, which costs a lock at each allocation: about 4 % of an import.
    ///
    /// It holds for the whole process, and only if the call comes before the first use of SQLite. So the program calls it,
    /// not this library.
    public static func disableMemoryStatistics() {
        _ = sqlite3_config_without_memory_statistics()
    }
}

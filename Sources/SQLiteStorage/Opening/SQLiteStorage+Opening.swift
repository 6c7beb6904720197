import Foundation
import GRDB

extension SQLiteStorage {
    static func open(
        path: String, model: ObjectModel, options: Store.Options, isTemporary: Bool
    ) throws(StoreError) -> SQLiteStorage {
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
            return SQLiteStorage(
                model: model, path: path, database: pool, options: options, isTemporary: isTemporary)
        } catch {
            throw StoreError(sqlite: error, action: "open the store at \(path)")
        }
    }

    /// Opens an existing file that is only read.
    ///
    /// - Throws: ``StoreError``, and the errors of GRDB.
    static func openForReading(path: String, model: ObjectModel, options: Store.Options) throws -> SQLiteStorage {
        let queue = try DatabaseQueue(path: path, configuration: configuration(options, isReadOnly: true))
        try queue.read { database in
            if try checkMetadata(database, model: model, path: path) < Schema.formatVersion {
                throw StoreError.olderFormat(path)
            }
        }
        return SQLiteStorage(model: model, path: path, database: queue, options: options, isTemporary: false)
    }

    /// Lays the store out, or brings one of an older layout up to date.
    private static func makeReady(_ database: Database, model: ObjectModel, path: String, options: Store.Options) throws
    {
        if try database.tableExists("_metadata") {
            let format = try checkMetadata(database, model: model, path: path)
            if format < Schema.formatVersion { try LayoutUpgrade(model).run(database, from: format) }
            // Stores that were made before conflicts were kept have no table for them.
            try database.execute(sql: SQLiteDialect.creation(of: .conflicts, "IF NOT EXISTS "))
            // Older ones have no index of their dead letters either.
            try database.execute(sql: SQLiteDialect.deadLetterIndex)
            try addDeadLetterTimestamp(database)
            try renewHistoryView(database, model)
        } else {
            try create(database, model: model, path: path, options: options)
        }
        if options.indexesHistoryByObject { try database.execute(sql: Schema.historyObjectIndex) }
    }

    /// Earlier programs write a store with the column all the same: they name the columns that they fill.
    private static func addDeadLetterTimestamp(_ database: Database) throws {
        let names = try database.columns(in: "_dead_letter").map(\.name)
        if names.contains(DeadLetter.timestampColumn) { return }
        for statement in SQLiteDialect.timestampAdditions { try database.execute(sql: statement) }
    }

    /// The view belongs to this version and model.
    private static func renewHistoryView(_ database: Database, _ model: ObjectModel) throws {
        let view = SQLiteDialect.historyView(model)
        if try String.fetchOne(database, sql: "SELECT sql FROM sqlite_master WHERE name = '_history'") == view {
            return
        }
        try database.execute(sql: "DROP VIEW IF EXISTS _history")
        try database.execute(sql: view)
    }

    /// Makes an empty file that only its owner reads; SQLite gives its log the same permissions.
    ///
    /// A file that is there is not touched: closing any descriptor of it would drop the locks that other connections
    /// of this process hold. A link may lead to a file that is still missing; SQLite would make that by the `umask`.
    private static func makeFile(_ path: String) throws(StoreError) {
        let path = StoreSwap.destination(of: path)
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let descriptor = DurableFile.open(path, O_EXCL)
        if descriptor < 0, errno == EEXIST { return }
        guard descriptor >= 0 else {
            throw StoreError(
                .unavailable, "Could not open the store at \(path): \(String(cString: strerror(errno)))",
                remedy: "Check that the folder exists and may be written")
        }
        Glibc.close(descriptor)
        try DurableFile.syncFolder(of: path)
    }

    /// Makes the configuration of connections; what they keep lives as long as they do.
    static func configuration(
        _ options: Store.Options, isReadOnly: Bool, keeping checkpoints: LogCheckpoints? = nil
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
        _ database: Database, _ options: Store.Options, _ checkpoints: LogCheckpoints
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

    // MARK: Metadata

    private static func create(
        _ database: Database, model: ObjectModel, path: String, options: Store.Options
    ) throws {
        if let table = try String.fetchOne(
            database, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' LIMIT 1")
        {
            throw StoreError(
                .corrupt, "The database at \(path) is no store: it has a table '\(table)' of another program",
                remedy: "Name another path")
        }
        try Schema.checkLimits(model)
        for statement in Schema(model).statements { try database.execute(sql: statement) }
        var values = [
            "formatVersion": String(Schema.formatVersion), "storeID": UUID().uuidString.lowercased(),
        ]
        values[StoreDescription.replacesKey] = options.replaces
        values[StoreDescription.builtWithKey] = options.builtWith
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
            throw StoreError.noStore(in: path)
        }
        if format > Schema.formatVersion { throw StoreError.newerFormat(path, layout: format) }
        let isOther = try StoredModel(database).check(model, path: path, otherStore: "another store.path")
        if isOther, !database.configuration.readonly { try StoredModel.record(model, in: database) }
        return format
    }
}

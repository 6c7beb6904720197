import Foundation
import GraphCore
import PostgresStorage
import SQLiteStorage

/// How the configured store is opened, in a file or in PostgreSQL.
extension WorkerConfiguration {
    /// The place that keeps a store.
    package enum StoreKind {
        /// A file of SQLite.
        case file(path: String)
        /// A schema of a PostgreSQL database.
        case postgres(url: String)
    }

    /// The place that keeps the store.
    package var storeKind: StoreKind { store.url.map { .postgres(url: $0) } ?? .file(path: store.path) }

    /// Whether a file of SQLite keeps the store.
    package var isStoreInFile: Bool { if case .file = storeKind { true } else { false } }

    /// The words for a store that the remedy of an error asks for.
    static let anotherStore = "another store.path (in PostgreSQL: another schema in store.url)"

    /// The setting that gives each worker's partitions a store of their own.
    var settingOfOwnStore: String {
        isStoreInFile
            ? "store.path: data/ingest-\(StoreConfiguration.partitionMark).sqlite" : "a schema each in store.url"
    }

    /// Opens the store for writing, and makes it where there is none.
    ///
    /// - Throws: `StoreError`.
    package func openStore(model: ObjectModel) throws(StoreError) -> Store {
        try openStore(model: model, options: storeOptions)
    }

    /// - Parameter options: ``storeOptions``, with what a rebuild adds to them.
    package func openStore(model: ObjectModel, options: Store.Options) throws(StoreError) -> Store {
        switch storeKind {
        case .file(let path): return try Store.open(path: path, model: model, options: options)
        case .postgres(let url):
            var own = postgresOptions
            (own.replaces, own.builtWith) = (options.replaces, options.builtWith)
            return try Store.postgres(url: url, model: model, options: own)
        }
    }

    /// Checks that the configured kind of storage can keep a store of a model; nothing is opened.
    ///
    /// - Throws: `StoreError` with code `store.model_unsuited`.
    package func checkStorage(canKeep model: ObjectModel) throws(StoreError) {
        switch storeKind {
        case .file: try Store.checkFile(canKeep: model)
        case .postgres: try Store.checkPostgres(canKeep: model)
        }
    }

    /// Opens a store that is there for reading.
    ///
    /// - Throws: `StoreError`.
    package func openStoreForReading(model: ObjectModel) throws(StoreError) -> Store {
        switch storeKind {
        case .file(let path): try Store.openForReading(path: path, model: model, options: storeOptions)
        case .postgres(let url): try Store.postgresForReading(url: url, model: model, options: postgresOptions)
        }
    }

    /// Tells whether there is a store, of whatever model.
    ///
    /// - Throws: `StoreError` where its server cannot be reached, or this user may not look for its file.
    package func hasStore(model: ObjectModel) throws(StoreError) -> Bool {
        switch storeKind {
        case .file(let path): try Store.exists(path: path)
        case .postgres(let url): try Store.existsInPostgres(url: url, model: model)
        }
    }

    /// The names of the rights that ``grant(_:to:model:)`` gives.
    package static var namesOfRights: [String] { PostgresRights.allCases.map(\.rawValue) }

    /// Gives a role of the server rights on the configured store.
    ///
    /// - Throws: `StoreError` with code `store.unavailable` where the store is a file, or the server refuses.
    package func grant(_ rights: String, to role: String, model: ObjectModel) throws(StoreError) {
        guard case .postgres(let url) = storeKind, let rights = PostgresRights(rawValue: rights) else {
            throw StoreError(
                .unavailable, "Could not grant rights: the store is a file", remedy: "Use the permissions of the file")
        }
        try Store.grantInPostgres(rights, to: role, url: url, model: model)
    }

    /// The place of the store for people: the file, or the URL without password and parameters.
    package var storePlace: String {
        switch storeKind {
        case .file(let path): path
        case .postgres(let url): Store.placeOfPostgres(url: url)
        }
    }

    /// The place of the store as each process of this machine names it: the file behind symbolic links and from the
    /// root, or the database.
    package var storeLocation: String {
        switch storeKind {
        case .file(let path): URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        case .postgres: storePlace
        }
    }

    /// The path of the socket at which the store's writer takes requests.
    ///
    /// It stands beside the file. Of a store in PostgreSQL it stands where the file would be, and the place gives its name.
    /// In a folder for all users, such as `/tmp`, another user could put a socket of that name.
    package var controlPath: String {
        if isStoreInFile { return Self.controlPath(ofStore: store.path) }
        let folder = URL(fileURLWithPath: store.path).deletingLastPathComponent()
        let name = "postgres-\(String(FetchCursor.fingerprint([storePlace]), radix: 16))"
        return Self.controlPath(ofStore: folder.appendingPathComponent(name).path)
    }

    /// Where the writer of a store listens: beside the file, to which symbolic links are followed as for the store.
    static func controlPath(ofStore path: String) -> String { StoreSwap(path: path).path + ".control" }

    /// Returns the fault of a store's URL, or nil.
    static func faultOfStoreURL(_ url: String) -> String? {
        Store.isPostgres(url: url) ? nil : "is no URL of a PostgreSQL database"
    }

    var postgresOptions: PostgresOptions {
        var options = PostgresOptions()
        options.lockTimeoutMilliseconds = store.busyTimeoutMilliseconds
        options.writers = store.writers == .many ? .many : .one
        options.group = kafka.properties["group.id"]
        return options
    }

    /// The options of a store in a file that the configuration states.
    package var storeOptions: Store.Options {
        var options = Store.Options()
        options.cacheMegabytes = store.cacheMegabytes
        options.busyTimeoutMilliseconds = store.busyTimeoutMilliseconds
        options.indexesHistoryByObject = history.indexObjects
        return options
    }

    /// The writer's options that the configuration states.
    package var writerOptions: WriterContext.Options {
        var options = WriterContext.Options()
        options.author = author
        options.leaseTTLSeconds = Double(lease.ttlSeconds)
        return options
    }
}

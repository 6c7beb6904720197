/// How a store in PostgreSQL is opened.
public struct PostgresOptions: Sendable {
    /// For how long a statement waits for rows that another connection holds.
    public var lockTimeoutMilliseconds = 5000
    /// How many connections read at the same time.
    public var maximumReaderCount = 6
    /// Whether this writer owns the store, or shares it with others.
    public var writers = Writers.one
    /// The consumer group of the writers that share the store; nil where it does not matter.
    package var group: String?
    /// The identity of the store that a new one is to replace, noted when it is made.
    package var replaces: String?
    /// The fingerprint of the settings with which a new store is built to replace another.
    package var builtWith: String?
    /// Faults that tests plant.
    package var faults: SharingFaults = []

    /// How many write a store at the same time.
    public enum Writers: String, Sendable, CaseIterable {
        /// One writer owns the store; a second one is refused.
        case one
        /// Several writers share the store; each commit is as if it were alone.
        case many
    }

    /// Makes options with their defaults.
    public init() {}
}

extension Store {
    /// Opens the store in a schema of a PostgreSQL database, and makes schema and store where there are none.
    ///
    /// - Parameters:
    ///   - url: as libpq takes it, such as `postgres://user@host:5432/database?sslmode=verify-full`. A parameter `schema`
    ///     names the schema. No message shows the URL's password.
    ///   - schema: the schema that the store has for itself, where the URL names none.
    ///   - model: the model of the objects; a store of another model is refused.
    ///   - options: the limits, and how many write the store.
    /// - Throws: `StoreError`: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.newer_format`.
    public static func postgres(
        url: String, schema: String = "ingest", model: ObjectModel, options: PostgresOptions = PostgresOptions()
    ) throws(StoreError) -> Store {
        let storage = try PostgresStorage(url: url, schema: schema, model: model, options: options)
        try storage.makeReady()
        return Store(storage, model: model)
    }

    /// Opens a store that is there for reading.
    ///
    /// - Throws: as ``postgres(url:schema:model:options:)``; `store.unavailable` where there is no store.
    public static func postgresForReading(
        url: String, schema: String = "ingest", model: ObjectModel, options: PostgresOptions = PostgresOptions()
    ) throws(StoreError) -> Store {
        let storage = try PostgresStorage(url: url, schema: schema, model: model, options: options)
        try storage.checkReady()
        return Store(storage, model: model)
    }

    /// Tells whether there is a store, of whatever model.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where the server cannot be reached.
    package static func existsInPostgres(url: String, model: ObjectModel) throws(StoreError) -> Bool {
        let storage = try PostgresStorage(url: url, schema: "ingest", model: model, options: PostgresOptions())
        return try storage.connect(.reader).holdsStore()
    }

    /// Reads the model that the store in a schema has, of whatever model it is.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where the server cannot be reached, or there is no store.
    package static func storedModelInPostgres(url: String) throws(StoreError) -> StoredModel {
        let address = try ConnectionAddress(url, schema: "ingest")
        let connection = try PostgresConnection(
            address, .reader, lockTimeoutMilliseconds: PostgresOptions().lockTimeoutMilliseconds)
        guard try connection.holdsStore() else { throw .noStore(at: address) }
        let metadata = try connection.metadata("open the store")
        return StoredModel { metadata[$0] }
    }

    /// Returns the place of a store for people, without password and parameters.
    package static func placeOfPostgres(url: String) -> String {
        (try? ConnectionAddress(url, schema: "ingest"))?.description ?? "postgres://"
    }

    /// Tells whether a URL names a database of PostgreSQL.
    package static func isPostgres(url: String) -> Bool { (try? ConnectionAddress(url, schema: "ingest")) != nil }
}

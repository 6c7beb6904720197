extension PostgresStorage: Storage {
    func makeRowReader() throws(StoreError) -> any RowReader { try PostgresRowReader(self) }

    func makeWriterSession() throws(StoreError) -> any WriterSession {
        try checkNobodyWrites()
        return try PostgresWriterSession(self)
    }
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
    /// - Throws: `StoreError`: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.model_unsuited`,
    ///   `store.newer_format`.
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

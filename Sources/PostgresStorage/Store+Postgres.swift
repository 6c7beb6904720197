/// How a store in PostgreSQL is opened.
public struct PostgresOptions: Sendable {
    /// For how long a statement waits for rows that another connection holds.
    public var lockTimeoutMilliseconds = 5000
    /// How many connections read at the same time.
    public var maximumReaderCount = 4

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
    /// - Throws: ``StoreError``: `store.unavailable`, `store.corrupt`, `store.model_mismatch`, `store.newer_format`.
    public static func postgres(
        url: String, schema: String = "ingest", model: ObjectModel, options: PostgresOptions = PostgresOptions()
    ) throws(StoreError) -> Store {
        let address = try ConnectionAddress(url, schema: schema)
        let storage = PostgresStorage(model: model, address: address, options: options)
        try storage.makeReady()
        return Store(storage, model: model)
    }
}

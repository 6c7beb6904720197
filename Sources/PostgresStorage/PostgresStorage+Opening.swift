import Foundation

extension PostgresStorage {
    /// The oldest server whose protocol and language the storage needs, in the server's own form.
    private static let oldestServer = 140_000

    /// Checks the server, and lays the store out where the schema is empty.
    ///
    /// - Parameter fill: fills a new store in the same transaction. With it, a store that is there is refused.
    /// - Throws: ``StoreError``.
    func makeReady(fill: ((PostgresConnection) throws -> Void)? = nil) throws(StoreError) {
        let connection = try connect(.reader)
        try checkServer(connection)
        var lock = PostgresStatement("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))")
        lock.bind(address.schema)
        // Of several processes that open a new store, one makes it.
        try connection.run([PostgresStatement("BEGIN"), lock], "open the store")
        do throws(StoreError) {
            if fill != nil, try holdsStore(connection) {
                throw StoreError(
                    .unavailable, "There is a store at \(address) already",
                    remedy: "Name a new schema in store.url, or drop that one")
            }
            try makeStore(connection)
            do { try fill?(connection) } catch { throw StoreError(error, action: "fill the store") }
            try connection.run(PostgresStatement("COMMIT"), "open the store")
        } catch {
            connection.undo()
            throw error
        }
        noteOpened()
    }

    /// Checks the server, and that the schema holds a store of this model.
    ///
    /// - Throws: ``StoreError``.
    func checkReady() throws(StoreError) {
        let connection = try connect(.reader)
        try checkServer(connection)
        guard try holdsStore(connection) else {
            throw StoreError(
                .unavailable, "There is no store at \(address)", remedy: "Run or replay first, or name another schema")
        }
        if try checkMetadata(connection, adopts: false) < PostgresSchema.formatVersion {
            throw .olderFormat("\(address)")
        }
        noteOpened()
    }

    /// Tells whether the schema holds a store, of whatever model.
    func holdsStore(_ connection: PostgresConnection) throws(StoreError) -> Bool {
        let query = PostgresStatement("SELECT to_regclass('_metadata') IS NOT NULL")
        return try connection.run(query, "open the store").first?.flag(0) == true
    }

    private func checkServer(_ connection: PostgresConnection) throws(StoreError) {
        let result = try connection.run(
            PostgresStatement(
                "SELECT current_setting('server_version_num')::int8, current_setting('server_encoding')"),
            "open the store")
        guard let row = result.first else { return }
        if row.integer(0) < Self.oldestServer {
            throw StoreError(
                .unavailable, "The server at \(address) is older than version 14", remedy: "Use a newer server")
        }
        if row.text(1) != "UTF8" {
            throw StoreError(
                .unavailable, "The database at \(address) has the encoding \(row.text(1))",
                remedy: "Use a database with the encoding UTF8")
        }
    }

    func makeStore(_ connection: PostgresConnection) throws(StoreError) {
        var query = PostgresStatement(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1::text)) ORDER BY relname")
        query.bind(address.schema)
        let names = try connection.run(query, "open the store").rows.map { $0.text(0) }
        if names.contains("_metadata") {
            let format = try checkMetadata(connection, adopts: true)
            try connection.run(PostgresSchema.upgrade(from: format), "extend the store")
            if names.contains("_fence") { return }
            try connection.run(PostgresSchema.sharedTables.map { PostgresStatement($0) }, "extend the store")
            return
        }
        if let name = names.first {
            throw StoreError(
                .corrupt, "The schema of \(address) is no store: it has a table '\(name)' of somebody else",
                remedy: "Name another schema")
        }
        let schema = PostgresText.quoted(address.schema)
        let statements = try PostgresSchema(model).statements()
        try connection.run(
            (["CREATE SCHEMA IF NOT EXISTS \(schema)"] + statements).map { PostgresStatement($0) }, "make the store")
        let own = [
            (key: "formatVersion", value: String(PostgresSchema.formatVersion)),
            (key: "storeID", value: UUID().uuidString.lowercased()),
        ]
        try connection.run(.putMetadata(own + StoredModel.metadata(model)), "open the store")
        try makeViews(connection, known: nil)
    }

    /// Makes views and comments, unless the store has those of this version and model. A store of a version without them
    /// gets them so.
    private func makeViews(_ connection: PostgresConnection, known: String?) throws(StoreError) {
        let statements = PostgresViews(model).statements
        let fingerprint = String(FetchCursor.fingerprint(statements), radix: 16)
        if known == fingerprint { return }
        try connection.run(statements.map { PostgresStatement($0) }, "make the store's views")
        try connection.run(.putMetadata([(key: "views", value: fingerprint)]), "make the store's views")
    }

    /// Checks that the store is of this model, and returns its layout's version.
    ///
    /// - Parameter adopts: whether the store takes over a model that differs in nothing that it holds.
    @discardableResult
    func checkMetadata(_ connection: PostgresConnection, adopts: Bool) throws(StoreError) -> Int {
        let result = try connection.run(PostgresStatement("SELECT key, value FROM _metadata"), "open the store")
        let metadata = Dictionary(uniqueKeysWithValues: result.rows.map { ($0.text(0), $0.text(1)) })
        guard let format = metadata["formatVersion"].flatMap({ Int($0) }) else {
            throw StoreError(.corrupt, "The schema of \(address) is no store", remedy: "Name another schema")
        }
        if format > PostgresSchema.formatVersion {
            throw StoreError(
                .newerFormat, "The store at \(address) was made by a newer version (layout \(format))",
                remedy: "Use that version; the store is unharmed")
        }
        let stored = StoredModel { metadata[$0] }
        switch stored.agreement(with: model) {
        case .same: break
        case .serves:
            if adopts { try connection.run(.putMetadata(StoredModel.metadata(model)), "open the store") }
        case .differs:
            throw stored.mismatch(model, path: path, otherStore: "another schema in store.url")
        }
        if adopts { try makeViews(connection, known: metadata["views"]) }
        return format
    }
}

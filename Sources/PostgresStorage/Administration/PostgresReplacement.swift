import Foundation

/// Replaces a store by another one in one transaction. Readers see the old store or the new one, and a replacement that
/// ends early changes nothing.
///
/// The schema gets another name, and the new store its old one, with the same rights. The number of the claim grows, so
/// a worker of the old store writes nothing more.
final class PostgresReplacement {
    private let address: ConnectionAddress
    private let options: PostgresOptions
    private let connection: PostgresConnection
    /// The schema of the old store while both are there.
    private let oldSchema: String
    private var isReplaced = false

    init(_ address: ConnectionAddress, _ options: PostgresOptions, now: Date = Date()) throws(StoreError) {
        self.address = address
        self.options = options
        connection = try PostgresConnection(
            address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        let time = Timestamp.text(Int64(now.timeIntervalSince1970) * 1_000_000).prefix(19)
            .filter { $0 != "-" && $0 != ":" }
        oldSchema = PostgresText.name(address.schema, suffix: "_backup_\(time)Z")
    }

    /// Calls `body` with the old store, which nobody writes meanwhile, and with a call that replaces it.
    ///
    /// - Parameters:
    ///   - sourceModel: the model of a store that does not hold it.
    ///   - keepsOld: whether the old store stays, under another name.
    /// - Returns: the schema that keeps the old store, or nil.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store, and what `body` throws.
    func run(
        sourceModel: ObjectModel?, keepsOld: Bool,
        body: (_ old: ReadContext, _ replace: (ReadContext) throws -> Void) throws -> Void
    ) throws -> String? {
        do {
            let epoch = try lock()
            let model = try storedModel(sourceModel)
            let snapshot = PostgresSnapshot(connection, model, PostgresTable.all(model))
            try body(ReadContext(snapshot, model: model)) { new in
                try replace(by: new, epoch: epoch)
                isReplaced = true
            }
            if isReplaced, !keepsOld { try drop() }
            try execute(isReplaced ? "COMMIT" : "ROLLBACK")
        } catch {
            connection.undo()
            throw error
        }
        return isReplaced && keepsOld ? oldSchema : nil
    }

    // MARK: The old store

    /// Begins, keeps all writers out, and returns the number of the last claim.
    private func lock() throws(StoreError) -> Int64 {
        try execute("BEGIN")
        // The new store is made elsewhere, while the server hears nothing.
        for setting in ["idle_in_transaction_session_timeout", "statement_timeout"] {
            try execute("SET LOCAL \(setting) = 0")
        }
        let row = try query(
            """
            SELECT l.epoch, l.holder, l.expires > \(WriterShare.serverTime) AND \(WriterShare.isAlive("l")), \
            (SELECT min(w.holder) FROM _writer w \
            WHERE w.expires > \(WriterShare.serverTime) AND \(WriterShare.isAlive("w"))) \
            FROM _lease l WHERE l.id = 1 FOR UPDATE OF l
            """
        ).first
        guard let row else { throw PostgresWriterSession.noLease }
        let holder = row.optionalText(3) ?? (row.flag(2) ? row.text(1) : nil)
        if let holder {
            throw StoreError(
                .leased, "A worker writes the store at \(address): \(holder)", remedy: "Stop it, and try again")
        }
        return row.integer(0)
    }

    private func storedModel(_ sourceModel: ObjectModel?) throws(StoreError) -> ObjectModel {
        let rows = try query("SELECT key, value FROM _metadata").rows
        let metadata = Dictionary(rows.map { ($0.text(0), $0.text(1)) }, uniquingKeysWith: { first, _ in first })
        let format = metadata["formatVersion"].flatMap { Int($0) } ?? 0
        if format > PostgresSchema.formatVersion {
            throw StoreError(
                .newerFormat, "The store at \(address) was made by a newer version (layout \(format))",
                remedy: "Use that version; the store is unharmed")
        }
        try connection.run(PostgresSchema.upgrade(from: format), "extend the store")
        if let model = StoredModel({ metadata[$0] }).model ?? sourceModel { return model }
        throw StoreError(
            .modelMismatch, "The store at \(address) does not hold its model", remedy: "Name its model with --from")
    }

    // MARK: The new store

    private func replace(by new: ReadContext, epoch: Int64) throws {
        guard let source = new.session as? any CopySource else {
            throw StoreError(.unavailable, "The store cannot be copied", remedy: "Copy a store in a file")
        }
        let (schema, old) = (PostgresText.quoted(address.schema), PostgresText.quoted(oldSchema))
        try execute("ALTER SCHEMA \(schema) RENAME TO \(old)")
        let storage = try PostgresStorage(
            url: address.url, schema: address.schema, model: new.model, options: options)
        try storage.makeStore(connection)
        try PostgresCopy(connection, new.model, source, progress: { _, _ in }).run()
        for table in ["_fence", "_role"] { try execute("INSERT INTO \(table) SELECT * FROM \(old).\(table)") }
        try execute("UPDATE _lease SET epoch = \(epoch + 1) WHERE id = 1")
        try SchemaExchange(connection, old: oldSchema, new: address.schema).copyGrants()
    }

    // MARK: Afterwards

    /// Removes the old store, unless somebody's own tables or views stand in its schema or rest on it.
    private func drop() throws(StoreError) {
        do throws(StoreError) {
            try SchemaExchange(connection, old: oldSchema, new: address.schema).dropOld()
        } catch {
            if error.code == .disconnected { throw error }
            throw StoreError(
                .unavailable, "Tables or views that are not the store's own rest on the store at \(address)",
                remedy: "Migrate with --keep-backup, and make them again on the new store")
        }
    }

    private func execute(_ sql: String) throws(StoreError) { _ = try query(sql) }

    private func query(_ sql: String) throws(StoreError) -> PostgresResult {
        try connection.run(PostgresStatement(sql), "replace the store")
    }
}

extension Store {
    /// Replaces the store in a schema of a PostgreSQL database by another one, in one transaction.
    ///
    /// - Parameters:
    ///   - sourceModel: the model of a store that does not hold it.
    ///   - keepsOld: whether the old store stays, in a schema of another name.
    ///   - body: takes the old store, which nobody writes meanwhile, and a call that replaces it by another one. Without
    ///     that call nothing changes.
    /// - Returns: the schema that keeps the old store, or nil.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store, and what `body` throws.
    package static func replaceInPostgres(
        url: String, schema: String = "ingest", options: PostgresOptions = PostgresOptions(),
        sourceModel: ObjectModel? = nil, keepsOld: Bool = false,
        body: (_ old: ReadContext, _ replace: (ReadContext) throws -> Void) throws -> Void
    ) throws -> String? {
        let address = try ConnectionAddress(url, schema: schema)
        return try PostgresReplacement(address, options).run(
            sourceModel: sourceModel, keepsOld: keepsOld, body: body)
    }
}

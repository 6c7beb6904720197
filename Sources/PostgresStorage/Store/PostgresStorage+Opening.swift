import Foundation
import StoreSQL

extension PostgresStorage {
    /// Checks the server, and lays the store out where the schema is empty.
    ///
    /// - Parameter fill: fills a new store in the same transaction. With it, a store that is there is refused.
    func makeReady(fill: ((PostgresConnection) throws -> Void)? = nil) throws(StoreError) {
        let connection = try connect(.reader)
        try check(connection, .writing)
        var lock = PostgresStatement("SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))")
        lock.bind(address.schema)
        // Of several processes that open a new store, one makes it.
        try connection.run([.begin, lock], "open the store")
        do throws(StoreError) {
            if fill != nil, try connection.holdsStore() {
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
    func checkReady() throws(StoreError) {
        let connection = try connect(.reader)
        try check(connection, .reading)
        guard try connection.holdsStore() else { throw .noStore(at: address) }
        if try checkMetadata(connection, adopts: false) < PostgresSchema.formatVersion {
            throw .olderFormat("\(address)")
        }
        noteOpened()
    }

    /// Refuses a server, database or schema that cannot serve, before anything is tried there.
    private func check(_ connection: PostgresConnection, _ use: PostgresCapabilities.Use) throws(StoreError) {
        if let fault = try PostgresCapabilities(connection, address).fault(use, at: address) { throw fault }
    }

    func makeStore(_ connection: PostgresConnection) throws(StoreError) {
        var query = PostgresStatement(
            "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1::text)) ORDER BY relname")
        query.bind(address.schema)
        let names = try connection.run(query, "open the store").rows.map { $0.text(0) }
        if names.contains("_metadata") {
            // First, because the look for living writers reads them.
            if !names.contains("_fence") {
                try extend(connection, PostgresSchema.sharedTables.map { PostgresStatement($0) })
            }
            try checkMetadata(connection, adopts: true)
            return
        }
        if let name = names.first {
            throw StoreError(
                .corrupt, "The schema of \(address) is no store: it has a table '\(name)' of another program",
                remedy: "Name another schema")
        }
        // The server refuses IF NOT EXISTS too where the role owns the schema, but may not make schemas.
        let name = SQLText.quoted(address.schema)
        let find = PostgresStatement("SELECT to_regnamespace(\(SQLText.literal(name))) IS NULL")
        let isNew = try connection.run(find, "open the store").first?.flag(0) == true
        let statements = (isNew ? ["CREATE SCHEMA \(name)"] : []) + PostgresSchema(model).statements
        try connection.run(statements.map { PostgresStatement($0) }, "make the store")
        var own = [
            (key: "formatVersion", value: String(PostgresSchema.formatVersion)),
            (key: "storeID", value: UUID().uuidString.lowercased()),
        ]
        if let value = options.replaces { own.append((StoreDescription.replacesKey, value)) }
        if let value = options.builtWith { own.append((StoreDescription.builtWithKey, value)) }
        try connection.run(.putMetadata(own + StoredModel.metadata(model)), "open the store")
        try makeViews(connection, known: nil)
    }

    /// Brings an older layout up to date, and then views and comments, which belong to this version and model.
    ///
    /// - Throws: ``StoreError`` with code `store.unavailable` where the role is not the owner, or views of others rest on a
    ///   view that has to go. The code is `store.leased` where a worker writes a store of an older layout.
    private func bringUpToDate(
        _ connection: PostgresConnection, format: Int, views: String?
    ) throws(StoreError) {
        let upgrade = PostgresSchema.upgrade(from: format)
        if !upgrade.isEmpty { try checkLease(connection) }
        let hasTimestamps = try connection.deadLettersHaveTimestamps("extend the store")
        let additions = hasTimestamps ? [] : PostgresDialect.timestampAdditions.map { PostgresStatement($0) }
        try extend(connection, upgrade + additions)
        try makeViews(connection, known: views)
    }

    /// A program of an older version that has the store open knows nothing of the new layout, and could not open it again.
    private func checkLease(_ connection: PostgresConnection) throws(StoreError) {
        var holder: String?
        do throws(StoreError) { holder = try FoundLease(connection, "extend the store").holder } catch {
            // The holder is in a transaction, and may be so for long.
            if error.code != .busy { throw refusalOfOthers(error) }
            holder = "a process in a transaction"
        }
        guard let holder else { return }
        throw StoreError(
            .leased, "The store is of an older layout, and a worker writes it: \(holder)",
            remedy: "Stop that worker first; the store is unharmed")
    }

    private func extend(
        _ connection: PostgresConnection, _ statements: [PostgresStatement]
    ) throws(StoreError) {
        do throws(StoreError) { try connection.run(statements, "extend the store") } catch {
            throw refusalOfOthers(error)
        }
    }

    /// The server refuses a role that is not the owner.
    private func refusalOfOthers(_ error: StoreError) -> StoreError {
        if error.code != .unavailable { return error }
        return StoreError(
            .unavailable, "The store at \(address) is of another version, and its owner alone brings it up to date",
            remedy: "Start the worker once with the owner's URL, and grant the rights again")
    }

    private func makeViews(_ connection: PostgresConnection, known: String?) throws(StoreError) {
        let views = PostgresViews(model)
        let fingerprint = String(FetchCursor.fingerprint(views.statements), radix: 16)
        if known == fingerprint { return }
        let replacements = ["SAVEPOINT views"] + views.replacements + ["RELEASE views"]
        do throws(StoreError) {
            try connection.run(replacements.map { PostgresStatement($0) }, "make the store's views")
        } catch {
            if error.code != .database { throw refusalOfOthers(error) }
            // A view that loses or renames a column has to go first.
            try connection.run(PostgresStatement("ROLLBACK TO views"), "make the store's views")
            try OutsideViews(of: address.schema).removeThoseOverAllStores(connection, "make the store's views")
            try connection.run(views.statements.map { PostgresStatement($0) }, "make the store's views")
        }
        try connection.run(.putMetadata([(key: "views", value: fingerprint)]), "make the store's views")
    }

    /// Checks that the store is of this model, and returns its layout's version.
    ///
    /// - Parameter adopts: whether the store takes over a model that differs in nothing that it holds.
    @discardableResult
    func checkMetadata(_ connection: PostgresConnection, adopts: Bool) throws(StoreError) -> Int {
        let metadata = try connection.metadata("open the store")
        guard let format = metadata["formatVersion"].flatMap({ Int($0) }) else {
            throw StoreError(.corrupt, "The schema of \(address) is no store", remedy: "Name another schema")
        }
        if format > PostgresSchema.formatVersion { throw .newerFormat("\(address)", layout: format) }
        let stored = StoredModel { metadata[$0] }
        let isOther = try stored.check(model, path: path, otherStore: "another schema in store.url")
        if isOther, adopts { try connection.run(.putMetadata(StoredModel.metadata(model)), "open the store") }
        if adopts { try bringUpToDate(connection, format: format, views: metadata["views"]) }
        return format
    }
}

extension StoreError {
    static func noStore(at address: ConnectionAddress) -> StoreError {
        StoreError(
            .unavailable, "There is no store at \(address)", remedy: "Run or replay first, or name another schema")
    }
}

import Foundation
import StoreSQL

/// Replaces a store by another one. The new store is made in a second schema, in parts that are committed: a replacement
/// that ends early goes on there. One transaction then exchanges the schemas, so readers see the old store or the new one.
///
/// The new store has the rights of the old one. The number of the claim grows, so a worker of the old store writes nothing
/// more.
package final class PostgresReplacement {
    private let address: ConnectionAddress
    private let options: PostgresOptions
    private let connection: PostgresConnection
    /// The schema in which the new store is made.
    private let newSchema: String
    /// The schema of the old store after the exchange.
    private let oldSchema: String
    private var isReplaced = false
    /// The connection that fills the new store, once it was begun.
    private var filling: PostgresConnection?

    /// Replaces the old store by another one.
    ///
    /// - Parameters:
    ///   - work: a name for the contents. The same work goes on where an earlier run has left it.
    ///   - keepsOld: whether the old store stays, although the replacement began without that.
    ///   - progress: takes the name of a table and the number of its rows that are copied.
    package typealias Replace = (
        _ new: ReadContext, _ work: String, _ keepsOld: Bool,
        _ progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) throws -> Void

    init(_ address: ConnectionAddress, _ options: PostgresOptions, now: Date = Date()) throws(StoreError) {
        self.address = address
        self.options = options
        connection = try PostgresConnection(
            address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
        let time = Timestamp.text(Int64(now.timeIntervalSince1970) * 1_000_000).prefix(19)
            .filter { $0 != "-" && $0 != ":" }
        newSchema = SQLText.name(address.schema, suffix: "_migration")
        oldSchema = SQLText.name(address.schema, suffix: "_backup_\(time)Z")
    }

    /// Calls `body` with the old store, which nobody writes meanwhile, its state, and a call that replaces it.
    ///
    /// - Parameters:
    ///   - sourceModel: the model of a store that does not hold it.
    ///   - target: the model of the new store, where it is known before.
    ///   - keepsOld: whether the old store stays, under another name.
    /// - Returns: the schema that keeps the old store, also where it could not be removed; or nil.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store, and what `body` throws.
    func run(
        sourceModel: ObjectModel?, target: ObjectModel?, keepsOld: Bool,
        body: (_ old: ReadContext, _ state: String, _ replace: Replace) throws -> Void
    ) throws -> String? {
        var keepsOld = keepsOld
        try holdingOld { epoch in
            let model = try storedModel(sourceModel)
            let isToGo = !keepsOld && target.map { ModelDifference(from: model, to: $0).needsMigration } ?? false
            if isToGo { try checkNothingRests() }
            let snapshot = PostgresSnapshot(connection, model, PostgresTable.all(model))
            try body(ReadContext(snapshot, model: model), try state()) { new, work, keepsToo, progress in
                keepsOld = keepsOld || keepsToo
                if !keepsOld { try checkNothingRests() }
                try make(new, work, progress)
                try exchange(epoch: epoch, keepsOld: keepsOld)
                isReplaced = true
            }
        }
        return keptSchema(keepsOld)
    }

    /// Puts a restored store in the place of the old one, whatever the layout and model of the old store. Views of other
    /// schemas read the restored store then.
    ///
    /// - Parameters:
    ///   - keepsOld: whether the old store stays, under another name.
    ///   - now: the time in microseconds since 1970 UTC.
    ///   - atStep: called with `copied` and `renamed` before the exchange is committed, and with `exchanged` after it.
    /// - Returns: the schema that keeps the old store, also where it could not be removed, or nil. Besides, the views that
    ///   still read the old store.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store.
    func restore(
        _ new: ReadContext, keepsOld: Bool, now: Int64, progress: @escaping (_ table: String, _ rowCount: Int) -> Void,
        atStep: (String) -> Void
    ) throws -> (kept: String?, leftViews: [String]) {
        var leftViews: [String] = []
        try holdingOld { epoch in
            if !keepsOld { try checkNothingRests() }
            let epochs = HistoryEpochs(text: try connection.metadata(Self.action)[HistoryEpochs.metadataKey])
            // No other work has this name, so the rests of a killed restore go.
            try make(new, UUID().uuidString, progress)
            atStep("copied")
            let views = try SchemaExchange(connection, old: oldSchema, new: address.schema)
                .outsideViews(of: address.schema)
            try execute("SET LOCAL search_path = \(SQLText.quoted(address.schema))")
            try exchange(epoch: epoch, keepsOld: keepsOld)
            try connection.run(.putMetadata(new.epochs(replacing: epochs, now: now).metadata), Self.action)
            leftViews = try SchemaExchange(connection, old: oldSchema, new: address.schema).remake(views)
            isReplaced = true
            atStep("renamed")
        }
        atStep("exchanged")
        return (keptSchema(keepsOld), leftViews)
    }

    /// Calls `body` in a transaction that keeps all writers from the old store, with the number of its last claim.
    private func holdingOld(_ body: (_ epoch: Int64) throws -> Void) throws {
        do {
            try body(try lock())
            try execute(isReplaced ? "COMMIT" : "ROLLBACK")
        } catch {
            connection.undo()
            if (error as? any CodedError)?.isRetriable != true { dropUnfinished() }
            throw error
        }
    }

    /// The schema that keeps the old store, also where it could not be removed; or nil.
    private func keptSchema(_ keepsOld: Bool) -> String? {
        let left = keepsOld ? [oldSchema] : removeReplaced()
        return isReplaced && left.contains(oldSchema) ? oldSchema : nil
    }

    private static let action = "replace the store"

    // MARK: The old store

    /// Begins, keeps all writers out, and returns the number of the last claim.
    private func lock() throws(StoreError) -> Int64 {
        guard try connection.holdsStore() else { throw .noStore(at: address) }
        try execute(PostgresStatement.begin.sql)
        // The new store is made elsewhere, while the server hears nothing.
        for setting in ["idle_in_transaction_session_timeout", "statement_timeout"] {
            try execute("SET LOCAL \(setting) = 0")
        }
        // A store of an earlier version has no tables of several writers, which the look for living ones reads.
        if try query("SELECT to_regclass('_fence') IS NULL").first?.flag(0) == true {
            for sql in PostgresSchema.sharedTables { try execute(sql) }
        }
        let found = try FoundLease(connection, Self.action)
        if let holder = found.holder {
            throw StoreError(
                .leased, "A worker writes the store at \(address): \(holder)", remedy: "Stop it, and try again")
        }
        return found.epoch
    }

    /// A text that differs once anybody has written the store.
    private func state() throws(StoreError) -> String {
        let rows = ["_token", "_position", "_metadata", "_sequence", "_cursor"].map { table in
            "(SELECT coalesce(string_agg(r::text, ' ' ORDER BY r::text), '') FROM \(table) r)"
        }
        let counts = [
            "(SELECT format('%s %s %s', count(*), sum(attempts), max(id)) FROM _dead_letter)",
            "(SELECT format('%s %s', count(*), count(result)) FROM _audit)",
            "(SELECT count(*)::text FROM _conflict)", "(SELECT count(*)::text FROM _tombstone)",
        ]
        return try query("SELECT md5(concat_ws('|', \((rows + counts).joined(separator: ", "))))").first?.text(0) ?? ""
    }

    private func storedModel(_ sourceModel: ObjectModel?) throws(StoreError) -> ObjectModel {
        let metadata = try connection.metadata(Self.action)
        let format = metadata["formatVersion"].flatMap { Int($0) } ?? 0
        if format > PostgresSchema.formatVersion { throw .newerFormat("\(address)", layout: format) }
        try connection.run(PostgresSchema.upgrade(from: format), "extend the store")
        if let model = StoredModel({ metadata[$0] }).model ?? sourceModel { return model }
        throw StoreError(
            .modelMismatch, "The store at \(address) does not hold its model", remedy: "Name its model with --from")
    }

    /// Refuses to remove a store that views of others read, or in whose schema others keep something.
    private func checkNothingRests() throws(StoreError) {
        let views = try OutsideViews(of: address.schema).namesOfOthers(connection, Self.action)
        if !views.isEmpty {
            throw StoreError(
                .unavailable,
                "Views that are not the store's own rest on the store at \(address): \(views.joined(separator: ", "))",
                remedy: "Migrate with --keep-backup, and make them again on the new store")
        }
        let guests = try SchemaExchange(connection, old: oldSchema, new: address.schema)
            .namesOfGuests(in: address.schema)
        if guests.isEmpty { return }
        throw StoreError(
            .unavailable,
            "The schema of the store at \(address) has more than the store: \(guests.joined(separator: ", "))",
            remedy: "Move that to another schema (ALTER TABLE … SET SCHEMA), or migrate with --keep-backup")
    }

    // MARK: The new store

    /// Fills the second schema with the new store. No role but the owner reads it there.
    private func make(
        _ new: ReadContext, _ work: String, _ progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) throws {
        let source = try new.copySource()
        let storage = try PostgresStorage(
            url: address.url(ofSchema: newSchema), schema: newSchema, model: new.model, options: options)
        let filling = try storage.connect(.reader)
        for setting in ["idle_in_transaction_session_timeout", "statement_timeout"] { filling.set(setting, to: "0") }
        try filling.run(.begin, Self.action)
        try begin(storage, filling, work)
        self.filling = filling
        try PostgresCopy(filling, new.model, source, commitsParts: true, progress: progress).run()
        try filling.run(PostgresStatement("COMMIT"), Self.action)
    }

    /// Removes the new store of a replacement that cannot succeed as it is.
    private func dropUnfinished() {
        guard let filling else { return }
        filling.undo()
        do {
            try filling.run(.begin, Self.action)
            try SchemaExchange(filling, old: newSchema, new: address.schema).dropOld()
            try filling.run(PostgresStatement("COMMIT"), Self.action)
        } catch {
            // The caller has to know the failure before. The next replacement removes the rest.
            filling.undo()
        }
    }

    /// Lays the new store out, unless an earlier run of the same work has done so. A new store that other work left
    /// goes.
    private func begin(_ storage: PostgresStorage, _ filling: PostgresConnection, _ work: String) throws(StoreError) {
        if try filling.holdsStore() {
            let note = PostgresStatement("SELECT value FROM _metadata WHERE key = '\(Self.workKey)'")
            guard let found = try filling.run(note, Self.action).first?.text(0) else {
                throw StoreError(
                    .unavailable, "The schema \(newSchema), where the new store is to be made, holds another store",
                    remedy: "Give that schema another name")
            }
            if found == work { return }
            try SchemaExchange(filling, old: newSchema, new: address.schema).dropOld()
        }
        try storage.makeStore(filling)
        let note = PostgresStatement.putMetadata([(key: Self.workKey, value: work)])
        try filling.commitPart(note, Self.action)
    }

    /// The key in `_metadata` that names the work of which an unfinished store is.
    private static let workKey = "migration"

    private func exchange(epoch: Int64, keepsOld: Bool) throws(StoreError) {
        let (schema, old) = (SQLText.quoted(address.schema), SQLText.quoted(oldSchema))
        try execute("ALTER SCHEMA \(schema) RENAME TO \(old)")
        try execute("ALTER SCHEMA \(SQLText.quoted(newSchema)) RENAME TO \(schema)")
        try execute("DELETE FROM _metadata WHERE key = '\(Self.workKey)' OR key LIKE '\(PostgresCopy.noteKey)%'")
        for table in ["_fence", "_role"] { try execute("INSERT INTO \(table) SELECT * FROM \(old).\(table)") }
        try execute("UPDATE _lease SET epoch = \(epoch + 1) WHERE id = 1")
        // A writer may wait for the old store's row. It goes on with that row, and then with the tables of the new store.
        try execute("UPDATE \(old)._lease SET epoch = \(epoch + 1), expires = 0 WHERE id = 1")
        if !keepsOld { try execute("COMMENT ON SCHEMA \(old) IS \(removalMark)") }
        try SchemaExchange(connection, old: oldSchema, new: address.schema).copyGrants()
    }

    // MARK: Afterwards

    /// For so many timeouts of locks the removal of an old store waits.
    private static let removalAttempts = 5

    /// The comment on the schema of an old store that nobody wants to keep, as a literal.
    private var removalMark: String {
        SQLText.literal("ingest-worker: the store before a migration of \(address.schema), to be removed")
    }

    /// Removes the old stores that nobody wants to keep, also the ones that migrations left which were killed after the
    /// exchange.
    ///
    /// - Returns: the schemas that are still there.
    private func removeReplaced() -> [String] {
        do throws(StoreError) {
            let marked = "obj_description(oid, 'pg_namespace') = \(removalMark)"
            return try query("SELECT nspname::text FROM pg_namespace WHERE \(marked)").rows.map { $0.text(0) }
                .filter { !remove($0) }
        } catch {
            return [oldSchema]
        }
    }

    /// Removes an old store. Readers that have begun before the exchange get time to end, and so do workers that wait for it.
    private func remove(_ schema: String) -> Bool {
        for _ in 0..<Self.removalAttempts {
            do throws(StoreError) {
                try execute(PostgresStatement.begin.sql)
                try SchemaExchange(connection, old: schema, new: address.schema).dropOld()
                try execute("COMMIT")
                return true
            } catch {
                connection.undo()
                if error.code != .busy { return false }
            }
        }
        return false
    }

    private func execute(_ sql: String) throws(StoreError) { _ = try query(sql) }

    private func query(_ sql: String) throws(StoreError) -> PostgresResult {
        try connection.run(PostgresStatement(sql), Self.action)
    }
}

extension Store {
    /// Replaces the store in a schema of a PostgreSQL database by another one. Readers see no stage in between.
    ///
    /// - Parameters:
    ///   - sourceModel: the model of a store that does not hold it.
    ///   - target: the model of the new store, where it is known before.
    ///   - keepsOld: whether the old store stays, in a schema of another name.
    ///   - body: takes the old store, which nobody writes meanwhile, a text of its state, and a call that replaces it by
    ///     another one. Without that call nothing changes.
    /// - Returns: the schema that keeps the old store, or nil.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store, and what `body` throws.
    package static func replaceInPostgres(
        url: String, schema: String = "ingest", options: PostgresOptions = PostgresOptions(),
        sourceModel: ObjectModel? = nil, target: ObjectModel? = nil, keepsOld: Bool = false,
        body: (_ old: ReadContext, _ state: String, _ replace: PostgresReplacement.Replace) throws -> Void
    ) throws -> String? {
        let address = try ConnectionAddress(url, schema: schema)
        return try PostgresReplacement(address, options).run(
            sourceModel: sourceModel, target: target, keepsOld: keepsOld, body: body)
    }

    /// Puts a restored store in the place of the one in a schema of a PostgreSQL database, or into an empty schema.
    ///
    /// - Parameters:
    ///   - now: the time in microseconds since 1970 UTC.
    ///   - atStep: as of ``PostgresReplacement/restore(_:keepsOld:now:progress:atStep:)``.
    /// - Returns: the schema that keeps the old store, or nil; and the views that still read it.
    /// - Throws: ``StoreError`` with code `store.leased` while a worker has the store.
    package static func restoreInPostgres(
        _ backup: ReadContext, url: String, schema: String = "ingest", options: PostgresOptions, keepsOld: Bool,
        now: Int64, progress: @escaping (_ table: String, _ rowCount: Int) -> Void, atStep: (String) -> Void
    ) throws -> (kept: String?, leftViews: [String]) {
        if try existsInPostgres(url: url, model: backup.model) {
            let address = try ConnectionAddress(url, schema: schema)
            return try PostgresReplacement(address, options)
                .restore(backup, keepsOld: keepsOld, now: now, progress: progress, atStep: atStep)
        }
        let epochs = try backup.epochs(replacing: HistoryEpochs(), now: now)
        try copyToPostgres(backup, url: url, schema: schema, options: options, epochs: epochs, progress: progress)
        return (nil, [])
    }
}

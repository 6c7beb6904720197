import StoreSQL

/// The schemas of a store that is built again: the store's own, the new store's beside it, and the old store's
/// afterwards.
package struct PostgresRebuild: Sendable {
    private let address: ConnectionAddress
    private let newSchema: String
    private let keptSchema: String
    private let options: PostgresOptions

    /// - Parameter url: the URL of the store that is built again.
    /// - Throws: ``StoreError`` with code `store.unavailable` where `url` is no URL.
    package init(url: String, schema: String = "ingest", options: PostgresOptions) throws(StoreError) {
        address = try ConnectionAddress(url, schema: schema)
        newSchema = SQLText.name(address.schema, suffix: "_rebuild")
        keptSchema = SQLText.name(address.schema, suffix: "_before_rebuild")
        self.options = options
    }

    /// The old store, as messages name it.
    package var old: String { address.description }
    /// The new store, as messages name it.
    package var new: String { "the schema \(newSchema)" }
    /// The old store after the exchange, as messages name it.
    package var kept: String { "the schema \(keptSchema)" }
    /// The URL of the new store.
    package var newURL: String { address.url(ofSchema: newSchema) }

    /// Describes the old store; nil where there is none.
    package func describeOld() throws(StoreError) -> StoreDescription? { try describe(address.schema) }

    /// Describes the new store; nil where none was begun.
    package func describeNew() throws(StoreError) -> StoreDescription? { try describe(newSchema) }

    /// Tells whether the store that an earlier rebuild replaced is there.
    package func hasKept() throws(StoreError) -> Bool { try describe(keptSchema) != nil }

    private func describe(_ schema: String) throws(StoreError) -> StoreDescription? {
        let connection = try connect()
        let name = SQLText.literal(SQLText.quoted(schema) + "._metadata")
        let isThere = try connection.run(PostgresStatement("SELECT to_regclass(\(name)) IS NOT NULL"), "find the store")
        guard isThere.first?.flag(0) == true else { return nil }
        return try Self.description(connection, schema)
    }

    fileprivate static func description(
        _ connection: PostgresConnection, _ schema: String
    ) throws(StoreError) -> StoreDescription {
        let schema = SQLText.quoted(schema)
        let results = try connection.run(
            [
                "SELECT key, value FROM \(schema)._metadata",
                "SELECT topic, partition::int8, \"nextOffset\", detail FROM \(schema)._position",
                "SELECT name FROM \(schema)._cursor ORDER BY name",
            ].map { PostgresStatement($0) }, "read the store")
        let values = Dictionary(results[0].rows.map { ($0.text(0), $0.text(1)) }) { first, _ in first }
        return StoreDescription(
            positions: results[1].rows.map { SourcePosition($0) }, cursorNames: results[2].rows.map { $0.text(0) },
            metadata: { values[$0] })
    }

    fileprivate func connect() throws(StoreError) -> PostgresConnection {
        try PostgresConnection(address, .reader, lockTimeoutMilliseconds: options.lockTimeoutMilliseconds)
    }

    /// Connects to the old store, to take it from its writers and replace it.
    package func retire() throws(StoreError) -> Retiring { Retiring(self, try connect()) }
}

extension PostgresRebuild {
    /// An old store that another is about to replace.
    package final class Retiring {
        private let rebuild: PostgresRebuild
        private var connection: PostgresConnection
        /// The number of the claim that has fenced the old store's writers.
        private var epoch: Int64?

        /// For how long nobody else takes the old store, should this process end before the exchange.
        private static let claimSeconds = 60

        fileprivate init(_ rebuild: PostgresRebuild, _ connection: PostgresConnection) {
            self.rebuild = rebuild
            self.connection = connection
        }

        private var oldName: String { SQLText.quoted(rebuild.address.schema) }
        private var newName: String { SQLText.quoted(rebuild.newSchema) }
        private var keptName: String { SQLText.quoted(rebuild.keptSchema) }

        /// Takes the old store from its writers: none of them writes to it any more.
        ///
        /// - Parameter judge: looks at the old store while nobody writes it, and returns the reason not to take it yet.
        /// - Returns: that reason, or nil where the store is taken.
        /// - Throws: ``StoreError``, and what `judge` throws.
        package func take(unless judge: (StoreDescription) throws -> String?) throws -> String? {
            if connection.isLost { connection = try rebuild.connect() }
            do {
                try run(PostgresStatement.begin.sql)
                let number = try lock(oldName)
                if let reason = try judge(PostgresRebuild.description(connection, rebuild.address.schema)) {
                    try run("ROLLBACK")
                    return reason
                }
                try run(
                    """
                    UPDATE \(oldName)._lease SET epoch = \(number + 1), holder = \(SQLText.literal(Holder.text)), \
                    expires = \(FoundLease.serverTime) + \(Self.claimSeconds * 1_000_000), \
                    backend = \(connection.backend), started = \(connection.backendStart) WHERE id = 1
                    """, "DELETE FROM \(oldName)._writer", "COMMIT")
                epoch = number + 1
                return nil
            } catch {
                connection.undo()
                throw error
            }
        }

        /// Gives the old store back, where it is not replaced after all.
        package func giveBack() {
            guard let epoch else { return }
            _ = try? run("UPDATE \(oldName)._lease SET expires = 0 WHERE id = 1 AND epoch = \(epoch)")
            self.epoch = nil
        }

        /// Puts the new store in the old one's place, in one transaction.
        ///
        /// - Parameter atStep: called with `renamed` before the commit, and with `exchanged` after it.
        /// - Returns: the views in other schemas that still read the old store.
        /// - Throws: ``StoreError``: `store.fenced` where another writer has taken the old store meanwhile,
        ///   `store.leased` where a process builds the new one.
        package func exchange(atStep: (String) -> Void) throws(StoreError) -> [String] {
            do throws(StoreError) {
                try run(PostgresStatement.begin.sql)
                guard let epoch, try lock(oldName) == epoch else { throw PostgresWriterSession.fenced }
                let newEpoch = try lock(newName)
                try checkNobodyBuilds()
                try dropKept()
                let exchange = SchemaExchange(connection, old: rebuild.keptSchema, new: rebuild.address.schema)
                let views = try exchange.outsideViews(of: rebuild.address.schema)
                try run(
                    "ALTER SCHEMA \(oldName) RENAME TO \(keptName)", "ALTER SCHEMA \(newName) RENAME TO \(oldName)")
                try exchange.copyGrants()
                try carryClaims(over: max(epoch, newEpoch) + 1)
                let left = try exchange.remake(views)
                atStep("renamed")
                try run("COMMIT")
                atStep("exchanged")
                return left
            } catch {
                connection.undo()
                throw error
            }
        }

        /// Every writer of the old store, and of the new one's schema before, finds another number than its own.
        private func carryClaims(over next: Int64) throws(StoreError) {
            try run(
                "UPDATE \(keptName)._lease SET epoch = \(next), expires = 0 WHERE id = 1",
                "UPDATE \(oldName)._lease SET epoch = \(next), expires = 0 WHERE id = 1",
                """
                INSERT INTO \(oldName)._fence SELECT * FROM \(keptName)._fence ON CONFLICT (topic, partition) \
                DO UPDATE SET epoch = greatest(_fence.epoch, excluded.epoch)
                """,
                "INSERT INTO \(oldName)._role SELECT * FROM \(keptName)._role ON CONFLICT (name) DO NOTHING")
        }

        private func checkNobodyBuilds() throws(StoreError) {
            let row = try run(
                """
                SELECT l.holder FROM \(newName)._lease l WHERE l.expires > \(FoundLease.serverTime) \
                AND \(FoundLease.isAlive("l"))
                """
            ).first
            guard let row else { return }
            throw StoreError(
                .leased, "Another process builds the new store: \(row.text(0))", remedy: "Let it finish, or stop it")
        }

        /// Removes the store that an earlier rebuild replaced.
        private func dropKept() throws(StoreError) {
            let name = SQLText.literal(keptName)
            guard try run("SELECT to_regnamespace(\(name)) IS NOT NULL").first?.flag(0) == true else { return }
            do throws(StoreError) {
                try SchemaExchange(connection, old: rebuild.keptSchema, new: rebuild.address.schema).dropOld()
            } catch {
                if error.code == .disconnected || error.code == .busy { throw error }
                throw StoreError(
                    .unavailable, "Tables or views of others rest on \(rebuild.kept), where the old store is to stay",
                    remedy: "Remove that schema, or give it another name. Then run the same command again")
            }
        }

        /// Keeps the writers of a store out of the open transaction, and returns the number of the last claim.
        private func lock(_ schema: String) throws(StoreError) -> Int64 {
            guard let row = try run("SELECT epoch FROM \(schema)._lease WHERE id = 1 FOR UPDATE").first else {
                throw FoundLease.missing
            }
            return row.integer(0)
        }

        @discardableResult
        private func run(_ statements: String...) throws(StoreError) -> PostgresResult {
            let results = try connection.run(statements.map { PostgresStatement($0) }, "replace the store")
            guard let last = results.last else { throw .disconnected("replace the store") }
            return last
        }
    }
}

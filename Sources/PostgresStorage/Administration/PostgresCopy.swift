/// Copies a store of another storage into a new store, all in the open transaction of a connection.
struct PostgresCopy {
    private let connection: PostgresConnection
    private let model: ObjectModel
    private let source: any CopySource
    private let progress: (_ table: String, _ rowCount: Int) -> Void

    /// So many rows go out with one statement.
    private static let batchSize = 2000
    /// The keys of `_metadata` that a new store has of its own.
    private static let ownKeys: Set = ["formatVersion", "views"]

    private struct Table {
        let name: String
        let columns: [(name: String, kind: ColumnKind)]
    }

    init(
        _ connection: PostgresConnection, _ model: ObjectModel, _ source: any CopySource,
        progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) {
        self.connection = connection
        self.model = model
        self.source = source
        self.progress = progress
    }

    func run() throws {
        try copyMetadata()
        for table in model.rootEntities.map(table) + model.joinTables.map(table) + Self.ownTables { try copy(table) }
        try setNumbers()
    }

    // MARK: Tables

    private func table(_ root: Entity) -> Table {
        let kinds = PostgresSchema.kinds(of: root, model)
        let head: [(String, ColumnKind)] = [("pk", .bigint), ("_placeholder", .boolean)]
        let own: [(String, ColumnKind)] = root.sharesTable ? [("_entity", .text)] : []
        return Table(name: root.tableName, columns: head + own + zip(root.columnNames, kinds))
    }

    private func table(_ join: JoinTable) -> Table {
        Table(
            name: join.name, columns: (["owner", "destination"] + join.positionColumns).map { ($0, .bigint) })
    }

    private static let ownTables = [
        Table(name: "_sequence", columns: [("entity", .text), ("next", .bigint)]),
        Table(
            name: "_history_transaction",
            columns: [
                ("token", .bigint), ("time", .bigint), ("author", .text), ("context", .text), ("source", .text),
                ("firstChange", .bigint), ("changeCount", .bigint),
            ]),
        Table(
            name: "_history_change",
            columns: [
                ("id", .bigint), ("token", .bigint), ("entity", .text), ("object", .bigint), ("identity", .anyValue),
                ("change", .smallint), ("properties", .text), ("tombstone", .text),
            ]),
        Table(
            name: "_history_range",
            columns: [
                ("id", .bigint), ("count", .bigint), ("token", .bigint), ("entity", .text), ("first", .bigint),
                ("last", .bigint), ("objects", .text), ("change", .smallint), ("properties", .text),
            ]),
        Table(
            name: "_position",
            columns: [("topic", .text), ("partition", .integer), ("nextOffset", .bigint), ("detail", .text)]),
        Table(
            name: "_dead_letter",
            columns: [
                ("id", .bigint), ("time", .bigint), ("topic", .text), ("partition", .integer), ("offset", .bigint),
                ("line", .bigint), ("stage", .text), ("code", .text), ("reason", .text), ("key", .bytea),
                ("value", .bytea), ("valueBytes", .bigint), ("headers", .text), ("attempts", .bigint),
            ]),
        Table(
            name: "_tombstone",
            columns: [
                ("entity", .text), ("identity", .anyValue), ("version", .anyValue), ("time", .bigint),
                ("token", .bigint), ("saved", .bigint),
            ]),
        Table(name: "_cursor", columns: [("name", .text), ("token", .bigint), ("time", .bigint)]),
        Table(
            name: "_conflict",
            columns: [
                ("id", .bigint), ("token", .bigint), ("time", .bigint), ("kind", .text), ("entity", .text),
                ("identity", .anyValue), ("property", .text), ("local", .text), ("stored", .text), ("policy", .text),
                ("decision", .text), ("source", .text),
            ]),
    ]

    // MARK: Rows

    private func copy(_ table: Table) throws {
        var batch: [[Value]] = []
        var count = 0
        progress(table.name, 0)
        func flush() throws(StoreError) {
            if batch.isEmpty { return }
            try connection.run(insertion(of: batch, table), "copy the table \(table.name)")
            count += batch.count
            batch.removeAll(keepingCapacity: true)
            progress(table.name, count)
        }
        try source.rows(of: table.name, table.columns.map(\.name)) { row in
            batch.append(row)
            if batch.count >= Self.batchSize { try flush() }
        }
        try flush()
    }

    private func insertion(of rows: [[Value]], _ table: Table) throws(StoreError) -> PostgresStatement {
        let columns = table.columns
        let names = columns.map { PostgresText.quoted($0.name) }.joined(separator: ", ")
        let values = columns.enumerated().map { $1.kind.stored("r.c\($0)") }.joined(separator: ", ")
        let lists = columns.enumerated().map { $1.kind.list($0 + 1) }.joined(separator: ", ")
        let aliases = columns.indices.map { "c\($0)" }.joined(separator: ", ")
        var statement = PostgresStatement(
            """
            INSERT INTO \(PostgresText.quoted(table.name)) (\(names)) SELECT \(values) \
            FROM unnest(\(lists)) AS r(\(aliases))
            """)
        for (index, column) in columns.enumerated() {
            do throws(StoreError) {
                try statement.bind(rows.lazy.map { $0[index] }, as: column.kind)
            } catch {
                throw StoreError(
                    error.code,
                    "Could not copy the table \(table.name): a value does not have the form of the "
                        + "column \(column.name)", remedy: "Find it with 'verify' in the store that is copied")
            }
        }
        return statement
    }

    /// Copies all that the store says of itself. Its identity stays: tokens and cursors of readers go on.
    private func copyMetadata() throws {
        var values: [(key: String, value: String)] = []
        try source.rows(of: "_metadata", ["key", "value"]) { row in
            guard let key = row[0].text, let value = row[1].text, !Self.ownKeys.contains(key) else { return }
            values.append((key, value))
        }
        try connection.run(.putMetadata(values), "copy the store")
    }

    /// Goes on with the numbers behind the last ones that were given out.
    private func setNumbers() throws {
        func last(_ table: String, _ column: String) -> String {
            "greatest(coalesce((SELECT max(\(column)) FROM \(table)), 0), $"
        }
        var statement = PostgresStatement(
            """
            UPDATE _token SET token = \(last("_history_transaction", "token"))1::int8, \
            (SELECT max(value::int8) FROM _metadata WHERE key = 'purgedToken')), \
            "deadLetter" = \(last("_dead_letter", "id"))2::int8), conflict = \(last("_conflict", "id"))3::int8)
            """)
        for table in ["_history_transaction", "_dead_letter", "_conflict"] {
            statement.bind(try source.lastNumber(of: table))
        }
        try connection.run(statement, "copy the store")
    }
}

extension Store {
    /// Copies a store of another storage into a new schema of a PostgreSQL database, in one transaction: a copy that ends
    /// early leaves nothing.
    ///
    /// Objects keep their primary keys, and the store its identity: tokens and cursors of its readers go on.
    ///
    /// - Parameters:
    ///   - progress: takes the name of a table and the number of its rows that are copied.
    /// - Throws: ``StoreError``; `store.unavailable` where the schema holds a store already.
    package static func copyToPostgres(
        _ source: ReadContext, url: String, schema: String = "ingest", options: PostgresOptions = PostgresOptions(),
        progress: @escaping (_ table: String, _ rowCount: Int) -> Void = { _, _ in }
    ) throws {
        guard let session = source.session as? any CopySource else {
            throw StoreError(.unavailable, "The store cannot be copied", remedy: "Copy a store in a file")
        }
        let storage = try PostgresStorage(url: url, schema: schema, model: source.model, options: options)
        try storage.makeReady { connection in
            try PostgresCopy(connection, source.model, session, progress: progress).run()
        }
        try storage.close()
    }
}

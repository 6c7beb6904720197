/// Copies a store of another storage into a new store, all in the open transaction of a connection.
struct PostgresCopy {
    private let connection: PostgresConnection
    private let model: ObjectModel
    private let source: any CopySource
    private let progress: (_ table: String, _ rowCount: Int) -> Void

    /// So many rows are in memory at a time.
    private static let batchSize = 2000

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
        for table in StoreTable.all(model) { try copy(table) }
        try setNumbers()
    }

    // MARK: Rows

    private func copy(_ table: StoreTable) throws {
        let columns = try exactKinds(table)
        let names = columns.map { PostgresText.quoted($0.name) }.joined(separator: ", ")
        var count = 0
        progress(table.name, 0)
        let action = "copy the table \(table.name)"
        try connection.copy(into: "\(PostgresText.quoted(table.name)) (\(names))", action) { put in
            var rows = CopyRows()
            func flush() throws(StoreError) {
                if rows.count == 0 { return }
                try put(rows)
                count += rows.count
                rows = CopyRows()
                progress(table.name, count)
            }
            try source.rows(of: table) { row in
                do throws(StoreError) { try rows.append(row, columns) } catch {
                    throw StoreError(
                        error.code, "Could not \(action): \(error.message)",
                        remedy: "Find it with 'verify' in the store that is copied")
                }
                if rows.count >= Self.batchSize { try flush() }
            }
            try flush()
        }
    }

    /// Returns the columns with their own types: COPY does not widen numbers as parameters are.
    private func exactKinds(_ table: StoreTable) throws(StoreError) -> [(name: String, kind: ColumnKind)] {
        var query = PostgresStatement(
            "SELECT attname::text, atttypid::int8 FROM pg_attribute WHERE attrelid = quote_ident($1::text)::regclass")
        query.bind(table.name)
        let rows = try connection.run(query, "copy the table \(table.name)").rows
        let types = Dictionary(rows.map { ($0.text(0), $0.integer(1)) }) { _, last in last }
        return table.kinds(model).map { column in
            switch types[column.name] {
            case 21: (column.name, .smallint)
            case 23: (column.name, .integer)
            default: column
            }
        }
    }

    /// Copies all that the store says of itself. Its identity stays: tokens and cursors of readers go on.
    private func copyMetadata() throws {
        var values: [(key: String, value: String)] = []
        try source.rows(of: .metadata) { row in
            guard let key = row[0].text, let value = row[1].text, !StoreTable.ownKeys.contains(key) else { return }
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
        for table in StoreTable.numbered {
            statement.bind(try source.lastNumber(of: table))
        }
        try connection.run(statement, "copy the store")
    }
}

extension StoreTable {
    /// The columns with their types in PostgreSQL.
    func kinds(_ model: ObjectModel) -> [(name: String, kind: ColumnKind)] {
        let slots = root.map { PostgresSchema.kinds(of: $0, model) } ?? []
        return columns.map { column in
            switch column.form {
            case .integer: (column.name, .bigint)
            case .text: (column.name, .text)
            case .bytes: (column.name, .bytea)
            case .flag: (column.name, .boolean)
            case .anyValue: (column.name, .anyValue)
            case .slot(let slot): (column.name, slots[slot])
            }
        }
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

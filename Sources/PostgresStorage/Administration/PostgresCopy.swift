import StoreSQL

/// Copies a store of another storage into a new store, in the open transaction of a connection.
struct PostgresCopy {
    private let connection: PostgresConnection
    private let model: ObjectModel
    private let source: any CopySource
    /// Whether each part is committed, with a note of how far the table has come: the same copy then goes on there.
    private let commitsParts: Bool
    private let progress: (_ table: String, _ rowCount: Int) -> Void

    /// So many rows are in memory at a time.
    private static let partLength = 2000
    /// The keys in `_metadata` that tell how many rows of a table are copied begin with this.
    static let noteKey = "copied:"

    init(
        _ connection: PostgresConnection, _ model: ObjectModel, _ source: any CopySource, commitsParts: Bool = false,
        progress: @escaping (_ table: String, _ rowCount: Int) -> Void
    ) {
        self.connection = connection
        self.model = model
        self.source = source
        self.commitsParts = commitsParts
        self.progress = progress
    }

    func run() throws {
        let copied = commitsParts ? try copiedCounts() : [:]
        try copyMetadata()
        for table in StoreTable.all(model) { try copy(table, skipping: copied[table.name] ?? 0) }
        try setNumbers()
    }

    /// How many rows of each table an earlier run has copied.
    private func copiedCounts() throws(StoreError) -> [String: Int] {
        let query = PostgresStatement("SELECT key, value FROM _metadata WHERE key LIKE '\(Self.noteKey)%'")
        let rows = try connection.run(query, "copy the store").rows
        return Dictionary(
            rows.map { (String($0.text(0).dropFirst(Self.noteKey.count)), Int($0.text(1)) ?? 0) }
        ) { _, last in last }
    }

    // MARK: Rows

    private func copy(_ table: StoreTable, skipping copiedCount: Int) throws {
        let columns = table.kinds(model)
        var (count, part) = (0, CopyRows())
        progress(table.name, copiedCount)
        try source.rows(of: table) { row in
            count += 1
            if count <= copiedCount { return }
            do throws(StoreError) { try part.append(row, columns) } catch {
                throw StoreError(
                    error.code, "Could not copy the table \(table.name): \(error.message)",
                    remedy: "Find it with 'verify' in the store that is copied")
            }
            if part.count < Self.partLength { return }
            try put(part, into: table, columns, count: count)
            part = CopyRows()
        }
        if part.count > 0 { try put(part, into: table, columns, count: count) }
    }

    /// Puts rows into a table that has so many of them then.
    private func put(
        _ part: CopyRows, into table: StoreTable, _ columns: [(name: String, kind: ColumnKind)], count: Int
    ) throws {
        let names = columns.map { SQLText.quoted($0.name) }.joined(separator: ", ")
        try connection.copy(
            into: "\(SQLText.quoted(table.name)) (\(names))", "copy the table \(table.name)"
        ) { put in try put(part) }
        if commitsParts {
            let note = PostgresStatement.putMetadata([(key: Self.noteKey + table.name, value: String(count))])
            try connection.commitPart(note, "copy the store")
        }
        progress(table.name, count)
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

extension PostgresConnection {
    /// Commits the open transaction, with a note of its work, and begins another one.
    func commitPart(_ note: PostgresStatement, _ action: String) throws(StoreError) {
        try run([note, PostgresStatement("COMMIT")], action)
        // Behind a pooler a transaction makes its settings where it begins a round trip.
        try run(.begin, action)
    }
}

extension StoreTable {
    /// The columns with their own types in PostgreSQL: COPY does not widen numbers as parameters are.
    func kinds(_ model: ObjectModel) -> [(name: String, kind: ColumnKind)] {
        let slots = root.map { PostgresSchema.kinds(of: $0, model) } ?? []
        return columns.map { column in
            guard case .slot(let slot) = column.form else { return (column.name, ColumnKind(column.form) ?? .bigint) }
            return (column.name, slots[slot])
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
    ///   - epochs: the epochs of the copy's history, where they differ from the source's.
    ///   - progress: takes the name of a table and the number of its rows that are copied.
    /// - Throws: ``StoreError``; `store.unavailable` where the schema holds a store already.
    package static func copyToPostgres(
        _ source: ReadContext, url: String, schema: String = "ingest", options: PostgresOptions = PostgresOptions(),
        epochs: HistoryEpochs? = nil, progress: @escaping (_ table: String, _ rowCount: Int) -> Void = { _, _ in }
    ) throws {
        let session = try source.copySource()
        let storage = try PostgresStorage(url: url, schema: schema, model: source.model, options: options)
        try storage.makeReady { connection in
            try PostgresCopy(connection, source.model, session, progress: progress).run()
            if let epochs { try connection.run(.putMetadata(epochs.metadata), "copy the store") }
        }
        try storage.close()
    }
}

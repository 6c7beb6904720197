extension PostgresConnection {
    /// Tells whether the schema holds a store, of whatever model.
    func holdsStore() throws(StoreError) -> Bool {
        let query = PostgresStatement("SELECT to_regclass('_metadata') IS NOT NULL")
        return try run(query, "open the store").first?.flag(0) == true
    }

    /// Reads the names of a table's columns: a store that nobody has opened for writing since may lack one that this version
    /// adds.
    func columnNames(of table: String, _ action: String) throws(StoreError) -> Set<String> {
        var query = PostgresStatement(
            """
            SELECT attname::text FROM pg_attribute WHERE attrelid = quote_ident($1::text)::regclass AND attnum > 0 \
            AND NOT attisdropped
            """)
        query.bind(table)
        return Set(try run(query, action).rows.map { $0.text(0) })
    }

    /// Tells whether dead letters have a column for the timestamps of their records. The connection asks until they have.
    func deadLettersHaveTimestamps(_ action: String) throws(StoreError) -> Bool {
        if !knowsDeadLetterTimestamps {
            knowsDeadLetterTimestamps = try columnNames(of: "_dead_letter", action).contains(DeadLetter.timestampColumn)
        }
        return knowsDeadLetterTimestamps
    }

    /// Reads the values that the store keeps of itself, by their keys.
    func metadata(_ action: String) throws(StoreError) -> [String: String] {
        let rows = try run(PostgresStatement("SELECT key, value FROM _metadata"), action).rows
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.text(0), $0.text(1)) })
    }
}

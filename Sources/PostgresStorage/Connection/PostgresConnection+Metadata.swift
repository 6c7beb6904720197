extension PostgresConnection {
    /// Tells whether the schema holds a store, of whatever model.
    func holdsStore() throws(StoreError) -> Bool {
        let query = PostgresStatement("SELECT to_regclass('_metadata') IS NOT NULL")
        return try run(query, "open the store").first?.flag(0) == true
    }

    /// Reads the values that the store keeps of itself, by their keys.
    func metadata(_ action: String) throws(StoreError) -> [String: String] {
        let rows = try run(PostgresStatement("SELECT key, value FROM _metadata"), action).rows
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.text(0), $0.text(1)) })
    }
}

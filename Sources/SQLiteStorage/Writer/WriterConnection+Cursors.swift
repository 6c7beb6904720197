extension WriterConnection {
    func removeCursor(name: String) throws(StoreError) -> Bool {
        let statement = try statement("DELETE FROM _cursor WHERE name = ?")
        statement.bind(1, name)
        try statement.run()
        return changedRowCount > 0
    }

    func putCursor(name: String, token: Int64, time: Int64) throws(StoreError) {
        let statement = try statement(
            """
            INSERT INTO _cursor (name, token, time) VALUES (?, ?, ?) \
            ON CONFLICT (name) DO UPDATE SET token = excluded.token, time = excluded.time
            """)
        statement.bind(1, name)
        statement.bind(2, token)
        statement.bind(3, time)
        try statement.run()
    }
}

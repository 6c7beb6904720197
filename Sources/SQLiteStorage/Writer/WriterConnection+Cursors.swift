extension WriterConnection {
    func removeCursor(name: String) throws(StoreError) -> Bool {
        try run("DELETE FROM _cursor WHERE name = ?", name)
        return changedRowCount > 0
    }

    func putCursor(name: String, token: Int64, time: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO _cursor (name, token, time) VALUES (?, ?, ?) \
            ON CONFLICT (name) DO UPDATE SET token = excluded.token, time = excluded.time
            """, name, token, time)
    }
}

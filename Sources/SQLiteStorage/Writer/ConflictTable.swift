extension Schema {
    static let conflictTable = """
        CREATE TABLE IF NOT EXISTS _conflict (id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, \
        time INTEGER NOT NULL, kind TEXT NOT NULL, entity TEXT NOT NULL, identity, property TEXT, local TEXT, \
        stored TEXT, policy TEXT NOT NULL, decision TEXT NOT NULL, source TEXT)
        """
}

extension WriterConnection {
    func append(_ note: ConflictNote) throws(StoreError) {
        let statement = try statement(
            """
            INSERT INTO _conflict (token, time, kind, entity, identity, property, local, stored, policy, decision, \
            source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        statement.bind(1, note.token)
        statement.bind(2, note.time)
        statement.bind(3, note.kind)
        statement.bind(4, note.entity)
        statement.bind(5, note.identity)
        statement.bind(6, note.property)
        statement.bind(7, note.local)
        statement.bind(8, note.stored)
        statement.bind(9, note.policy)
        statement.bind(10, note.decision)
        statement.bind(11, note.source)
        try statement.run()
    }
}

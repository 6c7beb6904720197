extension Schema {
    static let conflictTable = """
        CREATE TABLE IF NOT EXISTS _conflict (id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL, \
        time INTEGER NOT NULL, kind TEXT NOT NULL, entity TEXT NOT NULL, identity, property TEXT, local TEXT, \
        stored TEXT, policy TEXT NOT NULL, decision TEXT NOT NULL, source TEXT)
        """
}

extension WriterConnection {
    func append(_ note: ConflictNote) throws(StoreError) {
        try run(
            """
            INSERT INTO _conflict (token, time, kind, entity, identity, property, local, stored, policy, decision, \
            source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            note.token, note.time, note.kind, note.entity, note.identity, note.property, note.local, note.stored,
            note.policy, note.decision, note.source)
    }
}

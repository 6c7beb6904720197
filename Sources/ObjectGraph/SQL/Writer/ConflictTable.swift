import GRDB

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

extension ReadContext {
    /// Returns the resolved conflicts in the order of their numbers, those after `id`, at most `limit`.
    public func conflicts(after id: Int64 = 0, limit: Int = 100) throws -> [ConflictNote] {
        let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_conflict'"
        guard try PreparedStatement(try connection(), sql: table).step() else { return [] }
        let statement = try PreparedStatement(
            try connection(),
            sql: """
                SELECT id, token, time, kind, entity, identity, property, local, stored, policy, decision, source \
                FROM _conflict WHERE id > ? ORDER BY id LIMIT ?
                """)
        statement.bind(1, id)
        statement.bind(2, limit)
        var notes: [ConflictNote] = []
        while try statement.step() {
            var note = ConflictNote(
                kind: statement.text(3), entity: statement.text(4), identity: statement.value(5),
                property: statement.value(6).text, local: statement.value(7).text, stored: statement.value(8).text,
                policy: statement.text(9), decision: statement.text(10))
            note.id = statement.integer(0)
            note.token = statement.integer(1)
            note.time = statement.integer(2)
            note.source = statement.value(11).text
            notes.append(note)
        }
        return notes
    }
}

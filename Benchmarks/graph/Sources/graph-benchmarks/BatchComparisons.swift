import ObjectGraph

/// Makes a store with two chats, the first of which has all messages but one.
private func makeMessages(path: String, count: Int) throws {
    try Models.makeStore(Models.messages, path: path)
    let raw = try RawDatabase(path: path)
    try raw.run(
        """
        INSERT INTO Chat (pk, id, messagesCount) VALUES (1, 'c1', \(count)), (2, 'c2', 1);
        INSERT INTO Message (pk, id, body, sentAt, seq, chat) WITH RECURSIVE n(i) AS
          (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(count))
          SELECT i, printf('message-%012d', i), 'The body of a message that somebody wrote, number ' || i,
          1700000000000000 + i * 1000, i % 2, CASE WHEN i <= \(count) THEN 1 ELSE 2 END FROM n;
        INSERT INTO _sequence VALUES ('Chat', 3), ('Message', \(count + 2))
        """)
    try raw.close()
}

/// The deletion of a chat with all its messages: by SQLite's own ON DELETE CASCADE, and by the delete rule, with history
/// and tombstones.
struct CascadeComparison: Comparison {
    static let name = "cascade"
    static let standardCount = 1_000_000
    let count: Int

    var pairs: [Pairing] {
        [
            Pairing(
                "Deletion of a chat with \(count) messages", base: "ON DELETE CASCADE", way: "delete rule and history",
                aim: 2)
        ]
    }

    func prepare(_ way: String, path: String) throws {
        try makeMessages(path: path, count: count)
        if way == pairs[0].way { return }
        let raw = try RawDatabase(path: path)
        let statements = try raw.texts(
            "SELECT sql FROM sqlite_master WHERE tbl_name = 'Message' AND type IN ('table', 'index') AND sql IS NOT NULL"
        )
        try raw.run("CREATE TABLE kept AS SELECT * FROM Message")
        for view in try raw.texts("SELECT name FROM sqlite_master WHERE type = 'view'") {
            try raw.run("DROP VIEW \"\(view)\"")
        }
        try raw.run("DROP TABLE Message")
        for statement in statements {
            try raw.run(statement.replacing("DEFERRABLE", with: "ON DELETE CASCADE DEFERRABLE"))
        }
        try raw.run("INSERT INTO Message SELECT * FROM kept; DROP TABLE kept; VACUUM")
        try raw.close()
    }

    func step(_ way: String, path: String) throws -> Measurement {
        if way == pairs[0].way {
            let writer = try WriterContext(store: try Models.open(Models.messages, path: path))
            return try measure {
                let result = try writer.execute(BatchDeleteRequest("Chat", where: "id = 'c1'"))
                try expect(result.changes.count(.delete) == count + 1)
            }
        }
        let raw = try RawDatabase(path: path)
        try raw.run("PRAGMA foreign_keys = ON")
        let measurement = try measure { try raw.run("DELETE FROM Chat WHERE id = 'c1'") }
        try expect(try raw.integer("SELECT count(*) FROM Message") == 1)
        return measurement
    }
}

/// An update of all messages, and of every second one: the bare statement, and a batch request.
struct BatchUpdateComparison: Comparison {
    static let name = "batch-update"
    static let standardCount = 2_000_000
    let count: Int

    private static let bare = "UPDATE"
    private static let bareHalf = "UPDATE … WHERE"
    private static let request = "batch request and history"
    private static let requestHalf = "batch request with a condition"

    var pairs: [Pairing] {
        [
            Pairing(
                "Update of \(count) rows", base: Self.bare, way: Self.request, aim: 1.5, growthAimMegabytes: 40),
            Pairing(
                "Update of every second of \(count) rows", base: Self.bareHalf, way: Self.requestHalf, aim: nil,
                growthAimMegabytes: 40),
        ]
    }

    func prepare(_ way: String, path: String) throws { try makeMessages(path: path, count: count) }

    func step(_ way: String, path: String) throws -> Measurement {
        switch way {
        case Self.request, Self.requestHalf:
            let writer = try WriterContext(store: try Models.open(Models.messages, path: path))
            let condition = way == Self.requestHalf ? "seq = 1" : nil
            return try measure {
                let result = try writer.execute(
                    BatchUpdateRequest("Message", where: condition, set: ["seq": .value(7)]))
                try expect(result.count >= count / 2)
            }
        default:
            let raw = try RawDatabase(path: path)
            return try measure {
                try raw.run("UPDATE Message SET seq = 7\(way == Self.bareHalf ? " WHERE seq = 1" : "")")
            }
        }
    }
}

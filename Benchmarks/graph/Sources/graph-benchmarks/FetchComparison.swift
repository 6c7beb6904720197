import ObjectGraph

/// The first 50 chats by a derived count: a fetch request in a snapshot of its own, and the same query in bare SQLite,
/// prepared anew each time or once for all.
struct FetchComparison: Comparison {
    static let name = "fetch"
    static let standardCount = 100_000
    let count: Int

    private static let repetitions = 5000
    private static let prepared = "SELECT, prepared once"
    private static let query = """
        SELECT pk, _placeholder, id, title, messagesCount FROM Chat WHERE _placeholder = 0 \
        ORDER BY messagesCount DESC, pk DESC LIMIT 50
        """

    var pairs: [Pairing] {
        [
            Pairing(
                "First 50 of \(count) chats by a derived count, \(Self.repetitions) times", base: "SELECT",
                way: "fetch request", aim: 1.3),
            Pairing("First 50 of \(count) chats", base: Self.prepared, way: "fetch request", aim: nil),
        ]
    }

    private var request: FetchRequest {
        var request = FetchRequest("Chat")
        request.sort = ["-messagesCount"]
        request.limit = 50
        return request
    }

    func prepare(_ way: String, path: String) throws {
        try Models.makeStore(Models.messages, path: path)
        let raw = try RawDatabase(path: path)
        try raw.run(
            """
            INSERT INTO Chat (pk, id, title, messagesCount) WITH RECURSIVE n(i) AS
              (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
              SELECT i, printf('chat-%012d', i), 'The title of a chat, number ' || i, i * 7919 % 1009 FROM n;
            INSERT INTO _sequence VALUES ('Chat', \(count + 1))
            """)
        try raw.close()
    }

    func step(_ way: String, path: String) throws -> Measurement {
        if way == pairs[0].way {
            let store = try Models.open(Models.messages, path: path)
            let request = request
            return try measure {
                for _ in 0..<Self.repetitions {
                    let objects = try store.read { try $0.fetch(request) }
                    try expect(objects.count == 50)
                }
            }
        }
        let raw = try RawDatabase(path: path)
        if way == Self.prepared {
            let statement = try raw.prepare(Self.query)
            return try measure {
                for _ in 0..<Self.repetitions { try expect(try statement.rows().count == 50) }
            }
        }
        return try measure {
            for _ in 0..<Self.repetitions { try expect(try raw.rows(Self.query).count == 50) }
        }
    }

    /// The plans of both queries; each has to go by the index of the derived count.
    func notes(path: String) throws -> [String] {
        let plan = try RawDatabase(path: path).plan(Self.query)
        let request = request
        let explanation = try Models.open(Models.messages, path: path).read { try $0.explain(request) }
        try expect(plan.contains("USING INDEX") && !plan.contains("B-TREE"))
        try expect(explanation.usesIndex && !explanation.sorts)
        return [
            "Query plan of SELECT: \(plan)",
            "Query plan of fetch request: \(explanation.steps.joined(separator: "; "))",
        ]
    }
}

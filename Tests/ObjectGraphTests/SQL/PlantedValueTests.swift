import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Values that other programs put into a store: no record is impassable for them, and the verifier finds each.
@Suite struct PlantedValueTests {
    private static let yaml = """
        model: planted
        entities:
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true, maxLength: 50, preserveAfterDeletion: true }
              small: { type: integer16, optional: true, preserveAfterDeletion: true }
              seq: { type: integer64, optional: true, preserveAfterDeletion: true }
              weight: { type: double, optional: true, preserveAfterDeletion: true }
              single: { type: float, optional: true, preserveAfterDeletion: true }
              amount: { type: decimal, optional: true, preserveAfterDeletion: true }
              flag: { type: boolean, optional: true, preserveAfterDeletion: true }
              at: { type: date, optional: true, preserveAfterDeletion: true }
              token: { type: uuid, optional: true, preserveAfterDeletion: true }
              link: { type: uri, optional: true, preserveAfterDeletion: true }
              bytes: { type: binary, optional: true }
              payload: { type: transformable, optional: true, preserveAfterDeletion: true }
              code: { type: string, optional: true, unique: true }
              twice: { type: integer64, derived: seq * 2 }
              lower: { type: string, derived: "lowercase:(title)" }
              sizes: { type: integer64, derived: messages.size.@sum }
              largest: { type: integer64, derived: messages.size.@max }
              prices: { type: decimal, derived: messages.price.@sum }
              mean: { type: double, derived: messages.share.@avg }
              count: { type: integer64, derived: messages.@count }
            relationships:
              messages: { to: Message, many: true, ordered: true, inverse: chat, delete: cascade }
              owner: { to: Member, inverse: chats, optional: true }
          Message:
            identity: id
            version: at
            attributes:
              id: { type: string }
              at: { type: date, optional: true }
              size: { type: integer64, optional: true }
              price: { type: decimal, optional: true }
              share: { type: double, optional: true }
              heading: { type: string, derived: chat.title }
            relationships: { chat: { to: Chat, inverse: messages, optional: true } }
          Member:
            identity: id
            attributes: { id: { type: string } }
            relationships: { chats: { to: Chat, many: true, inverse: owner, delete: cascade } }
        """

    private static let literals = [
        "x'FF'", "x''", "CAST(x'FF41' AS TEXT)", "CAST(x'410042' AS TEXT)", "'{'", "''", "'word'", "'1e5'", "'007.10'",
        "1e999", "-1e999", "0.5", "9223372036854775807", "-9223372036854775808", "70000", "NULL",
    ]

    private func graph(_ threshold: Int) throws -> Graph {
        let graph = try Graph(yaml: Self.yaml, setDeletionThreshold: threshold)
        try graph.apply([
            graph.upsert("Member", "o"),
            graph.upsert("Chat", "c", ["title": "Pumps", "seq": 3, "payload": "{}", "owner": "o", "code": "k"]),
            graph.upsert("Message", "m", ["size": 1, "price": "1.5", "share": .value(.double(0.5)), "chat": "c"]),
            graph.upsert("Message", "n", ["size": 2, "price": "2.5", "chat": "c"]),
        ])
        return graph
    }

    /// The columns of a table that can be planted; keys of rows cannot hold anything else.
    private func columns(_ graph: Graph, _ table: String) throws -> [String] {
        try graph.column("SELECT name FROM pragma_table_info('\(table)') WHERE pk = 0").compactMap(\.text)
    }

    /// Applies each event as a chunk of its own.
    private func applyAll(_ graph: Graph) throws {
        let events = [
            graph.upsert("Message", "m", ["size": 5, "price": "9", "at": .value(.integer(5))]),
            graph.upsert("Message", "p", ["size": 1, "chat": "c"]),
            graph.upsert("Chat", "c", ["title": "Valves", "seq": 4]),
            graph.upsert("Chat", "d", ["code": "k", "messages": ["n"]]),
            graph.delete("Message", "m", time: 9),
            graph.delete("Chat", "c", time: 9),
            graph.delete("Member", "o", time: 9),
        ]
        for event in events { try graph.apply([event]) }
    }

    @Test(arguments: ["Chat", "Message", "Member"], [0, 1000])
    func `no value in a column stops the events that meet it`(_ table: String, _ threshold: Int) throws {
        let names = try columns(try graph(threshold), table)
        var planted = 0
        for name in names {
            for literal in Self.literals {
                let graph = try graph(threshold)
                // What the schema itself refuses is in no store.
                guard (try? graph.rows("UPDATE \(table) SET \"\(name)\" = \(literal) WHERE rowid = 1")) != nil else {
                    continue
                }
                planted += 1
                #expect(throws: Never.self, "\(table).\(name) = \(literal)") { try applyAll(graph) }
                let malformed = try graph.column(
                    "SELECT tombstone FROM _history_change WHERE tombstone IS NOT NULL AND NOT json_valid(tombstone)")
                #expect(malformed.isEmpty, "\(table).\(name) = \(literal)")
            }
        }
        #expect(planted > names.count * Self.literals.count / 2)
    }

    @Test(arguments: ["_history_change", "_history_range", "_dead_letter", "_conflict"])
    func `no value in the own tables stops their readers`(_ table: String) throws {
        let graph = try graph(1000)
        for statement in Self.ownRows { _ = try graph.rows(statement) }
        _ = try graph.writer.execute(BatchUpdateRequest("Message", set: ["size": .value(7)]))
        var planted = 0
        for name in try columns(graph, table) {
            for literal in Self.literals {
                guard (try? graph.rows("UPDATE \(table) SET \"\(name)\" = \(literal)")) != nil else { continue }
                planted += 1
                #expect(throws: Never.self, "\(table).\(name) = \(literal)") {
                    _ = try graph.history()
                    try graph.store.read { context in
                        _ = try context.deadLetters()
                        _ = try context.conflicts()
                    }
                }
            }
        }
        #expect(planted > 30)
    }

    /// Numbers of the store's own: the next writer applies all events, or says at its start what is wrong.
    @Test(arguments: [
        "_sequence", "_history_transaction", "_history_change", "_tombstone", "_metadata", "sqlite_sequence",
    ])
    func `no number in the own tables stops an event without a word`(_ table: String) throws {
        let names = try columns(try graph(1000), table).filter { $0 != "entity" && $0 != "key" && $0 != "name" }
        var (planted, refused) = (0, 0)
        for name in names {
            for literal in Self.literals {
                let graph = try graph(1000)
                try graph.apply([graph.delete("Message", "n", time: 3)])
                let rows = table == "_metadata" ? " WHERE key = 'nextChange'" : ""
                guard (try? graph.rows("UPDATE \(table) SET \"\(name)\" = \(literal)\(rows)")) != nil else { continue }
                planted += 1
                do {
                    try graph.restart()
                    try applyAll(graph)
                } catch let error as StoreError {
                    refused += 1
                    #expect(error.code == .value, "\(table).\(name) = \(literal): \(error)")
                    #expect(error.message.contains("which another program wrote"), "\(error)")
                }
                _ = try graph.store.verify()
            }
        }
        #expect(planted > 5 && refused < planted / 4)
    }

    private static let ownRows = [
        "INSERT INTO _dead_letter (time, topic, partition, offset, stage, code, reason, headers) "
            + "VALUES (0, 't', 0, 0, 's', 'c', 'r', '[]')",
        "INSERT INTO _conflict (token, time, kind, entity, local, policy, decision) "
            + "VALUES (1, 0, 'k', 'Chat', '1', 'p', 'd')",
    ]

    @Test func `a statement that fails at a value makes one dead letter and keeps its neighbours`() throws {
        let graph = try graph(1000)
        // A trigger stands for any function of SQLite that a value makes fail.
        _ = try graph.rows(
            "CREATE TRIGGER planted AFTER UPDATE OF title ON Chat WHEN NEW.title = 'bad' "
                + "BEGIN SELECT json_extract(NEW.code, '$'); END")
        let outcomes = try graph.apply(
            graph.upsert("Message", "x", ["size": 1]), graph.upsert("Chat", "c", ["title": "bad"]),
            graph.upsert("Message", "y", ["size": 2]))
        #expect(outcomes == ["applied", "store.value", "applied"])
        #expect(try graph.column("SELECT title FROM Chat") == ["Pumps"])
    }

    @Test(arguments: [
        ("title", "x'FF'"), ("title", "CAST(x'FF41' AS TEXT)"), ("small", "70000"), ("small", "'word'"),
        ("seq", "0.5"), ("weight", "1e999"), ("weight", "'word'"), ("single", "x'00'"), ("amount", "'007.10'"),
        ("amount", "'word'"), ("flag", "2"), ("at", "'today'"), ("at", "9223372036854775807"), ("token", "x'FF'"),
        ("token", "'word'"), ("link", "x'FF'"), ("bytes", "'word'"), ("payload", "'{'"), ("payload", "''"),
        ("payload", "x'7B7D'"), ("owner", "'word'"), ("lower", "x'FF'"),
    ])
    func `verify reports a value that is none of its type`(_ column: String, _ literal: String) throws {
        let graph = try graph(1000)
        #expect(try graph.store.verify().isSound)
        // A reference to nothing is refused at the commit where foreign keys are enforced.
        guard (try? graph.rows("UPDATE Chat SET \"\(column)\" = \(literal)")) != nil else {
            #expect(column == "owner" && KeyEnforcement.isOn)
            return
        }
        let report = try graph.store.verify()
        let found = report.checks.filter { ["values", "limits"].contains($0.name) }.flatMap(\.problems)
        #expect(found.contains { $0.entity == "Chat" && $0.identity == "c" && $0.property == column })
    }

    @Test(arguments: [
        ("_history_change", "UPDATE _history_change SET tombstone = '{' WHERE id = 1"),
        (
            "_dead_letter",
            "INSERT INTO _dead_letter (time, topic, partition, offset, stage, code, reason, headers) "
                + "VALUES (0, 't', 0, 0, 's', 'c', 'r', '[')"
        ),
        (
            "_conflict",
            "INSERT INTO _conflict (token, time, kind, entity, local, policy, decision) "
                + "VALUES (1, 0, 'k', 'Chat', 'x', 'p', 'd')"
        ),
    ])
    func `verify reports what is no JSON in the own tables`(_ table: String, _ sql: String) throws {
        let graph = try graph(1000)
        _ = try graph.rows(sql)
        #expect(try graph.store.verify().check(named: "values")?.problems.map(\.entity) == [table])
    }
}

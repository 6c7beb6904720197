import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct DerivedKeyPathTests {
    private static let yaml = """
        entities:
          Team:
            identity: id
            attributes: { id: { type: string }, name: { type: string, optional: true } }
            relationships: { chats: { to: Chat, many: true, inverse: team } }
          Chat:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              folded: { type: string, derived: "canonical: ( title )" }
              lastSaved: { type: date, derived: messages.savedAt.@max }
            relationships:
              team: { to: Team, inverse: chats, optional: true }
              messages: { to: Message, many: true, inverse: chat, delete: nullify }
          Message:
            identity: id
            attributes:
              id: { type: string }
              text: { type: string, optional: true }
              chatTitle: { type: string, derived: chat.title }
              loud: { type: string, derived: "uppercase:(chatTitle)" }
              team: { type: string, derived: "lowercase:(chat.team.name)" }
              savedAt: { type: date, derived: now() }
            relationships: { chat: { to: Chat, inverse: messages, optional: true } }
        """

    private func graph(setDeletionThreshold: Int = 1000, clock: Clock = Clock(10)) throws -> Graph {
        let graph = try Graph(
            ObjectModel.parse(Self.yaml), clock: clock, setDeletionThreshold: setDeletionThreshold)
        try graph.apply(
            graph.upsert("Team", "t", ["name": "Ärzte"]), graph.upsert("Chat", "c", ["title": "Café", "team": "t"]),
            graph.upsert("Message", "m", ["chat": "c"]), graph.upsert("Message", "n", ["chat": "c"]))
        return graph
    }

    @Test(
        arguments: [
            ("Ça Ï", "ca i"), ("Å\u{030A}ngström", "angstrom"), ("straße Øl", "straße øl"), ("ＡＢ", "ａｂ"),
            ("İstanbul", "istanbul"), ("plain", "plain"),
        ])
    func `canonical is lower case without diacritics`(_ text: String, _ expected: String) {
        #expect(TextTransformation.canonical.apply(text) == expected)
    }

    @Test func `case follows Unicode's full mappings`() {
        #expect(TextTransformation.uppercase.apply("straße") == "STRASSE")
        #expect(TextTransformation.lowercase.apply("ÀB") == "àb")
        #expect(TextTransformation.uppercase.apply(.null) == .null)
    }

    @Test func `value at the end is read`() throws {
        let graph = try graph()
        #expect(
            try graph.rows("SELECT chatTitle, loud, team FROM Message WHERE id = 'm'") == [["Café", "CAFÉ", "ärzte"]])
        #expect(try graph.value("Chat", "c", "folded") == "cafe")
    }

    @Test func `value changed at the end reaches all who read it`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Team", "t", ["name": "B"]), graph.upsert("Chat", "c", ["title": "X"]))
        #expect(
            try graph.rows("SELECT chatTitle, loud, team FROM Message") == [["X", "X", "b"], ["X", "X", "b"]])
        #expect(
            try graph.history(after: 1) == [
                "update Team t name", "update Chat c title,folded", "update Message m chatTitle,loud,team",
                "update Message n chatTitle,loud,team",
            ])
    }

    @Test func `reference changed on the way reaches all who read through it`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("Chat", "c", ["team": "u"]), graph.upsert("Team", "u", ["name": "U"]))
        #expect(try graph.column("SELECT team FROM Message") == ["u", "u"])
        try graph.apply(graph.upsert("Message", "m", ["chat": nil]))
        #expect(
            try graph.rows("SELECT chatTitle, loud, team FROM Message ORDER BY id") == [
                [nil, nil, nil], ["Café", "CAFÉ", "u"],
            ])
    }

    @Test(arguments: [1000, 0]) func `destination deleted leaves null`(_ threshold: Int) throws {
        let graph = try graph(setDeletionThreshold: threshold)
        try graph.apply(graph.delete("Team", "t"))
        #expect(try graph.column("SELECT team FROM Message") == [nil, nil])
        try graph.apply(graph.delete("Chat", "c"))
        #expect(try graph.rows("SELECT chatTitle, loud FROM Message") == [[nil, nil], [nil, nil]])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `time is that of the save that changed the object`() throws {
        let clock = Clock(10)
        let graph = try graph(clock: clock)
        clock.now = 20
        try graph.apply(graph.upsert("Message", "m", ["text": "a"]))
        #expect(try graph.column("SELECT savedAt FROM Message ORDER BY id") == [20, 10])
        #expect(try graph.column("SELECT lastSaved FROM Chat") == [20])
        clock.now = 30
        try graph.apply(graph.upsert("Message", "m", ["text": "a"]))
        #expect(try graph.column("SELECT savedAt FROM Message ORDER BY id") == [20, 10], "nothing else changed")
        #expect(
            try graph.history(after: 1) == ["update Message m text,savedAt", "update Chat c lastSaved"])
        clock.now = 40
        try graph.apply(graph.upsert("Chat", "c", ["title": "Y"]))
        #expect(try graph.column("SELECT savedAt FROM Message") == [40, 40], "what they read of the chat changed")
        #expect(try graph.column("SELECT lastSaved FROM Chat") == [40])
    }

    @Test(arguments: [1000, 0]) func `time follows a deletion that changes the object`(_ threshold: Int) throws {
        let clock = Clock(10)
        let graph = try graph(setDeletionThreshold: threshold, clock: clock)
        clock.now = 20
        try graph.apply(graph.delete("Chat", "c"))
        #expect(try graph.column("SELECT savedAt FROM Message") == [20, 20])
    }

    @Test func `thousands of readers follow in one save`() throws {
        let graph = try graph()
        for start in stride(from: 0, to: 3000, by: 500) {
            try graph.apply(
                (start..<start + 500).map { graph.upsert("Message", .text("x\($0)"), ["chat": "c"]) })
        }
        let token = try #require(try graph.apply([graph.upsert("Chat", "c", ["title": "New"])]).token)
        #expect(try graph.column("SELECT DISTINCT loud FROM Message") == ["NEW"])
        #expect(try graph.history(after: token - 1).count == 3003)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `readers of a sub-entity's time see an inherited value change`() throws {
        let clock = Clock(10)
        let yaml = """
            entities:
              Item:
                identity: id
                attributes: { id: { type: string }, greatest: { type: integer64, optional: true, derived: parts.size.@max } }
                relationships: { parts: { to: Part, many: true, inverse: item } }
              Task: { parent: Item, attributes: { changedAt: { type: date, derived: now() } } }
              Part:
                identity: id
                attributes: { id: { type: string }, size: { type: integer32, default: 0 } }
                relationships: { item: { to: Item, inverse: parts, optional: true } }
              Note:
                identity: id
                attributes: { id: { type: string }, seen: { type: date, optional: true, derived: task.changedAt } }
                relationships: { task: { to: Task, inverse: none, optional: true } }
            """
        let graph = try Graph(ObjectModel.parse(yaml), clock: clock)
        func part(_ id: String, _ size: Int64) -> ChangeSet {
            graph.upsert("Part", .text(id), ["size": .value(.integer(size)), "item": .value(.text("t"))])
        }
        try graph.apply(
            graph.upsert("Task", "t"), part("p1", 5), part("p2", 3),
            graph.upsert("Note", "n", ["task": .value(.text("t"))]))
        clock.now = 20
        // The greatest one leaves, so the storage computes it from the rows.
        try graph.apply(part("p1", 1))
        #expect(try graph.rows("SELECT greatest, changedAt FROM Task") == [[3, 20]])
        #expect(try graph.column("SELECT seen FROM Note") == [20])
        #expect(try graph.damage() == "")
    }

    @Test func `a new order is a change, whose time the owner has`() throws {
        let clock = Clock(10)
        let yaml = """
            entities:
              List:
                identity: id
                attributes: { id: { type: string }, changedAt: { type: date, derived: now() } }
                relationships: { entries: { to: Entry, many: true, ordered: true, inverse: list } }
              Entry:
                identity: id
                attributes: { id: { type: string } }
                relationships: { list: { to: List, inverse: entries, optional: true } }
            """
        let graph = try Graph(ObjectModel.parse(yaml), clock: clock)
        try graph.apply(graph.upsert("List", "l", ["entries": ["a", "b", "c"]]))
        clock.now = 20
        try graph.apply(graph.upsert("List", "l", ["entries": ["c", "a", "b"]]))
        #expect(try graph.column("SELECT changedAt FROM List") == [20])
    }
}

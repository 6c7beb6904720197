import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct TombstoneTests {
    private func chats() throws -> Graph { try Graph(configuredModel("chat")) }

    private func outcomes(of events: [ChangeSet], _ isOneChunk: Bool, _ graph: Graph) throws -> [String] {
        if isOneChunk { return try graph.apply(events).outcomes.map(\.word) }
        return try events.flatMap { try graph.apply($0) }
    }

    @Test func `older version is stale and an equal one applies`() throws {
        let graph = try chats()
        let outcomes = try graph.apply(
            graph.upsert("Chat", "c", ["title": "a", "updatedAt": 5]),
            graph.upsert("Chat", "c", ["title": "b", "updatedAt": 4]),
            graph.upsert("Chat", "c", ["title": "c", "updatedAt": 5]), graph.upsert("Chat", "c", ["title": "d"]))
        #expect(outcomes == ["applied", "stale", "applied", "applied"])
        #expect(try graph.rows("SELECT title, updatedAt FROM Chat") == [["d", 5]])
    }

    @Test(arguments: [false, true]) func `a null version takes no version away`(_ isOneChunk: Bool) throws {
        let graph = try chats()
        let events = [
            graph.upsert("Chat", "c", ["title": "a", "updatedAt": 10]),
            graph.upsert("Chat", "c", ["title": "b", "updatedAt": nil]),
            graph.upsert("Chat", "c", ["title": "c", "updatedAt": 3]),
        ]
        let outcomes = try outcomes(of: events, isOneChunk, graph)
        #expect(outcomes == ["applied", "applied", "stale"])
        #expect(try graph.rows("SELECT title, updatedAt FROM Chat") == [["b", 10]])
    }

    @Test func `an object's first event overrides the default of its version with a null`() throws {
        let graph = try Graph(
            yaml: """
                model: counted
                entities:
                  Thing:
                    identity: id
                    version: seq
                    attributes: { id: { type: string }, seq: { type: integer64, optional: true, default: 7 } }
                """)
        try graph.apply(graph.upsert("Thing", "a"), graph.upsert("Thing", "b", ["seq": nil]))
        #expect(try graph.column("SELECT seq FROM Thing ORDER BY id") == [7, nil])
    }

    @Test func `older deletion is stale`() throws {
        let graph = try chats()
        try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 5]))
        #expect(try graph.apply(graph.delete("Chat", "c", version: 4)) == ["stale"])
        #expect(try graph.apply(graph.delete("Chat", "c", version: 5)) == ["applied"])
    }

    @Test func `versions decide before times`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Chat", "c", version: 5, time: 100))
        #expect(try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 5], time: 200)) == ["stale"])
        #expect(try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 6], time: 1)) == ["applied"])
        #expect(try graph.tombstones() == [])
    }

    @Test func `times decide where a version is lacking`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Chat", "c", version: 5, time: 100))
        #expect(try graph.apply(graph.upsert("Chat", "c", time: 100)) == ["stale"])
        #expect(try graph.apply(graph.upsert("Chat", "c", time: 101)) == ["applied"])
    }

    @Test func `arrival decides where nothing compares`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Chat", "c", version: 5))
        #expect(try graph.apply(graph.upsert("Chat", "c", ["title": "back"], time: 1)) == ["applied"])
        #expect(try graph.value("Chat", "c", "title") == "back")
    }

    @Test func `recreated object is a new one`() throws {
        let graph = try chats()
        try graph.apply(graph.upsert("Chat", "c", ["title": "a", "members": ["m"]]))
        let result = try graph.apply([graph.delete("Chat", "c"), graph.upsert("Chat", "c")])
        #expect(result.outcomes.map(\.word) == ["applied", "applied"])
        #expect(try graph.rows("SELECT pk, title, membersCount FROM Chat") == [[2, nil, 0]])
        #expect(try graph.history(after: 1) == ["delete Chat c", "update Member m chats", "insert Chat c"])
    }

    // MARK: Deletions after a deletion

    @Test func `a second deletion keeps the version and the time of the first`() throws {
        let graph = try chats()
        try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 10]), graph.delete("Chat", "c", time: 20))
        #expect(try graph.apply(graph.delete("Chat", "c")) == ["applied"])
        #expect(try graph.tombstones() == [["Chat", "c", 20, 20]])
        #expect(try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 5])) == ["stale"])
        // The version makes this deletion the newer one, whose time is the older one.
        #expect(try graph.apply(graph.delete("Chat", "c", version: 30, time: 15)) == ["applied"])
        #expect(try graph.tombstones() == [["Chat", "c", 30, 20]])
    }

    @Test(arguments: [false, true]) func `a cascaded object's own deletion keeps its version`(
        _ isOneChunk: Bool
    ) throws {
        let graph = try Graph(yaml: Self.boxes)
        let events = [
            graph.upsert("Box", "b", ["items": ["i"]]), graph.upsert("Item", "i", ["seq": 10]),
            graph.delete("Box", "b"), graph.delete("Item", "i"), graph.upsert("Item", "i", ["seq": 5]),
        ]
        let outcomes = try outcomes(of: events, isOneChunk, graph)
        #expect(outcomes == ["applied", "applied", "applied", "applied", "stale"])
        #expect(try graph.identities("Item") == [])
    }

    /// A mention newer than the deletion makes a placeholder beside the tombstone. Neither a deletion of the placeholder
    /// nor one that reaches it by cascade forgets the object's version, in memory or inside the store.
    @Test(
        arguments: [1000, 0], ["Item", "Box"]
    ) func `the deletion of a placeholder keeps the version of the object before it`(
        _ threshold: Int, _ deleted: String
    ) throws {
        let graph = try Graph(yaml: Self.boxes, setDeletionThreshold: threshold)
        try graph.apply(
            graph.upsert("Item", "i", ["seq": 10]), graph.delete("Item", "i", time: 20),
            graph.upsert("Box", "b", ["items": ["i"]], time: 21))
        #expect(try graph.rows("SELECT id, _placeholder FROM Item") == [["i", 1]])
        #expect(try graph.apply(graph.delete(deleted, deleted == "Item" ? "i" : "b", time: 30)) == ["applied"])
        #expect(try graph.identities("Item") == [])
        #expect(try graph.tombstones().contains(["Item", "i", 10, 30]))
        #expect(try graph.apply(graph.upsert("Item", "i", ["seq": 5])) == ["stale"])
        #expect(try graph.apply(graph.upsert("Item", "i", ["seq": 11])) == ["applied"])
    }

    private static let boxes = """
        model: boxes
        entities:
          Box:
            identity: id
            attributes: { id: { type: string } }
            relationships: { items: { to: Item, many: true, inverse: box, delete: cascade } }
          Item:
            identity: id
            version: seq
            attributes:
              id: { type: string }
              seq: { type: integer64, optional: true }
            relationships: { box: { to: Box, inverse: items, optional: true } }
        """

    // MARK: Mentions of deleted objects

    @Test(arguments: [true, false]) func `a late message of a deleted chat leaves what it would have left in time`(
        _ isLate: Bool
    ) throws {
        let graph = try chats()
        let deletion = graph.delete("Chat", "c", time: 50)
        let message = graph.upsert("Message", "x", ["chat": "c", "sender": "m"], time: 40)
        let outcomes = try graph.apply(isLate ? [deletion, message] : [message, deletion]).outcomes.map(\.word)
        #expect(outcomes == ["applied", "applied"])
        #expect(try graph.identities("Message") == [])
        #expect(try graph.identities("Chat") == [])
        #expect(try graph.identities("Member") == ["m"])
        // An edit that does not name the chat may not bring the message back.
        #expect(try graph.apply(graph.upsert("Message", "x", ["body": "edited"], time: 45)) == ["stale"])
        let tombstones = try graph.tombstones()
        #expect(tombstones.contains(["Message", "x", 50, 50]))
        #expect(tombstones.contains { $0.prefix(2) == ["Chat", "c"] })
    }

    @Test func `mention newer than the deletion makes a placeholder`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Chat", "c", version: 50, time: 50))
        #expect(try graph.apply(graph.upsert("Message", "x", ["chat": "c"], time: 51)) == ["applied"])
        #expect(try graph.rows("SELECT id, _placeholder FROM Chat") == [["c", 1]])
        // The placeholder's own event may still be older than the deletion.
        #expect(try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 49])) == ["stale"])
        #expect(try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 51])) == ["applied"])
        #expect(try graph.tombstones() == [])
    }

    @Test(arguments: [true, false]) func `existing message follows its deleted chat`(_ isOneChunk: Bool) throws {
        let graph = try chats()
        let events = [
            graph.delete("Chat", "c", time: 50), graph.upsert("Message", "x", ["chat": "d"]),
            graph.upsert("Message", "x", ["chat": "c", "sender": "m"], time: 40),
        ]
        let chunks = isOneChunk ? [events] : events.map { [$0] }
        let outcomes = try chunks.flatMap { try graph.apply($0).outcomes.map(\.word) }
        #expect(outcomes == ["applied", "applied", "applied"])
        #expect(try graph.identities("Message") == [])
        #expect(try graph.value("Chat", "d", "messagesCount") == 0)
        #expect(try graph.tombstones() == [["Chat", "c", nil, 50], ["Message", "x", 50, 50]])
    }

    @Test func `nullify turns the mention into null`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Member", "m", time: 50))
        #expect(try graph.apply(graph.upsert("Message", "x", ["chat": "c", "sender": "m"])) == ["applied"])
        #expect(try graph.value("Message", "x", "sender") == .null)
        #expect(try graph.identities("Member") == [])
    }

    @Test func `deny refuses the mention`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply(graph.delete("Asset", "a"))
        #expect(try graph.apply(graph.upsert("WorkOrder", "w", ["asset": "a"])) == ["reference.deleted"])
        #expect(try graph.identities("WorkOrder") == [])
    }

    @Test func `lists skip the gone`() throws {
        let graph = try chats()
        try graph.apply(graph.delete("Member", "m", time: 50))
        #expect(try graph.apply(graph.upsert("Chat", "c", ["members": ["m", "n"]])) == ["applied"])
        #expect(try graph.value("Chat", "c", "membersCount") == 1)
    }
}

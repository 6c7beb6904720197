import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct UpsertTests {
    @Test func `absent leaves alone and null clears`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Member", "m1", ["name": "Ann", "email": "a@b.c"]))
        try graph.apply(graph.upsert("Member", "m1", ["email": nil]))
        #expect(try graph.rows("SELECT name, email FROM Member") == [["Ann", nil]])
    }

    @Test func `new object takes defaults`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply(graph.upsert("WorkOrder", "w1"))
        #expect(try graph.rows("SELECT status, priority, taxRate FROM WorkOrder") == [["open", 3, "0"]])
    }

    @Test func `explicit null overrides a default and fails where required`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        let outcomes = try graph.apply(graph.upsert("WorkOrder", "w1", ["priority": nil]))
        #expect(outcomes == ["validation.1570"])
        #expect(try graph.identities("WorkOrder") == [])
    }

    @Test func `failed event does not harm its neighbours`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        let outcomes = try graph.apply(
            graph.upsert("WorkOrder", "w1", ["title": "one"]),
            graph.upsert("WorkOrder", "w1", ["title": "two", "technicians": ["t1"], "priority": 9]),
            graph.upsert("WorkOrder", "w2", ["priority": 2]))
        #expect(outcomes == ["applied", "validation.1610", "applied"])
        #expect(try graph.rows("SELECT id, title, priority FROM WorkOrder") == [["w1", "one", 3], ["w2", nil, 2]])
        #expect(try graph.identities("Technician") == [])
    }

    @Test func `event is whole or not at all`() throws {
        let graph = try Graph(configuredModel("chat"))
        let event = ChangeSet([
            graph.model.upsert("Member", "a", [("name", "Ann")]),
            graph.model.upsert("Member", "b", [("email", "no address")]),
        ])
        #expect(try graph.apply(event) == ["validation.1680"])
        #expect(try graph.identities("Member") == [])
    }

    @Test func `nested objects come first and link up`() throws {
        let graph = try Graph(configuredModel("chat"))
        let event = ChangeSet([
            graph.model.upsert("Message", "x1", [("body", "hi")]), graph.model.upsert("Message", "x2", []),
            graph.model.upsert("Chat", "c1", [("messages", ["x1", "x2"])]),
        ])
        #expect(try graph.apply(event) == ["applied"])
        #expect(try graph.value("Chat", "c1", "messagesCount") == 2)
        #expect(try graph.value("Message", "x2", "chat") == "c1")
    }

    @Test func `required reference that nobody sets fails`() throws {
        let graph = try Graph(configuredModel("chat"))
        #expect(try graph.apply(graph.upsert("Message", "x1", ["body": "hi"])) == ["validation.1570"])
    }

    @Test func `texts are compared by their bytes`() throws {
        // The two spellings of é are equal to Swift, and two identities to SQLite.
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(
            graph.upsert("Member", "caf\u{e9}", ["name": "one"]), graph.upsert("Member", "cafe\u{301}", ["name": "two"])
        )
        #expect(try graph.column("SELECT name FROM Member ORDER BY name") == ["one", "two"])
        try graph.apply(graph.upsert("Member", "x", ["name": "\u{e9}"]))
        try graph.apply(graph.upsert("Member", "x", ["name": "e\u{301}"]))
        #expect(try graph.value("SELECT length(name) FROM Member WHERE id = 'x'") == 2)
    }

    @Test func `derived values in events are ignored`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c1", ["membersCount": 7, "members": ["a"]]))
        #expect(try graph.value("Chat", "c1", "membersCount") == 1)
    }

    @Test func `nothing changed leaves no history`() throws {
        let graph = try Graph(configuredModel("chat"))
        let event = graph.upsert("Chat", "c1", ["title": "t", "members": ["a", "b"]])
        #expect(try graph.apply([event]).token == 1)
        let again = try graph.apply([event])
        #expect(again.outcomes.map(\.word) == ["applied"])
        #expect(again.token == nil)
        #expect(again.changes.total == 0)
    }
}

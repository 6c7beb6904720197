import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct RelationshipTests {
    @Test func `inverses follow either side`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(
            graph.upsert("Chat", "c", ["members": ["a", "b"]]), graph.upsert("Member", "b", ["chats": .add("d")]))
        #expect(try graph.value("Chat", "c", "members") == "[\"a\",\"b\"]")
        #expect(try graph.value("Member", "b", "chats") == "[\"c\",\"d\"]")
        try graph.apply(
            graph.upsert("Member", "b", ["chats": .remove("c")]), graph.upsert("Chat", "c", ["members": .add("z")]))
        #expect(try graph.value("Chat", "c", "members") == "[\"a\",\"z\"]")
        #expect(try graph.value("Chat", "d", "membersCount") == 1)
    }

    @Test func `replace drops the others`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", ["members": ["a", "b"]]))
        try graph.apply(graph.upsert("Chat", "c", ["members": ["b", "x", "b"]]))
        #expect(try graph.value("Chat", "c", "members") == "[\"b\",\"x\"]")
        #expect(try graph.value("Chat", "c", "membersCount") == 2)
        try graph.apply(graph.upsert("Chat", "c", ["members": []]))
        #expect(try graph.value("SELECT count(*) FROM Chat_members") == 0)
    }

    @Test func `moving a destination keeps both counts right`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Message", "x", ["chat": "c"]), graph.upsert("Message", "y", ["chat": "c"]))
        try graph.apply(graph.upsert("Message", "x", ["chat": "d"]), graph.upsert("Chat", "e", ["messages": .add("y")]))
        #expect(try graph.column("SELECT messagesCount FROM Chat ORDER BY id") == [0, 1, 1])
    }

    @Test func `one-to-one is exclusive`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(graph.upsert("Person", "p", ["badge": "x"]), graph.upsert("Person", "q", ["badge": "y"]))
        try graph.apply(graph.upsert("Badge", "x", ["holder": "q"]))
        #expect(try graph.value("Person", "p", "badge") == .null)
        #expect(try graph.value("Person", "q", "badge") == "x")
        #expect(try graph.value("Badge", "y", "holder") == .null)
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `own inverse one-to-one is mutual`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(graph.upsert("Person", "p", ["spouse": "q"]), graph.upsert("Person", "r", ["spouse": "s"]))
        try graph.apply(graph.upsert("Person", "p", ["spouse": "r"]))
        #expect(
            try graph.rows("SELECT id, spouse FROM Person_readable ORDER BY id")
                == [["p", "r"], ["q", nil], ["r", "p"], ["s", nil]])
        try graph.apply(graph.upsert("Person", "p", ["spouse": "p"]))
        #expect(try graph.rows("SELECT id, spouse FROM Person_readable WHERE spouse IS NOT NULL") == [["p", "p"]])
    }

    @Test func `own inverse many-to-many is symmetric`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(
            graph.upsert("Person", "p", ["friends": ["q", "r", "p"]]), graph.upsert("Person", "q", ["salary": 10]))
        #expect(
            try graph.rows("SELECT friendsCount, friendsSalary FROM Person ORDER BY id") == [
                [3, 10], [1, 0], [1, 0],
            ])
        try graph.apply(graph.upsert("Person", "r", ["friends": .remove("p")]))
        #expect(try graph.value("Person", "p", "friends") == "[\"p\",\"q\"]")
        try graph.apply(graph.delete("Person", "q"))
        #expect(try graph.rows("SELECT friendsCount, friendsSalary FROM Person ORDER BY id") == [[1, 0], [0, 0]])
    }

    @Test func `managers and reports`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(
            graph.upsert("Person", "a", ["manager": "boss", "salary": 3]), graph.upsert("Person", "b", ["salary": 4]),
            graph.upsert("Person", "boss", ["reports": .add("b"), "manager": "boss", "salary": 9]))
        #expect(try graph.rows("SELECT reportsCount, reportsSalary FROM Person WHERE id = 'boss'") == [[3, 16]])
        try graph.apply(graph.delete("Person", "boss"))
        #expect(
            try graph.rows("SELECT id, manager, reportsCount FROM Person ORDER BY id") == [
                ["a", nil, 0], ["b", nil, 0],
            ])
    }

    @Test func `without inverse many may share a destination`() throws {
        let graph = try Graph(yaml: Models.rules)
        try graph.apply(
            graph.upsert("Box", "a", ["marks": ["m"]]), graph.upsert("Box", "b", ["marks": ["m"], "mark": "m"]))
        try graph.apply(graph.upsert("Mark", "m", ["size": 4]))
        #expect(try graph.rows("SELECT marksCount, marksSize FROM Box") == [[1, 4], [1, 4]])
        try graph.apply(graph.delete("Box", "a"))
        #expect(try graph.rows("SELECT owner FROM Box_marks") == [[2]])
        // The destination is not marked changed.
        #expect(try graph.history(after: 2) == ["delete Box a"])
    }

    @Test func `counts are limited`() throws {
        let graph = try Graph(yaml: Models.rules)
        #expect(try graph.apply(graph.upsert("Tag", "t", ["boxes": ["a"]])) == ["validation.1580"])
        #expect(try graph.apply(graph.upsert("Tag", "t", ["boxes": ["a", "b", "c", "d", "e"]])) == ["validation.1590"])
        #expect(try graph.apply(graph.upsert("Tag", "t", ["boxes": ["a", "b", "c", "d"]])) == ["applied"])
        #expect(try graph.apply(graph.upsert("Box", "e", ["tags": .add("t")])) == ["validation.1590"])
        #expect(try graph.apply(graph.upsert("Tag", "t", ["boxes": []])) == ["applied"])
    }

    @Test func `required to-many needs one from the start`() throws {
        let graph = try Graph(yaml: Models.strict)
        #expect(try graph.apply(graph.upsert("Order", "o")) == ["validation.1580"])
        #expect(try graph.apply(graph.upsert("Order", "o", ["lines": ["a", "b"]])) == ["applied"])
        // A line that moves away leaves too few behind.
        #expect(try graph.apply(graph.upsert("Line", "a", ["order": nil])) == ["validation.1580"])
    }
}

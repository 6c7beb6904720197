import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// How deletions are carried out; both have to do the same.
enum DeletionWay: String, CaseIterable, Sendable {
    case inMemory, inStore

    var threshold: Int { self == .inMemory ? 1000 : 0 }

    func graph(_ yaml: String) throws -> Graph { try Graph(yaml: yaml, setDeletionThreshold: threshold) }

    func graph(configured name: String) throws -> Graph {
        try Graph(configuredModel(name), setDeletionThreshold: threshold)
    }
}

@Suite struct DeleteRuleTests {
    @Test(arguments: DeletionWay.allCases) func `cascade takes destinations along with tombstones`(_ way: DeletionWay)
        throws
    {
        let graph = try way.graph(configured: "chat")
        try graph.apply(
            graph.upsert("Chat", "c", ["updatedAt": 5]),
            graph.upsert("Message", "x", ["chat": "c", "sender": "m", "updatedAt": 9]),
            graph.upsert("Message", "y", ["chat": "c", "sender": "m"]))
        #expect(try graph.value("Member", "m", "messagesCount") == 2)
        #expect(try graph.apply(graph.delete("Chat", "c", version: 7, time: 7)) == ["applied"])
        #expect(try graph.identities("Message") == [])
        #expect(try graph.value("Member", "m", "messagesCount") == 0)
        // The later of an object's own version and the time of the deletion; the root has the deletion's version.
        #expect(try graph.tombstones() == [["Chat", "c", 7, 7], ["Message", "x", 9, 7], ["Message", "y", 7, 7]])
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test(arguments: DeletionWay.allCases) func `root without version gets the later of version and time`(
        _ way: DeletionWay
    )
        throws
    {
        let graph = try way.graph(configured: "chat")
        try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 5]), graph.upsert("Chat", "d", ["updatedAt": 50]))
        try graph.apply(graph.delete("Chat", "c", time: 20), graph.delete("Chat", "d", time: 20))
        #expect(try graph.tombstones() == [["Chat", "c", 20, 20], ["Chat", "d", 50, 20]])
    }

    @Test(arguments: DeletionWay.allCases) func `cascades run in circles and end`(_ way: DeletionWay) throws {
        let graph = try way.graph(Models.strict)
        try graph.apply(
            graph.upsert("Product", "a", ["alike": ["b"]]), graph.upsert("Product", "b", ["alike": ["c"]]),
            graph.upsert("Product", "c", ["alike": ["a", "d"]]), graph.upsert("Product", "e", ["alike": ["a"]]))
        #expect(try graph.apply(graph.delete("Product", "b")) == ["applied"])
        #expect(try graph.identities("Product") == ["e"])
        // 'No action' leaves references in columns; a link in a join table goes with either end.
        #expect(try graph.value("SELECT count(*) FROM Product_alike") == 0)
        #expect(try graph.history(after: 1).sorted().first == "delete Product a")
    }

    @Test(arguments: DeletionWay.allCases) func `deny refuses while a destination stays`(_ way: DeletionWay) throws {
        let graph = try way.graph(configured: "work-orders")
        try graph.apply(graph.upsert("WorkOrder", "w", ["asset": "a"]))
        #expect(try graph.apply(graph.delete("Asset", "a")) == ["validation.1600"])
        #expect(try graph.identities("Asset") == ["a"])
        #expect(try graph.tombstones() == [])
        #expect(try graph.apply(graph.delete("WorkOrder", "w"), graph.delete("Asset", "a")) == ["applied", "applied"])
    }

    @Test(arguments: DeletionWay.allCases) func `deny is lifted for destinations that go too`(_ way: DeletionWay) throws
    {
        let graph = try way.graph(
            """
            entities:
              Parent:
                identity: id
                attributes: { id: { type: string } }
                relationships:
                  children: { to: Child, many: true, inverse: parent, delete: cascade }
                  guarded: { to: Child, many: true, inverse: guard, delete: deny }
              Child:
                identity: id
                attributes: { id: { type: string } }
                relationships:
                  parent: { to: Parent, inverse: children, optional: true }
                  guard: { to: Parent, inverse: guarded, optional: true }
            """)
        try graph.apply(
            graph.upsert("Child", "own", ["parent": "p", "guard": "p"]), graph.upsert("Child", "other", ["guard": "q"]),
            graph.upsert("Parent", "p"), graph.upsert("Parent", "q"))
        #expect(try graph.apply(graph.delete("Parent", "p")) == ["applied"])
        #expect(try graph.apply(graph.delete("Parent", "q")) == ["validation.1600"])
        #expect(try graph.identities("Child") == ["other"])
    }

    @Test(arguments: DeletionWay.allCases) func `nullify clears the references of survivors`(_ way: DeletionWay) throws
    {
        let graph = try way.graph(configured: "chat")
        try graph.apply(
            graph.upsert("Message", "x", ["chat": "c", "sender": "m"]),
            graph.upsert("Chat", "c", ["members": ["m", "n"]]),
            graph.upsert("Member", "m"))
        #expect(try graph.apply(graph.delete("Member", "m")) == ["applied"])
        #expect(try graph.value("Message", "x", "sender") == .null)
        #expect(try graph.value("Chat", "c", "membersCount") == 1)
        #expect(try graph.value("Chat", "c", "members") == "[\"n\"]")
    }

    @Test(arguments: DeletionWay.allCases) func `nullify meeting a required inverse fails`(_ way: DeletionWay) throws {
        let graph = try way.graph(
            Models.rules.replacingOccurrences(
                of: "items:  { to: Item, many: true, inverse: box, delete: cascade }",
                with: "items:  { to: Item, many: true, inverse: box, delete: nullify }"))
        try graph.apply(graph.upsert("Item", "i", ["box": "b"]), graph.upsert("Box", "b"))
        #expect(try graph.apply(graph.delete("Box", "b")) == ["validation.1570"])
        #expect(try graph.identities("Box") == ["b"])
        #expect(try graph.value("Box", "b", "count") == 1)
    }

    @Test(arguments: DeletionWay.allCases) func `placeholders are exempt from required inverses`(_ way: DeletionWay)
        throws
    {
        let graph = try way.graph(
            Models.rules.replacingOccurrences(
                of: "items:  { to: Item, many: true, inverse: box, delete: cascade }",
                with: "items:  { to: Item, many: true, inverse: box, delete: nullify }"))
        try graph.apply(graph.upsert("Box", "b", ["items": ["i"]]))
        #expect(try graph.apply(graph.delete("Box", "b")) == ["applied"])
        #expect(try graph.rows("SELECT id, box, _placeholder FROM Item") == [["i", nil, 1]])
    }

    @Test(arguments: DeletionWay.allCases) func `minimum count of a survivor refuses`(_ way: DeletionWay) throws {
        let graph = try way.graph(Models.strict)
        try graph.apply(graph.upsert("Order", "o", ["lines": ["x", "y"]]), graph.upsert("Line", "x"))
        #expect(try graph.apply(graph.delete("Line", "x")) == ["validation.1580"])
        #expect(
            try graph.apply(graph.upsert("Order", "o", ["lines": .add("z")]), graph.delete("Line", "x"))
                == ["applied", "applied"])
        #expect(try graph.value("Order", "o", "linesCount") == 2)
    }

    @Test(arguments: DeletionWay.allCases) func `minimum count over a join table`(_ way: DeletionWay) throws {
        let graph = try way.graph(Models.rules)
        try graph.apply(
            graph.upsert("Tag", "t", ["boxes": ["a", "b"]]), graph.upsert("Box", "c", ["tags": ["waiting"]]),
            graph.upsert("Box", "d", ["tags": ["waiting"]]),
            graph.upsert("Box", "a"), graph.upsert("Box", "b"))
        #expect(try graph.apply(graph.delete("Box", "a")) == ["validation.1580"])
        // A placeholder has no minimum yet.
        #expect(try graph.apply(graph.delete("Box", "c")) == ["applied"])
        #expect(try graph.value("Tag", "waiting", "boxesCount") == 1)
        // Of an optional relationship none is enough.
        #expect(try graph.apply(graph.upsert("Tag", "waiting", ["boxes": []])) == ["applied"])
        #expect(try graph.value("Tag", "waiting", "boxesCount") == 0)
    }

    @Test(arguments: DeletionWay.allCases) func `no action leaves dangling references`(_ way: DeletionWay) throws {
        let graph = try way.graph(Models.rules)
        try graph.apply(graph.upsert("Trace", "t", ["box": "b"]), graph.upsert("Box", "b"))
        #expect(try graph.apply(graph.delete("Box", "b")) == ["applied"])
        #expect(try graph.value("SELECT box IS NOT NULL FROM Trace") == 1)
        #expect(try graph.value("Trace", "t", "box") == .null)
        // Who comes back under the same identity is another object.
        try graph.apply(graph.upsert("Box", "b"))
        #expect(try graph.value("Trace", "t", "box") == .null)
        #expect(try graph.column("PRAGMA foreign_key_check") == [])
    }

    @Test(arguments: DeletionWay.allCases) func `dangling reference denies nothing`(_ way: DeletionWay) throws {
        let graph = try way.graph(
            """
            entities:
              A:
                identity: id
                attributes: { id: { type: string } }
                relationships: { b: { to: B, inverse: a, delete: deny, optional: true } }
              B:
                identity: id
                attributes: { id: { type: string } }
                relationships: { a: { to: A, inverse: b, delete: noAction, optional: true } }
            """)
        try graph.apply(graph.upsert("A", "a", ["b": "b"]))
        #expect(try graph.apply(graph.delete("A", "a")) == ["validation.1600"])
        #expect(try graph.apply(graph.delete("B", "b")) == ["applied"])
        #expect(try graph.apply(graph.delete("A", "a")) == ["applied"])
    }

    @Test(arguments: DeletionWay.allCases) func `without inverse references read null and counts follow`(
        _ way: DeletionWay
    )
        throws
    {
        let graph = try way.graph(Models.rules)
        try graph.apply(
            graph.upsert("Box", "b", ["marks": ["m", "n"], "mark": "m"]), graph.upsert("Mark", "m", ["size": 5]))
        try graph.apply(graph.upsert("Mark", "n", ["size": 2]))
        #expect(try graph.rows("SELECT marksCount, marksSize FROM Box") == [[2, 7]])
        #expect(try graph.apply(graph.delete("Mark", "m")) == ["applied"])
        #expect(try graph.rows("SELECT marksCount, marksSize, mark FROM Box") == [[1, 2, nil]])
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `reference and deletion in one chunk leave nothing dangling`() throws {
        let graph = try Graph(yaml: Models.rules)
        try graph.apply(graph.upsert("Box", "old"), graph.upsert("Mark", "m"))
        try graph.apply(
            graph.upsert("Box", "new", ["mark": "m", "marks": ["m"]]), graph.upsert("Box", "old", ["mark": "m"]),
            graph.delete("Mark", "m"))
        #expect(try graph.rows("SELECT mark, marksCount FROM Box") == [[nil, 0], [nil, 0]])
        #expect(try graph.column("PRAGMA foreign_key_check") == [])
    }

    @Test(arguments: DeletionWay.allCases) func `deleting the unknown leaves a tombstone`(_ way: DeletionWay) throws {
        let graph = try way.graph(configured: "chat")
        let result = try graph.apply([graph.delete("Chat", "c", version: 5, time: 6)])
        #expect(result.outcomes.map(\.word) == ["applied"])
        #expect(result.token == nil)
        #expect(try graph.tombstones() == [["Chat", "c", 5, 6]])
    }

    @Test func `deletion that carries more than itself is refused whole`() throws {
        let graph = try Graph(configuredModel("chat"), setDeletionThreshold: 0)
        try graph.apply(graph.upsert("Chat", "c"))
        let event = ChangeSet([graph.model.upsert("Member", "m", []), graph.model.delete("Chat", "c")])
        #expect(try graph.apply(event) == ["delete.too_large"])
        #expect(try graph.identities("Chat") == ["c"])
        #expect(try graph.identities("Member") == [])
    }

    @Test func `thousands of destinations go inside the store`() throws {
        let graph = try Graph(configuredModel("chat"), setDeletionThreshold: 100)
        let messages = (0..<500).map { graph.upsert("Message", .text("x\($0)"), ["chat": "c", "sender": "m"]) }
        try graph.apply([graph.upsert("Chat", "c", ["title": "t", "members": ["m"]])] + messages)
        let result = try graph.apply([
            graph.upsert("Chat", "d"), graph.delete("Chat", "c", time: 9),
            graph.upsert("Message", "x1", ["chat": "d"], time: 5),
        ])
        #expect(result.outcomes.map(\.word) == ["applied", "applied", "stale"])
        #expect(result.changes.count(.delete) == 501)
        #expect(try graph.rows("SELECT messagesCount FROM Member") == [[0]])
        #expect(try graph.value("SELECT count(*) FROM _tombstone") == 501)
        #expect(try graph.value("SELECT count(*) FROM _history_change WHERE change = 2") == 501)
        #expect(
            try graph.value("SELECT tombstone FROM _history_change WHERE entity = 'Chat' AND change = 2")
                == "{\"title\":\"t\"}")
        #expect(try StoreCheck.problems(graph) == [])
    }
}

import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Ordered to-many relationships: one-to-many, many-to-many, without inverse, their own inverse.
@Suite struct OrderedTests {
    private func graph(_ way: DeletionWay = .inMemory) throws -> Graph { try way.graph(Models.ordered) }

    /// The identities of an ordered relationship as a fetched object has them.
    private func list(_ graph: Graph, _ entity: String, _ identity: String, _ name: String) throws -> [Value] {
        try graph.store.read { context in
            var request = FetchRequest(entity, where: "id = '\(identity)'")
            request.properties = [name]
            return try context.fetch(request).first?.identities(of: name) ?? []
        }
    }

    private static let names = ["entries", "loose", "friends"]

    @Test(arguments: names) func `a list sets the order and another changes it`(_ name: String) throws {
        for isSplit in [false, true] {
            let graph = try graph()
            let events = [
                graph.upsert("List", "l", [name: ["c", "a", "b"]]),
                graph.upsert("List", "l", [name: ["b", "c", "d", "a"]]),
            ]
            if isSplit { for event in events { try graph.apply(event) } } else { try graph.apply(events) }
            #expect(try list(graph, "List", "l", name) == ["b", "c", "d", "a"])
            #expect(try graph.damage() == "")
        }
    }

    @Test(arguments: names) func `adding puts behind and keeps what is there`(_ name: String) throws {
        for isSplit in [false, true] {
            let graph = try graph()
            let events = [
                graph.upsert("List", "l", [name: ["c", "a"]]), graph.upsert("List", "l", [name: .add("b", "c")]),
                graph.upsert("List", "l", [name: .remove("a")]), graph.upsert("List", "l", [name: .add("a")]),
            ]
            if isSplit { for event in events { try graph.apply(event) } } else { try graph.apply(events) }
            #expect(try list(graph, "List", "l", name) == ["c", "b", "a"])
            #expect(try graph.damage() == "")
        }
    }

    @Test(arguments: names) func `an identity that stands twice counts once`(_ name: String) throws {
        let graph = try graph()
        try graph.apply(graph.upsert("List", "l", [name: ["b", "a", "b", "c", "a"]]))
        #expect(try list(graph, "List", "l", name) == ["b", "a", "c"])
    }

    @Test(arguments: names) func `a reordering alone is a change of the owner`(_ name: String) throws {
        let graph = try graph()
        try graph.apply(graph.upsert("List", "l", [name: ["a", "b", "c"]]))
        let token = try graph.store.read { try $0.lastToken() }
        try graph.apply(graph.upsert("List", "l", [name: ["a", "b", "c"]]))
        #expect(try graph.history(after: token) == [])
        try graph.apply(graph.upsert("List", "l", [name: ["c", "a", "b"]]))
        #expect(try graph.history(after: token) == ["update List l \(name)"])
        #expect(try list(graph, "List", "l", name) == ["c", "a", "b"])
    }

    @Test func `the other side appends to the list`() throws {
        for isSplit in [false, true] {
            let graph = try graph()
            let events = [
                graph.upsert("List", "l", ["entries": ["b"]]), graph.upsert("Entry", "a", ["list": "l"]),
                graph.upsert("Entry", "z", ["list": "l"]), graph.upsert("Entry", "b", ["list": "m"]),
                graph.upsert("Entry", "b", ["list": "l"]),
            ]
            if isSplit { for event in events { try graph.apply(event) } } else { try graph.apply(events) }
            #expect(try list(graph, "List", "l", "entries") == ["a", "z", "b"])
            #expect(try graph.value("List", "l", "entriesCount") == 3)
            try graph.apply(graph.upsert("Entry", "z", ["list": nil]))
            #expect(try graph.value("SELECT _list_position FROM Entry WHERE id = 'z'") == .null)
            #expect(try list(graph, "List", "l", "entries") == ["a", "b"])
        }
    }

    @Test func `only the ordered side of many-to-many has an order`() throws {
        let graph = try graph()
        try graph.apply(
            graph.upsert("Entry", "e", ["liked": ["m", "l"]]), graph.upsert("List", "n", ["fans": ["e", "d"]]),
            graph.upsert("List", "l", ["fans": .add("d")]))
        #expect(try list(graph, "Entry", "e", "liked") == ["m", "l", "n"])
        #expect(try list(graph, "Entry", "d", "liked") == ["n", "l"])
        #expect(try list(graph, "List", "n", "fans") == ["d", "e"])
        #expect(try graph.value("Entry", "e", "liked") == "[\"m\",\"l\",\"n\"]")
    }

    @Test func `both sides of many-to-many may have an order`() throws {
        let graph = try Graph(yaml: Models.hierarchy)
        try graph.apply(
            graph.upsert("Note", "n", ["labels": ["b", "a"]]), graph.upsert("Task", "t", ["labels": ["a", "b"]]),
            graph.upsert("Label", "a", ["items": ["t", "n"]]))
        #expect(try list(graph, "Item", "n", "labels") == ["b", "a"])
        #expect(try list(graph, "Label", "a", "items") == ["t", "n"])
        #expect(try list(graph, "Label", "b", "items") == ["n", "t"])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: DeletionWay.allCases) func `deletions leave gaps without harm`(_ way: DeletionWay) throws {
        let graph = try graph(way)
        for name in Self.names where name != "friends" {
            try graph.apply(graph.upsert("List", "l", [name: ["a", "b", "c"]]))
        }
        try graph.apply(graph.upsert("List", "l", ["friends": ["f", "g", "h"]]))
        try graph.apply(graph.delete("Entry", "b"), graph.delete("List", "g"))
        try graph.apply(graph.upsert("List", "l", ["entries": .add("d"), "loose": .add("d"), "friends": .add("i")]))
        #expect(try list(graph, "List", "l", "entries") == ["a", "c", "d"])
        #expect(try list(graph, "List", "l", "loose") == ["a", "c", "d"])
        #expect(try list(graph, "List", "l", "friends") == ["f", "h", "i"])
        try graph.apply(graph.delete("List", "l"))
        #expect(try graph.column("SELECT _list_position FROM Entry WHERE _list_position IS NOT NULL") == [])
        #expect(try graph.damage() == "")
    }

    @Test func `an undone event leaves the order as it was`() throws {
        let yaml = Models.ordered.replacingOccurrences(
            of: "entries: { to: Entry, many: true,", with: "entries: { to: Entry, many: true, maxCount: 3,")
        let graph = try Graph(yaml: yaml)
        try graph.apply(graph.upsert("List", "l", ["entries": ["a", "b", "c"], "friends": ["x", "y"]]))
        let outcomes = try graph.apply(
            graph.upsert("List", "l", ["friends": ["y", "x"], "entries": ["d", "c", "b", "a"]]),
            graph.upsert("List", "l", ["friends": .add("z")]))
        #expect(outcomes == ["validation.1590", "applied"])
        #expect(try list(graph, "List", "l", "entries") == ["a", "b", "c"])
        #expect(try list(graph, "List", "l", "friends") == ["x", "y", "z"])
    }

    @Test(.onlyInSQLite("it damages rows with SQL"))
    func `verify finds places that are missing or taken twice`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("List", "l", ["entries": ["a", "b", "c"], "loose": ["a", "b"]]))
        _ = try graph.writer.write("damage") { connection in
            try connection.run("UPDATE Entry SET _list_position = NULL WHERE id = 'a'")
            try connection.run("UPDATE List_loose SET destinationPosition = 7")
        }
        let report = try graph.damage()
        #expect(report.contains("has 1 object without a place"))
        #expect(report.contains("has 1 object at a place of others"))
    }
}

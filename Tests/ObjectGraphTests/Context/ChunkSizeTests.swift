import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Chunks beyond the widths of the look-ups' prepared statements, and rows beyond a machine word of columns.
@Suite struct ChunkSizeTests {
    @Test func `thousands of links are replaced and edited`() throws {
        let graph = try Graph(configuredModel("chat"))
        func members(_ range: Range<Int>) -> [Value] { range.map { .text("m\($0)") } }
        try graph.apply(graph.upsert("Chat", "c", ["members": .replace(members(0..<1300))]), graph.upsert("Chat", "d"))
        try graph.apply(
            graph.upsert("Chat", "c", ["members": .replace(members(600..<1400))]),
            graph.upsert("Chat", "d", ["members": .edit(add: members(0..<700), remove: members(650..<700))]))
        #expect(try graph.column("SELECT membersCount FROM Chat ORDER BY id") == [800, 650])
        try graph.apply(
            graph.upsert("Chat", "c", ["members": .edit(add: members(500..<1500), remove: members(600..<1200))]))
        #expect(try graph.value("SELECT membersCount FROM Chat WHERE id = 'c'") == 400)
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `thousands of objects are read written and moved`() throws {
        let graph = try Graph(yaml: Models.rules)
        let items = (0..<1200).map {
            graph.upsert("Item", .text("i\($0)"), ["box": "a", "weight": 0.5, "price": "0.1"])
        }
        try graph.apply(items + [graph.upsert("Box", "a"), graph.upsert("Box", "b")])
        #expect(try graph.rows("SELECT count, weight, price FROM Box WHERE id = 'a'") == [[1200, 600.0, "120"]])
        let moves = (0..<1100).map {
            graph.upsert("Item", .text("i\($0)"), ["box": .value(.text($0 < 550 ? "b" : "n\($0)"))])
        }
        let result = try graph.apply(moves)
        #expect(result.placeholderCount == 550)
        #expect(
            try graph.rows("SELECT count, weight, price FROM Box WHERE id IN ('a', 'b') ORDER BY id")
                == [[100, 50.0, "10"], [550, 275.0, "55"]])
        #expect(
            try graph.apply((0..<1200).map { graph.delete("Item", .text("i\($0)")) }).changes.count(.delete) == 1200)
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `rows may have many columns`() throws {
        let attributes = (0..<130).map { "      a\($0): { type: integer64, optional: true }" }.joined(separator: "\n")
        let graph = try Graph(
            yaml: "entities:\n  Wide:\n    identity: id\n    attributes:\n      id: { type: string }\n\(attributes)")
        try graph.apply(graph.upsert("Wide", "w"))
        for slots in [[0, 62], [63, 64], [127, 128, 129], [0]] {
            var operation = graph.model.upsert("Wide", "w", [])
            operation.attributes = slots.map {
                ObjectOperation.AttributeValue(slot: $0 + 1, value: .integer(Int64($0) + 1000))
            }
            try graph.apply([ChangeSet(operation)])
        }
        #expect(
            try graph.rows("SELECT a0, a1, a62, a63, a64, a126, a127, a129 FROM Wide")
                == [[1000, nil, 1062, 1063, 1064, nil, 1127, 1129]])
    }

    @Test func `readers see commits only`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        let reader = try Store.openForReading(path: folder.path("s.sqlite"), model: model)
        _ = try graph.writer.apply(WriterContext.Chunk(events: [graph.upsert("Chat", "c")]))
        #expect(graph.writer.uncommittedRows == 1)
        #expect(try reader.read { try $0.count(model.entities[0]).objects } == 0)
        #expect(try graph.store.read { try $0.lastToken() } == 0)
        try graph.writer.commit()
        #expect(graph.writer.committedToken == 1)
        #expect(try reader.read { try $0.count(model.entities[0]).objects } == 1)
        #expect(try reader.read { try $0.lastToken() } == 1)
    }

    // MARK: Limits

    private static let projects = """
        entities:
          Project:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              tasks: { to: Task, many: true, inverse: project, delete: nullify }
              labels: { to: Label, many: true, inverse: projects, delete: nullify }
              team: { to: Team, inverse: projects, optional: true }
          Team:
            identity: id
            attributes: { id: { type: string } }
            relationships: { projects: { to: Project, many: true, inverse: team, delete: cascade } }
          Task:
            identity: id
            attributes: { id: { type: string } }
            relationships: { project: { to: Project, inverse: tasks, optional: true } }
          Label:
            identity: id
            attributes: { id: { type: string } }
            relationships: { projects: { to: Project, many: true, inverse: labels, delete: nullify } }
        """

    /// The limits are small here: a deletion reaches 10 objects in memory, and a list replaces 10.
    struct Stream: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let outcome: String
        let events: @Sendable (Graph) -> [ChangeSet]

        private init(_ name: String, _ outcome: String, _ events: @escaping @Sendable (Graph) -> [ChangeSet]) {
            (testDescription, self.outcome, self.events) = (name, outcome, events)
        }

        /// The late reference to a team that cascades deletes the project in passing.
        private static func lateReference(_ graph: Graph) -> ChangeSet {
            graph.upsert("Project", "p", ["team": "gone"], time: 9)
        }

        private static func tasks(_ graph: Graph, _ count: Int) -> [ChangeSet] {
            [graph.delete("Team", "gone", time: 10), graph.upsert("Project", "p", time: 8)]
                + (0..<count).map { graph.upsert("Task", .text("t\($0)"), ["project": "p"]) }
        }

        private static func labels(_ graph: Graph, _ count: Int) -> [ChangeSet] {
            let names = (0..<count).map { Value.text("l\($0)") }
            return [graph.delete("Team", "gone", time: 10), graph.upsert("Project", "p", time: 8)]
                + names.map { graph.upsert("Project", "p", ["labels": .edit(add: [$0], remove: [])]) }
        }

        static let all = [
            Stream("a deletion in passing of too much", "delete.too_large") { tasks($0, 17) + [lateReference($0)] },
            Stream("a deletion in passing of links", "delete.too_large") { labels($0, 17) + [lateReference($0)] },
            Stream("a list for too many objects", "relationship.too_large") { graph in
                tasks(graph, 17) + [graph.upsert("Project", "p", ["tasks": ["t1"]])]
            },
            Stream("a list for too many links", "relationship.too_large") { graph in
                labels(graph, 17) + [graph.upsert("Project", "p", ["labels": ["l1"]])]
            },
            Stream("a deletion in passing after objects left", "applied") { graph in
                tasks(graph, 17) + (0..<4).map { graph.upsert("Task", .text("t\($0)"), ["project": "q"]) }
                    + (4..<8).map { graph.delete("Task", .text("t\($0)")) } + [lateReference(graph)]
            },
            Stream("a deletion in passing after links left", "applied") { graph in
                labels(graph, 17) + [graph.upsert("Project", "p", ["labels": .edit(add: [], remove: ["l0", "l1"])])]
                    + (2..<8).map { graph.delete("Label", .text("l\($0)")) } + [lateReference(graph)]
            },
            Stream("a list after objects left", "applied") { graph in
                tasks(graph, 17) + (0..<4).map { graph.upsert("Task", .text("t\($0)"), ["project": nil]) }
                    + (4..<7).map { graph.delete("Task", .text("t\($0)")) }
                    + [graph.upsert("Project", "p", ["tasks": ["t9", "u"]])]
            },
            Stream("a list after links left", "applied") { graph in
                labels(graph, 17) + [graph.upsert("Label", "l0", ["projects": []])]
                    + (1..<7).map { graph.delete("Label", .text("l\($0)")) }
                    + [graph.upsert("Project", "p", ["labels": ["l9", "u"]])]
            },
            Stream("a list after objects left and as many came", "relationship.too_large") { graph in
                tasks(graph, 12) + (0..<4).map { graph.upsert("Task", .text("t\($0)"), ["project": nil]) }
                    + (0..<4).map { graph.upsert("Task", .text("u\($0)"), ["project": "p"]) }
                    + [graph.upsert("Project", "p", ["tasks": ["t9"]])]
            },
        ]
    }

    @Test(arguments: Stream.all) func `limits count what an event meets wherever chunks end`(
        _ stream: Stream
    ) throws {
        var dumps: [[String]] = []
        // The third and the fourth end where objects begin to leave.
        for size in [1, 5, 14, 19, 100] {
            let graph = try Graph(yaml: Self.projects, setDeletionThreshold: 10)
            graph.writer.registry.maximumListedDestinations = 10
            var rest = stream.events(graph)[...]
            var words: [String] = []
            while !rest.isEmpty {
                words += try graph.apply(Array(rest.prefix(size))).outcomes.map(\.word)
                rest = rest.dropFirst(size)
            }
            #expect(
                words.dropLast().allSatisfy { $0 == "applied" } && words.last == stream.outcome, "chunks of \(size)")
            #expect(try StoreCheck.problems(graph) == [], "chunks of \(size)")
            dumps.append(try StoreDump.lines(graph))
        }
        #expect(dumps.allSatisfy { $0 == dumps[0] })
    }
}

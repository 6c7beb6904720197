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
}

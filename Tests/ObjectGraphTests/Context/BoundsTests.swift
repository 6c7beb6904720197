import ObjectGraph
import Testing

@testable import GraphCore

/// What happens at the bounds of numbers and of memory.
@Suite struct BoundsTests {
    private static let sums = """
        model: sums
        entities:
          Owner:
            identity: id
            attributes: { id: { type: string }, total: { type: integer64, derived: lines.n.@sum } }
            relationships: { lines: { to: Line, many: true, inverse: owner, delete: cascade } }
          Line:
            identity: id
            attributes: { id: { type: string }, n: { type: integer64 } }
            relationships: { owner: { to: Owner, inverse: lines, delete: nullify } }
        """

    /// A sum that leaves 64 bits and comes back is right again, however the events are chunked.
    @Test(arguments: [true, false]) func `sums return from beyond their bounds`(isOneChunk: Bool) throws {
        let graph = try Graph(yaml: Self.sums)
        let numbers: [Int64] = [.max, .max, 5]
        var events = numbers.enumerated().map { index, number in
            graph.upsert("Line", .text("l\(index)"), ["owner": "a", "n": .value(.integer(number))])
        }
        events.append(graph.delete("Line", "l0"))
        events.append(graph.delete("Line", "l1"))
        if isOneChunk { try graph.apply(events) } else { for event in events { try graph.apply([event]) } }
        #expect(try graph.value("Owner", "a", "total") == 5)
    }

    @Test(arguments: [true, false]) func `a list replaces no huge set`(isOneChunk: Bool) throws {
        let graph = try Graph(configuredModel("chat"))
        let count = graph.writer.registry.maximumListedDestinations + 1
        let messages = (0..<count).map { graph.upsert("Message", .text("m\($0)"), ["chat": "c"]) }
        let replacing = graph.upsert("Chat", "c", ["messages": []])
        var outcome = try graph.apply(messages + [graph.upsert("Chat", "c"), replacing]).outcomes.last
        if !isOneChunk { outcome = try graph.apply([replacing]).outcomes.last }
        guard case .failed(let failure)? = outcome else {
            Issue.record("it was not refused")
            return
        }
        #expect(failure.code == "relationship.too_large")
        #expect(try graph.rows("SELECT messagesCount FROM Chat") == [[.integer(Int64(count))]])
    }

    /// Many deletions in a chunk, each below the threshold, are saved in parts; nothing else changes.
    @Test func `many deletions in a chunk are saved in parts`() throws {
        let graph = try Graph(configuredModel("chat"))
        for chat in 0..<8 {
            try graph.apply(
                (0..<900).map { graph.upsert("Message", .text("\(chat)-\($0)"), ["chat": .value(.text("c\(chat)"))]) })
            try graph.apply([graph.upsert("Chat", .text("c\(chat)"))])
        }
        let result = try graph.apply((0..<8).map { graph.delete("Chat", .text("c\($0)")) })
        #expect(result.changes.count(.delete) == 8 * 901)
        #expect(try graph.rows("SELECT (SELECT count(*) FROM Message) + (SELECT count(*) FROM Chat)") == [[0]])
        #expect(try StoreCheck.problems(graph) == [])
    }
}

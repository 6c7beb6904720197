import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Averages, and sums of binary fractions, that the writer carries from chunk to chunk.
@Suite struct RunningAggregateTests {
    private static let model = """
        entities:
          Box:
            identity: id
            attributes:
              id: { type: string }
              label: { type: string, optional: true }
              mean: { type: double, derived: items.size.@avg }
              whole: { type: integer16, derived: items.size.@avg }
              meanPrice: { type: decimal, derived: items.price.@avg }
              meanWeight: { type: double, derived: items.weight.@avg }
              weight: { type: float, derived: items.weight.@sum }
            relationships: { items: { to: Item, many: true, inverse: box, delete: cascade } }
          Crate:
            identity: id
            attributes: { id: { type: string } }
            relationships: { items: { to: Item, many: true, inverse: crate, delete: cascade } }
          Item:
            identity: id
            attributes:
              id: { type: string }
              size: { type: integer16, optional: true }
              price: { type: decimal, optional: true }
              weight: { type: double, optional: true }
            relationships:
              box: { to: Box, inverse: items, optional: true }
              crate: { to: Crate, inverse: items, optional: true }
        """

    private func graph(setDeletionThreshold: Int = 1000) throws -> Graph {
        try Graph(yaml: Self.model, setDeletionThreshold: setDeletionThreshold)
    }

    private func item(_ graph: Graph, _ name: String, _ size: Int64, crate: String? = nil) -> ChangeSet {
        graph.upsert(
            "Item", .text(name),
            [
                "box": "b", "size": .value(.integer(size)), "weight": .value(.double(Double(size) + 0.1)),
                "crate": .value(crate.map { .text($0) } ?? .null),
            ])
    }

    // MARK: Against the rows

    @Test func `random changes leave the aggregates that the rows give`() throws {
        try Seeds.forEach(runs: 8) { seed in
            var random = SeededGenerator(seed: seed)
            let graph = try graph(setDeletionThreshold: 8)
            for step in 0..<25 {
                try graph.apply((0..<Int.random(in: 1...12, using: &random)).map { _ in event(graph, &random) })
                if Int.random(in: 0..<6, using: &random) == 0 { try graph.restart() }
                if step % 5 == 4 { #expect(try graph.damage() == "", "seed \(seed)") }
                try expectExactSums(graph, seed)
            }
        }
    }

    private func event(_ graph: Graph, _ random: inout SeededGenerator) -> ChangeSet {
        let item = Value.text("i\(Int.random(in: 0..<30, using: &random))")
        let box: Property = .value(.text("b\(Int.random(in: 0..<4, using: &random))"))
        let number = Int64.random(in: -300...300, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return graph.delete("Box", .text("b\(number & 3)"))
        case 1...3: return graph.delete("Item", item)
        case 4: return graph.upsert("Item", item, ["size": nil, "price": nil, "weight": nil])
        case 5...7: return graph.upsert("Item", item, ["box": box])
        case 8...9: return graph.upsert("Item", item, ["weight": .value(.double(Double(number) / 7))])
        default:
            return graph.upsert(
                "Item", item,
                [
                    "box": box, "size": .value(.integer(number)), "price": .value(.text("\(number).25")),
                    "weight": .value(.double(Double(number) / 3)),
                ])
        }
    }

    /// Binary fractions have to be added up in the order of the keys, to the last bit.
    private func expectExactSums(_ graph: Graph, _ seed: UInt64) throws {
        for row in try graph.rows("SELECT pk, meanWeight, weight FROM Box") {
            let owner = row[0].integer ?? 0
            let weights = try graph.column(
                "SELECT weight FROM Item WHERE box = \(owner) AND weight IS NOT NULL ORDER BY pk"
            ).compactMap(\.number)
            let sum = weights.reduce(0, +)
            #expect(row[1] == (weights.isEmpty ? .null : .double(sum / Double(weights.count))), "seed \(seed)")
            #expect(row[2] == .double(Double(Float(sum))), "seed \(seed)")
        }
    }

    // MARK: What ends the memory

    @Test func `a deletion inside the store is followed by averages of what stays`() throws {
        let graph = try graph(setDeletionThreshold: 2)
        try graph.apply((0..<6).map { item(graph, "i\($0)", Int64($0), crate: $0 < 5 ? "c" : nil) })
        #expect(try graph.value("Box", "b", "mean") == 2.5)
        try graph.apply(graph.delete("Crate", "c"))
        try graph.apply(item(graph, "i9", 8))
        #expect(try graph.rows("SELECT mean, whole FROM Box") == [[6.5, 6]])
        #expect(try graph.damage() == "")
    }

    @Test func `a batch request is followed by averages of its values`() throws {
        let graph = try graph()
        try graph.apply(item(graph, "i0", 1), item(graph, "i1", 3))
        _ = try graph.writer.execute(BatchUpdateRequest("Item", set: ["size": .value(10)]))
        try graph.apply(item(graph, "i2", 40))
        #expect(try graph.value("Box", "b", "mean") == 20.0)
    }

    @Test func `values that were rolled back count in no average`() throws {
        let graph = try graph()
        try graph.apply(item(graph, "i0", 1))
        _ = try graph.writer.apply(WriterContext.Chunk(events: [item(graph, "i1", 100)]))
        try graph.writer.rollback()
        try graph.apply(item(graph, "i2", 3))
        #expect(try graph.value("Box", "b", "mean") == 2.0)
    }

    @Test func `a new writer goes on with the averages of the rows`() throws {
        let graph = try graph()
        try graph.apply(item(graph, "i0", 1), item(graph, "i1", 3))
        try graph.restart()
        try graph.apply(item(graph, "i2", 5))
        #expect(try graph.value("Box", "b", "mean") == 3.0)
    }

    /// The object comes back under its key, and what it remembered before was another's.
    @Test func `an owner that an editing context inserts again begins with nothing`() throws {
        let model = Self.model.replacingFirst("inverse: box, delete: cascade", "inverse: box, delete: nullify")
        let graph = try Graph(yaml: model)
        try graph.apply(item(graph, "i0", 10), item(graph, "i1", 20))
        var options = EditingContext.Options()
        options.mergePolicy = .objectTrump
        let context = try EditingContext(graph.writer, options: options)
        let box = try context.require("Box", "b")
        try box.set("label", "old")
        try graph.apply(graph.delete("Box", "b"))
        try context.save()
        #expect(try graph.rows("SELECT label, mean, weight FROM Box") == [["old", nil, 0.0]])
        try graph.apply(item(graph, "i2", 4))
        #expect(
            try graph.rows("SELECT mean, whole, meanWeight, weight FROM Box") == [
                [4.0, 4, 4.1, .double(Double(Float(4.1)))]
            ])
        #expect(try graph.damage() == "")
    }

    // MARK: The memory

    @Test func `the only writer remembers each average and each sum of fractions`() throws {
        let graph = try graph()
        try graph.apply(item(graph, "i0", 1))
        let memory = try #require(graph.writer.registry.aggregateMemory)
        // The decimals are null, and change nothing.
        #expect(memory.count == 4)
        try graph.apply(graph.upsert("Item", "i0", ["size": 2]))
        #expect(memory.count == 4)
        try graph.apply(graph.upsert("Item", "i0", ["weight": .value(.double(2))]))
        // A draft that has to read rows is undone, and what it remembered with it.
        #expect(memory.count <= 2, "a fraction that changes cannot be taken out of a sum")
    }

    @Test func `the latest owners are remembered, of at most two generations`() {
        let memory = AggregateMemory(limit: 3)
        func key(_ pk: Int64) -> AggregateKey { AggregateKey(entity: 0, pk: pk, slot: 1) }
        for pk in 0..<10 {
            memory[key(Int64(pk))] = .sum(RunningSum(for: .double))
            #expect(memory.count <= 6)
            // Used again and again.
            memory[key(0)] = memory[key(0)]
        }
        #expect(memory[key(0)] != nil && memory[key(9)] != nil && memory[key(1)] == nil)
        memory[key(0)] = nil
        #expect(memory[key(0)] == nil)
        memory.removeAll()
        #expect(memory.count == 0)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct DerivedAggregateTests {
    private static let yaml = """
        entities:
          Box:
            identity: id
            attributes:
              id: { type: string }
              least: { type: integer16, derived: items.@min.size }
              greatest: { type: integer16, derived: items.size.@max }
              mean: { type: double, derived: items.size.@avg }
              meanPrice: { type: decimal, derived: items.price.@avg }
              dearest: { type: decimal, derived: items.price.@max }
              price: { type: decimal, derived: items.price.@sum }
              total: { type: integer16, derived: items.size.@sum }
              lastWord: { type: string, derived: items.word.@max }
            relationships:
              items: { to: Item, many: true, inverse: box, delete: cascade }
              room: { to: Room, inverse: boxes, optional: true }
          Item:
            identity: id
            attributes:
              id: { type: string }
              size: { type: integer16, optional: true }
              price: { type: decimal, optional: true }
              word: { type: string, optional: true }
            relationships: { box: { to: Box, inverse: items, optional: true } }
          Room:
            identity: id
            attributes:
              id: { type: string }
              items: { type: integer64, derived: boxes.total.@sum }
              greatest: { type: integer64, derived: boxes.greatest.@max }
            relationships: { boxes: { to: Box, many: true, inverse: room } }
        """

    private func graph(_ sizes: [Int64]) throws -> Graph {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply(graph.upsert("Box", "b", ["room": "r"]), graph.upsert("Room", "r"))
        try graph.apply(
            sizes.enumerated().map {
                graph.upsert("Item", .text("i\($0)"), ["box": "b", "size": .value(.integer($1))])
            })
        return graph
    }

    @Test func `without values only sums are nought`() throws {
        let graph = try graph([])
        try graph.apply(graph.upsert("Item", "i", ["box": "b"]))
        #expect(
            try graph.rows("SELECT least, greatest, mean, meanPrice, dearest, price, total, lastWord FROM Box") == [
                [nil, nil, nil, nil, nil, "0", 0, nil]
            ])
    }

    @Test func `extremes follow what comes changes and goes`() throws {
        let graph = try graph([3, 7, 5])
        #expect(try graph.rows("SELECT least, greatest, mean FROM Box") == [[3, 7, 5.0]])
        try graph.apply(graph.delete("Item", "i1"), graph.upsert("Item", "i0", ["size": nil]))
        #expect(try graph.rows("SELECT least, greatest, mean FROM Box") == [[5, 5, 5.0]])
        #expect(try graph.rows("SELECT items, greatest FROM Room") == [[5, 5]])
        try graph.apply(graph.upsert("Item", "i2", ["box": "c"]))
        #expect(
            try graph.rows("SELECT least, greatest, mean FROM Box ORDER BY id") == [[nil, nil, nil], [5, 5, 5.0]])
    }

    @Test func `two greatest of which one goes leave the other`() throws {
        let graph = try graph([7, 7, 1])
        try graph.apply(graph.delete("Item", "i0"))
        #expect(try graph.value("Box", "b", "greatest") == 7)
        try graph.apply(graph.delete("Item", "i1"), graph.upsert("Item", "i9", ["box": "b", "size": 9]))
        #expect(try graph.value("Box", "b", "greatest") == 9)
    }

    @Test func `decimals compare as numbers and average to 38 digits`() throws {
        let graph = try graph([])
        try graph.apply(
            ["9", "10.5", "-1"].enumerated().map {
                graph.upsert(
                    "Item", .text("i\($0)"), ["box": "b", "price": .value(.text($1)), "word": .value(.text($1))])
            })
        #expect(try graph.value("Box", "b", "dearest") == "10.5")
        #expect(try graph.value("Box", "b", "lastWord") == "9")
        #expect(try graph.value("Box", "b", "price") == "18.5")
        let mean = try graph.value("Box", "b", "meanPrice")?.text ?? ""
        #expect(mean.hasPrefix("6.1666666666666666666") && mean.filter(\.isNumber).count == 38)
    }

    @Test func `decimal sums lose nothing in any order`() throws {
        let graph = try graph([])
        try graph.apply(
            graph.upsert("Item", "i", ["box": "b", "price": "10000000000000000000000000000"]),
            graph.upsert("Item", "j", ["box": "b", "price": "0.00000001"]))
        #expect(try graph.value("Box", "b", "price") == "10000000000000000000000000000.00000001")
        try graph.apply(graph.delete("Item", "i"))
        #expect(try graph.value("Box", "b", "price") == "0.00000001")
    }

    @Test func `a sum beyond its type stays at the bound and returns`() throws {
        let graph = try graph([30_000, 30_000])
        #expect(try graph.value("Box", "b", "total") == 32_767)
        try graph.apply(graph.upsert("Item", "i0", ["size": -30_000]))
        #expect(try graph.value("Box", "b", "total") == 0)
        try graph.apply(graph.upsert("Item", "i1", ["size": -30_000]))
        #expect(try graph.value("Box", "b", "total") == -32_768)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    private static let extremes = """
        model: extremes
        entities:
          Box:
            identity: id
            attributes:
              id: { type: string }
              mean: { type: integer16, derived: items.whole.@avg }
              exactMean: { type: double, derived: items.whole.@avg }
              meanPrice: { type: double, derived: items.price.@avg }
              sum: { type: double, derived: items.number.@sum }
              smallSum: { type: float, derived: items.number.@sum }
              smallMean: { type: float, derived: items.number.@avg }
              small: { type: float, derived: sum * 10 }
            relationships: { items: { to: Item, many: true, inverse: box } }
          Item:
            identity: id
            attributes:
              id: { type: string }
              whole: { type: integer64, optional: true }
              price: { type: decimal, optional: true }
              number: { type: double, optional: true }
            relationships: { box: { to: Box, inverse: items, optional: true } }
        """

    private func extremes(_ column: String, _ values: Property...) throws -> Graph {
        let graph = try Graph(yaml: Self.extremes)
        for (index, value) in values.enumerated() {
            try graph.apply([
                ChangeSet(graph.model.upsert("Item", .text("i\(index)"), [("box", "b"), (column, value)]))
            ])
        }
        return graph
    }

    @Test func `an average that does not fit its type is null and the verifier says the same`() throws {
        let graph = try extremes("whole", 100_000, 100_000)
        #expect(try graph.rows("SELECT mean, exactMean FROM Box") == [[nil, 100_000.0]])
        #expect(try graph.damage() == "")
    }

    @Test func `the verifier adds large numbers that cancel as exactly as the writer`() throws {
        let whole = try extremes("whole", 9_007_199_254_740_993, -9_007_199_254_740_992)
        #expect(try whole.value("Box", "b", "exactMean") == 0.5)
        #expect(try whole.damage() == "")
        let price = try extremes("price", "10000000000000000000000.5", "-10000000000000000000000")
        #expect(try price.value("Box", "b", "meanPrice") == 0.25)
        #expect(try price.damage() == "")
    }

    @Test func `a derived number beyond its type is null`() throws {
        let large = try extremes("number", 1e308, 1e308)
        #expect(try large.rows("SELECT sum, smallSum, smallMean, small FROM Box") == [[nil, nil, nil, nil]])
        #expect(try large.damage() == "")
        let float = try extremes("number", 2e38, 2e38)
        #expect(try float.rows("SELECT sum, smallSum IS NULL FROM Box") == [[4e38, 1]])
        #expect(try float.rows("SELECT smallMean IS NULL, small IS NULL FROM Box") == [[0, 1]])
        #expect(try float.damage() == "")
        // A value that fits again is there again.
        try float.apply(float.delete("Item", "i1"))
        #expect(try float.value("SELECT round(smallSum / 1e36) FROM Box") == 200.0)
        #expect(try float.damage() == "")
    }

    @Test func `sum of derived sums follows over entities`() throws {
        let graph = try graph([1, 2])
        try graph.apply(graph.upsert("Item", "k", ["box": "c", "size": 4]), graph.upsert("Box", "c", ["room": "r"]))
        #expect(try graph.rows("SELECT items, greatest FROM Room") == [[7, 4]])
        let before = try graph.history().count
        try graph.apply(graph.upsert("Item", "k", ["size": 3]))
        #expect(try graph.rows("SELECT items, greatest FROM Room") == [[6, 3]])
        #expect(
            try graph.history().dropFirst(before).sorted() == [
                "update Box c least,greatest,mean,total", "update Item k size",
                "update Room r items,greatest",
            ])
    }

    @Test func `each object has one change however many of its values follow`() throws {
        let graph = try graph([1, 2, 3])
        let changes = try graph.history(after: 1)
        #expect(changes.filter { $0.contains("Box b") }.count == 1)
        #expect(changes.filter { $0.contains("Room r") }.count == 1)
    }

    @Test func `greatest value of an owner is one seek`() throws {
        let graph = try graph([])
        let indexes = try graph.column("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'Item'")
        #expect(indexes.contains("Item.box.size"))
        #expect(!indexes.contains("Item.box"), "the longer index serves for it")
    }
}

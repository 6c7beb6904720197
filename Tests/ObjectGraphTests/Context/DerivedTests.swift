import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct DerivedTests {
    @Test func `arithmetic over decimals is exact`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply(graph.upsert("WorkOrder", "w", ["cost": "0.1", "taxRate": "0.2", "asset": "a"]))
        #expect(try graph.value("WorkOrder", "w", "totalCost") == "0.12")
        try graph.apply(graph.upsert("WorkOrder", "v", ["cost": "0.2", "asset": "a"]))
        #expect(try graph.value("Asset", "a", "maintenanceCost") == "0.3")
        try graph.apply(graph.upsert("WorkOrder", "w", ["cost": nil]))
        #expect(try graph.value("WorkOrder", "w", "totalCost") == .null)
        #expect(try graph.value("Asset", "a", "maintenanceCost") == "0.2")
    }

    @Test func `derived from derived follows`() throws {
        let graph = try Graph(yaml: Models.rules)
        try graph.apply(
            graph.upsert("Item", "i", ["box": "b", "price": "1.25", "weight": 0.5]), graph.upsert("Box", "b"))
        try graph.apply(graph.upsert("Item", "j", ["box": "b", "price": "2", "weight": 0.25]))
        #expect(try graph.rows("SELECT count, weight, price, gross FROM Box") == [[2, 0.75, "3.25", "8.5"]])
        try graph.apply(graph.upsert("Item", "i", ["price": nil, "weight": nil]))
        #expect(try graph.rows("SELECT count, weight, price, gross FROM Box") == [[2, 0.25, "2", "6"]])
    }

    @Test func `sum over a join table follows the summed value`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(graph.upsert("Person", "p", ["friends": ["q"]]), graph.upsert("Person", "q", ["salary": 5]))
        try graph.apply(graph.upsert("Person", "q", ["salary": 8]))
        #expect(try graph.value("Person", "p", "friendsSalary") == 8)
        #expect(try graph.history(after: 1).sorted() == ["update Person p friendsSalary", "update Person q salary"])
    }

    @Test func `object without destinations has nought`() throws {
        let graph = try Graph(yaml: Models.rules)
        try graph.apply(graph.upsert("Box", "b"))
        #expect(try graph.rows("SELECT count, weight, price, gross, marksSize FROM Box") == [[0, 0.0, "0", "0", 0]])
    }

    @Test(arguments: TestStorage.allCases)
    func `a product that is a negative nought is nought`(_ storage: TestStorage) throws {
        let model = try ObjectModel.parse(
            """
            entities:
              Item:
                identity: id
                attributes:
                  id: { type: string }
                  weight: { type: double, optional: true }
                  factor: { type: float, optional: true }
                  product: { type: double, derived: weight * factor }
            """)
        let graph = try Graph(storage.store(model))
        try graph.apply(graph.upsert("Item", "i", ["weight": -2.0, "factor": 0.0]))
        #expect(try SharedStore.lines(graph.store).contains("  product=0.0"))
        #expect(AttributeType.float.value(fromDouble: -1e-60).map { "\($0)" } == "\(Value.double(0))")
    }

    @Test func `division by nought is null`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    attributes:
                      id: { type: integer64 }
                      a: { type: integer32, default: 0 }
                      ratio: { type: double, derived: 1 / a }
                      half: { type: integer16, derived: -a / 2 }
                """)
        try graph.apply(graph.upsert("E", 1), graph.upsert("E", 2, ["a": 4]), graph.upsert("E", 3, ["a": 5]))
        #expect(try graph.rows("SELECT ratio, half FROM E ORDER BY id") == [[nil, 0], [0.25, -2], [0.2, -2]])
    }
}

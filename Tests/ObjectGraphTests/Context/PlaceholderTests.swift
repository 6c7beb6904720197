import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct PlaceholderTests {
    @Test func `unknown reference makes a placeholder that its event completes`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        let first = try graph.apply([graph.upsert("ChecklistItem", "i", ["workOrder": "w", "minutes": 5])])
        #expect(first.placeholderCount == 1)
        #expect(
            try graph.rows("SELECT status, priority, minutesPlanned, _placeholder FROM WorkOrder") == [
                [nil, nil, 5, 1]
            ])
        try graph.apply(graph.upsert("WorkOrder", "w", ["title": "t"]))
        #expect(
            try graph.rows("SELECT status, priority, title, minutesPlanned, _placeholder FROM WorkOrder")
                == [["open", 3, "t", 5, 0]])
        let counts = try graph.store.read { try $0.count(graph.model.entities[0]) }
        #expect(counts.objects == 1 && counts.placeholders == 0)
    }

    @Test func `placeholder of a failed event is gone`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        let result = try graph.apply([graph.upsert("Note", "n", ["author": "t"]), graph.upsert("Technician", "u")])
        #expect(result.outcomes.map(\.word) == ["validation.1570", "applied"])
        #expect(result.placeholderCount == 0)
        #expect(try graph.identities("Technician") == ["u"])
    }

    @Test func `reject fails the event`() throws {
        let graph = try Graph(yaml: Models.strict)
        #expect(try graph.apply(graph.upsert("Line", "l", ["product": "p"])) == ["reference.missing"])
        #expect(
            try graph.apply(graph.upsert("Product", "p"), graph.upsert("Line", "l", ["product": "p"]))
                == ["applied", "applied"])
    }

    @Test func `counts hold once the event has come`() throws {
        let graph = try Graph(yaml: Models.rules)
        #expect(try graph.apply(graph.upsert("Box", "a", ["tags": ["t"]])) == ["applied"])
        #expect(try graph.apply(graph.upsert("Tag", "t")) == ["validation.1580"])
        #expect(try graph.apply(graph.upsert("Tag", "t", ["boxes": .add("b")])) == ["applied"])
    }
}

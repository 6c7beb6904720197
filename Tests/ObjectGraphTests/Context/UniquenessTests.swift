import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// Uniqueness constraints: several, of several properties, inherited.
@Suite struct UniquenessTests {
    private func graph() throws -> Graph { try Graph(yaml: Models.ordered) }

    private func both(_ yaml: String, _ body: (Graph, ([ChangeSet]) throws -> [String]) throws -> Void) throws {
        for isSplit in [false, true] {
            let graph = try Graph(yaml: yaml)
            try body(graph) { events in
                if !isSplit { return try graph.apply(events).outcomes.map(\.word) }
                return try events.flatMap { try graph.apply([$0]).outcomes.map(\.word) }
            }
            #expect(try graph.damage() == "")
        }
    }

    @Test func `values that are unique together may repeat alone`() throws {
        try both(Models.ordered) { graph, apply in
            let outcomes = try apply([
                graph.upsert("List", "a", ["tenant": "x", "number": 1]),
                graph.upsert("List", "b", ["tenant": "x", "number": 2]),
                graph.upsert("List", "c", ["tenant": "y", "number": 1]),
                graph.upsert("List", "d", ["tenant": "x", "number": 1]),
                graph.upsert("List", "b", ["number": 1]),
            ])
            #expect(outcomes == ["applied", "applied", "applied", "validation.1551", "validation.1551"])
            #expect(try graph.identities("List") == ["a", "b", "c"])
        }
    }

    @Test func `each of several constraints is checked`() throws {
        try both(Models.ordered) { graph, apply in
            let outcomes = try apply([
                graph.upsert("List", "a", ["tenant": "x", "number": 1, "mail": "m"]),
                graph.upsert("List", "b", ["mail": "m"]),
                graph.upsert("List", "b", ["tenant": "x", "number": 1, "mail": "n"]),
                graph.upsert("List", "b", ["mail": "n"]),
            ])
            #expect(outcomes == ["applied", "validation.1551", "validation.1551", "applied"])
        }
    }

    @Test func `nulls do not collide`() throws {
        try both(Models.ordered) { graph, apply in
            let outcomes = try apply([
                graph.upsert("List", "a", ["tenant": "x"]), graph.upsert("List", "b", ["tenant": "x"]),
                graph.upsert("List", "a", ["number": 1]), graph.upsert("List", "b", ["number": 1]),
            ])
            #expect(outcomes == ["applied", "applied", "applied", "validation.1551"])
        }
    }

    @Test func `parts that come with different events are checked together`() throws {
        let graph = try graph()
        try graph.apply(graph.upsert("List", "a", ["tenant": "x", "number": 1]), graph.upsert("List", "b"))
        #expect(
            try graph.apply(
                graph.upsert("List", "b", ["tenant": "x"]), graph.upsert("List", "b", ["number": 1])) == [
                    "applied", "validation.1551",
                ])
        #expect(try graph.rows("SELECT tenant, number FROM List WHERE id = 'b'") == [["x", nil]])
    }

    @Test func `values may pass from one object to another`() throws {
        try both(Models.ordered) { graph, apply in
            let outcomes = try apply([
                graph.upsert("List", "a", ["tenant": "x", "number": 1]),
                graph.upsert("List", "b", ["tenant": "x", "number": 2]),
            ])
            #expect(outcomes == ["applied", "applied"])
            let exchanged = try apply([
                graph.upsert("List", "a", ["number": 3]), graph.upsert("List", "b", ["number": 1]),
                graph.upsert("List", "a", ["number": 2]),
            ])
            #expect(exchanged == ["applied", "applied", "applied"])
            #expect(try graph.column("SELECT number FROM List ORDER BY id") == [2, 1])
            #expect(
                try apply([graph.delete("List", "a"), graph.upsert("List", "c", ["tenant": "x", "number": 2])]) == [
                    "applied", "applied",
                ])
        }
    }

    @Test func `a to-one relationship may be part of a constraint`() throws {
        try both(Models.ordered) { graph, apply in
            let outcomes = try apply([
                graph.upsert("Entry", "a", ["list": "l", "name": "n"]),
                graph.upsert("Entry", "b", ["list": "m", "name": "n"]),
                graph.upsert("Entry", "b", ["list": "l"]), graph.upsert("List", "l", ["entries": .add("b")]),
                graph.delete("List", "l"), graph.upsert("Entry", "b", ["list": nil]),
            ])
            #expect(outcomes == ["applied", "applied", "validation.1551", "validation.1551", "applied", "applied"])
        }
    }

    @Test func `an inherited constraint holds over the whole hierarchy`() throws {
        try both(Models.hierarchy) { graph, apply in
            let outcomes = try apply([
                graph.upsert("Note", "n", ["folder": "f", "place": 1]),
                graph.upsert("Step", "s", ["folder": "f", "place": 1]),
                graph.upsert("Step", "s", ["folder": "f", "place": 2]), graph.upsert("Item", "s", ["place": 1]),
            ])
            #expect(outcomes == ["applied", "validation.1551", "applied", "validation.1551"])
        }
    }

    @Test func `a constraint of a sub-entity binds only what is below it`() throws {
        try both(Models.hierarchy) { graph, apply in
            let outcomes = try apply([
                graph.upsert("Task", "t", ["title": "a", "points": 1]),
                graph.upsert("Task", "u", ["title": "a", "points": 1]),
                graph.upsert("Step", "s", ["title": "a", "points": 1]),
                graph.upsert("Step", "r", ["title": "a", "points": 1]),
                graph.upsert("Task", "v", ["code": "c"]), graph.upsert("Step", "w", ["code": "c"]),
                graph.upsert("Note", "n", ["code": "c"]),
            ])
            #expect(
                outcomes == [
                    "applied", "applied", "applied", "validation.1551", "applied", "validation.1551", "applied",
                ])
        }
    }

    @Test func `becoming a sub-entity meets its constraints`() throws {
        try both(Models.hierarchy) { graph, apply in
            let outcomes = try apply([
                graph.upsert("Step", "s", ["title": "a", "points": 1]),
                graph.upsert("Task", "t", ["title": "a", "points": 1]),
                graph.upsert("Step", "t"),
            ])
            #expect(outcomes == ["applied", "applied", "validation.1551"])
        }
    }

    @Test func `the message names the properties and no value`() throws {
        let graph = try graph()
        let result = try graph.apply([
            graph.upsert("List", "a", ["tenant": "secret", "number": 1]),
            graph.upsert("List", "b", ["tenant": "secret", "number": 1]),
        ])
        guard case .failed(let failure) = result.outcomes[1] else { return #expect(Bool(false), "it was applied") }
        #expect(failure.description.contains("List.tenant, number have to be unique together"))
        #expect(!failure.description.contains("secret"))
    }

    @Test func `the store holds the constraints too`() throws {
        let graph = try Graph(yaml: Models.hierarchy)
        let indexes = try graph.column("SELECT sql FROM sqlite_master WHERE sql LIKE 'CREATE UNIQUE%' ORDER BY name")
            .map { $0.text ?? "" }
        #expect(
            indexes.contains("CREATE UNIQUE INDEX \"Item.folder.place.unique\" ON \"Item\" (\"folder\", \"place\")"))
        #expect(
            indexes.contains(
                "CREATE UNIQUE INDEX \"Step.title.points.unique\" ON \"Item\" (\"title\", \"points\") WHERE _entity IN ('Step')"
            ))
        #expect(
            indexes.contains(
                "CREATE UNIQUE INDEX \"Task.code\" ON \"Item\" (\"code\") WHERE _entity IN ('Task', 'Step')"))
    }
}

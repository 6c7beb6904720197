import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// What is no JSON gets into a transformable attribute by no entrance.
@Suite struct TransformableTests {
    private static let yaml = """
        entities:
          Draft:
            identity: id
            attributes:
              id: { type: string }
              content: { type: transformable, optional: true, preserveAfterDeletion: true }
        """

    @Test func `contexts refuse what is no JSON`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let context = try EditingContext(graph.writer)
        #expect(throws: EditingError.self) { try context.insert("Draft", identity: "a", ["content": "{"]) }
        let draft = try context.insert("Draft", identity: "a", ["content": "{\"a\":[1]}"])
        let error = #expect(throws: EditingError.self) { try draft.set("content", "{\"a\":") }
        #expect(error?.code == .type)
        try context.save()
        #expect(try graph.column("SELECT content FROM Draft") == ["{\"a\":[1]}"])
    }

    @Test func `events with what is no JSON fail`() throws {
        let graph = try Graph(yaml: Self.yaml)
        #expect(
            try graph.apply(
                graph.upsert("Draft", "a", ["content": "{"]), graph.upsert("Draft", "b", ["content": "[]"]))
                == ["validation.1550", "applied"])
        #expect(try graph.identities("Draft") == ["b"])
    }

    @Test func `batch requests refuse what is no JSON`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let rows: [[String: Value]] = [["id": "a", "content": "{"]]
        #expect(throws: (any Error).self) { try graph.writer.execute(BatchInsertRequest("Draft", values: rows)) }
        try graph.apply(graph.upsert("Draft", "b", ["content": "[]"]))
        #expect(throws: FetchPredicateError.self) {
            try graph.writer.execute(BatchUpdateRequest("Draft", set: ["content": .value("nope")]))
        }
        #expect(try graph.column("SELECT content FROM Draft") == ["[]"])
    }

    @Test func `a default has to be JSON`() throws {
        #expect(throws: ModelError.self) {
            try ObjectModel.parse(
                Self.yaml.replacingOccurrences(of: "transformable,", with: "transformable, default: \"{\","))
        }
    }

    @Test(arguments: [0, 1000]) func `a malformed value that is stored is preserved as a text`(_ threshold: Int) throws
    {
        let graph = try Graph(yaml: Self.yaml, setDeletionThreshold: threshold)
        try graph.apply(graph.upsert("Draft", "a", ["content": "[]"]))
        _ = try graph.rows("UPDATE Draft SET content = '{\"'")
        #expect(try graph.apply(graph.delete("Draft", "a")) == ["applied"])
        #expect(
            try graph.column("SELECT tombstone FROM _history_change WHERE change = 2") == ["{\"content\":\"{\\\"\"}"])
    }
}

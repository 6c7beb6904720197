import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// What batch requests leave in the history, and what a writer that comes later makes of it.
@Suite struct BatchHistoryTests {
    private func graph() throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([graph.upsert("Chat", "a", ["title": "t"]), graph.upsert("Chat", "b")])
        return graph
    }

    @Test func `each request is one transaction with the writer's author`() throws {
        let graph = try graph()
        _ = try graph.writer.execute(BatchInsertRequest("Chat", values: [["id": "c"], ["id": "d"]]))
        _ = try graph.writer.execute(BatchUpdateRequest("Chat", set: ["title": .value("same")]))
        _ = try graph.writer.execute(BatchDeleteRequest("Chat", where: "id = 'd'"))
        let transactions = try graph.store.read { try $0.history(after: 1) }
        #expect(transactions.map(\.token) == [2, 3, 4])
        #expect(Set(transactions.map(\.author)).count == 1)
        #expect(transactions.map(\.changes.count) == [2, 4, 1])
        #expect(transactions.flatMap(\.changes).map(\.kind.rawValue) == [0, 0, 1, 1, 1, 1, 2])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `deletions leave the preserved values in order`() throws {
        let graph = try graph()
        _ = try graph.writer.execute(BatchDeleteRequest("Chat"))
        let changes = try graph.store.read { try $0.history(after: 1) }.flatMap(\.changes)
        #expect(changes.map(\.identity) == ["a", "b"])
        #expect(changes.map(\.kind) == [.delete, .delete])
        #expect(
            try graph.value("SELECT tombstone FROM _history_change WHERE identity = 'a' AND change = 2")
                == "{\"title\":\"t\"}")
    }

    @Test func `changes of an object keep its identity when it became one of a sub-entity and was deleted`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Task: { identity: id, attributes: { id: { type: string }, size: { type: integer64, default: 1 } } }
                  Bug: { parent: Task, attributes: { severity: { type: string, optional: true } } }
                """)
        let names = (0..<10).map { Value.text("t\($0)") }
        try graph.apply(names.map { graph.upsert("Task", $0) })
        _ = try graph.writer.execute(BatchUpdateRequest("Task", set: ["size": .value(2)]))
        try graph.apply(graph.upsert("Bug", "t3", ["severity": "high"]))
        try graph.apply(graph.delete("Bug", "t3"))
        for storage in TestStorage.allCases {
            let changes = try graph.store.read(from: storage) { try $0.history(after: 0, limit: 2) }.flatMap(\.changes)
            #expect(changes.map(\.identity) == names + names, "\(storage)")
        }
        if TestStorage.current == .memory { return }
        for token in 1...2 {
            #expect(try graph.column("SELECT identity FROM _history WHERE token = \(token) ORDER BY identity") == names)
        }
    }

    @Test(.onlyInSQLite("memory writes no ranges"))
    func `change numbers go on after ranges and purges`() throws {
        let graph = try graph()
        // A range stands for changes 3 and 4, so the greatest number among single changes is 2.
        _ = try graph.writer.execute(BatchUpdateRequest("Chat", set: ["title": .value("same")]))
        _ = try graph.writer.execute(BatchDeleteRequest("Chat", where: "id = 'a'"))
        #expect(try graph.column("SELECT id FROM _history_change ORDER BY id") == [1, 2, 5])
        _ = try graph.writer.purgeHistory(HistoryPurge(before: .time(.max)))
        _ = try graph.writer.execute(BatchDeleteRequest("Chat"))
        #expect(try graph.column("SELECT id FROM _history_change ORDER BY id") == [6])
        #expect(try graph.history(after: 4).count == 0)
        try graph.restart()
        try graph.apply(graph.upsert("Chat", "later"))
        #expect(try graph.column("SELECT id FROM _history_change ORDER BY id") == [6, 7])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `validators of the program refuse a batch deletion as a whole`() throws {
        var options = WriterContext.Options()
        options.validators["Chat"] = EntityValidator(validateForDelete: { validation in
            if validation.value("title") == "t" { validation.fail("title", "may not go") }
        })
        let graph = try Graph(configuredModel("chat"), options: options)
        try graph.apply([graph.upsert("Chat", "a", ["title": "t"]), graph.upsert("Chat", "b")])
        let error = #expect(throws: BatchError.self) { try graph.writer.execute(BatchDeleteRequest("Chat")) }
        #expect(error?.failure?.code == 1550)
        #expect(try graph.identities("Chat") == ["a", "b"])
    }

    @Test func `a batch request names all broken rules at once`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply([
            graph.upsert("Asset", "a"), graph.upsert("Asset", "b"), graph.upsert("WorkOrder", "v", ["asset": "a"]),
            graph.upsert("WorkOrder", "w", ["asset": "b"]),
        ])
        let error = #expect(throws: BatchError.self) { try graph.writer.execute(BatchDeleteRequest("Asset")) }
        #expect(error?.failures.map(\.code) == [1600, 1600])
    }

    @Test func `the tables are emptied references first`() throws {
        let model = try configuredModel("chat")
        let order = ReferenceOrder(model).referringFirst.map(\.name)
        let message = try #require(order.firstIndex(of: "Message"))
        #expect(message < order.firstIndex(of: "Chat") ?? 0)
        #expect(message < order.firstIndex(of: "Member") ?? 0)
        #expect(Set(order).count == model.entities.count)
    }
}

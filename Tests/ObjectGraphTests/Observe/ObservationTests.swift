import Testing

@testable import GraphCore
@testable import ObjectGraph
@testable import SQLiteStorage

@Suite struct ObservationTests {
    private static var patient: ObservationOptions {
        var options = ObservationOptions()
        options.pollInterval = .seconds(3600)
        options.minimumInterval = .zero
        return options
    }

    @Test func `changes come after the token as they are committed`() async throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "a"))
        let token = try graph.store.read { try $0.historyToken() }
        try graph.apply(graph.upsert("Chat", "b"))
        // Without polling: the commit itself wakes the reader.
        var changes = graph.store.changes(HistoryRequest(after: token), options: Self.patient).makeAsyncIterator()
        #expect(try await changes.next()?.transactions.map(\.token) == [2])
        let store = graph.store
        let waiting = Task {
            var changes = store.changes(
                HistoryRequest(after: try store.read { try $0.historyToken() }), options: Self.patient
            ).makeAsyncIterator()
            return try await changes.next()?.token.number
        }
        try await Task.sleep(for: .milliseconds(50))
        try graph.apply(graph.upsert("Chat", "c"))
        #expect(try await waiting.value == 3)
    }

    @Test func `a huge transaction comes in pages`() async throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply((1...25).map { graph.upsert("Chat", .text("c\($0)")) })
        var request = HistoryRequest()
        request.limit = 10
        var changes = graph.store.changes(request, options: Self.patient).makeAsyncIterator()
        var counts: [Int] = []
        for _ in 0..<3 { counts.append(try await changes.next()?.count ?? 0) }
        #expect(counts == [10, 10, 5])
    }

    @Test func `cancellation ends the sequences`() async throws {
        let graph = try Graph(configuredModel("chat"))
        let store = graph.store
        let changes = Task {
            var count = 0
            for try await _ in store.changes(options: Self.patient) { count += 1 }
            return count
        }
        let results = Task {
            var count = 0
            for try await _ in try store.results(of: FetchRequest("Chat"), options: Self.patient) { count += 1 }
            return count
        }
        try await Task.sleep(for: .milliseconds(50))
        changes.cancel()
        results.cancel()
        #expect(try await changes.value == 0)
        #expect(try await results.value <= 1)
    }

    @Test func `a slow reader learns of a purge by an expired token`() async throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "a"))
        var changes = graph.store.changes(options: Self.patient).makeAsyncIterator()
        #expect(try await changes.next()?.token.number == 1)
        try graph.apply(graph.upsert("Chat", "b"))
        _ = try graph.writer.purgeHistory(HistoryPurge(before: .time(.max)))
        do {
            _ = try await changes.next()
            Issue.record("the gap went unnoticed")
        } catch let error as StoreError {
            #expect(error.code == .historyExpired)
        }
    }

    @Test func `results come with what leads to them`() async throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([graph.upsert("Chat", "a", ["title": "1"]), graph.upsert("Chat", "b", ["title": "2"])])
        var request = FetchRequest("Chat")
        request.sort = ["title"]
        var results = try graph.store.results(of: request, options: Self.patient).makeAsyncIterator()
        let first = try await results.next()
        #expect(first?.objects.map { $0["id"] } == ["a", "b"])
        #expect(first?.difference == nil)
        // Two commits, of which the reader sees the newest state; a member does not matter.
        try graph.apply(graph.upsert("Chat", "a", ["title": "3"]))
        try graph.apply(graph.upsert("Chat", "c", ["title": "0"]), graph.upsert("Member", "m"))
        let second = try await results.next()
        #expect(second?.objects.map { $0["id"] } == ["c", "b", "a"])
        #expect(second?.difference?.insertions == [0])
        #expect(second?.difference?.updates == [.init(from: 0, to: 2)])
        #expect(second?.difference?.moves.count == 1)
        #expect(second?.token.number == 3)
        try graph.apply(graph.delete("Chat", "b"))
        #expect(try await results.next()?.difference?.deletions == [1])
    }

    @Test func `sections follow the value of a property`() async throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply([
            graph.upsert("WorkOrder", "1", ["status": "done"]), graph.upsert("WorkOrder", "2", ["status": "open"]),
            graph.upsert("WorkOrder", "3", ["status": "open"]),
        ])
        var request = FetchRequest("WorkOrder")
        request.sort = ["status", "id"]
        var results = try graph.store.results(of: request, section: "status", options: Self.patient)
            .makeAsyncIterator()
        let first = try await results.next()
        #expect(first?.sections == [.init(value: "done", range: 0..<1), .init(value: "open", range: 1..<3)])
        #expect(first?.place(of: 2)?.section == 1)
        #expect(first?.place(of: 2)?.item == 1)
        try graph.apply(graph.upsert("WorkOrder", "1", ["status": "cancelled"]))
        let second = try await results.next()
        #expect(second?.sections.map(\.value) == ["cancelled", "open"])
        #expect(second?.sectionDifference?.deletions == [0])
        #expect(second?.sectionDifference?.insertions == [0])
        #expect(throws: FetchPredicateError.self) { try graph.store.results(of: request, section: "checklist") }
    }

    @Test func `commits through another handle are noticed by polling`() async throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        // Another handle has another signal, as another process has.
        let reader = try Store.openForReading(path: folder.path("s.sqlite"), model: model)
        var options = ObservationOptions()
        options.pollInterval = .milliseconds(10)
        var changes = reader.changes(options: options).makeAsyncIterator()
        var results = try reader.results(of: FetchRequest("Chat"), options: options).makeAsyncIterator()
        #expect(try await results.next()?.objects.isEmpty == true)
        try graph.apply(graph.upsert("Chat", "a"))
        #expect(try await changes.next()?.token.number == 1)
        #expect(try await results.next()?.difference?.insertions == [0])
    }
}

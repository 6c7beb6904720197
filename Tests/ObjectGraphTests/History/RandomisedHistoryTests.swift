import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Random requests of a random history: every storage answers the same.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter RandomisedHistoryTests` runs that one
/// again, and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct RandomisedHistoryTests {
    private static let requestsPerHistory = 40

    @Test func `storages answer for the history alike`() throws {
        try Seeds.forEach(runs: 8) { seed in
            var random = SeededGenerator(seed: seed)
            let graph = try history(seed, &random)
            for _ in 0..<Self.requestsPerHistory {
                let request = try request(graph, &random)
                let found = try TestStorage.allCases.map { storage in
                    try graph.store.read(from: storage) { try answers($0, request) }
                }
                #expect(found.allSatisfy { $0 == found[0] }, "seed \(seed): \(request)")
            }
        }
    }

    /// A history of events, of batch updates and of a purge, with a clock that goes back at times.
    private func history(_ seed: UInt64, _ random: inout SeededGenerator) throws -> Graph {
        let clock = Clock(100)
        let graph = try Graph(try ObjectModel.parse(Models.hierarchy), clock: clock)
        var events = EventGenerator(graph.model, seed: seed)
        for _ in 0..<12 {
            clock.now += Int64.random(in: -5...20, using: &random)
            if random.chance(30) {
                let entity = ["Note", "Task", "Step"].randomElement(using: &random) ?? "Note"
                var request = BatchUpdateRequest(entity)
                request.assignments["weight"] = .value(clock.now)
                _ = try graph.writer.execute(request)
            } else {
                try graph.apply((0..<5).map { _ in events.event() })
            }
        }
        try graph.writer.putCursors(["reader": 3, "other": 7])
        try graph.writer.commit()
        if random.chance(40) { _ = try graph.writer.purgeHistory(HistoryPurge(before: .token(3))) }
        return graph
    }

    private func request(_ graph: Graph, _ random: inout SeededGenerator) throws -> HistoryRequest {
        var request = HistoryRequest()
        let (store, first, last) = try graph.store.read {
            (try $0.historyToken().store, try $0.purgedToken(), try $0.lastToken())
        }
        if random.chance(50) {
            request.after = HistoryToken(store: store, number: Int64.random(in: first...last, using: &random))
        }
        if random.chance(25) { request.since = Int64.random(in: 90...250, using: &random) }
        if random.chance(25) { request.before = Int64.random(in: 90...250, using: &random) }
        if random.chance(15) { request.author = "nobody" }
        if random.chance(50) { request.entity = graph.model.entities.randomElement(using: &random)?.name }
        if request.entity != nil, random.chance(50) {
            request.identity = .text(["a", "b", "c"].randomElement(using: &random) ?? "a")
        }
        if random.chance(40) { request.kinds = random.chance(50) ? [.update] : [.delete, .insert] }
        request.limit = Int.random(in: 1...12, using: &random)
        return request
    }

    /// All that a storage says to a request and its next pages, as lines.
    private func answers(_ context: ReadContext, _ request: HistoryRequest) throws -> [String] {
        var lines = ["\(try context.historyCount(request)) \(try context.hasHistory(request))"]
        lines.append("\(try context.historyCursors()) \(try context.cursors().sorted { $0.key < $1.key })")
        var next: HistoryRequest? = request
        while let current = next {
            let page = try context.history(current)
            lines.append("page \(page.transactions) \(page.token)")
            next = page.next
        }
        next = request
        while let current = next {
            let page = try context.historyTransactions(current)
            lines.append("transactions \(page.transactions) \(page.token)")
            next = page.next
        }
        for transaction in try context.history(after: context.purgedToken(), limit: 5, maximumChangeCount: 20) {
            lines.append("transaction \(transaction)")
            lines.append("rest \(String(describing: try context.transaction(transaction.token, from: 1, limit: 3)))")
        }
        return lines
    }
}

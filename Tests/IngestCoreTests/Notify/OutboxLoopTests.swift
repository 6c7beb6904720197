import ObjectGraph
import Synchronization
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import SQLiteStorage

/// When an outbox tries again, and when it ends.
@Suite struct OutboxLoopTests {
    /// Fails with results of SQLite, one after the other, and then has nothing to deliver.
    private final class FailingDelivery: OutboxDelivery {
        let results: Mutex<[Int32]>
        let failures = Atomic<Int>(0)

        init(_ results: [Int32]) { self.results = Mutex(results) }

        func deliver(after cursor: Int64) throws -> DeliveredBatch? {
            let result = results.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            if let result { throw StoreError(resultCode: result, action: "read the store") }
            return nil
        }
        func waitingCount(after cursor: Int64) -> Int { 0 }
        func storedCursor() -> Int64 { 0 }
        func save(_ cursor: Int64, _ writer: WriterContext) {}
        func prepareToStop() {}
        func report(_ event: OutboxEvent) {
            if case .failed = event { failures.add(1, ordering: .relaxed) }
        }
    }

    private let clock = ManualClock()

    private func outbox(_ delivery: FailingDelivery) throws -> Outbox {
        try Outbox(delivery, cursor: 0, limit: BacklogLimit(maximum: 0, resumesAt: 0), clock: clock.clock)
    }

    @Test(arguments: [Int32(10), 11]) func `a failed disk is not tried again`(resultCode: Int32) throws {
        // What passes by itself is tried again first.
        let delivery = FailingDelivery([5, resultCode])
        let outbox = try outbox(delivery)
        #expect(throws: StoreError.self) { try outbox.run() }
        #expect(delivery.failures.load(ordering: .relaxed) == 2)
    }

    @Test func `a wait grows with each failure, and a success ends it`() throws {
        let outbox = try outbox(FailingDelivery([5, 5, 5]))
        #expect(try (0..<3).map { _ in try outbox.step() } == [.at(0.1), .at(0.2), .at(0.4)])
        #expect(outbox.isFailing)
        #expect(try outbox.step() == .withNews(by: 0.5))
        #expect(!outbox.isFailing)
    }
}

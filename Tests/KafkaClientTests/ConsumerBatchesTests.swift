import TestSupport
import Testing

@testable import KafkaClient

@Suite struct ConsumerBatchesTests {
    @Test func `batches arrive in order until the consumer closes`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        try broker.fill("t", count: 500)
        let consumer = try broker.consumer(["t"])
        var offsets: [Int64] = []
        for try await batch in consumer.batches(maxRecords: 50) {
            offsets += batch.map(\.offset)
            if offsets.count == 500 { try consumer.close() }
        }
        #expect(offsets == (0..<500).map { Int64($0) })
    }

    @Test func `cancelling the reader ends it`() async throws {
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let consumer = try broker.consumer(["t"])
        let reader = Task {
            for try await _ in consumer.batches() {}
        }
        try await Task.sleep(for: .milliseconds(100))
        reader.cancel()
        try await reader.value
        // The thread has let go of the consumer, or does so soon.
        while codeOf({ _ = try consumer.poll(maxRecords: 1, timeoutMilliseconds: 0) }) == .busy {
            try await Task.sleep(for: .milliseconds(5))
        }
        try consumer.close()
    }

    @Test func `the handler's error ends the sequence`() async throws {
        struct NoStore: Error {}
        let broker = try EmbeddedBroker()
        try broker.createTopic("t", partitions: 1)
        let consumer = try broker.consumer(["t"]) { event, _ in
            if case .assigned = event { throw NoStore() }
            return [:]
        }
        await #expect(throws: NoStore.self) {
            for try await _ in consumer.batches() {}
        }
        try consumer.close()
    }
}

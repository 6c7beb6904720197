import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import Operations

extension WorkerRuntimeTests {
    @Test func `a broker that does not answer is an error`() async throws {
        let harness = try WorkerHarness()
        try harness.send([WorkerHarness.message("a")])
        try harness.start()
        try await harness.waitForPosition(1)
        let metrics = try #require(harness.runtime).worker.metrics
        let before = Double(WriterContext.systemTime()) / 1_000_000
        #expect(metrics.lastErrorTimestamp.value < before)
        try harness.broker.setDown()
        try await harness.wait(for: "the time of the error") { metrics.lastErrorTimestamp.value >= before }
        try harness.broker.setUp()
        try await harness.stop()
    }

    /// Brokers close connections that nobody uses, about every ten minutes: that is no reason to wake somebody.
    @Test func `a lost connection alone is none`() throws {
        let worker = try ConsumerWorker.bare()
        let place = TopicPartition("t", 0)
        _ = try worker.begin([place])
        func handle(_ code: KafkaError.Code) throws {
            let error = KafkaError(code, "told", isRetriable: true)
            try worker.handle(ConsumerEvent(topicPartition: nil, offset: nil, error: error))
        }
        try handle(.connectionLost)
        #expect(worker.metrics.lastErrorTimestamp.value == 0)
        #expect(worker.partitions.uncompared == [place])
        try handle(.timedOut)
        #expect(worker.metrics.lastErrorTimestamp.value > 0)
    }
}

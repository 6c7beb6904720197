import ObjectGraph
import Synchronization
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import RecordDecoding

/// What the worker does between records.
@Suite struct WorkerDutiesTests {
    private let zero = TopicPartition("t", 0)
    private let one = TopicPartition("t", 1)
    private let health = HealthMonitor()
    private let consumer: Consumer

    init() throws { consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"]) }

    private func failure(_ check: String) -> String? {
        health.readiness().first { $0.name == check && !$0.isOK }?.reason
    }

    @Test func `the end of a partition without a record becomes its position`() throws {
        let worker = try ConsumerWorker.bare()
        worker.pipeline.onCommit = { [unowned worker] in worker.committed($0) }
        _ = try worker.rebalance(.assigned([zero, one]), consumer)
        worker.tell(worker.partitions.handle(.endReached(50), zero))
        worker.tell(worker.partitions.handle(.endReached(0), one))
        for _ in 0..<2 { try worker.saveEnds() }
        let positions = try worker.store.read { try $0.positions() }
        #expect(positions == [SourcePosition(topic: "t", partition: 0, nextOffset: 50)])
        #expect(worker.partitions[zero]?.stored == 50 && worker.partitions.endsToSave.isEmpty)
    }

    @Test func `a worker that has lost partitions claims those alone that stay`() throws {
        let worker = try ConsumerWorker.bare()
        _ = try worker.rebalance(.assigned([zero, one]), consumer)
        var claimed: [StorePartition] = []
        worker.reading.claimPartitions = { claimed += $0 }
        _ = try worker.rebalance(.lost([zero]), consumer)
        #expect(claimed == [StorePartition(topic: "t", partition: 1)])
    }

    @Test func `a store that failed is in order once it has answered`() throws {
        final class Clock: Sendable {
            let seconds = Atomic<Int64>(0)
        }
        let clock = Clock()
        var options = WriterContext.Options()
        options.now = { clock.seconds.load(ordering: .relaxed) * 1_000_000 }
        let worker = try ConsumerWorker.bare(health: health, options: options)
        _ = worker.failures.backoff.failed()
        health.report(.storeFailed(reason: "a reason"))
        try worker.maintain(consumer)
        #expect(failure("store") == "a reason")
        // The lease is due, and the store renews it.
        clock.seconds.store(9, ordering: .relaxed)
        try worker.maintain(consumer)
        #expect(failure("store") == nil)
    }

    @Test func `a partition that shows no record after a retry does not keep the check decoding`() throws {
        let worker = try ConsumerWorker.bare(health: health)
        _ = try worker.rebalance(.assigned([zero]), consumer)
        let error = DecodeError(code: "registry.unavailable", "away")
        worker.beginDecodeWait(of: zero, error)
        worker.tell(worker.partitions.handle(.missing(ReadFault(reason: "gone", remedy: "")), zero))
        worker.retryDecoding()
        #expect(failure("decoding") != nil, "its pause has not ended")
        for partition in worker.failures.decodeWait.due(at: .infinity) {
            worker.tell(worker.partitions.handle(.pauseEnded(.decoding), partition))
        }
        worker.retryDecoding()
        #expect(failure("decoding") == nil && worker.failures.decodeWait.isOver)
    }

    @Test func `the broker is told a position again that it may not have taken`() throws {
        let worker = try ConsumerWorker.bare()
        _ = try worker.rebalance(.assigned([zero]), consumer)
        worker.tell(worker.partitions.handle(.saved(5), zero))
        #expect(worker.offsetsToTell(at: 0) == [zero: 5])
        worker.noteOffsetsCommitted([zero: 5])
        #expect(worker.offsetsToTell(at: 59) == [:])
        #expect(worker.offsetsToTell(at: 60) == [zero: 5])
    }
}

import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore
@testable import KafkaClient
@testable import Operations
@testable import RecordDecoding

extension WorkerRuntimeTests {
    /// The client is told behind the worker's back to fetch no more, as if it had forgotten to.
    @Test func `a silent partition is reported and fetched again`() async throws {
        let harness = try WorkerHarness(partitions: 2)
        try harness.send(["a", "b", "c"].map { WorkerHarness.message($0) })
        try harness.start()
        try await harness.waitForPosition(3)
        let worker = try #require(harness.runtime).worker
        let consumer = try #require(worker.requests.source as? Consumer)
        let place = TopicPartition(harness.topic, 0)
        try consumer.pause([place])
        try consumer.live().client.callbacks.rebalance.withLock { $0.paused = [] }
        try harness.send(["d", "e"].map { WorkerHarness.message($0) })
        try harness.send([WorkerHarness.message("other")], partition: 1)
        try await harness.waitForPosition(1, partition: 1)
        #expect(try harness.position() == 3)
        try await harness.wait(for: "the second attempt") {
            worker.metrics.refetches.value == 2 && !harness.isReady()
        }
        #expect(worker.metrics.consumerLag.with(harness.topic, "0").value == 2)
        try consumer.resume([place])
        try await harness.waitForPosition(5)
        #expect(worker.metrics.deadLetters.with("decode").value == 0)
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
        let messages = try harness.read { try $0.fetch(FetchRequest("Message")).count }
        #expect(messages == 6)
    }

    /// What the worker says of a partition that is silent, step by step.
    @Test func `health reports a silent partition until something comes`() throws {
        let time = Mutex(0.0)
        let health = HealthMonitor(now: { time.withLock { $0 } })
        let directory = TopicDirectory()
        let worker = try ConsumerWorker.bare(health: health, directory: directory)
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        func reason() -> String? { health.readiness().first { $0.name == "partitions" }?.reason }
        func look(at seconds: Double) throws {
            time.withLock { $0 = seconds }
            for _ in 0..<FetchWatch.leastPolls { worker.partitions.hear([], isFull: false) }
            try worker.watchFetches(consumer, at: seconds)
        }
        let places = [TopicPartition("t", 0), TopicPartition("t", 1)]
        _ = try worker.begin(places)
        try look(at: 0)
        #expect(directory.watched == Set(places))
        directory.note(ends: [places[0]: 12, places[1]: 0])
        try look(at: 10)
        #expect(reason() == nil)
        try look(at: 12.5)
        #expect(reason() == "t/0 is stalled: its end on the broker is 12 offsets further, and nothing comes")
        // The client does not have it, so going back fails, which ends nothing; what comes is compared all the same.
        try look(at: 15.5)
        #expect(worker.metrics.refetches.value == 1 && worker.partitions.uncompared == [places[0]])
        #expect(reason() != nil)
        // While reading waits nothing is expected, and the lag is known all the same.
        worker.tell(worker.partitions.handle(.pauseBegan(.outbox), places[0]))
        try look(at: 16)
        #expect(reason() == nil && directory.watched == Set(places))
        worker.tell(worker.partitions.handle(.pauseEnded(.outbox), places[0]))
        try look(at: 17)
        try look(at: 20)
        #expect(reason()?.contains("t/0 is stalled") == true)
        let end = ConsumerEvent(
            topicPartition: places[0], offset: 12, error: KafkaError(.partitionEnd, "end", topicPartition: places[0]))
        try worker.handle(end)
        try look(at: 23)
        #expect(reason() == nil)
        // A report of the lag goes by the broker's word, where the client's is old.
        directory.note(ends: [places[0]: 40, places[1]: 0])
        let position = SourcePosition(topic: "t", partition: 0, nextOffset: 12)
        worker.tell(worker.partitions.handle(.positionRead(position), places[0]))
        worker.report(consumer)
        #expect(worker.metrics.consumerLag.with("t", "0").value == 28)
        _ = try worker.rebalance(.lost(places), consumer)
        try look(at: 30)
        #expect(reason() == nil && directory.watched.isEmpty)
    }

    @Test func `the lag of a new partition is known while the store refuses`() throws {
        let directory = TopicDirectory()
        let worker = try ConsumerWorker.bare(directory: directory)
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        let place = PartitionFixture.place
        _ = try worker.begin([place])
        directory.note(ends: [place: 12])
        let (lag, seconds) = (
            worker.metrics.consumerLag.with("t", "0"), worker.metrics.consumerLagSeconds.with("t", "0")
        )
        worker.report(consumer)
        #expect(lag.value.isNaN && seconds.value.isNaN, "nothing is known of where the partition begins")
        var actions: AssignedPartitions.Actions = []
        let verdict = worker.partitions.receive(
            place, offset: 3, fingerprint: PartitionFixture.fingerprint(3), actions: &actions)
        #expect(verdict == .apply)
        worker.report(consumer)
        #expect(lag.value == 8)
        _ = worker.failures.backoff.failed()
        worker.report(consumer)
        #expect(lag.value == 9 && seconds.value.isNaN)
        // The store takes the first record, and refuses those behind it.
        worker.committed([PartitionFixture.position(4, last: 3)])
        _ = worker.failures.backoff.failed()
        worker.report(consumer)
        #expect(lag.value == 8 && seconds.value > 1_000_000, "the record is from 1970")
    }

    /// Nothing was fetched meanwhile, and brokers close idle connections: another log may answer.
    @Test func `after a full outbox the last record of each partition is compared again`() throws {
        let outbox = try Outbox(NoDelivery(), cursor: 0, limit: BacklogLimit(maximum: 2, resumesAt: 0))
        let worker = try ConsumerWorker.bare(notifications: outbox)
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        let place = TopicPartition("t", 0)
        try consumer.assign(adding: worker.begin([place]))
        let record = SourceRecord(place: RecordPlace(topic: "t", partition: 0, offset: 0), key: nil, value: nil)
        var actions: AssignedPartitions.Actions = []
        let verdict = worker.partitions.receive(
            place, offset: 0, fingerprint: RecordFingerprint(record), actions: &actions)
        #expect(verdict == .apply && actions.isEmpty)
        // It waits to be saved, and is not taken twice.
        try worker.pipeline.add(record, nextOffset: 1) { _ throws(DecodeError) in ChangeSet([]) }
        outbox.committed(2)
        worker.pauseWhereOutboxesAreFull()
        #expect(outbox.isFull && worker.partitions[place]?.due == [.pause])
        try worker.carryOutDue(consumer)
        #expect(worker.partitions[place]?.condition == .paused(.outbox) && worker.partitions[place]?.due == [])
        #expect(worker.partitions[place]?.progress.start == 1)
        #expect(try outbox.deliverNext() == 1 && outbox.isFull)
        #expect(try outbox.deliverNext() == 1 && !outbox.isFull)
        worker.pauseWhereOutboxesAreFull()
        #expect(worker.partitions[place]?.due == [.resume, .compareLastRecord])
        try worker.carryOutDue(consumer)
        #expect(worker.partitions[place]?.condition == .verifying && worker.partitions[place]?.due == [])
        #expect(worker.partitions[place]?.progress.start == 0 && worker.partitions[place]?.progress.next == 1)
        try consumer.close()
    }
}

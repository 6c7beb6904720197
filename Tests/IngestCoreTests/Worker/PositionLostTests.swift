import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import GraphCore
@testable import IngestCore
@testable import KafkaClient
@testable import RecordDecoding
@testable import SQLiteStorage

/// What a worker keeps of a decision about a lost position, and how it tells of partitions that it cannot read.
@Suite(.serialized, .timeLimit(.minutes(60))) struct PositionLostTests {
    @Test func `latest is saved where it is decided and asked for only once`() async throws {
        let harness = try WorkerHarness()
        try harness.send((0..<10).map { WorkerHarness.message("m\($0)") })
        try setPosition(500, harness)
        harness.configuration.kafka.onPositionLost = .latest
        try harness.start()
        // Nothing new comes: the jump alone is saved.
        try await harness.wait(for: "the jump") { try harness.position() == 10 }
        try await harness.stop()
        harness.configuration.kafka.onPositionLost = .halt
        try harness.send([WorkerHarness.message("late")])
        try harness.start()
        try await harness.waitForPosition(11)
        try await harness.stop()
        #expect(try harness.read { try $0.fetch(FetchRequest("Message")) }.compactMap { $0["id"]?.text } == ["late"])
    }

    /// A topic that lost its end and was read up to it: every record comes again.
    @Test func `a rewind counts the dead letters that come again and adds none`() async throws {
        let harness = try WorkerHarness()
        try harness.send(["bad 0", WorkerHarness.message("m"), "bad 1"])
        try harness.start()
        try await harness.waitForPosition(3)
        try await harness.stop()
        try setPosition(500, harness)
        harness.configuration.kafka.onPositionLost = .earliest
        try harness.start()
        try await harness.wait(for: "the rewind") { try harness.position() < 500 }
        try harness.send(["bad 2"])
        try await harness.wait(for: "the new end") { try harness.position() == 4 }
        try await harness.stop()
        let letters = try harness.read { try $0.deadLetters() }
        #expect(letters.map(\.offset) == [0, 2, 3] && letters.map(\.attempts) == [2, 2, 1])
        #expect(try harness.read { try $0.count(FetchRequest("Message")) } == 1)
    }

    @Test func `a partition without the right to read is reported until its records come`() async throws {
        let harness = try WorkerHarness()
        let refusal = KafkaError.Code("TOPIC_AUTHORIZATION_FAILED")
        try harness.broker.failNext(.fetch, with: Array(repeating: refusal, count: 1000))
        try harness.start()
        try await harness.wait(for: "the refusal") { reason(harness)?.contains("does not let") == true }
        try harness.send([WorkerHarness.message("a")])
        harness.broker.clearFailures(.fetch)
        try await harness.waitForPosition(1)
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
    }

    /// The library goes on behind such a batch; the embedded broker has none, so the event is the client's here.
    @Test func `a damaged batch halts its partition and nothing is passed`() throws {
        let health = HealthMonitor()
        let worker = try worker(health: health)
        let place = TopicPartition("t", 0)
        _ = try worker.begin([place])
        let event = ConsumerEvent(
            topicPartition: place, offset: 7,
            error: KafkaError(KafkaError.Code("_BAD_MSG"), "CRC", topicPartition: place))
        #expect(worker.take(event))
        let told = reason(health)
        #expect(told?.contains("t/0 halted: records are damaged") == true && told?.contains("offset 7") == true)
        let fingerprint = try #require(RecordFingerprint("1-1"))
        var actions: AssignedPartitions.Actions = []
        #expect(worker.partitions.receive(place, offset: 8, fingerprint: fingerprint, actions: &actions) == .skip)
        #expect(try worker.begin([place]) == [place: PartitionProgress.beginning], "a new assignment reads it again")
        #expect(worker.partitions[place]?.condition == .reading && reason(health) == nil)
    }

    @Test func `health reports a position in doubt within five seconds though the broker is silent`() throws {
        let time = Mutex(0.0)
        let health = HealthMonitor(now: { time.withLock { $0 } })
        let worker = try worker(health: health)
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        func reason() -> String? { health.readiness().first { $0.name == "partitions" }?.reason }
        let place = TopicPartition("t", 0)
        _ = try worker.begin([place])
        let event = ConsumerEvent(
            topicPartition: place, offset: nil, error: KafkaError(.offsetOutOfRange, "gone", topicPartition: place))
        #expect(worker.take(event))
        #expect(reason() == nil)
        time.withLock { $0 = 3 }
        try worker.carryOutDue(consumer)
        #expect(worker.take(event))
        time.withLock { $0 = 5 }
        #expect(reason()?.contains("t/0 waits: its position is not there") == true)
        // It goes to another member.
        _ = try worker.rebalance(.lost([place]), consumer)
        #expect(reason() == nil)
    }

    @Test func `health reports a topic that vanishes under the worker, and its return`() throws {
        let health = HealthMonitor()
        let directory = TopicDirectory()
        let worker = try worker(health: health, directory: directory)
        func reason() -> String? { health.readiness().first { $0.name == "partitions" }?.reason }
        let places = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
        _ = try worker.begin(places)
        directory.note(["t": [0, 1], "u": [0], "v": [0]])
        worker.watchTopics()
        #expect(reason() == nil && worker.partitions.uncompared.isEmpty)
        directory.note(["u": [0], "v": [0]])
        worker.watchTopics()
        #expect(reason() == "t halted: the broker does not know the topic")
        #expect(worker.partitions.uncompared == Set(places.prefix(2)))
        // The group takes the partitions back and gives them again: the topic is not there all the same.
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        _ = try worker.rebalance(.lost(places), consumer)
        #expect(reason() == "t halted: the broker does not know the topic")
        _ = try worker.begin(places)
        directory.note(["u": [0]])
        worker.watchTopics()
        #expect(reason() == "t halted: the broker does not know the topic")
        #expect(worker.partitions.uncompared.isEmpty)
        directory.note(["t": [0, 1], "u": [0]])
        worker.watchTopics()
        #expect(reason() == nil)
    }

    /// What stands there now is compared with the store's last record before anything of it is taken.
    @Test func `a partition whose topic vanished is verified before anything of it is taken`() throws {
        let directory = TopicDirectory()
        let worker = try worker(health: HealthMonitor(), directory: directory)
        let places = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
        _ = try worker.begin(places)
        directory.note(["u": [0]])
        worker.watchTopics()
        directory.note(["t": [0, 1], "u": [0]])
        worker.watchTopics()
        #expect(worker.partitions.uncompared == Set(places.prefix(2)))
        #expect(places.map { worker.partitions[$0]?.condition } == [.verifying, .verifying, .reading])
        _ = try worker.begin(places)
        #expect(worker.partitions.uncompared.isEmpty)
    }

    @Test func `health reports revoked partitions until the group answers`() throws {
        let time = Mutex(0.0)
        let health = HealthMonitor(now: { time.withLock { $0 } })
        let worker = try worker(health: health)
        let consumer = try Consumer(withoutGroup: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"])
        func reason() -> String? { health.readiness().first { $0.name == "group" }?.reason }
        let place = TopicPartition("t", 0)
        _ = try worker.rebalance(.assigned([place, TopicPartition("t", 1)]), consumer)
        _ = try worker.rebalance(.revoked([place]), consumer)
        time.withLock { $0 = 60 }
        #expect(reason() == nil, "it has another partition")
        _ = try worker.rebalance(.revoked([TopicPartition("t", 1)]), consumer)
        time.withLock { $0 = 65 }
        #expect(reason()?.contains("waiting for partitions") == true)
        _ = try worker.rebalance(.assigned([]), consumer)
        #expect(reason() == nil)
    }

    @Test func `after a disk's failure nothing more is saved`() throws {
        let worker = try worker(health: HealthMonitor())
        let place = RecordPlace(topic: "t", partition: 0, offset: 0)
        try worker.pipeline.add(SourceRecord(place: place, key: nil, value: nil), nextOffset: 1) {
            _ throws(DecodeError) in ChangeSet([])
        }
        #expect(worker.pipeline.deadline != nil)
        worker.dropWork(after: StoreError(resultCode: 10, action: "commit"))
        try worker.saveOrDrop()
        #expect(try worker.store.read { try $0.positions() }.isEmpty)
    }

    private func worker(health: HealthMonitor, directory: TopicDirectory? = nil) throws -> ConsumerWorker {
        var configuration = WorkerConfiguration()
        configuration.topics = [TopicConfiguration(name: "t"), TopicConfiguration(name: "u")]
        return try ConsumerWorker.bare(configuration, health: health, directory: directory)
    }

    private func reason(_ harness: WorkerHarness) -> String? { harness.runtime.flatMap { reason($0.health) } }

    private func reason(_ health: HealthMonitor) -> String? {
        health.readiness().first { $0.name == "partitions" }?.reason
    }

    private func setPosition(_ offset: Int64, _ harness: WorkerHarness) throws {
        let store = try Store.open(path: harness.storePath, model: WorkerHarness.model)
        let writer = try WriterContext(store: store)
        _ = try writer.apply(
            WriterContext.Chunk(
                events: [], positions: [SourcePosition(topic: harness.topic, partition: 0, nextOffset: offset)]))
        try writer.close()
        try store.close()
    }
}

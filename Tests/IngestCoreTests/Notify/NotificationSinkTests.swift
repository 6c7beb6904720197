import KafkaClient
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore

/// Notifications on a topic: their order when some cannot be sent, and Kafka transactions against a real broker.
@Suite(.serialized, .timeLimit(.minutes(60))) struct NotificationSinkTests {
    /// What a reader sees of a topic's first partition, as tokens.
    private func tokens(_ servers: String, _ topic: String, isolation: String = "read_committed") throws -> [Int] {
        let consumer = try Consumer(
            configuration: [
                "bootstrap.servers": servers, "group.id": "reader-\(isolation)-\(Int.random(in: 0..<1 << 30))",
                "auto.offset.reset": "earliest", "session.timeout.ms": "30000", "isolation.level": isolation,
                "enable.partition.eof": "true",
            ], topics: [topic])
        defer { try? consumer.close() }
        var values: [String] = []
        try wait(for: "the end of the topic", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 100, timeoutMilliseconds: 200)
            values += batch.map(ReadRecord.init).compactMap(\.value)
            return batch.errors.contains { $0.error.code == .partitionEnd }
        }
        return values.compactMap { $0.firstMatch(of: /"token":(\d+)/).flatMap { Int($0.1) } }
    }

    // MARK: Each by itself

    @Test func `nothing behind a refused one is delivered before it`() throws {
        let broker = try Broker()
        // A record in a request, so that the first can be refused while the others are on their way; this broker looks at
        // the sequence numbers of an idempotent producer, as Kafka does.
        let sink = try KafkaRecordSink(
            configuration: [
                "bootstrap.servers": broker.servers, "batch.num.messages": "1", "message.max.bytes": "20000000",
            ],
            isGapless: true, timeoutMilliseconds: 30_000)
        try sink.deliver(broker.notifications(1...2))
        var batch = broker.notifications(3...20)
        batch[0].value = [UInt8](repeating: UInt8(ascii: "x"), count: 9_000_000)
        let error = #expect(throws: KafkaError.self) { try sink.deliver(batch) }
        #expect(error?.isRetriable == false)
        try sink.deliver(broker.notifications(3...20))
        sink.close()
        let seen = try tokens(broker.servers, broker.topic)
        // A reader that passes over tokens up to the last it has seen misses none.
        var last = 0
        for token in seen where token > last {
            #expect(token == last + 1, "\(seen)")
            last = token
        }
        #expect(last == 20)
    }

    // MARK: Transactions

    private final class Broker {
        let process: BrokerProcess
        let topic = "changes-\(Int.random(in: 0..<1 << 30))"
        var servers: String { process.bootstrapServers }
        var configuration: NotificationConfiguration {
            var configuration = NotificationConfiguration()
            configuration.topic = topic
            return configuration
        }

        init() throws {
            process = try BrokerProcess(.noida)
            let admin = try Admin(configuration: ["bootstrap.servers": process.bootstrapServers])
            try admin.createTopic(NewTopic(topic, partitions: 1, replicationFactor: 1))
        }

        func notifications(_ tokens: ClosedRange<Int64>) -> [ProducerRecord] {
            tokens.map { ChangeNotification(token: $0, key: nil, value: "{\"token\":\($0)}").record(topic: topic) }
        }

        func sink(_ name: String = "sink", group: String? = nil) throws -> TransactionalRecordSink {
            try TransactionalRecordSink(
                configuration: ["bootstrap.servers": servers], topic: topic, transactionalID: name, group: group)
        }
    }

    @Test func `a batch and its token are committed together`() throws {
        let broker = try Broker()
        let sink = try broker.sink()
        #expect(try sink.finishedEntry() == nil)
        try sink.deliver(broker.notifications(1...3))
        try sink.deliver(broker.notifications(4...5))
        try sink.finish(through: 5)
        #expect(try sink.finishedEntry() == 5)
        sink.close()
        #expect(try broker.sink().finishedEntry() == 5)
        #expect(try tokens(broker.servers, broker.topic) == Array(1...5))
    }

    @Test func `the token of another store of the same name is not taken`() throws {
        let broker = try Broker()
        let old = try broker.sink(group: "sink-old")
        try old.deliver(broker.notifications(1...5))
        try old.finish(through: 5)
        old.close()
        let new = try broker.sink(group: "sink-new")
        #expect(try new.finishedEntry() == nil)
        try new.deliver(broker.notifications(1...2))
        try new.finish(through: 2)
        new.close()
        #expect(try broker.sink(group: "sink-new").finishedEntry() == 2)
        #expect(try broker.sink(group: "sink-old").finishedEntry() == 5)
    }

    @Test func `an unfinished batch is aborted and its repeat is seen once`() throws {
        let broker = try Broker()
        let killed = try broker.sink()
        try killed.deliver(broker.notifications(1...3))
        try killed.finish(through: 3)
        try killed.deliver(broker.notifications(4...6))
        // The batch is not finished; the next worker begins, and shuts this one out.
        let next = try broker.sink()
        #expect(try next.finishedEntry() == 3)
        try next.deliver(broker.notifications(4...7))
        try next.finish(through: 7)
        #expect(throws: KafkaError.self) { try killed.finish(through: 6) }
        next.close()
        #expect(try tokens(broker.servers, broker.topic) == Array(1...7))
        let all = try tokens(broker.servers, broker.topic, isolation: "read_uncommitted")
        #expect(Set(all) == Set(1...7))
    }

    /// The worker was killed after the broker had committed and before the store knew of it.
    @Test func `the publisher goes on after the broker's token when the store is behind`() throws {
        let broker = try Broker()
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 1) }
        func publish(_ messages: Range<Int>) throws -> Int64 {
            for number in messages {
                try fixture.add(TestRecord(Events.message("m\(number)"), offset: Int64(number)))
            }
            try fixture.pipeline.finish()
            let sink = try broker.sink()
            defer { sink.close() }
            // Nobody saves the cursor: it stays where it was in the store.
            let publisher = try Outbox.notifications(
                store: fixture.store, sink: sink, configuration: broker.configuration,
                logger: .silent)
            #expect(publisher.cursor == 0)
            try publisher.drain(untilSeconds: MonotonicClock.seconds() + 60)
            return publisher.cursor
        }
        #expect(try publish(0..<4) == 4)
        #expect(try publish(4..<9) == 9)
        let ids = try tokens(broker.servers, broker.topic).count
        #expect(ids == 9)
    }

    /// Of workers that share a store, one gave the delivery up before it saved its cursor, and took it again.
    @Test func `a publisher that delivers again asks what it has finished`() throws {
        let broker = try Broker()
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 1) }
        for number in 0..<4 { try fixture.add(TestRecord(Events.message("m\(number)"), offset: Int64(number))) }
        try fixture.pipeline.finish()
        let sink = try broker.sink()
        defer { sink.close() }
        let publisher = try Outbox.notifications(
            store: fixture.store, sink: sink, configuration: broker.configuration, logger: .silent)
        try publisher.drain(untilSeconds: MonotonicClock.seconds() + 60)
        try publisher.deactivate()
        try publisher.activate()
        #expect(publisher.cursor == 0)
        try publisher.drain(untilSeconds: MonotonicClock.seconds() + 60)
        #expect(publisher.cursor == 4)
        #expect(try tokens(broker.servers, broker.topic) == [1, 2, 3, 4])
    }

    @Test func `a store that is older than the broker's token begins after its own cursor`() throws {
        let broker = try Broker()
        let sink = try broker.sink()
        try sink.deliver(broker.notifications(1...50))
        try sink.finish(through: 50)
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 1) }
        try fixture.add(TestRecord(Events.message("m"), offset: 0))
        try fixture.pipeline.finish()
        let publisher = try Outbox.notifications(
            store: fixture.store, sink: sink, configuration: broker.configuration,
            logger: .silent)
        try publisher.drain(untilSeconds: MonotonicClock.seconds() + 60)
        #expect(publisher.cursor == 1)
        #expect(try sink.finishedEntry() == 1)
    }

    @Test func `a worker notifies in transactions`() async throws {
        let harness = try WorkerHarness()
        harness.configuration.notifications.transactional = true
        try harness.send((0..<5).map { WorkerHarness.message("m\($0)") })
        try harness.start()
        try await harness.waitForPosition(5)
        try await harness.wait(for: "the delivery") { (harness.runtime?.deliveredToken ?? 0) > 0 }
        try await harness.wait(for: "readiness") { harness.isReady() }
        try await harness.stop()
    }
}

import KafkaClient
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import IngestCore

/// Notifications and dead letters that a real broker loses: the topic is made again, empty or with a part of its records.
@Suite(.serialized, .timeLimit(.minutes(60))) struct LostOutputTests {
    private let broker: BrokerProcess
    private let topic = "out-\(Int.random(in: 0..<1 << 30))"
    private let log = LogLines(from: .error)
    private let metrics = WorkerMetrics(version: "1", librdkafka: "2", sqlite: "3")
    private let health = HealthMonitor()

    init() throws {
        broker = try BrokerProcess(.noida)
        try make(of: topic)
    }

    private var client: KafkaConfiguration { ["bootstrap.servers": broker.bootstrapServers] }

    private func make(of topic: String) throws {
        let admin = try Admin(configuration: client)
        try wait(for: "the new topic") { (try? admin.createTopic(NewTopic(topic, partitions: 1))) != nil }
    }

    private func sentTopic() throws -> SentTopic {
        try SentTopic(topic: topic, client: client, consumer: client.setting("group.id", to: "reader"))
    }

    private func transactionalSink() throws -> TransactionalRecordSink {
        try TransactionalRecordSink(
            configuration: client, topic: topic, transactionalID: "sink", sentTopic: sentTopic())
    }

    private func publisher(_ store: Store, transactional: Bool) throws -> Outbox {
        try publisher(
            store,
            transactional
                ? transactionalSink()
                : KafkaRecordSink(configuration: client, isGapless: true, sentTopic: sentTopic()))
    }

    private func publisher(_ store: Store, _ sink: any RecordSink) throws -> Outbox {
        var configuration = NotificationConfiguration()
        configuration.topic = topic
        return try .notifications(
            store: store, sink: sink, configuration: configuration, metrics: metrics, health: health,
            logger: log.logger)
    }

    /// Delivers until nothing is left, and saves the cursor.
    private func deliver(_ outbox: Outbox, _ writer: WriterContext, through last: Int64) throws {
        try wait(for: "the delivery", everyMilliseconds: 0) {
            // A producer may have to learn that the topic is another one.
            _ = try? outbox.deliverNext()
            try outbox.saveCursor(writer)
            return outbox.cursor == last
        }
    }

    /// Lets an outbox look until it has noticed the loss.
    private func noticeLoss(_ outbox: Outbox) throws {
        try wait(for: "the loss", everyMilliseconds: 0) {
            _ = try? outbox.deliverNext()
            return metrics.notificationsLost.value + metrics.deadLettersLost.value > 0
        }
    }

    private func records() throws -> [ReadRecord] {
        let consumer = try Consumer(withoutGroup: [
            "bootstrap.servers": broker.bootstrapServers, "group.id": "reader", "enable.partition.eof": "true",
            "isolation.level": "read_committed",
        ])
        defer { try? consumer.close() }
        try consumer.assign(adding: [TopicPartition(topic, 0): PartitionProgress.beginning])
        var records: [ReadRecord] = []
        try wait(for: "the end of the topic", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 100, timeoutMilliseconds: 200)
            records += batch.map(ReadRecord.init)
            return batch.errors.contains { $0.error.code == .partitionEnd }
        }
        return records
    }

    private func tokens() throws -> [Int] {
        try records().compactMap(\.value).compactMap {
            $0.firstMatch(of: /"token":(\d+)/).flatMap { Int($0.1) }
        }
    }

    /// Makes the topic again, with the first of its records.
    private func lose(keeping count: Int) throws {
        try make(again: records().prefix(count).compactMap(\.value))
    }

    private func make(again kept: [String]) throws {
        let admin = try Admin(configuration: client)
        try admin.deleteTopic(topic)
        try wait(for: "the topic's end") { try admin.metadata().topics[topic] == nil }
        try make(of: topic)
        let producer = try Producer(configuration: client)
        for value in kept { try producer.enqueue(ProducerRecord(topic: topic, partition: 0, value: Array(value.utf8))) }
        try producer.close()
    }

    private func fixture(messages: Int) throws -> PipelineFixture {
        let fixture = try PipelineFixture { ($0.chunk.maxOperations, $0.commit.maxRows) = (1, 1) }
        try add(0..<messages, to: fixture)
        return fixture
    }

    private func add(_ messages: Range<Int>, to fixture: PipelineFixture) throws {
        for number in messages { try fixture.add(TestRecord(Events.message("m\(number)"), offset: Int64(number))) }
        try fixture.pipeline.finish()
    }

    /// The worker before had written 6 to 8 over the lost 3 to 5, so that the topic ends where the saved marks do.
    @Test(arguments: [false, true]) func `who begins to deliver notices what the one before wrote over`(
        _ transactional: Bool
    ) throws {
        let fixture = try fixture(messages: 5)
        try deliver(publisher(fixture.store, transactional: transactional), fixture.writer, through: 5)
        try add(5..<8, to: fixture)
        let former = try publisher(fixture.store, transactional: transactional)
        try wait(for: "a delivery that is not saved", everyMilliseconds: 0) {
            _ = try? former.deliverNext()
            return former.cursor == 8
        }
        let values = try records().compactMap(\.value)
        try make(again: Array(values.prefix(2) + values.suffix(3)))
        #expect(try tokens() == [1, 2, 6, 7, 8])
        try deliver(publisher(fixture.store, transactional: transactional), fixture.writer, through: 8)
        #expect(try tokens() == [1, 2, 6, 7, 8] + Array(2...8))
        #expect(metrics.notificationsLost.value == (transactional ? 7 : 4))
    }

    /// The broker keeps 1 and 2 of 1 to 6, and a fenced worker writes 4 and 5 there. Then this worker sends 7 as the fifth
    /// record: the topic has 5, but lacks 3 and 6.
    @Test(arguments: [2, 0]) func `a running worker notices what a fenced one wrote over lost records`(
        _ kept: Int
    ) throws {
        let fixture = try fixture(messages: 6)
        let publisher = try publisher(fixture.store, transactional: false)
        try deliver(publisher, fixture.writer, through: 6)
        let values = try records().compactMap(\.value)
        try make(again: Array(values.prefix(kept) + values[3..<5]))
        try add(6..<7, to: fixture)
        try noticeLoss(publisher)
        try deliver(publisher, fixture.writer, through: 7)
        let tokens = try tokens()
        #expect(Set(tokens) == Set(1...7), "\(tokens)")
    }

    private var outputCheck: HealthCheck? { health.readiness().first { $0.name == "output" } }

    @Test(arguments: [false, true]) func `notifications of a topic that was made again are sent again`(
        _ transactional: Bool
    ) throws {
        let fixture = try fixture(messages: 5)
        try deliver(publisher(fixture.store, transactional: transactional), fixture.writer, through: 5)
        #expect(try tokens() == Array(1...5))
        try add(5..<7, to: fixture)
        try lose(keeping: 0)
        let publisher = try publisher(fixture.store, transactional: transactional)
        try deliver(publisher, fixture.writer, through: 7)
        #expect(try tokens() == Array(1...7))
        #expect(metrics.notificationsLost.value == 5)
        #expect(log.all.count == 1 && log.all[0].contains("the broker lost notifications"), "\(log.all)")
        #expect(outputCheck?.reason?.contains("sent again after token 0") == true)
        // The next start finds nothing lost.
        try add(7..<8, to: fixture)
        try deliver(self.publisher(fixture.store, transactional: transactional), fixture.writer, through: 8)
        #expect(try tokens() == Array(1...8))
        #expect(log.all.count == 1)
    }

    @Test(arguments: [false, true]) func `nothing is sent again before the store says so`(
        _ transactional: Bool
    ) throws {
        let fixture = try fixture(messages: 5)
        try deliver(publisher(fixture.store, transactional: transactional), fixture.writer, through: 5)
        try lose(keeping: 3)
        let killed = try publisher(fixture.store, transactional: transactional)
        try noticeLoss(killed)
        #expect(try killed.deliverNext() == 0)
        #expect(try tokens() == [1, 2, 3])
        try killed.saveCursor(fixture.writer)
        // The worker is killed behind a batch that another one's records follow: the topic is longer than it was.
        try wait(for: "the delivery", everyMilliseconds: 0) { (try? killed.deliverNext()) ?? 0 > 0 }
        let other = try Producer(configuration: client)
        for _ in 0..<9 { try other.enqueue(ProducerRecord(topic: topic, partition: 0, value: Array("{}".utf8))) }
        try other.close()
        try deliver(publisher(fixture.store, transactional: transactional), fixture.writer, through: 5)
        #expect(try tokens().suffix(3) == [3, 4, 5])
        #expect(metrics.notificationsLost.value == 3)
    }

    @Test func `a batch under way that comes to the topic made again hides no lost notification`() throws {
        let fixture = try fixture(messages: 5)
        try deliver(publisher(fixture.store, transactional: false), fixture.writer, through: 5)
        try lose(keeping: 0)
        try add(5..<7, to: fixture)
        // A worker that delivers, and is killed before it notices and saves.
        var configuration = NotificationConfiguration()
        configuration.topic = topic
        let killed = try Outbox.notifications(
            store: fixture.store, sink: KafkaRecordSink(configuration: client), configuration: configuration,
            logger: log.logger)
        try wait(for: "the batch under way", everyMilliseconds: 0) {
            _ = try? killed.deliverNext()
            return killed.cursor == 7
        }
        try deliver(publisher(fixture.store, transactional: false), fixture.writer, through: 7)
        #expect(try tokens() == [6, 7] + Array(1...7))
    }

    /// Delivers as a worker that is killed before it saves its cursor.
    private func deliverUnsaved(_ fixture: PipelineFixture, through last: Int64) throws {
        let killed = try publisher(fixture.store, transactional: true)
        try wait(for: "the delivery of the killed worker", everyMilliseconds: 0) {
            _ = try? killed.deliverNext()
            return killed.cursor == last
        }
    }

    @Test func `a finished transaction that the store does not know of is sent again where it was lost`() throws {
        let fixture = try fixture(messages: 5)
        try deliver(publisher(fixture.store, transactional: true), fixture.writer, through: 5)
        try add(5..<7, to: fixture)
        try deliverUnsaved(fixture, through: 7)
        // The topic keeps all that the store knows to be there.
        try lose(keeping: 5)
        try deliver(publisher(fixture.store, transactional: true), fixture.writer, through: 7)
        #expect(try tokens() == Array(1...7))
        #expect(metrics.notificationsLost.value == 2)
        #expect(outputCheck?.reason?.contains("sent again after token 5") == true)
    }

    /// A sink that never learns that its first batch was finished.
    private final class UnansweredSink: RecordSink {
        private let sink: TransactionalRecordSink
        private let isAnswered = Atomic<Bool>(false)
        var sentTopic: SentTopic? { sink.sentTopic }

        init(_ sink: TransactionalRecordSink) { self.sink = sink }

        func deliver(_ records: [ProducerRecord]) throws { try sink.deliver(records) }

        func finish(through entry: Int64) throws {
            try sink.finish(through: entry)
            if !isAnswered.exchange(true, ordering: .acquiringAndReleasing) { throw KafkaError(.timedOut) }
        }

        func finishedEntry() throws -> Int64? { try sink.finishedEntry() }
    }

    @Test func `a finished transaction that its own worker does not know of is sent again where it was lost`() throws {
        let fixture = try fixture(messages: 5)
        let sink = UnansweredSink(try transactionalSink())
        let publisher = try publisher(fixture.store, sink)
        // The producer may have to wait for the coordinator, so other errors may come before.
        try wait(for: "the batch without an answer", everyMilliseconds: 0) {
            _ = try? publisher.deliverNext()
            return (try? sink.finishedEntry()) == 5
        }
        try lose(keeping: 2)
        try deliver(publisher, fixture.writer, through: 5)
        // Where the marks' look is due first, it knows no entry that the store has reached, and sends all again.
        let tokens = try tokens()
        #expect(tokens == [1, 2] + Array(2...5) || tokens == [1, 2] + Array(1...5), "\(tokens)")
        #expect(Int(metrics.notificationsLost.value) == tokens.count - 2)
    }

    @Test func `a finished transaction that the store did not know of is watched from then on`() throws {
        let fixture = try fixture(messages: 5)
        try deliverUnsaved(fixture, through: 5)
        try deliver(publisher(fixture.store, transactional: true), fixture.writer, through: 5)
        #expect(try tokens() == Array(1...5))
        #expect(metrics.notificationsLost.value == 0 && log.all.isEmpty)
        try lose(keeping: 0)
        let publisher = try publisher(fixture.store, transactional: true)
        try noticeLoss(publisher)
        try deliver(publisher, fixture.writer, through: 5)
        #expect(try tokens() == Array(1...5))
    }

    @Test func `a transaction that stays open on the topic hides no delivered record`() throws {
        let record = ProducerRecord(topic: topic, partition: 0, value: Array("{}".utf8))
        let open = try Producer(configuration: client.setting("transactional.id", to: "another"))
        defer { try? open.close(timeoutMilliseconds: 0) }
        try open.initTransactions(timeoutMilliseconds: 10_000)
        try open.beginTransaction()
        try open.enqueue(record)
        try open.flush(timeoutMilliseconds: 10_000)
        let sent = try sentTopic()
        try KafkaRecordSink(configuration: client, sentTopic: sent).deliver([record, record])
        #expect(sent.text == "0:3")
        let restarted = try sentTopic()
        _ = restarted.begin(sent.text)
        #expect(try restarted.loss(through: 2, entry: { _ in nil }, page: { _ in nil }) == nil)
    }

    @Test(.enabled(if: BrokerProcess.tansuIsReadable))
    func `a broker that tells an end before its last records has lost nothing`() throws {
        let tansu = try BrokerProcess(.tansu)
        let client: KafkaConfiguration = ["bootstrap.servers": tansu.bootstrapServers]
        let admin = try Admin(configuration: client)
        try wait(for: "the new topic") { (try? admin.createTopic(NewTopic(topic, partitions: 1))) != nil }
        var configuration = NotificationConfiguration()
        configuration.topic = topic
        let fixture = try fixture(messages: 5)
        func outbox() throws -> Outbox {
            let sentTopic = try SentTopic(
                topic: topic, client: client, consumer: client.setting("group.id", to: "reader"))
            return try .notifications(
                store: fixture.store,
                sink: KafkaRecordSink(configuration: client, isGapless: true, sentTopic: sentTopic),
                configuration: configuration, metrics: metrics, health: health, logger: log.logger)
        }
        try deliver(outbox(), fixture.writer, through: 5)
        try add(5..<6, to: fixture)
        // A start looks at once whether something is lost.
        try deliver(outbox(), fixture.writer, through: 6)
        #expect(metrics.notificationsLost.value == 0)
        #expect(log.all.isEmpty, "\(log.all)")
    }

    @Test func `notifications behind the last token of the topic are sent again, by a running worker too`() throws {
        let fixture = try fixture(messages: 6)
        let publisher = try publisher(fixture.store, transactional: false)
        try deliver(publisher, fixture.writer, through: 6)
        try lose(keeping: 3)
        try add(6..<7, to: fixture)
        try noticeLoss(publisher)
        try deliver(publisher, fixture.writer, through: 7)
        // The last transaction in the topic comes again whole: a part of it may be lost.
        let tokens = try tokens()
        #expect(tokens.prefix(3) == [1, 2, 3] && tokens.suffix(5) == [3, 4, 5, 6, 7], "\(tokens)")
    }

    @Test func `where the history begins later, the log says that readers miss some`() throws {
        let fixture = try fixture(messages: 6)
        try deliver(self.publisher(fixture.store, transactional: false), fixture.writer, through: 6)
        while try !fixture.writer.purgeHistory(HistoryPurge(before: .token(5))).isFinished {}
        try lose(keeping: 2)
        let publisher = try publisher(fixture.store, transactional: false)
        try noticeLoss(publisher)
        try deliver(publisher, fixture.writer, through: 6)
        #expect(try tokens() == [1, 2, 5, 6])
        #expect(log.all.count == 1 && log.all[0].contains("The history begins there"), "\(log.all)")
    }

    @Test func `dead letters that their topic lost are sent again`() throws {
        let fixture = try PipelineFixture()
        for number in 0..<4 { try fixture.add(TestRecord("{\"bad\":\(number)}", offset: Int64(number))) }
        try fixture.pipeline.finish()
        var configuration = WorkerConfiguration()
        configuration.deadLetters.topic = topic
        func outbox() throws -> Outbox {
            try .deadLetters(
                store: fixture.store, sink: KafkaRecordSink(configuration: client, sentTopic: sentTopic()),
                topic: topic, configuration: configuration, metrics: metrics, health: health, logger: log.logger)
        }
        try deliver(outbox(), fixture.writer, through: 4)
        try fixture.writer.removeDeadLetters([2])
        try lose(keeping: 0)
        let next = try outbox()
        try noticeLoss(next)
        try deliver(next, fixture.writer, through: 4)
        #expect(try records().compactMap(\.value) == [0, 2, 3].map { "{\"bad\":\($0)}" })
        #expect(metrics.deadLettersLost.value == 3)
        #expect(log.all.count == 1 && log.all[0].contains("the broker lost dead letters"), "\(log.all)")
        #expect(outputCheck != nil)
    }
}

import Foundation
import KafkaClient
import TestSupport
import Testing

/// Notifications in Kafka transactions from a worker that is killed again and again, against a real broker process.
@Suite(.serialized, .timeLimit(.minutes(60))) struct NotificationRunTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let changes = "changes-\(UUID().uuidString.prefix(8))"
    private let count = 8_000

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] { try admin.createTopic(NewTopic(name, partitions: 1)) }
    }

    private var store: String { workspace.path("store.sqlite") }

    private func start(_ life: String, granularity: String) throws -> Program {
        try Program(
            ["run"]
                + [
                    "topics=\(topic)", "store.path=\(store)", "http.port=0", "notifications.topic=\(changes)",
                    "notifications.transactional=true", "notifications.granularity=\(granularity)",
                    "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=\(life)",
                    "kafka.session.timeout.ms=6000", "chunk.maxOperations=50", "commit.maxRows=200",
                ].flatMap { ["--set", $0] })
    }

    private func sql(_ text: String) -> Int { (try? Foreign.sqlite(store, text)).flatMap { Int($0) } ?? 0 }
    private func position() -> Int { sql("SELECT coalesce(max(nextOffset), 0) FROM _position") }
    private func cursor() -> Int { sql("SELECT coalesce(max(token), 0) FROM _cursor") }
    private func lastToken() -> Int { sql("SELECT coalesce(max(token), 0) FROM _history_transaction") }

    /// The identifiers of the notifications that a reader sees of whole transactions, in its order.
    private func identifiers() throws -> [String] {
        let consumer = try Consumer(withoutGroup: [
            "bootstrap.servers": broker.bootstrapServers, "group.id": "reader", "isolation.level": "read_committed",
            "enable.partition.eof": "true", "check.crcs": "true",
        ])
        defer { try? consumer.close() }
        try consumer.assign(adding: [TopicPartition(changes, 0): 0])
        var found: [String] = []
        try wait(for: "the end of the notifications", everyMilliseconds: 0) {
            let batch = try consumer.poll(maxRecords: 1000, timeoutMilliseconds: 200)
            for value in batch.map(ReadRecord.init).compactMap(\.value) {
                let id = value.firstMatch(of: /"id":"([0-9.]+)","source"/).map { String($0.1) }
                found.append(try #require(id, "\(value)"))
            }
            return batch.errors.contains { $0.error.code == .partitionEnd }
        }
        return found
    }

    /// INGEST_TEST_SEED repeats the moments.
    @Test(arguments: ["transaction", "object"])
    func `killed again and again a reader has each notification once and in order`(granularity: String) throws {
        var random = SeededRandom.forTest("killedAgainAndAgainAReaderHasEachNotificationOnceAndInOrder")
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(count, seed: 5, to: file)
        let sent = try Program.run(
            ["replay", file, "--to-kafka", topic, "--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"])
        try #require(sent.status == 0, "\(sent.errors)")
        var interrupted = 0
        for round in 1...4 {
            let program = try start("life-\(round)", granularity: granularity)
            let target = min(count, position() + 1 + random.number(below: count / 5))
            // Two kills while it reads, and two while it notifies what it has read.
            try wait(for: "a part", everyMilliseconds: 5) {
                !program.isRunning || (round % 2 == 1 ? position() >= target : position() == count && cursor() > 0)
            }
            try #require(program.isRunning, "\(program.errors)")
            usleep(UInt32(random.number(below: 50_000)))
            try program.crash()
            if position() < count || cursor() < lastToken() { interrupted += 1 }
        }
        #expect(interrupted > 0, "no kill came before the end")
        let program = try start("last", granularity: granularity)
        // Where nothing is left to do it is asked to end only once it runs.
        try wait(for: "the end of the notifications", everyMilliseconds: 50) {
            try position() == count && cursor() == lastToken() && program.get("/readyz")?.status == 200
        }
        program.send(SIGTERM)
        try program.expectGoodEnd()
        let expected =
            granularity == "transaction"
            ? (1...lastToken()).map { "\($0)" }
            : try Foreign.sqlite(store, Self.objectIdentifiers).split(separator: "\n").map { String($0) }
        let found = try identifiers()
        #expect(expected.count >= 100)
        // The first difference, if any, says more than two long lists.
        let difference = zip(found, expected).first { $0 != $1 }
        #expect(difference == nil)
        #expect(found.count == expected.count)
        print("kills before the end: \(interrupted), notifications: \(found.count)")
    }

    /// Each change of the history by the number of its transaction and its own in that.
    private static let objectIdentifiers = """
        WITH RECURSIVE change (token, number, count) AS (
            SELECT token, 1, changeCount FROM _history_transaction WHERE changeCount > 0
            UNION ALL SELECT token, number + 1, count FROM change WHERE number < count)
        SELECT token || '.' || number FROM change ORDER BY token, number
        """
}

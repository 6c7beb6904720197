import Foundation
import KafkaClient
import TestSupport
import Testing

/// Topics that are replaced under a running worker and filled beyond its position, with a real broker process.
@Suite(.serialized, .timeLimit(.minutes(60))) struct RecreatedTopicTests {
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"

    init() throws { workspace = try Workspace() }

    private var store: String { workspace.path("store.sqlite") }

    private func start(_ broker: BrokerProcess, partitions: String = "null") throws -> Program {
        try Program(
            ["run"]
                + [
                    "topics=\(topic)", "store.path=\(store)", "http.port=0", "notifications.topic=null",
                    "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=g",
                    "kafka.session.timeout.ms=30000", "kafka.partitions=\(partitions)",
                    // The client itself looks only every five minutes whether a topic is there again.
                    "kafka.topic.metadata.refresh.interval.ms=1000",
                ].flatMap { ["--set", $0] })
    }

    private func fill(_ broker: BrokerProcess, _ range: Range<Int>) throws {
        let lines = range.map { number in
            #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
                + #""data":{"id":"m\#(number)","chat":"c","body":"text"}}"#
        }
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", topic, "-p", "0"], input: lines.joined(separator: "\n") + "\n")
    }

    private func make(_ broker: BrokerProcess) throws {
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try wait(for: "the new topic") {
            do {
                try admin.createTopic(NewTopic(topic, partitions: 1))
                return true
            } catch {
                return false
            }
        }
    }

    private func count() -> Int {
        (try? Foreign.sqlite(store, "SELECT count(*) FROM Message")).flatMap { Int($0) } ?? 0
    }

    private func expectHalt(_ program: Program) throws {
        var body = ""
        do {
            try wait(for: "the halt in health") {
                body = try program.get("/readyz")?.body ?? ""
                // The client may ask between the topic's making and its filling. The group may take the partition back at
                // once, which ends the halt in health: the log keeps it.
                return [body, program.errors].contains { text in
                    text.contains("is not the one that the store took last")
                        || text.contains("offset 50 is not on the broker any more")
                }
            }
        } catch {
            let position = try? Foreign.sqlite(store, "SELECT nextOffset, detail FROM _position")
            let metrics = (try? program.get("/metrics")?.body) ?? ""
            let lines = metrics.split(separator: "\n").filter {
                $0.hasPrefix("kafka_consumer_lag") || $0.hasPrefix("ingest_fetches")
                    || $0.hasPrefix("ingest_records_total")
            }
            Issue.record(
                """
                \(error): \(body)
                \(count()) messages, at \(position ?? "no position"), \(lines.joined(separator: ", "))
                \(program.errors.suffix(8_000))
                """)
            throw error
        }
        #expect(count() == 50, "something of the other log was applied")
        program.send(SIGTERM)
        try program.expectGoodEnd()
        #expect(count() == 50)
    }

    @Test func `a topic that was missing meanwhile is known for another`() throws {
        let broker = try BrokerProcess(.noida)
        try make(broker)
        try fill(broker, 0..<50)
        let program = try start(broker)
        try wait(for: "the records") { count() == 50 }
        try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers]).deleteTopic(topic)
        try wait(for: "the missing topic in health") {
            try program.get("/readyz")?.body.contains("\(topic) halted: the broker does not know the topic") == true
        }
        try make(broker)
        try fill(broker, 1_000..<1_200)
        try expectHalt(program)
    }

    /// It is back before the group notices, and has more records than the store has read. Without a group nobody notices.
    @Test(arguments: ["null", "0"])
    func `a broker that returns with other data is recognised`(_ partitions: String) throws {
        let first = try BrokerProcess(.noida)
        try make(first)
        try fill(first, 0..<50)
        let program = try start(first, partitions: partitions)
        try wait(for: "the records") { count() == 50 }
        first.stop()
        try wait(for: "the loss of readiness") { try program.get("/readyz")?.status == 503 }
        let second = try BrokerProcess(.noida, port: first.port)
        try make(second)
        try fill(second, 1_000..<1_200)
        try expectHalt(program)
    }
}

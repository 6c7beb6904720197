import Foundation
import KafkaClient
import TestSupport
import Testing

/// Records whose bytes are damaged between a real broker and the program, as librdkafka itself finds them.
@Suite(.serialized, .timeLimit(.minutes(60))) struct DamagedRecordTests {
    private let broker: BrokerProcess
    private let damaging: DamagingFront
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let damagedOffset = 5
    private let count = 10

    /// Partition 0 has ten messages, each a batch of its own, and the sixth is damaged on its way; partition 1 has one.
    init() throws {
        broker = try BrokerProcess(.noida)
        // The record stays good JSON: nothing but its checksum tells.
        damaging = try DamagingFront(broker, replacing: "true-text-5", with: "made-up-one")
        workspace = try Workspace()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic(topic, partitions: 2))
        for number in 0..<count { try send(number, partition: 0) }
        try send(100, partition: 1)
    }

    private func send(_ number: Int, partition: Int32) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        let value =
            #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
            + #""data":{"id":"m\#(number)","chat":"c\#(partition)","body":"true-text-\#(number)"}}"#
        try producer.enqueue(ProducerRecord(topic: topic, partition: partition, value: [UInt8](value.utf8)))
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
    }

    private func arguments(_ servers: String, group: String = "g") -> [String] {
        [
            "topics=\(topic)", "store.path=\(store)", "http.port=0", "notifications.topic=null",
            "kafka.bootstrap.servers=\(servers)", "kafka.group.id=\(group)", "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    private var store: String { workspace.path("store.sqlite") }

    private func bodies(partition: Int) throws -> [String] {
        let chat = "(SELECT pk FROM Chat WHERE id = 'c\(partition)')"
        let sql = "SELECT body FROM Message WHERE chat = \(chat) ORDER BY CAST(substr(id, 2) AS INTEGER)"
        return try Foreign.sqlite(store, sql).split(separator: "\n").map { String($0) }
    }

    private func position(_ partition: Int = 0) -> Int {
        let sql = "SELECT nextOffset FROM _position WHERE topic = '\(topic)' AND partition = \(partition)"
        return (try? Foreign.sqlite(store, sql)).flatMap { Int($0) } ?? 0
    }

    private func expectAll() throws {
        #expect(try bodies(partition: 0) == (0..<count).map { "true-text-\($0)" })
        #expect(try bodies(partition: 1).first == "true-text-100")
        #expect(try Program.run(["verify", "--set", "store.path=\(store)"]).status == 0)
    }

    @Test func `the worker halts the partition before them and says so`() throws {
        let program = try Program(["run"] + arguments(damaging.bootstrapServers))
        try wait(for: "the halt in health") {
            try program.get("/readyz")?.body.contains("\(topic)/0 halted: records are damaged") == true
        }
        let health = try #require(try program.get("/readyz"))
        #expect(health.status == 503 && health.body.contains("at offset \(damagedOffset)"), "\(health.body)")
        let line = try #require(program.errors.split(separator: "\n").first { $0.contains("a partition is halted") })
        #expect(line.contains("_BAD_MSG") && line.contains("remedy"), "\(line)")
        try wait(for: "what stands before") { position() == damagedOffset && position(1) == 1 }
        // The other partition goes on; what stands behind the damage has come to the client, and is not applied.
        try send(101, partition: 1)
        try wait(for: "the other partition") { position(1) == 2 }
        #expect(try bodies(partition: 0) == (0..<damagedOffset).map { "true-text-\($0)" })
        program.send(SIGTERM)
        try program.expectGoodEnd()
        #expect(position() == damagedOffset)

        // Sound again, it goes on there.
        let again = try Program(["run"] + arguments(broker.bootstrapServers, group: "g2"))
        try wait(for: "the rest") { position() == count }
        try wait(for: "readiness") { try again.get("/readyz")?.status == 200 }
        again.send(SIGTERM)
        try again.expectGoodEnd()
        try expectAll()
    }

    @Test func `a replay of the topic ends before them with their place`() throws {
        func replay(_ servers: String) throws -> Program.Result {
            try Program.run(["replay", "--topic", topic, "--json"] + arguments(servers))
        }
        let refused = try replay(damaging.bootstrapServers)
        #expect(refused.status == 65, "\(refused.output)")
        #expect(refused.errors.contains("\(topic)/0: records are damaged"), "\(refused.errors)")
        #expect(refused.errors.contains("at offset \(damagedOffset)"), "\(refused.errors)")
        #expect(refused.errors.contains("Repair the partition") && refused.errors.contains("--to-offset"))
        #expect(position() == damagedOffset)
        #expect(try bodies(partition: 0) == (0..<damagedOffset).map { "true-text-\($0)" })
        // What is not asked for does not matter.
        let part = try Program.run(
            ["replay", "--topic", topic, "--to-offset", "\(damagedOffset)"] + arguments(damaging.bootstrapServers))
        #expect(part.status == 0, "\(part.errors)")
        let rest = try replay(broker.bootstrapServers)
        #expect(rest.status == 0, "\(rest.errors)")
        #expect(rest.output.contains(#""from":\#(damagedOffset),"to":\#(count),"records":\#(count - damagedOffset)"#))
        try expectAll()
    }

    /// What the checksum is for: without it the same bytes pass for a sound record.
    @Test func `without checksums the damage is not seen`() throws {
        let taken = try Program.run(
            ["replay", "--topic", topic] + arguments(damaging.bootstrapServers) + ["--set", "kafka.check.crcs=false"])
        #expect(taken.status == 0, "\(taken.errors)")
        #expect(try bodies(partition: 0)[damagedOffset] == "made-up-one")
    }
}

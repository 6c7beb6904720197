import Foundation
import KafkaClient
import TestSupport
import Testing

/// `run` with bad records, against a real broker process.
@Suite(.serialized) struct DeadLetterTopicTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let store: String
    private let good = """
        {"specversion":"1.0","type":"message.upserted","data":{"id":"m1","chat":"c1","body":"text"}}
        """

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in ["events", "dead"] { try admin.createTopic(NewTopic(name, partitions: 1, replicationFactor: 1)) }
    }

    private func start(group: String, _ extra: [String] = []) throws -> Program {
        let settings = [
            "topics=events", "store.path=\(store)", "notifications.topic=null", "http.enabled=false",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=\(group)",
            "kafka.session.timeout.ms=6000",
        ]
        return try Program(["run"] + (settings + extra).flatMap { ["--set", $0] })
    }

    private func send(_ records: [ProducerRecord]) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for record in records { try producer.enqueue(record) }
        try producer.close(timeoutMilliseconds: patientMilliseconds)
    }

    private func value(_ sql: String) -> String { (try? Foreign.sqlite(store, sql)) ?? "" }

    private func stop(_ program: Program) throws {
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    private func sent(format: String) throws -> String {
        try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", "dead", "-o", "beginning", "-e", "-q", "-f", format])
    }

    @Test func `both the bytes and the reason reach the topic`() throws {
        let raw: [UInt8] = [0xFF, 0x00, 0x7B, 0x0A, 0xC3]
        try send([
            ProducerRecord(
                topic: "events", partition: 0, key: [0x6B, 0xFE], value: raw,
                headers: [RecordHeader("trace", [0x61, 0xFD]), RecordHeader("empty", nil)]),
            ProducerRecord(topic: "events", partition: 0, key: Array("k2".utf8), value: Array(good.utf8)),
            ProducerRecord(
                topic: "events", partition: 0, key: nil,
                value: Array("{\"type\":\"member.created\",\"data\":{\"id\":\"u1\",\"email\":\"none\"}}".utf8)),
        ])
        let program = try start(group: "one", ["deadLetters.topic=dead", "author=importer"])
        try program.wait(for: "the letters") {
            value("SELECT value FROM _metadata WHERE key = 'sentDeadLetter:dead'") == "2"
        }
        try stop(program)

        let consumer = try Consumer(
            configuration: [
                "bootstrap.servers": broker.bootstrapServers, "group.id": "reader", "session.timeout.ms": "6000",
                "auto.offset.reset": "earliest",
            ], topics: ["dead"])
        var letters: [(key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader])] = []
        try TestSupport.wait(for: "two letters", everyMilliseconds: 0) {
            for record in try consumer.poll(maxRecords: 10, timeoutMilliseconds: 100) {
                letters.append((record.key.map { [UInt8]($0) }, record.value.map { [UInt8]($0) }, record.headers))
            }
            return letters.count >= 2
        }
        try consumer.close()
        let first = try #require(letters.first)
        #expect(first.key == [0x6B, 0xFE] && first.value == raw)
        #expect(first.headers.prefix(2) == [RecordHeader("trace", [0x61, 0xFD]), RecordHeader("empty", nil)])

        let headers = try sent(format: "%h\n").split(separator: "\n")
        try #require(headers.count == 2)
        for part in [
            "__connect.errors.topic=events", "__connect.errors.partition=0", "__connect.errors.offset=2",
            "__connect.errors.connector.name=importer", "__connect.errors.task.id=0",
            "__connect.errors.stage=TASK_PUT", "__connect.errors.exception.class.name=validation.1680",
            "ingest.deadletter.attempts=1",
        ] { #expect(headers[1].contains(part), "\(headers[1])") }

        // What was sent is not sent again, and what comes later is.
        try send([ProducerRecord(topic: "events", partition: 0, value: Array("{".utf8))])
        let again = try start(group: "two", ["deadLetters.topic=dead"])
        try again.wait(for: "the later letter") {
            value("SELECT value FROM _metadata WHERE key = 'sentDeadLetter:dead'") == "3"
        }
        try stop(again)
        let offsets = try sent(format: "%h\n").matches(of: /__connect\.errors\.offset=(\d+)/).map { String($0.1) }
        #expect(offsets == ["0", "2", "3"])
    }

    @Test func `dead letters are sent when the worker was killed before`() throws {
        try send((0..<50).map { ProducerRecord(topic: "events", partition: 0, value: Array("{\($0)".utf8)) })
        // Without a topic they stay in the store, as after a kill before anything was sent.
        let first = try start(group: "one")
        try first.wait(for: "the letters") { value("SELECT count(*) FROM _dead_letter") == "50" }
        try first.crash()
        let second = try start(group: "two", ["deadLetters.topic=dead"])
        try second.wait(for: "the delivery") { try sent(format: "%o\n").split(separator: "\n").count >= 50 }
        try second.crash()
        let third = try start(group: "three", ["deadLetters.topic=dead"])
        // The second may have saved it before it was killed; a signal before the worker runs would just end it.
        try third.wait(for: "the cursor") {
            third.errors.contains("event=assigned")
                && value("SELECT value FROM _metadata WHERE key = 'sentDeadLetter:dead'") == "50"
        }
        try stop(third)
        // At least once, and each repeat is known by its number.
        let numbers = try sent(format: "%h\n").matches(of: /ingest\.deadletter\.id=[^:]+:(\d+)/)
        #expect(Set(numbers.map { String($0.1) }) == Set((1...50).map { "\($0)" }))
    }

    @Test func `without tolerance the first bad record ends the worker with 65`() throws {
        try send([
            ProducerRecord(topic: "events", partition: 0, value: Array(good.utf8)),
            ProducerRecord(topic: "events", partition: 0, value: Array("{".utf8)),
        ])
        let program = try start(group: "one", ["errors.tolerance=none"])
        let ended = try program.wait()
        #expect(ended.status == 65)
        #expect(ended.errors.contains("events/0 offset 1"))
        #expect(value("SELECT count(*) FROM _dead_letter") == "0")
        let mended = try start(group: "two")
        try mended.wait(for: "the end") { value("SELECT nextOffset FROM _position") == "2" }
        try stop(mended)
        #expect(value("SELECT id FROM Message") == "m1")
        #expect(value("SELECT offset FROM _dead_letter") == "1")
    }

    @Test func `records of every codec are applied`() throws {
        for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
            let lines = (0..<100).map { good.replacing("\"m1\"", with: "\"\(codec)-\($0)\"") + "\n" }
            _ = try Kcat.run(
                ["-P", "-b", broker.bootstrapServers, "-t", "events", "-p", "0", "-z", codec], input: lines.joined())
        }
        let program = try start(group: "one")
        try program.wait(for: "the records") { value("SELECT nextOffset FROM _position") == "500" }
        try stop(program)
        #expect(value("SELECT count(*) FROM Message") == "500")
        #expect(value("SELECT count(*) FROM _dead_letter") == "0")
    }
}

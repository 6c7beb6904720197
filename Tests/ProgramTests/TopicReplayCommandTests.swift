import Foundation
import KafkaClient
import TestSupport
import Testing

/// `replay --topic` against a real broker process.
@Suite(.serialized) struct TopicReplayCommandTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic(topic, partitions: 1))
    }

    private func arguments(_ store: String) -> [String] {
        [
            "topics=\(topic)", "store.path=\(workspace.path(store))",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=replayed",
        ].flatMap { ["--set", $0] }
    }

    private func replay(_ store: String, _ extra: [String] = []) throws -> Program.Result {
        try Program.run(["replay", "--topic", topic, "--json"] + arguments(store) + extra)
    }

    private func lines(of topic: String) throws -> [NSDictionary] {
        let output = try Kcat.run([
            "-C", "-J", "-q", "-e", "-o", "beginning", "-b", broker.bootstrapServers, "-t", topic,
        ])
        return try output.split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? NSDictionary
        }
    }

    @Test func `a record that the client may not send is named with its place`() throws {
        let small = #"{"type":"chat.created","data":{"id":"c1"}}"#
        let text = String(repeating: "c", count: 2000)
        // A line is a record itself, or holds one.
        let held = #"{"topic":"t","partition":0,"offset":0,"payload":"\#(text)"}"#
        for large in [small.replacing("c1", with: text), held] {
            let file = try workspace.write("\(small)\n\(large)\n", to: "large.jsonl")
            let sent = try Program.run(
                ["replay", file, "--to-kafka", topic, "--set", "kafka.message.max.bytes=1000"]
                    + arguments("topic.sqlite"))
            #expect(sent.status == 65, "\(sent.errors)")
            #expect(sent.errors.contains("large.jsonl line 2"), "\(sent.errors)")
            #expect(sent.errors.contains("kafka.message.max.bytes"), "\(sent.errors)")
        }
    }

    /// `kcat -J` and `dead-letters export` hold records; sending them makes the same records again.
    @Test func `lines of kcat and dead letters are sent as the records in them`() throws {
        let broken = "{\"type\": \"chat.created\"\n"
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", topic, "-k", "key one", "-H", "trace=a b"], input: broken)
        let taken = try Kcat.run([
            "-C", "-J", "-q", "-e", "-o", "beginning", "-b", broker.bootstrapServers, "-t", topic,
        ])
        #expect(try replay("topic.sqlite", ["--allow-dead-letters"]).status == 0)
        let exported = try Program.run(["dead-letters", "export"] + arguments("topic.sqlite"))
        let plain = #"{"type":"chat.created","data":{"id":"c1"}}"#
        let file = try workspace.write(taken + exported.output + plain + "\n", to: "lines.jsonl")
        let copy = "copy-\(topic)"
        try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers]).createTopic(NewTopic(copy))
        let sent = try Program.run(["replay", file, "--to-kafka", copy] + arguments("topic.sqlite"))
        #expect(sent.status == 0 && sent.output.hasPrefix("3 records sent"), "\(sent.output)\(sent.errors)")
        let (before, after) = (try lines(of: topic), try lines(of: copy))
        try #require(before.count == 1 && after.count == 3)
        for key in ["key", "payload", "headers"] {
            #expect(after[0][key] as? NSObject == before[0][key] as? NSObject, "\(key)")
            #expect(after[1][key] as? NSObject == before[0][key] as? NSObject, "\(key)")
        }
        #expect(after[0]["ts"] as? Int == before[0]["ts"] as? Int)
        #expect(after[2]["key"] as? String == "Chat:c1" && after[2]["payload"] as? String == plain)
    }

    private func dump(_ store: String) throws -> Substring { try Program.contents(ofStore: arguments(store)) }

    private func position(_ store: String) -> Int {
        let sql = "SELECT coalesce(max(nextOffset), 0) FROM _position WHERE topic = '\(topic)'"
        return (try? Foreign.sqlite(workspace.path(store), sql)).flatMap { Int($0) } ?? 0
    }

    @Test func `killed again and again it ends with the store of the file`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(12_000, seed: 11, to: file)
        let sent = try Program.run(
            ["replay", file, "--to-kafka", topic, "--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"])
        try #require(sent.status == 0, "\(sent.errors)")
        try #require(
            try Program.run(["replay", file, "--set", "store.path=\(workspace.path("direct.sqlite"))"]).status == 0)
        var kills = 0
        for round in 1...3 {
            let program = try Program(
                ["replay", "--topic", topic, "--set", "commit.maxRows=500"] + arguments("topic.sqlite"))
            try wait(for: "a part", everyMilliseconds: 5) {
                position("topic.sqlite") > round * 2_000 || !program.isRunning
            }
            if program.isRunning { kills += 1 }
            try program.crash()
        }
        #expect(kills > 0)
        let before = position("topic.sqlite")
        let ended = try replay("topic.sqlite")
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.contains(#""partition":0,"from":\#(before),"to":12000,"records":\#(12_000 - before)"#))
        #expect(try dump("topic.sqlite") == dump("direct.sqlite"))
        #expect(try Program.run(["verify"] + arguments("topic.sqlite")).status == 0)
        // No group was joined and nothing committed.
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        #expect(try admin.committedOffsets(group: "replayed").isEmpty)
    }

    @Test func `a replay begins at a time`() throws {
        // A second apart, and young enough for the broker to keep them.
        let first = Date(timeIntervalSince1970: (Date.now.timeIntervalSince1970 - 3_600).rounded())
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for number in 0..<10 {
            let value =
                #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
                + #""data":{"id":"m\#(number)","chat":"c","body":"text"}}"#
            try producer.enqueue(
                ProducerRecord(
                    topic: topic, partition: 0, value: [UInt8](value.utf8),
                    timestampMilliseconds: Int64(first.timeIntervalSince1970) * 1000 + Int64(number) * 1000))
            try producer.flush(timeoutMilliseconds: patientMilliseconds)
        }
        let late = try replay("late.sqlite", ["--from-timestamp", first.addingTimeInterval(6).formatted(.iso8601)])
        #expect(late.status == 0, "\(late.errors)")
        #expect(late.output.contains(#""from":6,"to":10,"records":4"#), "\(late.output)")
        let none = try replay("none.sqlite", ["--from-timestamp", "2099-01-01"])
        #expect(none.status == 0 && none.output.contains(#""from":10,"to":10,"records":0"#), "\(none.output)")
        let part = try replay("part.sqlite", ["--from-offset", "2", "--to-offset", "5"])
        #expect(part.output.contains(#""from":2,"to":5,"records":3"#), "\(part.output)")
        let refused = try replay("late.sqlite")
        #expect(refused.status == 78)
        #expect(refused.errors.contains("Name another store.path"), "\(refused.errors)")
        for wrong in [["--to-offset", "x"], ["--from-offset", "1", "--from-timestamp", "2026-01-01"], ["file.jsonl"]] {
            #expect(try replay("late.sqlite", wrong).status == 64)
        }
    }
}

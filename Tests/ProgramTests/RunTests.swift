import Foundation
import KafkaClient
import TestSupport
import Testing

/// `run` against a real broker process: the whole way of an event, health, crashes.
@Suite(.serialized) struct RunTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let changes = "changes-\(UUID().uuidString.prefix(8))"

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] {
            try admin.createTopic(NewTopic(name, partitions: 1, replicationFactor: 1))
        }
    }

    private func settings(store: String, group: String = "group-1", namesTopic: Bool = true) -> [String] {
        let topics = namesTopic ? ["topics=\(topic)"] : []
        return topics.flatMap { ["--set", $0] }
            + [
                "store.path=\(store)", "notifications.topic=\(changes)", "http.port=0",
                "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=\(group)",
                "kafka.session.timeout.ms=6000", "kafka.compression.codec=gzip",
            ].flatMap { ["--set", $0] }
    }

    private func start(store: String, group: String = "group-1", extra: [String] = []) throws -> Program {
        try Program(["run"] + settings(store: store, group: group) + extra)
    }

    private func position(_ store: String) -> Int { Foreign.position(ofStore: store) }

    private func waitForPosition(_ wanted: Int, store: String, _ program: Program) throws {
        try program.wait(for: "position \(wanted)", progress: { position(store) }) { position(store) >= wanted }
    }

    private func dump(_ store: String, model: String = "chat") throws -> Substring {
        try Program.contents(ofStore: Self.options(store, model))
    }

    private static func options(_ store: String, _ model: String) -> [String] {
        ["--set", "store.path=\(store)", "--set", "model=config/models/\(model).yaml"]
    }

    private func isSound(_ store: String, model: String = "chat") throws -> Bool {
        try Program.run(["verify"] + Self.options(store, model)).status == 0
    }

    /// Waits until the publisher has saved that all was delivered, and returns the last token.
    private func awaitNotifications(_ store: String) throws -> Int {
        let token = try Int(Foreign.sqlite(store, "SELECT max(token) FROM _history_transaction")) ?? 0
        try TestSupport.wait(for: "the publisher's cursor") {
            try Int(Foreign.sqlite(store, "SELECT coalesce(max(token), 0) FROM _cursor")) == token
        }
        return token
    }

    // MARK: The way of an event

    @Test func `a foreign client's events become objects and notifications`() throws {
        let lines = try String(
            contentsOf: Program.root.appending(path: "samples/chat-events.jsonl"), encoding: .utf8)
        _ = try Kcat.run(["-P", "-b", broker.bootstrapServers, "-t", topic], input: lines)
        let count = lines.split(separator: "\n").count
        let store = workspace.path("store.sqlite")
        let program = try start(store: store)
        try waitForPosition(count, store: store, program)

        try TestSupport.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
        #expect(try program.get("/livez")?.status == 200)
        #expect(try program.get("/metrics")?.body.contains("ingest_records_total \(count)") == true)
        #expect(try program.get("/status")?.body.contains("\"nextOffset\":\(count)") == true)

        let token = try awaitNotifications(store)
        try TestSupport.wait(for: "the group's offset") { try committed() == Int64(count) }
        program.send(SIGTERM)
        try program.expectGoodEnd()

        let sent = try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", changes, "-e", "-q"])
        let tokens = sent.matches(of: /"token":(\d+)/).compactMap { Int($0.1) }
        #expect(tokens == Array(1...token))
        #expect(try isSound(store))

        let replayed = workspace.path("replayed.sqlite")
        _ = try Program.run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(replayed)",
        ])
        #expect(try dump(store) == dump(replayed))
        try expectBrokerNotAhead(store: store, count: count)
    }

    /// I1: the broker's committed offset is never ahead of the store's.
    private func expectBrokerNotAhead(store: String, count: Int) throws {
        let committed = try committed()
        #expect(committed ?? 0 <= position(store))
        #expect(committed == Int64(count))
    }

    private func committed() throws -> Int64? {
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        return try admin.committedOffsets(group: "group-1")[TopicPartition(topic, 0)]
    }

    @Test func `the same rows through Kafka give the same store`() throws {
        let file = Program.root.appending(path: "../shared/data/work-orders.csv").path
        let isReal = FileManager.default.fileExists(atPath: file)
        let csv = isReal ? file : Program.root.appending(path: "samples/work-orders.csv").path
        let mapping = isReal ? "samples/excavators.yaml" : "samples/worker.yaml"
        let direct = workspace.path("direct.sqlite")
        let base = ["--config", mapping, "--set", "model=config/models/work-orders.yaml"]
        let replayed = try Program.run(
            ["replay", csv, "--json", "--allow-dead-letters", "--set", "store.path=\(direct)"] + base)
        try #require(replayed.status == 0, "\(replayed.errors)")

        let kafka = ["--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
        let sent = try Program.run(["replay", csv, "--to-kafka", topic] + base + kafka)
        try #require(sent.status == 0, "\(sent.errors)")
        let count = try #require(sent.output.split(separator: " ").first.flatMap { Int($0) })
        // The topic's records are the rows as JSON: the route of the file serves for the topic.
        let text = try String(contentsOf: Program.root.appending(path: mapping), encoding: .utf8)
        let routed = text.replacing("files:", with: "topics:")
            .replacing(/- match: .*/, with: "- name: \(topic)\n    format: json")
        let config = try workspace.write(routed, to: "topic.yaml")
        let store = workspace.path("kafka.sqlite")
        let program = try Program(
            ["run", "--config", config, "--set", "model=config/models/work-orders.yaml"]
                + settings(store: store, namesTopic: false))
        try waitForPosition(count, store: store, program)
        program.send(SIGTERM)
        try program.expectGoodEnd()
        #expect(try dump(store, model: "work-orders") == dump(direct, model: "work-orders"))
        #expect(try isSound(store, model: "work-orders"))
        let letters = "SELECT count(*) FROM _dead_letter"
        #expect(try Foreign.sqlite(store, letters) == Foreign.sqlite(direct, letters))
        if isReal {
            #expect(count == 5485)
            #expect(try Foreign.sqlite(store, "SELECT count(*) FROM WorkOrder") == "5484")
        }
    }

    // MARK: Crashes

    /// I2: kill -9 at random moments, again and again, ends with the same store as an uninterrupted run.
    ///
    /// INGEST_TEST_EVENTS and INGEST_TEST_KILLS make it larger; INGEST_TEST_SEED repeats its moments.
    @Test(.timeLimit(.minutes(60))) func `killed again and again it ends with the same store`() throws {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["INGEST_TEST_EVENTS"].flatMap { Int($0) } ?? 40_000
        let kills = environment["INGEST_TEST_KILLS"].flatMap { Int($0) } ?? 6
        var random = SeededRandom.forTest("killedAgainAndAgainItEndsWithTheSameStore")
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(count, seed: 7, to: file)
        let kafka = ["bootstrap.servers=\(broker.bootstrapServers)", "compression.codec=gzip"]
        let sent = try Program.run(["replay", file, "--to-kafka", topic] + kafka.flatMap { ["--set", "kafka.\($0)"] })
        try #require(sent.status == 0, "\(sent.errors)")
        let direct = workspace.path("direct.sqlite")
        try #require(try Program.run(["replay", file, "--set", "store.path=\(direct)"]).status == 0)

        let store = workspace.path("killed.sqlite")
        var interrupted = 0
        for round in 0..<kills {
            let before = position(store)
            // The broker does not give the partitions of a killed member away, so each life has a group of its own:
            // what counts is the store's position.
            let program = try start(store: store, group: "life-\(round)", extra: ["--set", "commit.maxRows=1000"])
            let target = before + 1 + random.number(below: max(1, (count - before) / max(1, kills - round)))
            try waitForPosition(min(target, count), store: store, program)
            usleep(UInt32(random.number(below: 50_000)))
            try program.crash()
            if position(store) < count { interrupted += 1 }
        }
        #expect(interrupted > 0, "no kill came before the end")
        let program = try start(store: store, group: "last")
        // The last kill may have come behind the last commit, and a signal before the program waits for one ends it.
        try program.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
        try waitForPosition(count, store: store, program)
        _ = try awaitNotifications(store)
        program.send(SIGTERM)
        try program.expectGoodEnd()
        #expect(try dump(store) == dump(direct))
        #expect(try isSound(store))
        try expectNotificationsWithoutGap(store)
        print("kills: \(kills), before the end: \(interrupted), events: \(count)")
    }

    /// I4: every token was notified, in order; repeats after a crash are allowed and known by their token.
    private func expectNotificationsWithoutGap(_ store: String) throws {
        let sent = try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", changes, "-e", "-q"])
        let tokens = sent.matches(of: /"data":\{"token":(\d+)/).compactMap { Int($0.1) }
        let last = try Int(Foreign.sqlite(store, "SELECT max(token) FROM _history_transaction")) ?? 0
        var reached = 0
        for token in tokens {
            #expect(token <= reached + 1, "a gap before token \(token)")
            reached = max(reached, token)
        }
        #expect(reached == last)
    }
}

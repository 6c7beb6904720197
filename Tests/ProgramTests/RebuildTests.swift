import Foundation
import KafkaClient
import TestSupport
import Testing

/// `run --rebuild` against a real broker process: live workers, readers, crashes.
@Suite(.serialized) struct RebuildTests {
    let broker: BrokerProcess
    let workspace: Workspace
    let topic = "events-\(UUID().uuidString.prefix(8))"
    let changes = "changes-\(UUID().uuidString.prefix(8))"
    let store: String

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] { try admin.createTopic(NewTopic(name, partitions: 1)) }
    }

    func arguments(_ path: String? = nil) -> [String] {
        [
            "topics=\(topic)", "store.path=\(path ?? store)", "http.port=0", "notifications.topic=\(changes)",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=group",
            "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    func rebuild(_ extra: [String] = [], killAt step: String? = nil) throws -> Program {
        try Program(
            ["run", "--rebuild"] + arguments() + extra, environment: step.map { ["INGEST_TEST_KILL_AT": $0] } ?? [:])
    }

    private func sql(_ path: String, _ text: String) throws -> String { try Foreign.sqlite(path, text) }

    func identity(_ path: String) -> String {
        (try? sql(path, "SELECT value FROM _metadata WHERE key = 'storeID'")) ?? ""
    }

    func position(_ path: String) -> Int {
        let text = try? sql(path, "SELECT coalesce(max(nextOffset), 0) FROM _position WHERE topic = '\(topic)'")
        return text.flatMap { Int($0) } ?? 0
    }

    /// Sends events, and returns how many the topic has then.
    func send(_ count: Int, seed: Int) throws -> Int {
        let file = workspace.path("events-\(seed).jsonl")
        try Foreign.generateEvents(count, seed: seed, to: file)
        let sent = try Program.run(
            ["replay", file, "--to-kafka", topic, "--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"])
        try #require(sent.status == 0, "\(sent.errors)")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        return Int(try admin.watermarks(TopicPartition(topic, 0)).high)
    }

    private func dump(_ path: String) throws -> Substring { try Program.contents(ofStore: arguments(path)) }

    private func expectSound(_ path: String) throws {
        let result = try Program.run(["verify"] + arguments(path))
        #expect(result.status == 0, "\(result.output)\(result.errors)")
    }

    private func replayed() throws -> String {
        let path = workspace.path("replayed-\(UUID().uuidString).sqlite")
        let result = try Program.run(["replay", "--topic", topic] + arguments(path))
        try #require(result.status == 0, "\(result.errors)")
        return path
    }

    func stop(_ program: Program) throws {
        program.send(SIGTERM)
        let ended = try program.wait()
        #expect(ended.status == 0, "\(ended.errors.suffix(2000))")
    }

    /// The tokens of the notifications of one store.
    private func notifiedTokens(_ identity: String) throws -> [Int] {
        try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", changes, "-e", "-q"]).split(separator: "\n")
            .filter { $0.contains(identity) }
            .compactMap { $0.firstMatch(of: /"token":(\d+)/).flatMap { Int($0.1) } }
    }

    // MARK: Beside a live worker

    @Test func `beside a live worker it takes the place when that one ends`() throws {
        var count = try send(3_000, seed: 1)
        let live = try Program(["run"] + arguments())
        try live.wait(for: "the old store") { position(store) == count }
        let old = identity(store)
        let reader = try SQLiteShell(store, "-readonly")
        #expect(try reader.ask("SELECT value FROM _metadata WHERE key = 'storeID'") == old)

        let rebuild = try rebuild()
        try rebuild.wait(for: "the new store") { position(store + ".rebuild") == count }
        try rebuild.wait(for: "the wait for the old worker") {
            try rebuild.get("/readyz?verbose")?.body.contains("caught up, and waiting for the old store") == true
        }
        #expect(try rebuild.get("/readyz")?.status == 503)
        #expect(try rebuild.get("/changes?after=0&wait=0")?.status == 404)
        #expect(rebuild.errors.contains("caught up, and waiting for the old store"))
        // Both keep up, and nothing is notified of the new one.
        count = try send(500, seed: 2)
        try live.wait(for: "the old store") { position(store) == count }
        try rebuild.wait(for: "the new store") { position(store + ".rebuild") == count }
        let new = identity(store + ".rebuild")
        #expect(new != old && identity(store) == old)
        #expect(try notifiedTokens(new).isEmpty)

        try stop(live)
        try rebuild.wait(for: "the new store in its place") { identity(store) == new }
        try rebuild.wait(for: "readiness") { try rebuild.get("/readyz")?.status == 200 }
        let rebuiltToken = try Int(sql(store, "SELECT max(token) FROM _history_transaction")) ?? 0
        count = try send(500, seed: 3)
        try rebuild.wait(for: "what comes after") { position(store) == count }
        let lastToken = try Int(sql(store, "SELECT max(token) FROM _history_transaction")) ?? 0
        try rebuild.wait(for: "its notifications") { try notifiedTokens(new).last == lastToken }
        #expect(try notifiedTokens(new) == Array(rebuiltToken + 1...lastToken))
        #expect(try rebuild.get("/changes?after=\(old):1&wait=0")?.status == 410)
        // Who had the old store open keeps it.
        #expect(try reader.ask("SELECT value FROM _metadata WHERE key = 'storeID'") == old)
        #expect(try reader.ask("SELECT count(*) > 0 FROM Message") == "1")
        try stop(rebuild)

        try expectSound(store)
        #expect(try dump(store) == dump(try replayed()))
        #expect(identity(store + ".before-rebuild") == old)
        try expectSound(store + ".before-rebuild")
        for suffix in [".rebuild", ".swap"] { #expect(!FileManager.default.fileExists(atPath: store + suffix)) }
        // Once more, it is done already.
        let again = try self.rebuild()
        try again.wait(for: "readiness") { try again.get("/readyz")?.status == 200 }
        #expect(again.errors.contains("the store was rebuilt already"))
        try stop(again)
        #expect(identity(store) == new)
    }

    @Test func `a reader's open transaction is waited for`() throws {
        _ = try send(300, seed: 9)
        let live = try Program(["run"] + arguments())
        try live.wait(for: "the old store") { position(store) == 300 }
        let old = identity(store)
        let reader = try SQLiteShell(store, "-readonly")
        try reader.tell("BEGIN")
        let seen = try reader.ask("SELECT max(nextOffset) FROM _position")
        let count = try send(300, seed: 10)
        try live.wait(for: "the old store") { position(store) == count }
        try stop(live)
        let rebuild = try rebuild()
        try rebuild.wait(for: "the wait for the reader") {
            try rebuild.get("/readyz?verbose")?.body.contains("waiting for a reader of the old store") == true
        }
        #expect(identity(store) == old)
        #expect(try reader.ask("SELECT max(nextOffset) FROM _position") == seen)
        try reader.tell("COMMIT")
        try rebuild.wait(for: "the new store") { identity(store) != old && position(store) == count }
        #expect(try reader.ask("SELECT max(nextOffset) FROM _position WHERE topic = '\(topic)'") == "\(count)")
        try rebuild.wait(for: "readiness") { try rebuild.get("/readyz")?.status == 200 }
        try stop(rebuild)
        #expect(try dump(store) == dump(store + ".before-rebuild"))
    }

    // MARK: Crashes

    @Test(.timeLimit(.minutes(60))) func `killed at each step it is completed`() throws {
        _ = try send(400, seed: 4)
        let expected = try dump(try replayed())
        for (index, step) in ["taken", "closed", "begun", "detached", "exchanged", "kept"].enumerated() {
            for file in try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
            where file.hasPrefix("store.sqlite") {
                try FileManager.default.removeItem(atPath: workspace.path(file))
            }
            try #require(try Program.run(["replay", "--topic", topic] + arguments()).status == 0)
            let old = identity(store)
            let reader = try SQLiteShell(store, "-readonly")
            _ = try reader.ask("SELECT count(*) FROM Message")
            let killed = try rebuild(killAt: step)
            let end = try killed.wait()
            #expect(end.status == SIGKILL, "\(step): \(end.errors.suffix(1000))")
            // A worker without the option completes a swap that was begun, and nothing that was not.
            let isBegun = index >= 2
            let next = isBegun && index % 2 == 0 ? try Program(["run"] + arguments()) : try rebuild()
            try next.wait(for: "the new store after \(step)") {
                let now = identity(store)
                return !now.isEmpty && now != old
            }
            try next.wait(for: "readiness after \(step)") { try next.get("/readyz")?.status == 200 }
            try stop(next)
            #expect(try dump(store) == expected, "\(step)")
            try expectSound(store)
            #expect(identity(store + ".before-rebuild") == old, "\(step)")
            for suffix in [".rebuild", ".swap", ".rebuild-wal"] {
                #expect(!FileManager.default.fileExists(atPath: store + suffix), "\(step) \(suffix)")
            }
            #expect(try reader.ask("SELECT value FROM _metadata WHERE key = 'storeID'") == old)
        }
    }

    @Test func `killed while it reads it goes on`() throws {
        let count = try send(30_000, seed: 5)
        try #require(try Program.run(["replay", "--topic", topic] + arguments()).status == 0)
        let old = identity(store)
        var new = ""
        var kills = 0
        for round in 1...3 {
            let program = try rebuild(["--set", "commit.maxRows=100"])
            try TestSupport.wait(for: "a part", everyMilliseconds: 5) {
                position(store + ".rebuild") > round * 1_500 || identity(store) != old || !program.isRunning
            }
            try program.crash()
            if identity(store) == old { kills += 1 } else { break }
            new = identity(store + ".rebuild")
        }
        #expect(kills > 0)
        let program = try rebuild()
        try program.wait(for: "the new store") { identity(store) != old && position(store) == count }
        try program.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
        try stop(program)
        #expect(identity(store) == new, "it began anew")
        #expect(try dump(store) == dump(store + ".before-rebuild"))
        try expectSound(store)
    }

    // MARK: Refusals

    @Test func `a rebuild asks about records that the topics do not hold`() throws {
        _ = try send(200, seed: 6)
        let file = workspace.path("events-6.jsonl")
        try #require(try Program.run(["replay", file] + arguments()).status == 0)
        let refused = try rebuild().wait()
        #expect(refused.status == 65)
        #expect(refused.errors.contains("events-6.jsonl was replayed into it"), "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: store + ".rebuild"))
        let old = identity(store)
        let allowed = try rebuild(["--allow-partial"])
        try allowed.wait(for: "the new store") { identity(store) != old && position(store) == 200 }
        try stop(allowed)
        let new = identity(store)
        // What stands in the way of a new rebuild is told.
        try FileManager.default.copyItem(atPath: store, toPath: store + ".rebuild")
        let foreign = try rebuild().wait()
        #expect(foreign.status == 78)
        #expect(foreign.errors.contains("Remove \(store).rebuild"), "\(foreign.errors)")
        #expect(identity(store) == new)
    }

    @Test func `a log whose beginning is gone is asked about`() throws {
        // Records of long ago, which the broker's retention takes at once.
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        let place = TopicPartition(topic, 0)
        for _ in 0..<10 {
            try producer.enqueue(
                ProducerRecord(topic: topic, partition: 0, value: [1], timestampMilliseconds: 1_500_000_000_000))
        }
        try producer.flush(timeoutMilliseconds: patientMilliseconds)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try TestSupport.wait(for: "retention") { try admin.watermarks(place).low == 10 }
        let count = try send(100, seed: 8)
        try #require(try Program.run(["replay", "--topic", topic] + arguments()).status == 0)
        let refused = try rebuild().wait()
        #expect(refused.status == 65)
        #expect(
            refused.errors.contains("\(topic)/0 begins at offset 10, retention has taken what was before"),
            "\(refused.errors)")
        let old = identity(store)
        let allowed = try rebuild(["--allow-partial"])
        try allowed.wait(for: "the new store") { identity(store) != old && position(store) == count }
        try stop(allowed)
        #expect(try dump(store) == dump(store + ".before-rebuild"))
    }
}

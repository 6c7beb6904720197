import Foundation
import KafkaClient
import TestSupport
import Testing

/// `run --rebuild` against a real broker process: live workers, readers, crashes.
@Suite(.serialized) struct RebuildTests {
    fileprivate let broker: BrokerProcess
    fileprivate let workspace: Workspace
    fileprivate let topic = "events-\(UUID().uuidString.prefix(8))"
    fileprivate let changes = "changes-\(UUID().uuidString.prefix(8))"
    fileprivate let store: String

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] { try admin.createTopic(NewTopic(name, partitions: 1)) }
    }

    fileprivate func arguments(_ path: String? = nil) -> [String] {
        [
            "topics=\(topic)", "store.path=\(path ?? store)", "http.port=0", "notifications.topic=\(changes)",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=group",
            "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    fileprivate func rebuild(_ extra: [String] = [], killAt step: String? = nil) throws -> Program {
        try Program(
            ["run", "--rebuild"] + arguments() + extra, environment: step.map { ["INGEST_TEST_KILL_AT": $0] } ?? [:])
    }

    private func sql(_ path: String, _ text: String) throws -> String { try Foreign.sqlite(path, text) }

    fileprivate func identity(_ path: String) -> String {
        (try? sql(path, "SELECT value FROM _metadata WHERE key = 'storeID'")) ?? ""
    }

    fileprivate func position(_ path: String) -> Int {
        let text = try? sql(path, "SELECT coalesce(max(nextOffset), 0) FROM _position WHERE topic = '\(topic)'")
        return text.flatMap { Int($0) } ?? 0
    }

    /// Sends events, and returns how many the topic has then.
    fileprivate func send(_ count: Int, seed: Int) throws -> Int {
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

    fileprivate func stop(_ program: Program) throws {
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
        let reader = try OpenReader(store)
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
        let reader = try OpenReader(store)
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

    @Test(.timeLimit(.minutes(10))) func `killed at each step it is completed`() throws {
        _ = try send(400, seed: 4)
        let expected = try dump(try replayed())
        for (index, step) in ["taken", "closed", "begun", "detached", "exchanged", "kept"].enumerated() {
            for file in try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
            where file.hasPrefix("store.sqlite") {
                try FileManager.default.removeItem(atPath: workspace.path(file))
            }
            try #require(try Program.run(["replay", "--topic", topic] + arguments()).status == 0)
            let old = identity(store)
            let reader = try OpenReader(store)
            _ = try reader.ask("SELECT count(*) FROM Message")
            let killed = try rebuild(killAt: step)
            let end = try killed.wait(limitSeconds: 60)
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
            try TestSupport.wait(for: "a part", limitSeconds: 60, everyMilliseconds: 5) {
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
        try producer.flush(timeoutMilliseconds: 10_000)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try TestSupport.wait(for: "retention", limitSeconds: 60) { try admin.watermarks(place).low == 10 }
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

/// What keeps a store from being rebuilt, or another from being put in its place.
@Suite(.serialized) struct RebuildRefusalTests {
    private let bench: RebuildTests

    init() throws { bench = try RebuildTests() }

    private var store: String { bench.store }

    private func exists(_ suffix: String) -> Bool { FileManager.default.fileExists(atPath: store + suffix) }

    @Test func `a topic that was made again is asked about`() throws {
        _ = try bench.send(300, seed: 1)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let old = bench.identity(store)
        let admin = try Admin(configuration: ["bootstrap.servers": bench.broker.bootstrapServers])
        try admin.deleteTopic(bench.topic)
        try admin.createTopic(NewTopic(bench.topic, partitions: 1))
        // Shorter than it was.
        _ = try bench.send(100, seed: 2)
        let shorter = try bench.rebuild().wait()
        #expect(shorter.status == 65 && shorter.errors.contains("has lost its end"), "\(shorter.errors)")
        #expect(!exists(".rebuild"))
        // Longer, with other records.
        _ = try bench.send(400, seed: 3)
        let longer = try bench.rebuild().wait()
        #expect(longer.status == 65 && longer.errors.contains("the topic was made again"), "\(longer.errors)")
        #expect(bench.identity(store) == old && bench.position(store) == 300)
        // What was read of it goes on, where it is wished.
        let allowed = try bench.rebuild(["--allow-partial"])
        try allowed.wait(for: "the new store") { bench.identity(store) != old && bench.position(store) == 500 }
        try bench.stop(allowed)
    }

    @Test func `a store that was exchanged meanwhile is not replaced`() throws {
        let count = try bench.send(200, seed: 4)
        let live = try Program(["run"] + bench.arguments())
        try live.wait(for: "the old store") { bench.position(store) == count }
        let rebuild = try bench.rebuild()
        try rebuild.wait(for: "the wait for the old worker") {
            rebuild.errors.contains("caught up, and waiting for the old store")
        }
        let second = try bench.rebuild().wait()
        #expect(second.status == 69 && second.errors.contains("Another process rebuilds the store"), "\(second.errors)")
        // Somebody puts another store there while the worker still has the old one open.
        let other = bench.workspace.path("other.sqlite")
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments(other)).status == 0)
        for suffix in ["-wal", "-shm"] { unlink(store + suffix) }
        try #require(rename(other, store) == 0)
        let now = bench.identity(store)
        try bench.stop(live)
        let ended = try rebuild.wait()
        #expect(ended.status == 78 && ended.errors.contains("was exchanged meanwhile"), "\(ended.errors)")
        #expect(bench.identity(store) == now && exists(".rebuild") && !exists(".swap") && !exists(".before-rebuild"))
    }

    @Test func `a rebuild that was begun with other settings is refused`() throws {
        let count = try bench.send(200, seed: 5)
        let live = try Program(["run"] + bench.arguments())
        try live.wait(for: "the old store") { bench.position(store) == count }
        let begun = try bench.rebuild()
        try begun.wait(for: "the new store") { bench.position(store + ".rebuild") == count }
        try begun.crash()
        let other = try bench.rebuild(["--set", "limits.maxDepth=32"]).wait()
        #expect(other.status == 78, "\(other.errors)")
        #expect(other.errors.contains("was begun with other topics, routes, partitions or limits"), "\(other.errors)")
        let same = try bench.rebuild()
        try same.wait(for: "the wait for the old worker") {
            same.errors.contains("caught up, and waiting for the old store")
        }
        #expect(same.errors.contains("a rebuild that was begun before goes on"))
        try bench.stop(live)
        try same.wait(for: "the new store") { exists(".before-rebuild") && !exists(".rebuild") }
        try bench.stop(same)
        // With the same settings it is done; with others it is rebuilt again.
        let again = try bench.rebuild()
        try again.wait(for: "the worker") { try again.get("/readyz")?.status == 200 }
        #expect(again.errors.contains("the store was rebuilt already"))
        try bench.stop(again)
    }

    @Test func `a store behind a link is rebuilt where it is and its readers are kept`() throws {
        let folder = bench.workspace.url.appending(path: "real")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let real = folder.appending(path: "s.sqlite").path
        try #require(symlink("real/s.sqlite", store) == 0)
        let count = try bench.send(200, seed: 6)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let old = bench.identity(real)
        try #require(try Program.run(["history", "cursors", "put", "feed", "1"] + bench.arguments()).status == 0)
        let rebuild = try bench.rebuild()
        try rebuild.wait(for: "the new store") { bench.identity(real) != old && bench.position(real) == count }
        try rebuild.wait(for: "readiness") { try rebuild.get("/readyz")?.status == 200 }
        try bench.stop(rebuild)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: store) == "real/s.sqlite")
        #expect(bench.identity(real + ".before-rebuild") == old && !exists(".before-rebuild"))
        #expect(try Foreign.sqlite(real, "SELECT token FROM _cursor WHERE name = 'feed'") == "0")
    }

    @Test func `a store that cannot be read is to be moved away`() throws {
        _ = try bench.send(50, seed: 7)
        try #require(try Program.run(["replay", "--topic", bench.topic] + bench.arguments()).status == 0)
        let file = try FileHandle(forWritingTo: URL(filePath: store))
        try file.write(contentsOf: Data("no database at all".utf8))
        try file.close()
        let refused = try bench.rebuild().wait()
        #expect(refused.status == 65 && refused.errors.contains("run without --rebuild"), "\(refused.errors)")
    }
}

/// A `sqlite3` that keeps its connection open between questions.
private final class OpenReader {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ path: String) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-batch", "-readonly", path]
        process.standardInput = input
        process.standardOutput = output
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Says something that has no answer.
    func tell(_ sql: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((sql + ";\n").utf8))
    }

    /// Asks for one value.
    func ask(_ sql: String) throws -> String {
        try tell(sql)
        var line: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }
}

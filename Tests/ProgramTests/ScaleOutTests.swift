import Foundation
import KafkaClient
import TestSupport
import Testing

/// Several workers that share the partitions of one log, against a real broker process.
@Suite(.serialized) struct ScaleOutTests {
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let changes = "changes-\(UUID().uuidString.prefix(8))"

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic(topic, partitions: 4))
        try admin.createTopic(NewTopic(changes, partitions: 1))
    }

    private func arguments(_ partitions: String) -> [String] {
        [
            "topics=\(topic)", "store.path=\(workspace.path("store-{partition}.sqlite"))", "http.port=0",
            "notifications.topic=\(changes)", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "kafka.group.id=shared", "kafka.partitions=\(partitions)",
        ].flatMap { ["--set", $0] }
    }

    private func store(_ name: String) -> String { workspace.path("store-\(name).sqlite") }

    /// Sends messages of many chats, keyed by their chat, so that each chat is in one partition.
    private func send(_ range: Range<Int>) throws {
        let lines = range.map { number in
            let chat = "chat-\(number % 37)"
            return "\(chat)|" + #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
                + #""data":{"id":"m\#(number)","chat":"\#(chat)","body":"text"}}"#
        }
        _ = try Kcat.run(
            ["-P", "-b", broker.bootstrapServers, "-t", topic, "-K", "|"], input: lines.joined(separator: "\n") + "\n")
    }

    private func ids(_ entity: String, _ store: String) throws -> [String] {
        try Foreign.sqlite(store, "SELECT id FROM \(entity) ORDER BY id").split(separator: "\n").map { String($0) }
    }

    private func count(_ store: String) -> Int {
        (try? Foreign.sqlite(store, "SELECT count(*) FROM Message")).flatMap { Int($0) } ?? 0
    }

    private func partitions(_ store: String) throws -> Set<String> {
        let text = try Foreign.sqlite(store, "SELECT DISTINCT partition FROM _position")
        return Set(text.split(separator: "\n").map { String($0) })
    }

    @Test func `two workers with a store each hold the log together`() throws {
        try send(0..<600)
        let names = ["0of2", "1of2"]
        var programs = try [Program(["run"] + arguments("0/2")), Program(["run"] + arguments("1/2"))]
        try wait(for: "the first half") { names.map { count(store($0)) }.reduce(0, +) == 600 }
        // One is killed while more comes, and the other goes on as if nothing had been.
        try programs[0].crash()
        try send(600..<1_200)
        programs[0] = try Program(["run"] + arguments("0/2"))
        try wait(for: "all messages") { names.map { count(store($0)) }.reduce(0, +) == 1_200 }
        for program in programs {
            program.send(SIGTERM)
            try program.expectGoodEnd()
        }
        for (entity, expected) in [
            ("Message", (0..<1_200).map { "m\($0)" }), ("Chat", (0..<37).map { "chat-\($0)" }),
        ] {
            let held = try names.map { Set(try ids(entity, store($0))) }
            #expect(held[0].isDisjoint(with: held[1]))
            #expect(held[0].union(held[1]) == Set(expected))
            #expect(held.allSatisfy { !$0.isEmpty })
        }
        #expect(try partitions(store("0of2")).isSubset(of: ["0", "2"]))
        #expect(try partitions(store("1of2")).isSubset(of: ["1", "3"]))
        for share in ["0/2", "1/2"] {
            let verified = try Program.run(["verify"] + arguments(share))
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
        let fetched = try Program.run(["fetch", "Chat", "--count", "--set", "store.path=\(store("1of2"))"])
        #expect(fetched.status == 0, "\(fetched.errors)")
    }

    // MARK: Static membership

    /// The partitions of a member's assignments, one set an assignment, as its log tells them.
    private func assignments(_ program: Program) -> [Set<Int>] {
        program.errors.split(separator: "\n").filter { $0.contains("event=assigned") }.map { line in
            Set(line.matches(of: #/\/(\d+)/#).compactMap { Int($0.1) })
        }
    }

    @Test func `a static member that comes back in time moves nobody's partitions`() throws {
        func start(_ name: String) throws -> Program {
            try Program(
                ["run"]
                    + [
                        "topics=\(topic)", "store.path=\(store(name))", "http.port=0", "notifications.topic=null",
                        "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=static",
                        "kafka.group.instance.id=member-\(name)", "kafka.session.timeout.ms=30000",
                    ].flatMap { ["--set", $0] })
        }
        var first = try start("first")
        let second = try start("second")
        try wait(for: "two partitions each") {
            [first, second].allSatisfy { assignments($0).last?.count == 2 }
        }
        let (mine, theirs) = (assignments(first).last ?? [], assignments(second))
        #expect(mine.isDisjoint(with: theirs.last ?? []))
        let total = { count(store("first")) + count(store("second")) }
        try send(0..<200)
        try wait(for: "the first messages") { total() == 200 }
        try first.crash()
        try send(200..<400)
        first = try start("first")
        try wait(for: "all messages") { total() == 400 }
        #expect(assignments(first) == [mine])
        // The other was told nothing: no partition came or went.
        #expect(assignments(second) == theirs)
        #expect(!second.errors.contains("event=revoked") || theirs.count > 1)
        for program in [first, second] {
            program.send(SIGTERM)
            try program.expectGoodEnd()
        }
        let held = try ["first", "second"].map { Set(try ids("Message", store($0))) }
        #expect(held[0].isDisjoint(with: held[1]))
        #expect(held[0].union(held[1]) == Set((0..<400).map { "m\($0)" }))
    }

    @Test func `a store of another share is refused with its remedy`() throws {
        try send(0..<40)
        let program = try Program(["run"] + arguments("0/2"))
        try wait(for: "a position") { count(store("0of2")) > 0 }
        program.send(SIGTERM)
        try program.expectGoodEnd()
        let refused = try Program.run(
            ["run"] + arguments("1/2") + ["--set", "store.path=\(store("0of2"))"])
        #expect(refused.status == 78)
        #expect(refused.errors.contains("kafka.partitions (1/2) leaves out"), "\(refused.errors)")
        #expect(refused.errors.contains("store of their own"))
        let checked = try Program.run(
            ["check", "--offline"] + arguments("1/2") + ["--set", "store.path=\(store("0of2"))"])
        #expect(checked.status == 78)
    }

    @Test func `where each partition has a store, a command of one store is for the one that it names`() throws {
        let config = try workspace.write("store:\n  path: a/{partition}.sqlite\n", to: "worker.yaml")
        let refused = try Program.run(["dead-letters", "show", "1", "--config", config])
        #expect(refused.status == 78)
        #expect(refused.errors.contains("--store 0"), "\(refused.errors)")
        let missing = try Program.run(["verify", "--config", config, "--store", "3"])
        #expect(missing.errors.contains("a/3.sqlite"), "\(missing.errors)")
        let plain = try Program.run(["verify", "--store", "3"])
        #expect(plain.status == 64 && plain.errors.contains("{partition}"), "\(plain.errors)")
    }
}

import Foundation
import KafkaClient
import TestSupport
import Testing

/// Processes with a store for each partition, against the mock cluster, which gives up members that were killed.
@Suite(.serialized) struct StorePerPartitionProgramTests {
    private let broker: EmbeddedBroker
    private let workspace: Workspace
    private let partitions = ["0", "1", "2", "3"]

    init() throws {
        broker = try EmbeddedBroker()
        workspace = try Workspace()
        try broker.createTopic("events", partitions: 4)
        try broker.createTopic("changes", partitions: 1)
    }

    private var arguments: [String] {
        [
            "topics=events", "store.path=\(workspace.path("store-{partition}.sqlite"))", "http.port=0",
            "notifications.topic=changes", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "kafka.group.id=shared", "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    /// Sends messages of many chats, each of which is in one partition.
    private func send(_ range: Range<Int>) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for number in range {
            let chat = number % 37
            let event =
                #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","#
                + #""data":{"id":"m\#(number)","chat":"chat-\#(chat)","body":"text"}}"#
            try producer.enqueue(
                ProducerRecord(
                    topic: "events", partition: Int32(chat % partitions.count), key: nil, value: [UInt8](event.utf8)))
        }
        try producer.flush(timeoutMilliseconds: 60_000)
    }

    private func ids(_ entity: String) throws -> [String] {
        try partitions.flatMap { partition in
            try Foreign.sqlite(workspace.path("store-\(partition).sqlite"), "SELECT id FROM \(entity)")
                .split(separator: "\n").map { String($0) }
        }
    }

    private func count() -> Int { (try? ids("Message").count) ?? 0 }

    @Test func `two processes hold the log together, and one takes over when the other is killed`() throws {
        try send(0..<600)
        let programs = try [Program(["run"] + arguments), Program(["run"] + arguments)]
        try wait(for: "the first messages") { count() == 600 }
        try wait(for: "both in the group") { programs.allSatisfy { $0.errors.contains("event=assigned") } }
        try programs[0].crash()
        try send(600..<1_200)
        try wait(for: "all messages") { count() == 1_200 }
        programs[1].send(SIGTERM)
        try programs[1].expectGoodEnd()
        #expect(try ids("Message").sorted() == (0..<1_200).map { "m\($0)" }.sorted())
        #expect(try ids("Chat").count == 37)
        for partition in partitions {
            let store = workspace.path("store-\(partition).sqlite")
            #expect(try Foreign.sqlite(store, "SELECT DISTINCT partition FROM _position") == partition)
            let verified = try Program.run(["verify", "--store", partition] + arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }

    /// The arguments for stores in a server.
    private func arguments(_ url: String) -> [String] {
        // The flag for the file would go before the server's.
        arguments.split(separator: "--set").filter { !($0.first ?? "").hasPrefix("store.path=") }
            .flatMap { ["--set"] + $0 } + ["--set", "store.url=\(url)"]
    }

    @Test func `in PostgreSQL each partition has a schema of its own`() throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        let arguments = arguments("\(server.url)&schema=\(schema)_{partition}")
        func count() -> Int {
            let counts = partitions.map { try? server.query("SELECT count(*) FROM \(schema)_\($0).\"Message\"") }
            return counts.compactMap { $0.flatMap { Int($0) } }.reduce(0, +)
        }
        try send(0..<300)
        var program = try Program(["run"] + arguments)
        try program.wait(for: "the first messages") { count() == 300 }
        try program.crash()
        try send(300..<600)
        program = try Program(["run"] + arguments)
        try program.wait(for: "all messages") { count() == 600 }
        let sum = "SELECT count(*), count(DISTINCT _store) FROM \(schema)_all.\"Message_readable\""
        try program.wait(for: "the views of all stores") { (try? server.query(sum)) == "600|4" }
        #expect(try Program.run(["fetch", "Message", "--count"] + arguments).output == "600\n")
        // Somebody removes the views. A worker that opens a store makes them again.
        _ = try server.query("DROP SCHEMA \(schema)_all CASCADE")
        program.send(SIGTERM)
        try program.expectGoodEnd()
        program = try Program(["run"] + arguments)
        try program.wait(for: "the views again") { (try? server.query(sum)) == "600|4" }
        program.send(SIGTERM)
        try program.expectGoodEnd()
        for partition in partitions {
            let verified = try Program.run(["verify", "--store", partition] + arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
        // A store that is built again takes the place of the old one in the views.
        let identity = "SELECT value FROM \(schema)_all._metadata WHERE _store = 1 AND key = 'storeID'"
        let before = try server.query(identity)
        program = try Program(["run", "--rebuild", "--store", "1"] + arguments)
        try program.wait(for: "the new store in the views") { (try? server.query(identity)) != before }
        #expect(try server.query(sum) == "600|4")
        try program.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    @Test func `a dropped schema takes the views along, and a worker makes them without it`() throws {
        let server = try PostgresServer.shared.get()
        let schema = server.newSchema()
        try send(0..<300)
        let program = try Program(["run"] + arguments("\(server.url)&schema=\(schema)_{partition}"))
        let sum = "SELECT count(*), count(DISTINCT _store) FROM \(schema)_all.\"Message\""
        try program.wait(for: "the views of all stores") { (try? server.query(sum)) == "300|4" }
        _ = try server.query("DROP SCHEMA \(schema)_2 CASCADE")
        // Its worker finds out when it writes.
        try send(300..<600)
        let rest = (0..<600).filter { $0 % 37 % partitions.count != 2 }.count
        try program.wait(for: "the views of the others") { (try? server.query(sum)) == "\(rest)|3" }
        #expect(program.errors.contains("the worker of a partition has ended, and starts again soon"))
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    @Test func `without the right to make the views all stores are written, and the log has the remedy`() throws {
        let server = try PostgresServer.shared.get()
        let (schema, role) = (server.newSchema(), "worker_\(UUID().uuidString.prefix(8).lowercased())")
        _ = try server.query("CREATE ROLE \(role) LOGIN")
        for partition in partitions {
            _ = try server.query("CREATE SCHEMA \(schema)_\(partition) AUTHORIZATION \(role)")
        }
        try send(0..<300)
        let url = "\(server.url)&schema=\(schema)_{partition}".replacing("postgres@", with: "\(role)@")
        let program = try Program(["run"] + arguments(url))
        func count(_ place: String) -> Int {
            (try? server.query("SELECT count(*) FROM \(schema)_\(place).\"Message\"")).flatMap { Int($0) } ?? 0
        }
        try program.wait(for: "the messages") { partitions.map(count).reduce(0, +) == 300 }
        // The text of the log has quotes behind backslashes.
        let remedy = /CREATE SCHEMA \\?"\w+_all\\?" AUTHORIZATION/
        try program.wait(for: "the warning") { program.errors.firstMatch(of: remedy) != nil }
        #expect(program.errors.contains("the views of all stores are not made, trying again"))
        _ = try server.query("CREATE SCHEMA \(schema)_all AUTHORIZATION \(role)")
        try program.wait(for: "the views") { count("all") == 300 }
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    // MARK: Storms

    /// Events of few chats and messages, so that they meet again and again: upserts, renamed chats, deletions.
    private func events(_ count: Int, of partition: Int, _ random: inout SeededRandom) -> [String] {
        (0..<count).map { number in
            let chat = "chat-\(partition)-\(random.number(below: 5))"
            let message = "message-\(partition)-\(random.number(below: 60))"
            let (type, data) =
                switch random.number(below: 20) {
                case 0: ("chat.deleted", #"{"id":"\#(chat)"}"#)
                case 1, 2: ("message.deleted", #"{"id":"\#(message)"}"#)
                case 3, 4: ("chat.upserted", #"{"id":"\#(chat)","title":"\#(random.number(below: 100))"}"#)
                default:
                    (
                        "message.upserted",
                        #"{"id":"\#(message)","chat":"\#(chat)","body":"\#(random.number(below: 1000))"}"#
                    )
                }
            return #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"\#(type)","data":\#(data)}"#
        }
    }

    private func positions() -> [Int] {
        partitions.map { Foreign.position(ofStore: workspace.path("store-\($0).sqlite")) }
    }

    @Test func `killed, stopped and ended, three processes leave the stores of one reader each`() throws {
        var random = SeededRandom.forTest("StorePerPartitionProgramTests")
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        var logs = partitions.map { _ in [String]() }
        func produce() throws {
            for partition in partitions.indices {
                let events = events(150, of: partition, &random)
                logs[partition] += events
                for event in events {
                    try producer.enqueue(
                        ProducerRecord(
                            topic: "events", partition: Int32(partition), key: nil, value: [UInt8](event.utf8)))
                }
            }
            try producer.flush(timeoutMilliseconds: 60_000)
        }
        func start() throws -> Program {
            let program = try Program(["run"] + arguments)
            // Before that SIGTERM ends it like any program.
            try program.wait(for: "the server") { program.errors.contains("http://127.0.0.1") }
            return program
        }
        try produce()
        var programs = try [start(), start(), start()]
        for _ in 0..<8 {
            let index = random.number(below: programs.count)
            switch random.number(below: 3) {
            case 0: try programs[index].crash()
            case 1:
                programs[index].send(SIGTERM)
                try programs[index].expectGoodEnd()
            default:
                // Beyond the session's end another process has the partitions, and the store's lease decides.
                programs[index].send(SIGSTOP)
                let others = positions()
                try produce()
                try wait(for: "the others, or the end of a session") { positions() != others }
                Thread.sleep(forTimeInterval: Double(random.number(below: 9)))
                programs[index].send(SIGCONT)
            }
            try produce()
            if !programs[index].isRunning { programs[index] = try start() }
        }
        try wait(for: "all records", progress: { AnyHashable(positions()) }) { positions() == logs.map(\.count) }
        for program in programs {
            program.send(SIGTERM)
            // A process that was stopped for long may have ended for its own safety.
            _ = try program.wait()
        }
        for (partition, log) in zip(partitions, logs) {
            let file = try workspace.write(log.joined(separator: "\n") + "\n", to: "log-\(partition).jsonl")
            let oracle = workspace.path("oracle-\(partition).sqlite")
            let replayed = try Program.run(["replay", file, "--set", "store.path=\(oracle)"])
            try #require(replayed.status == 0, "\(replayed.errors)")
            let expected = try Program.contents(ofStore: ["--set", "store.path=\(oracle)"])
            #expect(try Program.contents(ofStore: ["--store", partition] + arguments) == expected)
            let verified = try Program.run(["verify", "--store", partition] + arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }
}

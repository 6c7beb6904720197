import Foundation
import KafkaClient
import TestSupport
import Testing

/// A process with stores on two PostgreSQL servers at once. The partition stands in the host: a folder with the socket.
@Suite(.serialized) struct StoresOnServersTests {
    private let broker: EmbeddedBroker
    private let workspace: Workspace
    private let servers: [PostgresServer]
    private let partitions = ["0", "1", "2", "3"]

    init() throws {
        broker = try EmbeddedBroker()
        workspace = try Workspace()
        servers = [try PostgresServer(), try PostgresServer()]
        try broker.createTopic("events", partitions: partitions.count)
    }

    private func server(of partition: String) -> PostgresServer { servers["01".contains(partition) ? 0 : 1] }

    /// Gives the folder of the partition's server the name that stands in the URL.
    private func place(_ partition: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: workspace.path("host-\(partition)"), withDestinationPath: server(of: partition).folder)
    }

    private var arguments: [String] {
        [
            "topics=events", "http.port=0", "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "store.url=postgres://postgres@/postgres?host=\(workspace.path("host-{partition}"))&schema=chat_{partition}",
            "kafka.group.id=servers", "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    private func start() throws -> Program {
        // The control sockets stand in the folder of the path.
        try Program(["run"] + arguments, environment: ["INGEST_STORE_PATH": workspace.path("none.sqlite")])
    }

    private func produce(_ count: Int, to logs: inout [[String]]) throws {
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for index in partitions.indices {
            for number in logs[index].count..<logs[index].count + count {
                // The messages change again and again.
                let event =
                    #"{"specversion":"1.0","id":"\#(number)","source":"/t","type":"message.upserted","data":{"id":"#
                    + #""m\#(index)-\#(number % 70)","chat":"chat-\#(index)-\#(number % 5)","body":"\#(number)"}}"#
                logs[index].append(event)
                try producer.enqueue(
                    ProducerRecord(topic: "events", partition: Int32(index), key: nil, value: [UInt8](event.utf8)))
            }
        }
        try producer.flush(timeoutMilliseconds: 60_000)
    }

    private func position(_ partition: String) -> Int {
        let query = "SELECT \"nextOffset\" FROM chat_\(partition)._position"
        return (try? server(of: partition).query(query)).flatMap { Int($0) } ?? 0
    }

    private func waitFor(_ logs: [[String]], of partitions: [String], _ program: Program) throws {
        try program.wait(for: "the records of \(partitions)", progress: { partitions.map(position) }) {
            partitions.allSatisfy { position($0) == logs[Int($0) ?? 0].count }
        }
    }

    /// Returns the line of a store's check in the answer of `/readyz`.
    private func check(_ partition: String, _ program: Program) throws -> String {
        let lines = try program.get("/readyz?verbose")?.body.split(separator: "\n") ?? []
        return lines.first { $0.contains("\(partition).store") }.map { String($0) } ?? ""
    }

    private func waitForReadiness(_ program: Program) throws {
        try program.wait(for: "readiness") { try program.get("/readyz")?.status == 200 }
    }

    private func expectStores(of logs: [[String]]) throws {
        for (partition, log) in zip(partitions, logs) {
            let file = try workspace.write(log.joined(separator: "\n") + "\n", to: "log-\(partition).jsonl")
            let oracle = ["--set", "store.path=\(workspace.path("oracle-\(partition).sqlite"))"]
            let replayed = try Program.run(["replay", file] + oracle)
            try #require(replayed.status == 0, "\(replayed.errors)")
            let expected = try Program.contents(ofStore: oracle)
            #expect(try Program.contents(ofStore: ["--store", partition] + arguments) == expected)
            let verified = try Program.run(["verify", "--store", partition] + arguments)
            #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        }
    }

    private func end(_ program: Program) throws {
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    @Test func `while one of two servers is away, the other's partitions go on, and its own catch up`() throws {
        for partition in partitions { try place(partition) }
        var logs = partitions.map { _ in [String]() }
        try produce(200, to: &logs)
        let program = try start()
        try waitFor(logs, of: partitions, program)
        try servers[1].stop()
        for _ in 0..<3 {
            try produce(100, to: &logs)
            try waitFor(logs, of: ["0", "1"], program)
        }
        for partition in ["2", "3"] {
            try program.wait(for: "the check of store \(partition)") {
                try check(partition, program).contains("connection")
            }
        }
        #expect(try program.get("/readyz")?.status == 503)
        for partition in ["0", "1"] {
            #expect(try check(partition, program).contains("connection") == false)
        }
        try produce(100, to: &logs)
        try waitFor(logs, of: ["0", "1"], program)
        try servers[1].start()
        try waitFor(logs, of: partitions, program)
        try waitForReadiness(program)
        // No view reaches over servers.
        #expect(try servers[0].query("SELECT to_regnamespace('chat_all') IS NULL") == "t")
        try expectStores(of: logs)
        try end(program)
    }

    @Test func `a partition whose server cannot be reached at the start waits, and the others go on`() throws {
        for partition in partitions.dropLast() { try place(partition) }
        var logs = partitions.map { _ in [String]() }
        try produce(200, to: &logs)
        let program = try start()
        try waitFor(logs, of: ["0", "1", "2"], program)
        try program.wait(for: "the reason") { try check("3", program).contains("Could not connect to") }
        try produce(100, to: &logs)
        try waitFor(logs, of: ["0", "1", "2"], program)
        try place("3")
        try waitFor(logs, of: partitions, program)
        try waitForReadiness(program)
        try expectStores(of: logs)
        try end(program)
    }
}

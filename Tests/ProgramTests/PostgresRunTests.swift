import Foundation
import KafkaClient
import TestSupport
import Testing

/// The program with its store in a PostgreSQL server: the same contents as in SQLite, whatever crashes.
@Suite(.serialized) struct PostgresRunTests {
    private let server: PostgresServer
    private let workspace: Workspace
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        workspace = try Workspace()
        schema = server.newSchema()
    }

    private var storeURL: [String] { ["--set", "store.url=\(server.url)&schema=\(schema)"] }

    private func position() -> Int {
        let text = try? server.query("SELECT coalesce(max(\"nextOffset\"), 0) FROM \(schema)._position")
        return text.flatMap { Int($0) } ?? 0
    }

    /// The contents of a store without its positions, which name the source.
    private func dump(_ arguments: [String]) throws -> Substring {
        let result = try Program.run(["verify", "--dump"] + arguments)
        try #require(result.status == 0, "\(result.errors)")
        let contents = try #require(result.output.split(separator: "\npositions", maxSplits: 1).first)
        try #require(contents.count > 1000)
        return contents
    }

    /// Replays a file of events into a store in SQLite.
    private func direct(_ file: String) throws -> [String] {
        let store = ["--set", "store.path=\(workspace.path("direct.sqlite"))"]
        try #require(try Program.run(["replay", file] + store).status == 0)
        return store
    }

    @Test func `killed again and again a replay ends with the contents of a store in SQLite`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(12_000, seed: 21, to: file)
        let replay = ["replay", file, "--set", "chunk.maxBacklogOperations=1"] + storeURL
        var kills = 0
        for round in 1...3 {
            let program = try Program(replay)
            try wait(for: "a part", everyMilliseconds: 5) { position() > round * 2_000 || !program.isRunning }
            if program.isRunning { kills += 1 }
            try program.crash()
        }
        #expect(kills > 0)
        let ended = try Program.run(replay)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(position() == 12_000)
        #expect(try dump(storeURL) == dump(direct(file)))
    }

    @Test func `lost connections and crashes of the server lose and double nothing`() throws {
        let broker = try BrokerProcess(.noida)
        let (topic, changes) = ("events-\(schema)", "changes-\(schema)")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] { try admin.createTopic(NewTopic(name, partitions: 1)) }
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(12_000, seed: 22, to: file)
        let kafka = ["--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
        try #require(try Program.run(["replay", file, "--to-kafka", topic] + kafka).status == 0)
        let settings = [
            "topics=\(topic)", "kafka.group.id=\(schema)", "notifications.topic=\(changes)", "http.port=0",
            "chunk.maxBacklogOperations=1",
        ]
        let all = settings.flatMap { ["--set", $0] } + kafka + storeURL
        // The socket of requests stands in the folder of the path.
        let environment = ["INGEST_STORE_PATH": workspace.path("socket/none.sqlite")]
        let program = try Program(["run"] + all, environment: environment)
        for round in 1...4 {
            try program.wait(for: "a part", limitSeconds: 120) { position() > round * 2_000 }
            if round % 2 == 0 {
                try server.crash()
            } else {
                _ = try server.query(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'ingest'")
            }
        }
        try program.wait(for: "the end of the topic", limitSeconds: 120) { position() == 12_000 }
        let put = try Program.run(["history", "cursors", "put", "reader", "1"] + all, environment: environment)
        #expect(put.status == 0, "\(put.errors)")
        program.send(SIGTERM)
        let ended = try program.wait()
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.errors.contains("store.disconnected"), "no failure came between")
        #expect(try dump(storeURL) == dump(direct(file)))
        #expect(try server.query("SELECT token FROM \(schema)._cursor WHERE name = 'reader'") == "1")
        // Tokens have no gap, and each transaction was notified.
        let tokens = try server.query(
            """
            SELECT count(*), max(token), (SELECT max(token) FROM \(schema)._cursor WHERE name <> 'reader') \
            FROM \(schema)._history_transaction
            """
        ).split(separator: "|")
        #expect(tokens.count == 3 && Set(tokens).count == 1, "\(tokens)")
    }

    @Test func `a second worker is refused while the first one writes`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(20_000, seed: 23, to: file)
        let first = try Program(["replay", file, "--set", "chunk.maxBacklogOperations=1"] + storeURL)
        try wait(for: "the first chunk", everyMilliseconds: 5) { position() > 0 || !first.isRunning }
        first.send(SIGSTOP)
        let second = try Program.run(["replay", file] + storeURL)
        first.send(SIGCONT)
        #expect(second.status == 69 && second.errors.contains("store.leased"), "\(second.errors)")
        #expect(try first.wait().status == 0)
    }

    @Test func `damage is found, and mended with history`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(2_000, seed: 24, to: file)
        try #require(try Program.run(["replay", file] + storeURL).status == 0)
        let sound = try Program.run(["verify"] + storeURL)
        #expect(sound.status == 0 && sound.output.contains("The store is sound."), "\(sound.output)\(sound.errors)")
        _ = try server.query("UPDATE \(schema).\"Chat\" SET \"messagesCount\" = \"messagesCount\" + 1")
        let damaged = try Program.run(["verify"] + storeURL)
        #expect(damaged.status == 65 && damaged.output.contains("messagesCount"), "\(damaged.output)")
        let mended = try Program.run(["verify", "--repair"] + storeURL)
        #expect(mended.status == 0, "\(mended.output)\(mended.errors)")
        #expect(try server.query("SELECT count(*) > 0 FROM \(schema)._history WHERE author = 'verify'") == "t")
        #expect(try dump(storeURL) == dump(direct(file)))
    }

    @Test func `a wrong URL ends the program with a remedy and without its password`() throws {
        let password = "hunter2-is-secret"
        let causes: [(String, Int32, String)] = [
            ("postgres://user:\(password)@127.0.0.1:1/database", 69, "Could not connect to"),
            ("mysql://user:\(password)@127.0.0.1/database", 78, "is no URL of a PostgreSQL database"),
            ("\(server.url)&schema=\(String(repeating: "s", count: 64))", 78, "is no URL of a PostgreSQL database"),
        ]
        for (url, status, text) in causes {
            let result = try Program.run(["history", "list", "--set", "store.url=\(url)"])
            #expect(result.status == status && result.errors.contains(text), "\(result.errors)")
            #expect(!result.errors.contains(password) && !result.output.contains(password))
        }
        let none = try Program.run(["history", "list"] + storeURL)
        #expect(none.status == 69 && none.errors.contains("There is no store at"), "\(none.errors)")
        for command in [["migrate", "--dry-run"], ["run", "--rebuild"]] {
            let refused = try Program.run(command + storeURL)
            #expect(refused.status == 69 && refused.errors.contains("store.unavailable"), "\(refused.errors)")
        }
    }
}

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

    private func dump(_ arguments: [String]) throws -> Substring { try Program.contents(ofStore: arguments) }

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
            try program.wait(for: "a part") { position() > round * 2_000 }
            if round % 2 == 0 {
                try server.crash()
            } else {
                _ = try server.query(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'ingest'")
            }
        }
        try program.wait(for: "the end of the topic") { position() == 12_000 }
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
        try first.expectGoodEnd()
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

    @Test func `a copy of a store in SQLite is whole or not there, and goes on where the file was`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(12_000, seed: 25, to: file)
        let path = workspace.path("direct.sqlite")
        // A part of the file is read into SQLite, and the rest into the copy.
        let start = try Program(
            ["replay", file, "--set", "store.path=\(path)", "--set", "chunk.maxBacklogOperations=1"])
        let position = "SELECT coalesce(max(nextOffset), 0) FROM _position"
        try start.wait(for: "a part") {
            (try? Foreign.sqlite(path, position)).flatMap { Int($0) } ?? 0 > 4_000
        }
        try start.crash()
        let copy = ["copy", "--from", path] + storeURL
        let killed = try Program(copy)
        let isCopying = """
            SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ingest' AND xact_start IS NOT NULL
            """
        try wait(for: "the copy", everyMilliseconds: 2) {
            (try? server.query(isCopying)) != "0" || !killed.isRunning
        }
        try killed.crash()
        let left = "SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'"
        try wait(for: "the end of its connection") { (try? server.query(isCopying)) == "0" }
        #expect(try server.query(left) == "0")
        let whole = try Program.run(copy)
        #expect(whole.status == 0 && whole.errors.contains("_history_change: "), "\(whole.errors)")
        let settings = ["--set", "store.path=\(path)"]
        #expect(try dump(storeURL) == dump(settings))
        let verified = try Program.run(["verify"] + storeURL)
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        let again = try Program.run(copy)
        #expect(again.status == 69 && again.errors.contains("There is a store at"), "\(again.errors)")
        #expect(try Program.run(["replay", file] + storeURL).status == 0)
        #expect(try Program.run(["replay", file] + settings).status == 0)
        #expect(try dump(storeURL) == dump(settings))
        let into = try Program.run(["copy", "--from", path] + settings)
        #expect(into.status == 69 && into.errors.contains("store.url"), "\(into.errors)")
    }

    @Test func `a role has the rights that were granted last`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(100, seed: 29, to: file)
        try #require(try Program.run(["replay", file] + storeURL).status == 0)
        _ = try server.query("CREATE ROLE analyst LOGIN")
        let url = server.url.replacing("postgres@", with: "analyst@") + "&schema=\(schema)"
        let asAnalyst = ["--set", "store.url=\(url)"]
        func grant(_ rights: String) throws {
            let result = try Program.run(["grant", rights, "analyst"] + storeURL)
            #expect(result.status == 0, "\(result.errors)")
        }
        func may(_ sql: String) -> Bool { (try? server.query("SET ROLE analyst; \(sql)")) != nil }
        let records = "SELECT key, value, headers FROM \(schema)._dead_letter"
        #expect(!may("SELECT * FROM \(schema)._history"))
        try grant("reader")
        #expect(may("SELECT * FROM \(schema)._history") && may("SELECT * FROM \(schema).\"Chat_readable\""))
        #expect(may("SELECT code, reason FROM \(schema)._dead_letter") && !may(records))
        #expect(!may("DELETE FROM \(schema)._cursor"))
        #expect(try Program.run(["history", "list"] + asAnalyst).status == 0)
        let refused = try Program.run(["replay", file, "--restart"] + asAnalyst)
        #expect(refused.status == 69 && refused.errors.contains("may not write it"), "\(refused.errors)")
        try grant("inspector")
        #expect(may(records) && !may("DELETE FROM \(schema)._cursor"))
        try grant("writer")
        let more = workspace.path("more.jsonl")
        try Foreign.generateEvents(100, seed: 30, to: more)
        let written = try Program.run(["replay", more] + asAnalyst)
        #expect(written.status == 0, "\(written.errors)")
        try grant("reader")
        #expect(!may(records) && !may("DELETE FROM \(schema)._cursor"))
        let unknown = try Program.run(["grant", "reader", "nobody-here"] + storeURL)
        #expect(unknown.status == 69 && unknown.errors.contains("There is no role 'nobody-here'"), "\(unknown.errors)")
        #expect(try Program.run(["grant", "king", "analyst"] + storeURL).status == 64)
    }

    @Test func `a backup of pg_dump goes on where it was made`() throws {
        let (first, second) = (workspace.path("first.jsonl"), workspace.path("backup.sql"))
        try Foreign.generateEvents(2_000, seed: 26, to: first)
        try #require(try Program.run(["replay", first] + storeURL).status == 0)
        let before = try dump(storeURL)
        try server.backUp(schema, to: second)
        _ = try server.query("DROP SCHEMA \(schema) CASCADE")
        try server.restore(from: second)
        #expect(try dump(storeURL) == before)
        let verified = try Program.run(["verify"] + storeURL)
        #expect(verified.status == 0, "\(verified.output)")
        let more = workspace.path("more.jsonl")
        try Foreign.generateEvents(1_000, seed: 27, to: more)
        #expect(try Program.run(["replay", more] + storeURL).status == 0)
        _ = try direct(first)
        #expect(try dump(storeURL) == dump(direct(more)))
    }
}

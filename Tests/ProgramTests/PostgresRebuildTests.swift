import Foundation
import KafkaClient
import TestSupport
import Testing

/// `run --rebuild` with the store in a PostgreSQL server: the exchange of schemas, beside live workers and after kills.
@Suite(.serialized) struct PostgresRebuildTests {
    private let server: PostgresServer
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let schema: String
    private let topic = "events-\(UUID().uuidString.prefix(8))"
    private let changes = "changes-\(UUID().uuidString.prefix(8))"

    init() throws {
        server = try PostgresServer.shared.get()
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        schema = server.newSchema()
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        for name in [topic, changes] { try admin.createTopic(NewTopic(name, partitions: 1)) }
    }

    private var kafka: [String] {
        [
            "topics=\(topic)", "http.port=0", "notifications.topic=\(changes)",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)",
            "kafka.group.id=group", "kafka.session.timeout.ms=6000",
        ].flatMap { ["--set", $0] }
    }

    private func there(_ schema: String) -> [String] { ["--set", "store.url=\(server.url)&schema=\(schema)"] + kafka }

    private func here() -> [String] { ["--set", "store.path=\(workspace.path("direct.sqlite"))"] + kafka }

    /// The control sockets of workers that run beside each other stand in folders of their own.
    private func start(_ arguments: [String], killAt step: String? = nil) throws -> Program {
        var environment = ["INGEST_STORE_PATH": workspace.path("\(UUID().uuidString)/none.sqlite")]
        environment["INGEST_TEST_KILL_AT"] = step
        return try Program(arguments, environment: environment)
    }

    private func rebuild(_ extra: [String] = [], killAt step: String? = nil) throws -> Program {
        try start(["run", "--rebuild"] + there(schema) + extra, killAt: step)
    }

    private func identity(_ schema: String) -> String {
        (try? server.query("SELECT value FROM \(schema)._metadata WHERE key = 'storeID'")) ?? ""
    }

    private func position(_ schema: String) -> Int {
        let text = try? server.query("SELECT coalesce(max(\"nextOffset\"), 0) FROM \(schema)._position")
        return text.flatMap { Int($0) } ?? 0
    }

    private func send(_ count: Int, seed: Int) throws -> Int {
        let file = workspace.path("events-\(seed).jsonl")
        try Foreign.generateEvents(count, seed: seed, to: file)
        try #require(try Program.run(["replay", file, "--to-kafka", topic] + kafka).status == 0)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        return Int(try admin.watermarks(TopicPartition(topic, 0)).high)
    }

    private func replay(_ store: [String]) throws {
        let result = try Program.run(["replay", "--topic", topic] + store)
        try #require(result.status == 0, "\(result.errors)")
    }

    private func expectSound(_ schema: String) throws {
        let result = try Program.run(["verify"] + there(schema))
        #expect(result.status == 0, "\(result.output)\(result.errors)")
    }

    private func stop(_ program: Program) throws {
        program.send(SIGTERM)
        let ended = try program.wait()
        #expect(ended.status == 0, "\(ended.errors.suffix(2000))")
    }

    @Test func `a live worker is fenced and the new store has its rights and views`() throws {
        let shared = ["--set", "store.writers=many"]
        var count = try send(1_500, seed: 1)
        let live = try start(["run"] + there(schema) + shared)
        try live.wait(for: "the old store") { position(schema) == count }
        let old = identity(schema)
        let role = "reader_\(schema)"
        _ = try server.query("CREATE ROLE \(role)")
        try #require(try Program.run(["grant", "reader", role] + there(schema)).status == 0)
        _ = try server.query("CREATE VIEW \(schema)_chats AS SELECT id FROM \(schema).\"Chat\"")
        _ = try server.query("CREATE MATERIALIZED VIEW \(schema)_ids AS SELECT id FROM \(schema).\"Chat\"")

        let rebuild = try rebuild(shared)
        try rebuild.wait(for: "the new store in its place") { identity(schema) != old && !identity(schema).isEmpty }
        count = try send(500, seed: 2)
        let fenced = try live.wait()
        #expect(fenced.status == 75 && fenced.errors.contains("store.fenced"), "\(fenced.errors.suffix(2000))")
        try rebuild.wait(for: "the records that came after") { position(schema) == count }
        try rebuild.wait(for: "readiness") { try rebuild.get("/readyz")?.status == 200 }
        let warning = "a view of another schema still reads the old store"
        #expect(rebuild.errors.contains(warning) && rebuild.errors.contains("\(schema)_ids"))
        try stop(rebuild)

        #expect(
            try server.query("SELECT count(*) FROM \(schema)_chats")
                == server.query("SELECT count(*) FROM \(schema).\"Chat\""))
        let counted = try server.query("SET ROLE \(role); SELECT count(*) > 0 FROM \(schema).\"Chat_readable\"")
        #expect(counted == "SET\nt")
        #expect(throws: (any Error).self) {
            try server.query("SET ROLE \(role); SELECT value FROM \(schema)._dead_letter")
        }
        // The fenced worker notifies nothing of the store that has come to stand in the place of its own.
        let told = try Kcat.run(["-C", "-b", broker.bootstrapServers, "-t", changes, "-e", "-q"]).split(separator: "\n")
            .filter { $0.contains(old) }
        let tokens = told.compactMap { $0.firstMatch(of: /"token":(\d+)/).flatMap { Int($0.1) } }
        let last = try server.query("SELECT max(token) FROM \(schema)_before_rebuild._history_transaction")
        #expect(try #require(tokens.max()) <= #require(Int(last)))
        #expect(identity("\(schema)_before_rebuild") == old && identity("\(schema)_rebuild").isEmpty)
        try expectSound(schema)
        try replay(here())
        #expect(try Program.contents(ofStore: there(schema)) == Program.contents(ofStore: here()))
        let again = try self.rebuild()
        try again.wait(for: "readiness") { try again.get("/readyz")?.status == 200 }
        #expect(again.errors.contains("the store was rebuilt already"))
        try stop(again)
    }

    @Test func `killed at each step it leaves the old store whole or the new one`() throws {
        let count = try send(8_000, seed: 3)
        try replay(here())
        let expected = try Program.contents(ofStore: here())
        try replay(there(schema))
        var old = identity(schema)
        let isOver = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ingest'"
        let reading = try rebuild(["--set", "commit.maxRows=100"])
        try reading.wait(for: "a part") { position("\(schema)_rebuild") > 500 }
        let second = try rebuild().wait()
        #expect(second.status == 69 && second.errors.contains("store.leased"), "\(second.errors)")
        try reading.crash()
        #expect(identity(schema) == old && position("\(schema)_rebuild") < count)
        let begun = identity("\(schema)_rebuild")
        for step in ["taken", "closed", "renamed", "exchanged"] {
            try wait(for: "the end of its connections") { (try? server.query(isOver)) == "0" }
            let killed = try rebuild(killAt: step)
            let end = try killed.wait()
            #expect(end.status == SIGKILL, "\(step): \(end.errors.suffix(1000))")
            if step == "exchanged" { break }
            #expect(identity(schema) == old && identity("\(schema)_rebuild") == begun, "\(step)")
        }
        #expect(identity(schema) == begun && identity("\(schema)_before_rebuild") == old)
        #expect(try Program.contents(ofStore: there(schema)) == expected)
        try expectSound(schema)
        try expectSound("\(schema)_before_rebuild")
        // With other settings it is rebuilt once more, and replaces the store that was kept.
        old = begun
        let next = try rebuild(["--set", "limits.maxRecordBytes=900000"])
        try next.wait(for: "the next store") { identity("\(schema)_before_rebuild") == old }
        try next.wait(for: "readiness") { try next.get("/readyz")?.status == 200 }
        try stop(next)
        #expect(try Program.contents(ofStore: there(schema)) == expected)
    }

    @Test func `what stands in the way is told`() throws {
        _ = try send(100, seed: 4)
        let file = workspace.path("events-4.jsonl")
        try #require(try Program.run(["replay", file] + there(schema)).status == 0)
        let partial = try rebuild().wait()
        #expect(partial.status == 65 && partial.errors.contains("was replayed into it"), "\(partial.errors)")
        try replay(there("\(schema)_rebuild"))
        let foreign = try rebuild(["--allow-partial"]).wait()
        #expect(foreign.status == 78, "\(foreign.errors)")
        #expect(foreign.errors.contains("Drop the schema \(schema)_rebuild"), "\(foreign.errors)")
        _ = try server.query("DROP SCHEMA \(schema)_rebuild CASCADE")
        // Somebody reads a store that the exchange would remove.
        try replay(there("\(schema)_before_rebuild"))
        _ = try server.query("CREATE VIEW \(schema)_kept AS SELECT id FROM \(schema)_before_rebuild.\"Chat\"")
        let old = identity(schema)
        let kept = try rebuild(["--allow-partial"]).wait()
        #expect(kept.status == 69 && kept.errors.contains("rest on the schema"), "\(kept.errors)")
        #expect(identity(schema) == old)
        // Somebody keeps a table of his own there.
        let notes = "\(schema)_before_rebuild.notes"
        _ = try server.query("DROP VIEW \(schema)_kept; CREATE TABLE \(notes) AS SELECT 'mine' AS text")
        let held = try rebuild(["--allow-partial"]).wait()
        #expect(held.status == 69 && held.errors.contains("rest on the schema"), "\(held.errors)")
        #expect(try server.query("SELECT text FROM \(notes)") == "mine")
        _ = try server.query("DROP TABLE \(notes)")
        let allowed = try rebuild(["--allow-partial"])
        try allowed.wait(for: "the new store") { identity("\(schema)_before_rebuild") == old }
        try stop(allowed)
    }
}

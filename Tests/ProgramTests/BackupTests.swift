import Foundation
import KafkaClient
import TestSupport
import Testing

/// `backup` beside a worker that reads a real broker, and the way back.
@Suite(.serialized) struct BackupTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func store(_ path: String) -> [String] { ["--set", "store.path=\(path)"] }

    private func run(_ arguments: [String], status: Int32 = 0) throws -> Program.Result {
        let result = try Program.run(arguments)
        try #require(result.status == status, "\(arguments): \(result.output)\(result.errors)")
        return result
    }

    /// The sample has two records that become dead letters.
    private func fill(_ store: [String]) throws {
        _ = try run(["replay", "--restart", "--allow-dead-letters", "samples/chat-events.jsonl"] + store)
    }

    private func dump(_ store: [String]) throws -> String {
        _ = try run(["verify"] + store)
        let text = try run(["verify", "--dump"] + store).output
        try #require(text.count > 1000)
        return text
    }

    private func position(_ path: String) -> Int { Foreign.position(ofStore: path) }

    // MARK: Beside a worker

    @Test func `a backup is taken while the worker writes, and a restored one goes on from its positions`() throws {
        let broker = try BrokerProcess(.noida)
        let topic = "events-\(UUID().uuidString.prefix(8))"
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic(topic, partitions: 1, replicationFactor: 1))
        let (count, file, path) = (30_000, workspace.path("events.jsonl"), workspace.path("store.sqlite"))
        try Foreign.generateEvents(count, seed: 11, to: file)
        let kafka = ["--set", "kafka.bootstrap.servers=\(broker.bootstrapServers)"]
        _ = try run(["replay", file, "--to-kafka", topic] + kafka)
        let live =
            ["run", "--set", "topics=\(topic)", "--set", "notifications.topic=", "--set", "http.port=0"] + kafka
            + ["--set", "commit.maxRows=500"] + store(path)
        let worker = try Program(live + ["--set", "kafka.group.id=first"])
        try worker.wait(for: "the first commits") { position(path) > 0 }
        let backup = workspace.path("backup.sqlite")
        let taken = try run(["backup", backup, "--json"] + store(path)).output
        #expect(taken.contains("\"verified\":true") && taken.contains("\"topic\":\"\(topic)\""), "\(taken)")
        let held = position(backup)
        #expect(taken.contains("\"nextOffset\":\(held)}") && held > 0, "\(taken)")
        try worker.wait(for: "all records") { position(path) == count }
        // The broker has gone on, and the store is lost.
        try worker.crash()
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        _ = try run(["restore", backup] + store(path))
        let restored = try Program(live + ["--set", "kafka.group.id=second"])
        try restored.wait(for: "all records again") { position(path) == count }
        restored.send(SIGTERM)
        try restored.expectGoodEnd()
        let direct = workspace.path("direct.sqlite")
        _ = try run(["replay", file] + store(direct))
        for store in [store(path), store(direct)] { _ = try run(["verify"] + store) }
        #expect(try Program.contents(ofStore: store(path)) == Program.contents(ofStore: store(direct)))
    }

    // MARK: The file

    @Test func `a backup equals the store, is its owner's alone, and nobody holds its lease`() throws {
        let (path, backup) = (workspace.path("store.sqlite"), workspace.path("backup.sqlite"))
        try fill(store(path))
        // A lease that does not end soon is no part of the copy.
        _ = try Foreign.sqlite(path, "UPDATE _lease SET expires = 9000000000000000", writing: true)
        let said = try run(["backup", backup] + store(path)).output
        #expect(said.contains("verified") && said.contains(backup), "\(said)")
        #expect(try dump(store(backup)) == dump(store(path)))
        let mode = try FileManager.default.attributesOfItem(atPath: backup)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try Foreign.sqlite(backup, "SELECT expires FROM _lease") == "0")
        #expect(try leftovers() == ["backup.sqlite", "store.sqlite"])
        try fill(store(backup))
    }

    private func leftovers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: workspace.path(""))
            .filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
    }

    @Test func `an existing file, a missing folder and a missing store are refused`() throws {
        let path = workspace.path("store.sqlite")
        try fill(store(path))
        let taken = try workspace.write("mine", to: "taken")
        let existing = try run(["backup", taken] + store(path), status: 69)
        #expect(existing.errors.contains("There is a file at \(taken) already"), "\(existing.errors)")
        #expect(try String(contentsOfFile: taken, encoding: .utf8) == "mine")
        let folder = try run(["backup", workspace.path("none/backup")] + store(path), status: 69)
        #expect(folder.errors.contains("Check that its folder exists"), "\(folder.errors)")
        let nothing = try run(["backup", workspace.path("new")] + store(workspace.path("none.sqlite")), status: 69)
        #expect(nothing.errors.contains("There is no store at"), "\(nothing.errors)")
        #expect(try leftovers() == ["store.sqlite", "taken"])
    }

    @Test func `a store with problems gives no backup unless the verification is left out`() throws {
        let (path, backup) = (workspace.path("store.sqlite"), workspace.path("backup.sqlite"))
        try fill(store(path))
        _ = try Foreign.sqlite(path, "UPDATE Chat SET membersCount = 99", writing: true)
        let refused = try run(["backup", backup] + store(path), status: 69)
        #expect(refused.errors.contains("--no-verify") && refused.errors.contains("store.corrupt"), "\(refused.errors)")
        #expect(try leftovers() == ["store.sqlite"])
        let kept = try run(["backup", backup, "--no-verify"] + store(path)).output
        #expect(kept.contains("not verified"))
        #expect(try leftovers() == ["backup.sqlite", "store.sqlite"])
    }

    @Test func `a store gives a backup though a tightened model forbids its objects`() throws {
        let (path, backup) = (workspace.path("store.sqlite"), workspace.path("backup.sqlite"))
        func model(_ limit: String) throws -> [String] {
            let text = """
                model: notes
                entities:
                  Note:
                    identity: id
                    attributes: { id: { type: string }, text: { type: string\(limit) } }
                """
            return ["--set", "model=\(try workspace.write(text, to: "model.yaml"))"] + store(path)
        }
        let events = try workspace.write(#"{"type":"note.upserted","data":{"id":"n","text":"long"}}"#, to: "e.jsonl")
        _ = try run(["replay", events] + model(""))
        let tightened = try model(", maxLength: 3")
        let found = try run(["verify"] + tightened, status: 65)
        #expect(found.output.contains("Note n.text") && found.errors.contains("Nothing is damaged"), "\(found.errors)")
        #expect(try run(["backup", backup] + tightened).output.contains(", verified"))
    }

    @Test func `what a killed backup left is no hindrance, and one of two at once is refused`() throws {
        let (path, backup) = (workspace.path("store.sqlite"), workspace.path("backup.sqlite"))
        try fill(store(path))
        _ = try workspace.write("half", to: "backup.sqlite.partial")
        let lock = open(backup + ".lock", O_CREAT | O_RDWR, 0o600)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let second = try run(["backup", backup] + store(path), status: 69)
        #expect(second.errors.contains("Another process writes the backup"), "\(second.errors)")
        close(lock)
        _ = try run(["backup", backup] + store(path))
        #expect(try dump(store(backup)) == dump(store(path)))
    }

    // MARK: A server

    @Test func `a store in PostgreSQL becomes a file, which 'copy --from' brings into a new schema`() throws {
        let server = try PostgresServer.shared.get()
        let backup = workspace.path("backup.sqlite")
        let (there, back) = (server.newSchema(), server.newSchema())
        func schema(_ name: String) -> [String] { ["--set", "store.url=\(server.url)&schema=\(name)"] }
        try fill(schema(there))
        _ = try run(["backup", backup] + schema(there))
        #expect(try dump(store(backup)) == dump(schema(there)))
        _ = try run(["copy", "--from", backup] + schema(back))
        #expect(try dump(schema(back)) == dump(schema(there)))
    }
}

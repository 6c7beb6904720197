import Foundation
import TestSupport
import Testing

/// Administration of a worker that runs: over HTTP, by commands, and by SIGHUP.
@Suite(.serialized) struct AdministrationRunTests {
    private static let token = "an-operators-token-0123"
    private let broker: BrokerProcess
    private let workspace: Workspace
    private let store: String

    init() throws {
        broker = try BrokerProcess(.noida)
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        try broker.makeTopic()
    }

    private func configuration(_ aliases: String = "{}", _ more: String = "") throws -> String {
        try workspace.write(
            """
            topics:
              - name: events
                routes: [{ type: message.upserted, entity: Message, aliases: \(aliases) }]
            store: { path: "\(store)" }
            notifications: { topic: null }
            kafka: { bootstrap.servers: "\(broker.bootstrapServers)", session.timeout.ms: 6000 }
            http: { port: 0 }
            backup: { folder: "\(workspace.path("backups"))" }
            \(more)
            """, to: "worker.yaml")
    }

    private func start(_ config: String, group: String, settings: [String] = []) throws -> Program {
        let program = try Program(
            ["run", "--config", config, "--set", "kafka.group.id=\(group)"] + settings.flatMap { ["--set", $0] },
            environment: ["INGEST_HTTP_OPERATOR_TOKEN": Self.token])
        try program.wait(for: "the HTTP server") { program.errors.contains("http://127.0.0.1:") }
        return program
    }

    private func post(
        _ name: String, _ body: String, key: String? = nil, to program: Program
    ) throws -> (status: Int, body: String)? {
        var headers = ["Content-Type": "application/json", "Authorization": "Bearer \(Self.token)"]
        headers["Idempotency-Key"] = key
        return try program.get("/admin/\(name)", body: body, headers: headers)
    }

    /// Sends a retry of all dead letters, and does not wait for the answer.
    private func startRetry(key: String, of program: Program) throws -> Process {
        let address = try #require(program.errors.matches(of: /http:\/\/127\.0\.0\.1:\d+/).last).0
        let client = Process()
        client.executableURL = URL(filePath: "/usr/bin/env")
        client.arguments = [
            "python3", "-c",
            """
            import sys, urllib.request
            headers = {"Content-Type": "application/json", "Authorization": sys.argv[2], "Idempotency-Key": sys.argv[3]}
            try: urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=b"{}", headers=headers), timeout=60)
            except Exception: pass
            """, "\(address)/admin/dead-letters/retry", "Bearer \(Self.token)", key,
        ]
        try client.run()
        return client
    }

    private func stop(_ program: Program) throws {
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }

    @Test(.timeLimit(.minutes(60)))
    func `a worker that is killed in a request over HTTP goes on with it by its key, and does nothing twice`() throws {
        let letters = 400
        let config = try configuration()
        try broker.send((0..<letters).map { BrokerProcess.message("late-\($0)", text: "text") })
        let first = try start(config, group: "first", settings: ["chunk.maxOperations=1"])
        try first.waitForPosition(letters, of: store)
        try stop(first)
        let mended = try configuration("{ text: body }")
        let killed = try start(mended, group: "second", settings: ["chunk.maxOperations=1"])
        // The request is on its way when the worker dies under it.
        let client = try startRetry(key: "night", of: killed)
        defer { client.waitUntilExit() }
        try killed.wait(for: "some letters") { Foreign.value(store, "SELECT count(*) FROM _dead_letter") < letters }
        try killed.crash()
        let left = Foreign.value(store, "SELECT count(*) FROM _dead_letter")
        #expect(left > 0, "the retry was over before the kill")
        #expect(left + Foreign.value(store, "SELECT count(*) FROM Message") == letters)
        #expect(
            try Program.run(["audit", "--config", mended]).output.contains("unfinished: {\"tried\":\(letters - left),"))

        let last = try start(mended, group: "third")
        let answer = try #require(try post("dead-letters/retry", "{}", key: "night", to: last))
        #expect(answer.status == 200)
        #expect(answer.body.contains("\"tried\":\(letters),\"applied\":\(letters),"), "\(answer.body)")
        #expect(try post("dead-letters/retry", "{}", key: "night", to: last)?.body == answer.body)
        #expect(Foreign.value(store, "SELECT count(*) FROM _dead_letter") == 0)
        let made = "FROM _history WHERE entity = 'Message' AND change = 'insert'"
        #expect(Foreign.value(store, "SELECT count(*) \(made)") == letters)
        #expect(Foreign.value(store, "SELECT count(*) FROM _audit") == 1)
        try stop(last)
    }

    @Test func `a worker whose store was removed writes no more, and says so`() throws {
        let program = try start(try configuration(), group: "removed")
        try program.wait(for: "the store") { FileManager.default.fileExists(atPath: store + "-wal") }
        for suffix in ["", "-wal", "-shm"] { unlink(store + suffix) }
        let result = try program.wait()
        #expect(result.status == 69 && result.errors.contains("was removed or exchanged"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func `backups go into their folder only, by command and by HTTP, and each is sound`() throws {
        let config = try configuration()
        try broker.send((0..<50).map { BrokerProcess.message("m\($0)") })
        // What a killed backup has left goes with the next one; what a process writes stays.
        let folder = workspace.path("backups")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let name = URL(filePath: store).deletingPathExtension().lastPathComponent
        for half in ["killed.sqlite.partial", "killed.sqlite.partial-wal", "copied.sqlite.partial.copying"] {
            _ = try workspace.write("half", to: "backups/\(name)-\(half)")
        }
        for half in ["\(name)-busy.sqlite", "segment"] {
            _ = try workspace.write("half", to: "backups/\(half).partial")
        }
        let lock = open("\(folder)/\(name)-busy.sqlite.lock", O_CREAT | O_RDWR, 0o600)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        defer { close(lock) }
        let program = try start(config, group: "first")
        try program.waitForPosition(50, of: store)
        let asked = try Program.run(["backup", "--json", "--config", config])
        #expect(asked.status == 0 && asked.errors.contains("asked the worker"), "\(asked.errors)")
        let first = try #require(try post("backup", "{}", key: "one", to: program))
        #expect(try post("backup", "{}", key: "one", to: program)?.body == first.body)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.contains(".partial") }
        #expect(Set(left) == ["\(name)-busy.sqlite.partial", "segment.partial"])
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sqlite") }
        #expect(files.count == 2, "\(files)")
        for file in files {
            #expect(try Foreign.run("stat", ["-c", "%a", "\(folder)/\(file)"]) == "600\n")
            #expect(try Foreign.sqlite("\(folder)/\(file)", "SELECT count(*) FROM Message") == "50")
            #expect((asked.output + first.body).contains(file))
        }
        try stop(program)
        let alone = try Program.run(["backup", "--config", config])
        #expect(alone.status == 0 && alone.errors.contains("opened the store"), "\(alone.errors)")
        let none = try Program.run(["backup", "--set", "store.path=\(store)"])
        #expect(none.status == 78 && none.errors.contains("control.no_backup_folder"), "\(none.errors)")
    }

    @Test func `at SIGHUP the worker takes other routes, and goes on with its own if they are wrong`() throws {
        let config = try configuration()
        try broker.send([BrokerProcess.message("a", text: "text")])
        let program = try start(config, group: "first")
        try program.waitForPosition(1, of: store)
        #expect(Foreign.value(store, "SELECT count(*) FROM _dead_letter") == 1)

        _ = try configuration("{ text: nowhere }")
        program.send(SIGHUP)
        try program.wait(for: "the refusal") { program.errors.contains("the configuration is wrong") }
        _ = try configuration("{ text: body }", "shutdown: { drainSeconds: 9 }\nlog: { level: debug }")
        program.send(SIGHUP)
        try program.wait(for: "the change") { program.errors.contains("the worker has taken the configuration") }
        for line in ["setting=topics", "from=info setting=log.level to=debug"] {
            #expect(program.errors.contains(line), "\(line)")
        }
        #expect(program.errors.contains("shutdown.drainSeconds"), "\(program.errors)")
        try broker.send([BrokerProcess.message("b", text: "text")])
        try program.waitForPosition(2, of: store)
        #expect(Foreign.value(store, "SELECT count(*) FROM Message") == 1)
        let retried = try Program.run(["dead-letters", "retry", "--config", config])
        #expect(retried.status == 0, "\(retried.errors)")
        #expect(Foreign.value(store, "SELECT count(*) FROM Message") == 2)
        try stop(program)
    }
}

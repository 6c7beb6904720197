import Foundation
import TestSupport
import Testing

/// Requests and commands under which the process dies: nothing is lost, nothing is done twice, and the audit has each.
@Suite(.serialized) struct KilledRequestTests {
    private static let token = "an-operators-token-0123"
    private let workspace: Workspace
    private let store: String
    private let config: String

    init() throws {
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        config = try workspace.write(
            """
            store: { path: "\(store)" }
            kafka: { bootstrap.servers: "127.0.0.1:1", group.id: killed }
            http: { port: 0 }
            notifications: { topic: null }
            backup: { folder: "\(workspace.path("backups"))" }
            """, to: "worker.yaml")
        let made = try Program.run(["replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--config", config])
        try #require(made.status == 0, "\(made.errors)")
    }

    /// A worker needs no broker to be administered.
    private func start() throws -> Program {
        let program = try Program(["run", "--config", config], environment: ["INGEST_HTTP_OPERATOR_TOKEN": Self.token])
        try program.wait(for: "the HTTP server") { program.errors.contains("http://127.0.0.1:") }
        return program
    }

    private func ask(_ name: String, _ body: String, of program: Program) throws -> String {
        let headers = [
            "Content-Type": "application/json", "Authorization": "Bearer \(Self.token)", "Idempotency-Key": "night",
        ]
        let answer = try #require(try program.get("/admin/\(name)", body: body, headers: headers))
        #expect(answer.status == 200, "\(answer.body)")
        return answer.body
    }

    /// Sends a request with the same key, and kills the worker when something holds.
    private func kill(
        during name: String, _ body: String, when holds: @escaping () throws -> Bool
    ) throws {
        let killed = try start()
        let address = try #require(killed.errors.matches(of: /http:\/\/127\.0\.0\.1:\d+/).last).0
        let client = Process()
        client.executableURL = URL(filePath: "/usr/bin/curl")
        client.arguments = [
            "-s", "-o", "/dev/null", "-H", "Content-Type: application/json", "-H",
            "Authorization: Bearer \(Self.token)",
            "-H", "Idempotency-Key: night", "-d", body, "\(address)/admin/\(name)",
        ]
        try client.run()
        defer { client.waitUntilExit() }
        try killed.wait(for: "the middle of \(name)", until: holds)
        try killed.crash()
    }

    private func value(_ sql: String) -> Int { Foreign.value(store, sql) }
    private func audit() throws -> String { try Program.run(["audit", "--config", config]).output }

    private func stop(_ program: Program) throws {
        program.send(SIGTERM)
        try program.expectGoodEnd()
        let verified = try Program.run(["verify", "--config", config])
        #expect(verified.status == 0, "\(verified.output)")
    }

    @Test(.timeLimit(.minutes(60)))
    func `a worker that is killed in a purge goes on with it by its key, and counts each transaction once`() throws {
        let count = 300_000
        let first = value("SELECT max(token) FROM _history_transaction")
        let change = value("SELECT max(firstChange + changeCount) FROM _history_transaction")
        // They are as new as now: the worker itself removes old transactions.
        _ = try Foreign.sqlite(
            store,
            """
            WITH RECURSIVE n(i) AS (SELECT \(first + 1) UNION ALL SELECT i + 1 FROM n WHERE i < \(first + count)) \
            INSERT INTO _history_transaction (token, time, author, firstChange, changeCount) \
            SELECT i, strftime('%s', 'now') * 1000000, 'test', \(change), 0 FROM n;
            """, writing: true)
        let all = value("SELECT count(*) FROM _history_transaction")
        let request = #"{"beforeToken":\#(first + count + 1),"passesCursors":false}"#
        try kill(during: "history/purge", request) { value("SELECT count(*) FROM _history_transaction") < all }
        let left = value("SELECT count(*) FROM _history_transaction")
        try #require(left > 0, "the purge was over before the kill")
        let entry = try audit()
        #expect(entry.contains("unfinished: {\"transactions\":\(all - left),"), "\(entry)")

        let last = try start()
        let answer = try ask("history/purge", request, of: last)
        #expect(answer.contains("\"transactions\":\(all),"), "\(answer)")
        #expect(try ask("history/purge", request, of: last) == answer)
        #expect(value("SELECT count(*) FROM _history_transaction") == 0)
        #expect(value("SELECT count(*) FROM _audit WHERE action = 'history.purge'") == 1)
        try stop(last)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a worker that is killed in a backup leaves none, and the key makes one`() throws {
        _ = try Foreign.sqlite(
            store,
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO _dead_letter \
            (time, topic, partition, offset, stage, code, reason, value, valueBytes) \
            SELECT 1, 'events', 0, i, 'decode', 'json.syntax', 'r', randomblob(1000000), 1000000 FROM n;
            """, writing: true)
        let folder = workspace.path("backups")
        func files() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? [] }
        try kill(during: "backup", "{}") { files().contains { $0.contains(".partial") } }
        try #require(!files().contains { $0.hasSuffix(".sqlite") }, "the backup was over before the kill")
        let entry = try audit()
        #expect(entry.contains("backup {\"verify\":true}  unfinished"), "\(entry)")

        let last = try start()
        let answer = try ask("backup", "{}", of: last)
        #expect(answer.contains("\"verified\":true"), "\(answer)")
        #expect(try ask("backup", "{}", of: last) == answer)
        try #require(
            files().filter { $0.hasSuffix(".sqlite") }.count == 1 && !files().contains { $0.contains(".partial") })
        #expect(
            Foreign.value("\(folder)/\(files()[0])", "SELECT count(*) FROM _dead_letter WHERE value IS NOT NULL") >= 200
        )
        #expect(value("SELECT count(*) FROM _audit WHERE action = 'backup'") == 1)
        try stop(last)
    }

    @Test(.timeLimit(.minutes(60)))
    func `a repair that is killed is in the audit, and the next one mends the rest`() throws {
        let count = 60_000
        _ = try Foreign.sqlite(
            store,
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \
            INSERT INTO Chat (pk, id, title, membersCount, messagesCount) \
            SELECT (SELECT max(pk) FROM Chat) + i, 'added-' || i, 't', 0, 77 FROM n;
            UPDATE _sequence SET next = next + \(count) WHERE entity = 'Chat';
            """, writing: true)
        let wrong = "SELECT count(*) FROM Chat WHERE id LIKE 'added-%' AND messagesCount = 77"
        let killed = try Program(["verify", "--repair", "--config", config])
        try killed.wait(for: "the first repairs") { value(wrong) < count }
        try killed.crash()
        let left = value(wrong)
        try #require(left > 0, "the repair was over before the kill")
        let entry = try audit()
        #expect(entry.contains("verify --repair {}  unfinished"), "\(entry)")

        let mended = try Program.run(["verify", "--repair", "--json", "--config", config])
        #expect(mended.status == 0 && mended.output.contains("\"derivedObjects\":\(left)"), "\(mended.output)")
        let repairs = "FROM _history WHERE entity = 'Chat' AND change = 'update' AND identity LIKE 'added-%'"
        #expect(value("SELECT count(*) \(repairs)") == count)
        #expect(try audit().contains("verify --repair {}  done: {\"repaired\":\(left),\"remaining\":0}"))
    }
}

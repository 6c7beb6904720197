import Foundation
import TestSupport
import Testing

/// `restore` of a store in a PostgreSQL server: the restored schema takes the place of the old one in one transaction.
@Suite(.serialized) struct PostgresRestoreTests {
    private let server: PostgresServer
    private let workspace: Workspace
    private let schema: String
    private let backup: String
    /// The contents of the store as the backup has them.
    private let saved: Substring
    /// The contents of the store since.
    private let later: Substring

    /// Makes a store, a backup of it, and a change since.
    init() throws {
        server = try PostgresServer.shared.get()
        workspace = try Workspace()
        schema = server.newSchema()
        backup = workspace.path("backup.sqlite")
        let store = ["--set", "store.url=\(server.url)&schema=\(schema)"]
        let made = try StoreWithBackup(store, backup: backup, in: workspace, seeds: (5, 6))
        (saved, later) = (made.saved, made.later)
    }

    private func store(_ schema: String) -> [String] { ["--set", "store.url=\(server.url)&schema=\(schema)"] }

    private func contents(_ schema: String) throws -> Substring { try Program.contents(ofStore: store(schema)) }

    private func run(_ arguments: [String], status: Int32 = 0) throws -> Program.Result {
        try Program.run(arguments, status: status)
    }

    /// The other schemas whose names begin with that of the store.
    private func others() throws -> [String] {
        let list = "SELECT nspname FROM pg_namespace WHERE nspname LIKE '\(schema)\\_%' ORDER BY 1"
        return try server.query(list).split(separator: "\n").map { String($0) }
    }

    @Test func `a backup has the place of the store with its rights and views, and the old one another name`() throws {
        let role = "\(schema)_reader"
        _ = try server.query("CREATE ROLE \(role)")
        _ = try run(["grant", "reader", role] + store(schema))
        _ = try server.query("CREATE VIEW \(schema)_ids AS SELECT id FROM \(schema).\"Message\"")
        let said = try run(["restore", backup] + store(schema)).output
        let old = try #require(try others().first)
        #expect(said.contains("The replaced store is the schema \(old)\n") && old.contains("_backup_"), "\(said)")
        #expect(try contents(schema) == saved && contents(old) == later)
        _ = try run(["verify"] + store(schema))
        let count = try server.query("SELECT count(*) FROM \(schema).\"Message\"")
        #expect(try server.query("SELECT count(*) FROM \(schema)_ids") == count)
        #expect(try server.query("SET ROLE \(role); SELECT count(*) FROM \(schema).\"Message\"") == "SET\n\(count)")
        #expect(try run(["audit"] + store(schema)).output.contains("restore"))
        let lost = "history list --after".split(separator: " ").map { String($0) }
        let token = try server.query(
            """
            SELECT value || ':' || (SELECT max(token) FROM "\(old)"._history_transaction) FROM "\(old)"._metadata \
            WHERE key = 'storeID'
            """)
        #expect(try run(lost + [token] + store(schema), status: 65).errors.contains("history.forked"))
        _ = try run(["replay", workspace.path("second.jsonl")] + store(schema))
        #expect(try run(lost + [token] + store(schema), status: 65).errors.contains("history.forked"))
        #expect(try contents(schema) == later)
    }

    @Test func `without the old store only the restored one is there, also where there was none`() throws {
        let said = try run(["restore", backup, "--remove-old", "--json"] + store(schema)).output
        #expect(said.contains(#""kept":null,"leftViews":[]"#), "\(said)")
        #expect(try contents(schema) == saved && others().isEmpty)
        let empty = server.newSchema()
        _ = try run(["restore", backup] + store(empty))
        #expect(try contents(empty) == saved)
        #expect(try server.query("SELECT value <> '0' FROM \(empty)._metadata WHERE key = 'epoch'") == "t")
        // A view of somebody's own would lose its store.
        _ = try server.query("CREATE VIEW \(schema)_ids AS SELECT id FROM \(schema).\"Message\"")
        let rested = try run(["restore", backup, "--remove-old"] + store(schema), status: 69)
        #expect(rested.errors.contains("rest on the store") && rested.errors.contains("\(schema)_ids"))
    }

    @Test func `a backup of an older layout comes back, and a store of a newer one gives way`() throws {
        let downgrade = """
            DROP TABLE _audit; ALTER TABLE _history_transaction DROP COLUMN trace;
            ALTER TABLE _history_transaction DROP COLUMN epoch;
            UPDATE _metadata SET value = '3' WHERE key = 'formatVersion'
            """
        _ = try Foreign.sqlite(backup, downgrade, writing: true)
        _ = try server.query("UPDATE \(schema)._metadata SET value = '99' WHERE key = 'formatVersion'")
        _ = try run(["restore", backup] + store(schema))
        #expect(try contents(schema) == saved)
    }

    @Test(.timeLimit(.minutes(60)), arguments: [[], ["--remove-old"]])
    func `killed at each step it has happened wholly or not at all, and runs again`(_ options: [String]) throws {
        let isOver = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ingest'"
        for step in ["copied", "renamed", "exchanged"] {
            let killed = try Program(
                ["restore", backup] + options + store(schema), environment: ["INGEST_TEST_KILL_AT": step])
            #expect(try killed.wait().status == SIGKILL, "\(step): \(killed.errors)")
            try wait(for: "the end of its connections") { (try? server.query(isOver)) == "0" }
            #expect(try contents(schema) == (step == "exchanged" ? saved : later), "\(step)")
            _ = try run(["verify"] + store(schema))
            if step == "copied" { #expect(try others() == ["\(schema)_migration"]) }
        }
        _ = try run(["restore", backup] + options + store(schema))
        #expect(try contents(schema) == saved)
        let old = try others()
        let replaced = try old.map { try contents($0) }
        #expect(options.isEmpty ? replaced.contains(later) : old.isEmpty, "\(old)")
        #expect(!old.contains("\(schema)_migration"))
    }

    @Test func `a worker that writes the store is named, and what is no backup is refused`() throws {
        let worker = try Program(
            ["run", "--set", "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.port=0"] + store(schema),
            environment: ["INGEST_STORE_PATH": workspace.path("none.sqlite")])
        try worker.wait(for: "the lease") {
            (try? server.query("SELECT expires > 0 FROM \(schema)._lease")) == "t"
        }
        let refused = try run(["restore", backup] + store(schema), status: 69)
        #expect(refused.errors.contains("A worker writes the store") && refused.errors.contains("store.leased"))
        worker.send(SIGTERM)
        _ = try worker.wait()
        _ = try Foreign.sqlite(backup, "UPDATE Chat SET membersCount = 99", writing: true)
        let damaged = try run(["restore", backup] + store(schema), status: 69)
        #expect(damaged.errors.contains("membersCount: is 99"), "\(damaged.errors)")
        #expect(try contents(schema) == later && others().isEmpty)
    }
}

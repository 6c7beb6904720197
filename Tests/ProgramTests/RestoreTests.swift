import Foundation
import TestSupport
import Testing

/// `restore` of a store in a file: wholly or not at all, and only where the backup can be the store.
@Suite(.serialized) struct RestoreTests {
    private let workspace: Workspace
    private let path: String
    private let backup: String
    /// The contents of the store as the backup has them.
    private let saved: Substring
    /// The contents of the store since.
    private let later: Substring

    /// Makes a store, a backup of it, and a change since.
    init() throws {
        workspace = try Workspace()
        path = workspace.path("store.sqlite")
        backup = workspace.path("backup/backup.sqlite")
        try FileManager.default.createDirectory(atPath: workspace.path("backup"), withIntermediateDirectories: true)
        let made = try StoreWithBackup(["--set", "store.path=\(path)"], backup: backup, in: workspace, seeds: (3, 4))
        (saved, later) = (made.saved, made.later)
    }

    private func store(_ path: String) -> [String] { ["--set", "store.path=\(path)"] }

    private func contents(_ path: String) throws -> Substring { try Program.contents(ofStore: store(path)) }

    private func run(_ arguments: [String], status: Int32 = 0) throws -> Program.Result {
        try Program.run(arguments, status: status)
    }

    /// The names beside the store, but for its log.
    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
            .filter { $0.hasPrefix("store.sqlite") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
    }

    /// Where the replaced stores are.
    private func kept() throws -> [String] {
        try names().filter { $0.hasPrefix("store.sqlite.backup-") }.map { workspace.path($0) }
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    // MARK: The way back

    @Test func `a backup has the place of the store, and the replaced one the printed name`() throws {
        let file = try bytes(backup)
        // A log of the old store that no process has carried over.
        let reader = try SQLiteShell(path, "-readonly")
        _ = try reader.ask("SELECT count(*) FROM Message")
        let said = try run(["restore", backup] + store(path)).output
        let old = try #require(try kept().first)
        #expect(said.contains("The store at \(path) is that of \(backup), up to transaction"), "\(said)")
        #expect(said.contains("The replaced store is \(old)\n"), "\(said)")
        #expect(try contents(path) == saved && contents(old) == later)
        // A program that has the old file open keeps the old store.
        #expect(try reader.ask("SELECT count(*) FROM Message") == Foreign.sqlite(old, "SELECT count(*) FROM Message"))
        #expect(try bytes(backup) == file)
        for path in [path, old] { _ = try run(["verify"] + store(path)) }
        #expect(try names() == ["store.sqlite", (old as NSString).lastPathComponent])
        #expect(try run(["audit"] + store(path)).output.contains("restore"))
        // It goes on from the positions of the backup.
        _ = try run(["replay", workspace.path("second.jsonl")] + store(path))
        #expect(try contents(path) == later)
    }

    @Test func `without the old store only the restored one is there, also where there was none`() throws {
        let said = try run(["restore", backup, "--remove-old", "--json"] + store(path)).output
        #expect(said.contains(#""kept":null"#) && said.contains(#""topic":"file:"#), "\(said)")
        #expect(try contents(path) == saved && names() == ["store.sqlite"])
        let new = workspace.path("new/folder/store.sqlite")
        _ = try run(["restore", backup] + store(new))
        #expect(try contents(new) == saved)
        let made = try FileManager.default.contentsOfDirectory(atPath: workspace.path("new/folder"))
        #expect(Set(made).isSubset(of: ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm"]), "\(made)")
        // A start that was killed has left an empty file.
        let empty = try workspace.write("", to: "empty.sqlite")
        _ = try run(["restore", backup] + store(empty))
        #expect(try contents(empty) == saved)
    }

    @Test func `a link at the path stays, and the store that it leads to is replaced`() throws {
        let link = workspace.path("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        _ = try run(["restore", backup] + store(link))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try contents(path) == saved && kept().count == 1)
    }

    @Test func `a backup of an older layout is brought up to date, and stays as it is`() throws {
        let downgrade = """
            DROP TABLE _audit; ALTER TABLE _history_transaction DROP COLUMN trace;
            ALTER TABLE _history_transaction DROP COLUMN epoch;
            UPDATE _metadata SET value = '3' WHERE key = 'formatVersion'
            """
        _ = try Foreign.sqlite(backup, downgrade, writing: true)
        let file = try bytes(backup)
        _ = try run(["restore", backup] + store(path))
        #expect(try contents(path) == saved)
        #expect(try bytes(backup) == file)
    }

    @Test func `a store of a newer layout gives way to a backup of this one`() throws {
        _ = try Foreign.sqlite(path, "UPDATE _metadata SET value = '99' WHERE key = 'formatVersion'", writing: true)
        _ = try run(["verify"] + store(path), status: 78)
        _ = try run(["restore", backup] + store(path))
        #expect(try contents(path) == saved)
    }

    @Test func `a damaged store gives way, and stays beside the restored one whatever was asked`() throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.write(contentsOf: Data(repeating: 0x41, count: 8192))
        try file.close()
        try workspace.write("store.corrupt\n", to: "store.sqlite-suspect")
        let damaged = try bytes(path)
        _ = try run(["verify"] + store(path), status: 69)
        _ = try run(["restore", backup, "--remove-old"] + store(path))
        let old = try #require(try kept().first { !$0.hasSuffix("-suspect") })
        #expect(try contents(path) == saved && bytes(old) == damaged)
        #expect(try kept().contains("\(old)-suspect") && !names().contains("store.sqlite-suspect"))
    }

    // MARK: Tokens

    @Test func `a reader with a token from after the backup learns that its transaction is lost`() throws {
        func last() throws -> String { try Foreign.sqlite(path, "SELECT max(token) FROM _history_transaction") }
        func history(_ token: String, status: Int32) throws -> Program.Result {
            try run(["history", "list", "--after", token] + store(path), status: status)
        }
        let identity = try Foreign.sqlite(path, "SELECT value FROM _metadata WHERE key = 'storeID'")
        let shared = try Foreign.sqlite(backup, "SELECT max(token) FROM _history_transaction")
        let lost = try "\(identity):\(last())"
        for _ in 0..<2 {
            _ = try run(["restore", backup] + store(path))
            #expect(try history(lost, status: 65).errors.contains("up to transaction \(shared). "))
            // The numbers of the lost transactions come again, with other contents.
            _ = try run(["replay", workspace.path("second.jsonl")] + store(path))
            #expect(try history(lost, status: 65).errors.contains("history.forked"))
            #expect(try !history("\(identity):\(shared)", status: 0).output.isEmpty)
        }
        // Each restore begins an epoch of its own.
        let epochs = "SELECT value FROM _metadata WHERE key = 'epoch'"
        let numbers = try ([path] + kept()).compactMap { Int(try Foreign.sqlite($0, epochs)) }
        #expect(numbers.count == 2 && Set(numbers).count == 2, "\(numbers)")
        for old in try kept() where try !Foreign.sqlite(old, epochs).isEmpty {
            let token = try "\(identity):\(last())@\(Foreign.sqlite(old, epochs))"
            #expect(try history(token, status: 65).errors.contains("history.forked"))
        }
    }

    // MARK: Crashes

    @Test(.timeLimit(.minutes(60)), arguments: [[], ["--remove-old"]])
    func `killed at each step it has happened wholly or not at all, and runs again`(_ options: [String]) throws {
        for (index, step) in ["taken", "copied", "closed", "begun", "detached", "exchanged", "kept"].enumerated() {
            for name in try names() { try FileManager.default.removeItem(atPath: workspace.path(name)) }
            _ = try run(["replay", workspace.path("first.jsonl")] + store(path))
            _ = try run(["replay", workspace.path("second.jsonl")] + store(path))
            let killed = try Program(
                ["restore", backup] + options + store(path), environment: ["INGEST_TEST_KILL_AT": step])
            #expect(try killed.wait().status == SIGKILL, "\(step): \(killed.errors)")
            let isBegun = index >= 3
            if isBegun {
                // The next command that writes completes it.
                _ = try run(["history", "cursors", "put", "feed", "0"] + store(path))
                let left = try names().filter { $0 != "store.sqlite.rebuild.lock" }
                #expect(left.count == (options.isEmpty ? 2 : 1), "\(step): \(left)")
            }
            #expect(try contents(path) == (isBegun ? saved : later), "\(step)")
            #expect(try kept().map { try contents($0) } == (isBegun && options.isEmpty ? [later] : []), "\(step)")
            _ = try run(["restore", backup] + options + store(path))
            #expect(try contents(path) == saved, "\(step)")
            _ = try run(["verify"] + store(path))
            let old = try kept().map { try contents($0) }
            #expect(options.isEmpty ? old.contains(later) : old.isEmpty, "\(step)")
            #expect(try names().allSatisfy { $0 == "store.sqlite" || $0.hasPrefix("store.sqlite.backup-") }, "\(step)")
        }
    }

    // MARK: Refusals

    private func expectRefused(
        _ arguments: [String], status: Int32, _ words: String..., location: SourceLocation = #_sourceLocation
    ) throws {
        let result = try Program.run(["restore"] + arguments)
        #expect(result.status == status, "\(result.output)\(result.errors)", sourceLocation: location)
        for word in words { #expect(result.errors.contains(word), "\(result.errors)", sourceLocation: location) }
        #expect(try names() == ["store.sqlite"], sourceLocation: location)
        #expect(try contents(path) == later, sourceLocation: location)
    }

    @Test func `what is no whole backup of this model is refused, and nothing changes`() throws {
        try expectRefused([workspace.path("none")] + store(path), status: 69, "There is no backup at")
        try expectRefused([path] + store(path), status: 69, "is the store itself")
        let text = try workspace.write("not a store, but a text that is long enough\n", to: "text")
        try expectRefused([text] + store(path), status: 69, "store.corrupt", "Name another backup")
        let foreign = workspace.path("foreign")
        _ = try Foreign.run("sqlite3", [foreign, "CREATE TABLE t (a)"])
        try expectRefused([foreign] + store(path), status: 69, "is no store", "Name another backup")
        let other = ["--set", "model=config/models/work-orders.yaml"]
        let made = workspace.path("other.sqlite")
        _ = try run(["replay", "samples/work-orders.jsonl", "--allow-dead-letters"] + other + store(made))
        try expectRefused([made] + store(path), status: 78, "store.model_mismatch", "another backup")

        let cut = workspace.path("cut")
        try bytes(backup).dropLast(20_000).write(to: URL(filePath: cut))
        try expectRefused([cut] + store(path), status: 69, "store.corrupt")
        for (change, status, word) in [
            ("UPDATE Chat SET membersCount = 99", Int32(69), "membersCount: is 99"),
            ("UPDATE _metadata SET value = '99' WHERE key = 'formatVersion'", 78, "store.newer_format"),
        ] {
            let changed = workspace.path("changed")
            try? FileManager.default.removeItem(atPath: changed)
            try FileManager.default.copyItem(atPath: backup, toPath: changed)
            _ = try Foreign.sqlite(changed, change, writing: true)
            try expectRefused([changed] + store(path), status: status, word)
        }
    }

    @Test func `a worker that writes the store is named, and so is another restore`() throws {
        let worker = try Program(
            ["run", "--set", "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.port=0"] + store(path))
        try worker.wait(for: "the lease") {
            (try? Foreign.sqlite(path, "SELECT expires > 0 FROM _lease")) == "1"
        }
        let refused = try run(["restore", backup] + store(path), status: 69)
        #expect(refused.errors.contains("process \(worker.processID) on") && refused.errors.contains("store.leased"))
        try worker.crash()
        let lock = open(path + ".rebuild.lock", O_CREAT | O_RDWR, 0o600)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let second = try run(["restore", backup] + store(path), status: 69)
        #expect(second.errors.contains("rebuilds or restores the store at \(path)"), "\(second.errors)")
        close(lock)
        #expect(try contents(path) == later && kept().isEmpty)
        _ = try run(["restore", backup] + store(path))
        #expect(try contents(path) == saved)
    }

    @Test func `a database of another program at the path is refused`() throws {
        let foreign = workspace.path("foreign.sqlite")
        _ = try Foreign.run("sqlite3", [foreign, "CREATE TABLE t (a); INSERT INTO t VALUES (7)"])
        let refused = try run(["restore", backup] + store(foreign), status: 69)
        #expect(refused.errors.contains("is no store") && refused.errors.contains("Name another path"))
        #expect(try Foreign.sqlite(foreign, "SELECT a FROM t") == "7")
    }
}

import Foundation
import TestSupport
import Testing

/// `migrate` answers over HTTP while it works, as an orchestrator and a person ask.
@Suite struct MigrationConsoleTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    /// A store of the shop's first model, and the settings that name the third.
    private func settings(_ models: [String], lines count: Int = 6) throws -> [String] {
        let store = ["--set", "store.path=\(workspace.path("shop.sqlite"))"]
        let replayed = try Program.run(
            ["replay", try workspace.shopEvents(lines: count), "--set", "model=\(models[0])"] + store)
        try #require(replayed.status == 0, "\(replayed.errors)")
        return ["--set", "model=\(models[2])"] + store
    }

    private let mapping = "entities:\n  Line:\n    priority: { from: priority, map: { low: 1, high: 3 } }\n"

    @Test func `a migration answers probes and shows its progress`() throws {
        let settings = try settings(try workspace.shopModels(), lines: 3_000)
        // Each row becomes a text of a million characters, so the migration takes minutes. It is killed before.
        let long = (0..<6).reduce("priority + 'a'") { text, _ in "replace(\(text), 'a', 'aaaaaaaaaa')" }
        let slow = try workspace.write("entities:\n  Line:\n    priority: \"length(\(long))\"\n", to: "slow.yaml")
        let migration = try Program(["migrate", "--mapping", slow, "--set", "http.port=0"] + settings)
        #expect(try migration.get("/livez")?.status == 200)
        let ready = try #require(try migration.get("/readyz"))
        #expect(ready.status == 503 && ready.body.contains("[-]migration failed: "), "\(ready.body)")
        let status = try #require(try migration.get("/status")).body
        #expect(status.contains(#""verdict":{"state":"working","sentence":"Migrating the store: "#), "\(status)")
        #expect(try migration.get("/")?.body.contains("<html") == true)
        #expect(try migration.get("/metrics")?.body.contains("ingest_check_failed{check=\"migration\"} 1") == true)
        let port = try #require(migration.errors.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        let asked = try Program.run(["status", "--set", "http.port=\(port)"] + settings)
        // As of a worker that is not ready.
        #expect(asked.status == 75 && asked.output.hasPrefix("Migrating the store: "), "\(asked.output)\(asked.errors)")
        for (path, isOK) in [("livez", true), ("readyz", false)] {
            let probe = try Program.run(["probe", path, "--set", "http.port=\(port)"] + settings)
            #expect((probe.status == 0) == isOK, "\(path): \(probe.errors)")
        }
        #expect(migration.isRunning)
        try migration.crash()
    }

    @Test func `a port that is taken does not keep a migration from its work`() throws {
        let settings = try settings(try workspace.shopModels())
        let map = try workspace.write(mapping, to: "map.yaml")
        let other = try Program([
            "console", "--set", "store.path=\(try workspace.sampleStore())", "--set", "http.port=0",
        ])
        #expect(try other.get("/")?.status == 200)
        let port = try #require(other.errors.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        let migrated = try Program.run(
            ["migrate", "--json", "--mapping", map, "--set", "http.port=\(port)"] + settings)
        #expect(migrated.status == 0, "\(migrated.errors)")
        let line = "The HTTP server cannot listen on 127.0.0.1:\(port): Address already in use. "
        #expect(migrated.errors.contains(line + "The migration goes on without the console\n"), "\(migrated.errors)")
        #expect(migrated.output.hasPrefix("{") && migrated.output.split(separator: "\n").count == 1)
    }

    @Test func `neither a plan nor a migration without HTTP listens`() throws {
        let settings = try settings(try workspace.shopModels())
        let map = ["--mapping", try workspace.write(mapping, to: "map.yaml")]
        for arguments in [["--dry-run", "--set", "http.port=0"], ["--set", "http.enabled=false"]] {
            let result = try Program.run(["migrate"] + arguments + map + settings)
            #expect(result.status == 0 && !result.errors.contains("http://"), "\(result.errors)")
        }
    }
}

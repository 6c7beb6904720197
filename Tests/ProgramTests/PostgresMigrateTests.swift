import Foundation
import TestSupport
import Testing

/// `migrate` and `copy --to` on a store in a PostgreSQL server: the same contents as on a file, whole or not at all.
@Suite(.serialized) struct PostgresMigrateTests {
    private let server: PostgresServer
    private let workspace: Workspace
    private let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        workspace = try Workspace()
        schema = server.newSchema()
    }

    private func there(_ model: String) -> [String] {
        ["--set", "model=\(model)", "--set", "store.url=\(server.url)&schema=\(schema)"]
    }

    private func here(_ model: String, _ name: String = "shop.sqlite") -> [String] {
        ["--set", "model=\(model)", "--set", "store.path=\(workspace.path(name))"]
    }

    /// The whole dump of a store, positions and all; it has to be sound.
    private func dump(_ arguments: [String]) throws -> String {
        let verified = try Program.run(["verify"] + arguments)
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        let result = try Program.run(["verify", "--dump"] + arguments)
        try #require(result.status == 0 && result.output.count > 500, "\(result.errors)")
        return result.output
    }

    private func run(_ arguments: [String], status: Int32 = 0) throws -> Program.Result {
        let result = try Program.run(arguments)
        #expect(result.status == status, "\(arguments): \(result.output)\(result.errors)")
        return result
    }

    private func schemas() throws -> String {
        try server.query("SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname LIKE '\(schema)%'")
    }

    @Test func `a store migrates as a file does and goes on`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.shopEvents(lines: 600)
        for store in [here(models[0]), there(models[0])] { _ = try run(["replay", events] + store) }
        let before = try dump(there(models[0]))
        #expect(try before == dump(here(models[0])))
        let refused = try run(["replay", events] + there(models[1]), status: 78)
        #expect(refused.errors.contains("ingest-worker migrate"), "\(refused.errors)")
        let plan = try run(["migrate", "--dry-run"] + there(models[1]))
        #expect(plan.output.hasPrefix("shop 1 → shop 2: 800 rows, inPlace\n"), "\(plan.output)")
        #expect(try dump(there(models[0])) == before)
        for store in [here(models[1]), there(models[1])] { _ = try run(["migrate"] + store) }
        #expect(try dump(there(models[1])) == dump(here(models[1])))
        #expect(try schemas() == schema)
        #expect(try run(["migrate"] + there(models[1])).output.contains("none"))
        let again = ["replay", "--restart", "--allow-dead-letters", events]
        for store in [here(models[1]), there(models[1])] { _ = try run(again + store) }
        #expect(try dump(there(models[1])) == dump(here(models[1])))
    }

    @Test func `a migration that cannot succeed leaves the store as it was`() throws {
        let models = try workspace.shopModels()
        _ = try run(["replay", try workspace.shopEvents(lines: 6)] + there(models[0]))
        let before = try dump(there(models[0]))
        let refused = try run(["migrate"] + there(models[2]), status: 65)
        #expect(refused.errors.contains("Line.priority cannot hold"), "\(refused.errors)")
        let folder = try run(["migrate", "--folder", workspace.path("none")] + there(models[1]), status: 69)
        #expect(folder.errors.contains("--folder"), "\(folder.errors)")
        _ = try server.query("CREATE VIEW \(schema)_lines AS SELECT id FROM \(schema).\"Line\"")
        let rested = try run(["migrate"] + there(models[1]), status: 69)
        #expect(rested.errors.contains("--keep-backup"), "\(rested.errors)")
        _ = try server.query("DROP VIEW \(schema)_lines; CREATE TABLE \(schema).notes AS SELECT 'mine' AS text")
        // Nothing is copied before: the folder would be missed.
        let guest = try run(["migrate", "--folder", workspace.path("none")] + there(models[1]), status: 69)
        #expect(guest.errors.contains("more than the store: \(schema).notes."), "\(guest.errors)")
        _ = try server.query("CREATE VIEW \(schema)_lines AS SELECT id FROM \(schema).\"Line\"")
        #expect(try dump(there(models[0])) == before)
        #expect(try schemas() == schema)
        let kept = try run(["migrate", "--keep-backup"] + there(models[1]))
        #expect(kept.errors.contains("The old store is the schema \(schema)_backup_"), "\(kept.errors)")
        #expect(try server.query("SELECT count(*) FROM \(schema)_lines") == "6")
        let names = try schemas().split(separator: " ")
        #expect(names.count == 2)
        let backup = try #require(names.first { $0 != schema })
        #expect(try server.query("SELECT text FROM \"\(backup)\".notes") == "mine")
    }

    @Test func `the plan counts the values that are dropped, and the store gives its former model`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.shopEvents(lines: 6)
        let text = try String(contentsOfFile: models[0], encoding: .utf8)
        let less = try workspace.write(
            text.replacingOccurrences(of: "version: 1", with: "version: 2")
                .replacingOccurrences(of: "      total: { type: integer32, default: 0 }\n", with: ""), to: "less.yaml")
        for (old, new) in [(here(models[0]), here(less)), (there(models[0]), there(less))] {
            _ = try run(["replay", events] + old)
            let plan = try run(["migrate", "--dry-run"] + new)
            let expected = "Order.total: attribute removed: was integer32 — inferred; 2 values are dropped\n"
            #expect(plan.output.contains(expected), "\(plan.output)")
            let json = try run(["migrate", "--dry-run", "--json"] + new)
            #expect(json.output.contains(#""droppedValues":{"Order.total":2}"#), "\(json.output)")
        }
        let written = try run(["model", "yaml", "\(server.url)&schema=\(schema)"])
        #expect(try written.output == run(["model", "yaml", models[0]]).output)
        #expect(try written.output == run(["model", "yaml", workspace.path("shop.sqlite")]).output)
        let none = try run(["model", "yaml", "\(server.url)&schema=\(schema)_none"], status: 69)
        #expect(none.errors.contains("There is no store"), "\(none.errors)")
    }

    /// Starts the migration, and kills it once a number in the server is not 0; false where it ended first.
    private func killMigration(once number: String, _ arguments: [String]) throws -> Bool {
        let migration = try Program(["migrate"] + arguments)
        try wait(for: number, everyMilliseconds: 1) {
            try server.seesSoon(number) || !migration.isRunning
        }
        let isKilled = migration.isRunning
        try migration.crash()
        let isOver = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'ingest'"
        try wait(for: "the end of its connection") { (try? server.query(isOver)) == "0" }
        return isKilled
    }

    @Test func `killed again and again a migration has happened as a whole or not at all`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.shopEvents(lines: 9_000)
        for store in [here(models[0]), there(models[0])] { _ = try run(["replay", events] + store) }
        let before = try dump(there(models[0]))
        let migration = there(models[1]) + ["--folder", workspace.url.path]
        var kills = 0
        for moment in ["FETCH", "COPY", "DROP"] {
            let running = "count(*) FROM pg_stat_activity WHERE application_name = 'ingest'"
            if try killMigration(once: "\(running) AND query LIKE '%\(moment)%'", migration) { kills += 1 }
            if try Program.run(["verify"] + there(models[1])).status == 0 { break }
            #expect(try dump(there(models[0])) == before)
        }
        #expect(kills > 0)
        _ = try run(["migrate"] + here(models[1]))
        _ = try run(["migrate"] + migration)
        #expect(try dump(there(models[1])) == dump(here(models[1])))
        #expect(try schemas() == schema)
    }

    @Test func `a migration goes on where it was killed unless the store was written since`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.shopEvents(lines: 9_000)
        for store in [here(models[0]), there(models[0])] { _ = try run(["replay", events] + store) }
        let migration = there(models[1]) + ["--folder", workspace.url.path]
        let table = "\(schema)_migration._metadata"
        let copied = "count(*) FROM \(table) WHERE key LIKE 'copied:%'"
        try #require(try killMigration(once: copied, migration))
        let former = try server.query("SELECT value FROM \(table) WHERE key = 'migration'")
        let more = try workspace.write(
            #"{"type":"order.upserted","data":{"id":"late","total":7}}"# + "\n", to: "more.jsonl")
        for store in [here(models[0]), there(models[0])] { _ = try run(["replay", more] + store) }
        let isOther = "EXISTS (SELECT 1 FROM \(table) WHERE key = 'migration' AND value <> '\(former)')"
        try #require(try killMigration(once: "\(copied) AND \(isOther)", migration))
        let folders = try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
        #expect(folders.filter { $0.hasPrefix("ingest-migration-") }.count == 1)
        let rows = "SELECT xmin FROM \(schema)_migration.\"Purchase\" ORDER BY pk LIMIT 1"
        let first = try server.query(rows)
        let again = try run(["migrate"] + migration)
        #expect(again.output.contains("An earlier run has migrated the rows"), "\(again.output)")
        let row = try server.query(rows.replacingOccurrences(of: "_migration.", with: "."))
        #expect(!former.isEmpty && !first.isEmpty && row == first)
        _ = try run(["migrate"] + here(models[1]))
        #expect(try dump(there(models[1])) == dump(here(models[1])))
        #expect(try dump(there(models[1])).contains("late"))
        #expect(try schemas() == schema)
        let left = try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
        #expect(!left.contains { $0.hasPrefix("ingest-migration-") })
    }

    @Test func `readers of a migration see the old store or the new one`() throws {
        let models = try workspace.shopModels()
        _ = try run(["replay", try workspace.shopEvents(lines: 6_000)] + there(models[0]))
        let migration = try Program(["migrate"] + there(models[1]))
        let question = """
            SELECT (SELECT count(*) FROM \(schema)."Line"), (SELECT value FROM \(schema)._metadata WHERE key = 'modelVersion'), \
            (SELECT string_agg(a.attname, ' ' ORDER BY a.attname) FROM pg_attribute a \
            WHERE a.attrelid = '\(schema)."Line"'::regclass AND a.attnum > 0)
            """
        var seen: [String] = []
        while migration.isRunning { seen.append(try server.query(question)) }
        try migration.expectGoodEnd()
        seen.append(try server.query(question))
        let old = "6000|1|_placeholder amount id order pk priority"
        let new = try #require(seen.last)
        #expect(new.hasPrefix("6000|2|") && new != old && Set(seen) == [old, new], "\(Set(seen))")
    }

    @Test func `a store that goes back into a file goes on there`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(3_000, seed: 41, to: file)
        let url = ["--set", "store.url=\(server.url)&schema=\(schema)"]
        _ = try run(["replay", file] + url)
        let path = workspace.path("back.sqlite")
        let copied = try run(["copy", "--to", path] + url)
        #expect(copied.errors.contains("_history_change: ") && copied.errors.contains("The copy is at \(path)"))
        let back = ["--set", "store.path=\(path)"]
        #expect(try dump(back) == dump(url))
        let more = workspace.path("more.jsonl")
        try Foreign.generateEvents(3_500, seed: 42, to: more)
        for store in [back, url] { _ = try run(["replay", more] + store) }
        #expect(try dump(back) == dump(url))
        let again = try run(["copy", "--to", path] + url, status: 69)
        #expect(again.errors.contains("There is a file at"), "\(again.errors)")
        _ = try run(["copy", "--to", path, "--from", path] + url, status: 64)
    }
}

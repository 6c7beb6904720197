import Foundation
import TestSupport
import Testing

/// `migrate` asks before it drops something, and prints the lines that routes need after a rename.
@Suite(.serialized) struct MigrateLossTests {
    private let workspace: Workspace
    private let server: PostgresServer
    private let schema: String

    init() throws {
        workspace = try Workspace()
        server = try PostgresServer.shared.get()
        schema = server.newSchema()
    }

    /// The settings of a store in a file, and of one in PostgreSQL.
    private func places(_ model: String) -> [[String]] {
        [
            ["--set", "model=\(model)", "--set", "store.path=\(workspace.path("shop.sqlite"))"],
            ["--set", "model=\(model)", "--set", "store.url=\(server.url)&schema=\(schema)"],
        ]
    }

    /// The model of the shop without its orders' lines: 6 rows and their links are dropped.
    private func modelWithoutLines(_ first: String) throws -> String {
        let text = try String(contentsOfFile: first, encoding: .utf8)
        let end = try #require(text.range(of: "  Line:\n"))
        let orders = String(text[..<end.lowerBound]).replacing("version: 1", with: "version: 2")
            .replacing(
                "    relationships:\n      lines: { to: Line, many: true, inverse: order, delete: cascade }\n", with: ""
            )
        return try workspace.write(orders, to: "orders.yaml")
    }

    @Test func `without a terminal a loss needs consent, and the old store stays`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.shopEvents(lines: 6)
        let less = try modelWithoutLines(models[0])
        for (old, new) in zip(places(models[0]), places(less)) {
            #expect(try Program.run(["replay", events] + old).status == 0)
            let plan = try Program.run(["migrate", "--dry-run"] + new)
            #expect(
                plan.status == 0 && plan.output.contains("dropped:\n  Line: 6 rows\n"), "\(plan.output)\(plan.errors)")
            let json = try Program.run(["migrate", "--dry-run", "--json"] + new)
            #expect(json.output.contains(#""droppedRows":{"Line":6},"droppedLinks":{},"#), "\(json.output)")
            let before = try Program.run(["verify", "--dump"] + old).output
            let refused = try Program.run(["migrate"] + new)
            #expect(refused.status == 65, "\(refused.output)\(refused.errors)")
            #expect(refused.errors.contains("Line: 6 rows"), "\(refused.errors)")
            #expect(refused.errors.contains("--allow-loss'; the store is as it was [migration.losses]"))
            #expect(try Program.run(["verify", "--dump"] + old).output == before)
            let migrated = try Program.run(["migrate", "--allow-loss"] + new)
            #expect(migrated.status == 0, "\(migrated.errors)")
            #expect(migrated.errors.contains("The old store is "), "\(migrated.errors)")
            #expect(try Program.run(["verify"] + new).status == 0)
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: workspace.path(""))
        let backup = try #require(files.first { $0.hasPrefix("shop.sqlite.backup-") })
        #expect(try Foreign.sqlite(workspace.path(backup), "SELECT count(*) FROM Line") == "6")
        let kept = try server.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE '\(schema)_backup_%'")
        #expect(try server.query("SELECT count(*) FROM \"\(kept)\".\"Line\"") == "6")
    }

    @Test(arguments: [("n", 65), ("y", 0)])
    func `on a terminal it asks, and only yes goes on`(answer: String, status: Int) throws {
        let models = try workspace.shopModels()
        let less = try modelWithoutLines(models[0])
        #expect(try Program.run(["replay", try workspace.shopEvents(lines: 6)] + places(models[0])[0]).status == 0)
        let terminal = try PseudoTerminal([Program.url.path, "migrate"] + places(less)[0], answering: answer)
        let text = terminal.text
        #expect(terminal.status == status, "\(text)")
        #expect(text.contains("Line: 6 rows\r\nDrop them? [y/N]\r\n"), "\(text)")
        let model = status == 0 ? less : models[0]
        #expect(try Program.run(["verify"] + places(model)[0]).status == 0)
    }

    // MARK: Former names

    @Test func `the lines that it prints let routes read the former names`() throws {
        let models = try workspace.shopModels()
        let events = try workspace.write(
            #"{"specversion":"1.0","type":"order.upserted","data":{"id":"o1","note":"first"}}"# + "\n",
            to: "events.jsonl")
        let rows = try workspace.write(#"{"id":"o1","memo":"second","sort":"x"}"# + "\n", to: "rows.jsonl")
        let route = "{ entity: Order, aliases: { memo: note }, ignore: [sort] }"
        let files = "files:\n  - { match: rows.jsonl, format: json, routes: [\(route)] }\n"
        let old = try workspace.write("model: \(models[0])\n\(files)", to: "old.yaml")
        let new = try workspace.write("model: \(models[1])\n\(files)", to: "new.yaml")
        let store = ["--set", "store.path=\(workspace.path("shop.sqlite"))"]
        #expect(try Program.run(["replay", events, rows, "--config", old] + store).status == 0)
        let migrated = try Program.run(["migrate", "--config", new] + store)
        #expect(migrated.status == 0, "\(migrated.errors)")
        let lines = migrated.output.split(separator: "\n").map(String.init)
        let first = try #require(lines.firstIndex { $0.hasPrefix("routes need these lines") }, "\(migrated.output)")
        #expect(
            Array(lines[(first + 1)...].prefix(3)) == [
                "# in the route at \(new):3:49", "entity: Purchase", "aliases: { memo: remark, note: remark }",
            ])
        let routes = lines[(first + 4)...]
        #expect(
            routes.contains("  - { type: \"order.created\", entity: Purchase, aliases: { note: remark } }"), "\(routes)"
        )
        #expect(routes.contains("  - { type: \"order.deleted\", entity: Purchase, aliases: { note: remark } }"))
        let right = "{ entity: Purchase, aliases: { memo: remark, note: remark }, ignore: [sort] }"
        let corrected = try workspace.write(
            "model: \(models[1])\n\(files.replacing(route, with: right))\(routes.joined(separator: "\n"))\n",
            to: "right.yaml")
        let replay = ["replay", "--restart", events, rows, "--config", corrected] + store
        let replayed = try Program.run(replay)
        #expect(replayed.status == 0, "\(replayed.output)\(replayed.errors)")
        #expect(try Foreign.sqlite(workspace.path("shop.sqlite"), "SELECT remark FROM Purchase") == "second")
    }
}

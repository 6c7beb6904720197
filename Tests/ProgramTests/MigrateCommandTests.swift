import Foundation
import TestSupport
import Testing

/// `migrate` and `model diff` as scripts use them, killed and out of room too.
@Suite struct MigrateCommandTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func run(_ arguments: [String]) throws -> Program.Result { try Program.run(arguments) }

    private func store(_ model: String, lines count: Int = 6, name: String = "shop.sqlite") throws -> String {
        let file = try workspace.shopEvents(lines: count)
        let store = workspace.path(name)
        let result = try run(["replay", file, "--set", "model=\(model)", "--set", "store.path=\(store)"])
        try #require(result.status == 0, "\(result.errors)")
        return store
    }

    private func settings(_ model: String, _ store: String) -> [String] {
        ["--set", "model=\(model)", "--set", "store.path=\(store)"]
    }

    @Test func `shows the plan and then migrates`() throws {
        let models = try workspace.shopModels()
        let store = try store(models[0])
        let before = try run(["verify", "--dump"] + settings(models[0], store)).output
        let refused = try run(["replay", workspace.path("shop.jsonl")] + settings(models[1], store))
        #expect(refused.status == 78 && refused.errors.contains("ingest-worker migrate"))
        for command in ["verify", "run", "status", "fetch Line", "backup \(workspace.path("b.sqlite"))"] {
            let words = command.split(separator: " ").map(String.init)
            let result = try run(words + settings(models[1], store) + ["--set", "http.enabled=false"])
            let difference = ": Purchase: entity renamed: Order → Purchase; "
            #expect(result.status == 78 && result.errors.contains(difference), "\(command): \(result.errors)")
        }
        let plan = try run(["migrate", "--dry-run"] + settings(models[1], store))
        #expect(plan.status == 0, "\(plan.errors)")
        #expect(plan.output.hasPrefix("shop 1 → shop 2: 8 rows, inPlace\n"))
        #expect(plan.output.contains("Purchase: entity renamed: Order → Purchase — inferred"))
        #expect(plan.output.contains("(2 rows)"))
        let json = try run(["migrate", "--dry-run", "--json"] + settings(models[1], store))
        #expect(json.output.contains("\"method\":\"inPlace\",\"rows\":8,"))
        #expect(try run(["verify", "--dump"] + settings(models[0], store)).output == before)
        let migrated = try run(["migrate", "--keep-backup"] + settings(models[1], store))
        #expect(migrated.status == 0, "\(migrated.errors)")
        #expect(migrated.errors.contains("The old store is \(store).backup-"))
        #expect(try run(["verify"] + settings(models[1], store)).status == 0)
        #expect(try Foreign.sqlite(store, "SELECT sum(linesAmount), count(*), min(remark) FROM Purchase") == "6|2|none")
        let again = try run(["migrate"] + settings(models[1], store))
        #expect(again.status == 0 && again.output.contains("none"))
    }

    @Test func `a store without its model is migrated from the model that it was made with`() throws {
        let models = try workspace.shopModels()
        let store = try store(models[0])
        _ = try Foreign.sqlite(store, "DELETE FROM _metadata WHERE key = 'modelYAML'", writing: true)
        let refused = try run(["migrate"] + settings(models[1], store))
        #expect(refused.status == 78 && refused.errors.contains("--from"), "\(refused.errors)")
        let other = try run(["migrate", "--from", models[2]] + settings(models[1], store))
        #expect(other.status == 78, "\(other.output)\(other.errors)")
        let migrated = try run(["migrate", "--from", models[0]] + settings(models[1], store))
        #expect(migrated.status == 0, "\(migrated.errors)")
        #expect(try run(["verify"] + settings(models[1], store)).status == 0)
    }

    @Test func `wrong migrations are refused with place and remedy`() throws {
        let models = try workspace.shopModels()
        let store = try store(models[0])
        let before = try run(["verify", "--dump"] + settings(models[0], store)).output
        func expectRefusal(_ arguments: [String], _ model: String, _ status: Int32, _ texts: String...) throws {
            let result = try run(["migrate"] + arguments + settings(model, store))
            #expect(result.status == status, "\(arguments): \(result.output)\(result.errors)")
            for text in texts {
                #expect((result.output + result.errors).contains(text), "\(result.output)\(result.errors)")
            }
            #expect(try run(["verify", "--dump"] + settings(models[0], store)).output == before)
        }
        try expectRefusal([], models[2], 65, "migration.rows", "Line.priority cannot hold", "6 rows", "Correct them")
        try expectRefusal(["--dry-run"], models[2], 65, "problems:", "--mapping")
        let wrong = try workspace.write("entities:\n  Line:\n    priority: shout(priority)\n", to: "map.yaml")
        try expectRefusal(["--mapping", wrong], models[2], 78, "map.yaml:3", "'shout' is no function")
        try expectRefusal(["--mapping", workspace.path("none.yaml")], models[2], 78, "cannot be read")
        let stages = try workspace.write("stages:\n  - model: shop-2.yaml\n", to: "stages.yaml")
        try expectRefusal(["--stages", stages], models[2], 78, "which is not the configured model")
        try expectRefusal(["--stages", stages, "--mapping", wrong], models[2], 64, "--mapping or --stages")
        let broken = try workspace.write("model: shop\nentities:\n  A: { identity: x }\n", to: "broken.yaml")
        try expectRefusal([], broken, 78, "broken.yaml:3")
        #expect(try run(["migrate"] + settings(models[1], workspace.path("none.sqlite"))).status == 69)
    }

    @Test func `a mapping and stages compute what cannot be inferred`() throws {
        let models = try workspace.shopModels()
        let priority = "{ from: priority, map: { low: 1, high: 3 } }"
        let mapping = try workspace.write("entities:\n  Line:\n    priority: \(priority)\n", to: "map.yaml")
        let stages = try workspace.write(
            "stages:\n  - model: shop-2.yaml\n  - model: shop-3.yaml\n    entities:\n      Line:\n        priority: \(priority)\n",
            to: "stages.yaml")
        for (number, arguments) in [["--mapping", mapping], ["--stages", stages]].enumerated() {
            let store = try store(models[0], name: "shop-\(number).sqlite")
            let dry = try run(["migrate", "--dry-run"] + arguments + settings(models[2], store))
            #expect(dry.status == 0, "\(dry.errors)")
            let copying = try run(
                ["migrate", "--dry-run", "--copy-from", "8"] + arguments + settings(models[2], store))
            #expect(dry.output.hasPrefix("shop 1 → shop 3: 8 rows, inPlace\n"))
            #expect(copying.output.hasPrefix("shop 1 → shop 3: 8 rows, copy\n"))
            #expect(try run(["verify"] + settings(models[0], store)).status == 0)
            let result = try run(["migrate"] + arguments + settings(models[2], store))
            #expect(result.status == 0, "\(result.errors)")
            #expect(try run(["verify"] + settings(models[2], store)).status == 0)
            #expect(try Foreign.sqlite(store, "SELECT sum(priority) FROM Line") == "12")
        }
    }

    @Test func `a newer store is refused unless going back is said`() throws {
        let models = try workspace.shopModels()
        let store = try store(models[0])
        #expect(try run(["migrate"] + settings(models[1], store)).status == 0)
        let refused = try run(["migrate"] + settings(models[0], store))
        #expect(refused.status == 78 && refused.errors.contains("migration.newer_model"))
        #expect(try run(["verify"] + settings(models[1], store)).status == 0)
        let back = try run(["migrate", "--allow-older"] + settings(models[0], store))
        // The names of the new model lead back, because it says what they were.
        #expect(back.status == 0, "\(back.errors)")
        #expect(try Foreign.sqlite(store, "SELECT count(*) FROM \"Order\"") == "2")
    }

    @Test func `a store that a worker writes is refused`() throws {
        let models = try workspace.shopModels()
        let store = try store(models[0])
        let pipe = workspace.path("pipe")
        _ = try Foreign.run("mkfifo", [pipe])
        let descriptor = open(pipe, O_RDWR)
        defer { close(descriptor) }
        let line = "{\"specversion\":\"1.0\",\"type\":\"line.upserted\",\"data\":{\"id\":\"x\"}}\n"
        _ = line.withCString { write(descriptor, $0, strlen($0)) }
        // A replay that waits does not renew its lease.
        let worker = try Program(["replay", pipe, "--set", "lease.ttlSeconds=600"] + settings(models[0], store))
        try TestSupport.wait(for: "the worker's lease") {
            (try? Foreign.sqlite(store, "SELECT epoch FROM _lease")) == "2"
        }
        for arguments in [["migrate"], ["migrate", "--copy-from", "0"]] {
            let refused = try run(arguments + settings(models[1], store))
            #expect(refused.status == 69, "\(refused.output)\(refused.errors)")
            #expect(refused.errors.contains("store.leased") && refused.errors.contains("process \(worker.processID)"))
        }
        // A worker that is gone holds nothing up.
        try worker.crash()
        #expect(try run(["migrate"] + settings(models[1], store)).status == 0)
    }

    /// Killed at ever later moments, it leaves the old store or the new one, and in the end it goes through.
    @Test(arguments: [[], ["--copy-from", "0"]], [false, true])
    func `killed again and again the store is old or new`(_ arguments: [String], hasStages: Bool) throws {
        let models = try workspace.shopModels()
        let store = try store(models[0], lines: 9_000)
        var arguments = arguments
        if hasStages {
            let stages = try workspace.write(
                "stages:\n  - model: shop-2.yaml\n  - model: shop-3.yaml\n    entities: { Line: { priority: 1 + 1 } }\n",
                to: "stages.yaml")
            arguments += ["--stages", stages]
        }
        let (target, version) = hasStages ? (models[2], "3") : (models[1], "2")
        var delay = 0.02
        var kills = 0
        while true {
            let migration = try Program(["migrate"] + arguments + settings(target, store))
            let end = Date().addingTimeInterval(delay)
            while migration.isRunning, Date() < end { usleep(1_000) }
            if !migration.isRunning {
                let result = try migration.wait()
                #expect(result.status == 0, "\(result.output)\(result.errors)")
                break
            }
            try migration.crash()
            kills += 1
            let isNew = try Foreign.sqlite(store, "SELECT value FROM _metadata WHERE key = 'modelVersion'") == version
            let verified = try run(["verify"] + settings(isNew ? target : models[0], store))
            #expect(verified.status == 0, "after \(delay) s: \(verified.output)\(verified.errors)")
            delay *= 1.5
        }
        #expect(kills > 0)
        #expect(try run(["verify"] + settings(target, store)).status == 0)
        #expect(try Foreign.sqlite(store, "SELECT count(*), sum(linesAmount) FROM Purchase") == "3000|9000")
        #expect(
            try Foreign.sqlite(
                store, "SELECT group_concat(context, ', ') FROM _history_transaction WHERE author = 'migration'")
                == (hasStages ? "shop 1 → shop 2, shop 2 → shop 3" : "shop 1 → shop 2"))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: workspace.url.path)
                .filter { $0.contains("migrat") }.isEmpty)
    }

    /// A process that may write no further file than a few blocks is one whose disk is full.
    @Test(arguments: [[], ["--copy-from", "0"]])
    func `a disk without room leaves the old store`(_ arguments: [String]) throws {
        let models = try workspace.shopModels()
        let store = try store(models[0], lines: 3_000)
        let before = try run(["verify", "--dump"] + settings(models[0], store)).output
        let command = (["migrate"] + arguments + settings(models[1], store)).map { "'\($0)'" }.joined(separator: " ")
        let script = "trap '' XFSZ; ulimit -f 200; '\(Program.url.path)' \(command) >/dev/null 2>&1; echo $?"
        let status = try Foreign.run("bash", ["-c", script]).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(["69", "75"].contains(status), "it ended with \(status)")
        #expect(try run(["verify"] + settings(models[0], store)).status == 0)
        #expect(try run(["verify", "--dump"] + settings(models[0], store)).output == before)
        let again = try run(["migrate"] + arguments + settings(models[1], store))
        #expect(again.status == 0, "\(again.errors)")
    }

    @Test func `compares models`() throws {
        let models = try workspace.shopModels()
        let same = try run(["model", "diff", models[0], models[0]])
        #expect(same.status == 0 && same.output == "no difference\n")
        let other = try run(["model", "diff", models[0], models[1]])
        #expect(other.status == 65)
        #expect(other.output.contains("Purchase.remark: attribute renamed: note → remark — inferred"))
        #expect(other.output.contains("Purchase.lines: order changed: unordered → ordered — inferred"))
        let json = try run(["model", "diff", models[1], models[2], "--json"])
        #expect(
            json.status == 65
                && json.output.contains("\"kind\":\"typeChanged\",\"entity\":\"Line\",\"property\":\"priority\""))
        #expect(try run(["model", "diff", models[0], "none.yaml"]).status == 78)
    }
}

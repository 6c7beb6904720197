import Foundation
import TestSupport
import Testing

/// `--json` of commands that do something: one object, and nothing else on standard output.
@Suite struct JSONOutputTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private func object(_ result: Program.Result, _ status: Int32 = 0) throws -> [String: Any] {
        #expect(result.status == status, "\(result.output)\(result.errors)")
        #expect(result.output.filter { $0 == "\n" }.count == 1, "\(result.output)")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    @Test func `init says what it wrote, and where records become fewer objects`() throws {
        let rows = (0..<40).map { "\($0 % 20),\($0)\n" }.joined()
        let file = try workspace.write("item_id,size\n\(rows)", to: "items.csv")
        let folder = workspace.path("made")
        let made = try object(try Program.run(["init", file, "--folder", folder, "--json", "--keep-last"]))
        #expect(made["model"] as? String == folder + "/model.yaml")
        #expect(made["configuration"] as? String == folder + "/worker.yaml")
        #expect(made["next"] as? String == "ingest-worker replay \(file) --config \(folder)/worker.yaml")
        let entity = try #require((made["entities"] as? [[String: Any]])?.first)
        #expect(entity["name"] as? String == "Item" && entity["records"] as? Int == 40)
        let trial = try #require((made["files"] as? [[String: Any]])?.first)
        #expect(trial["path"] as? String == file && trial["events"] as? Int == 40 && trial["deadLetters"] as? Int == 0)
        #expect(made["losses"] is [Any] && made["warnings"] is [Any])
    }

    @Test func `a purge of the history says what it removed`() throws {
        let store = try workspace.sampleStore()
        let arguments = ["history", "purge", "--json", "--keep-days", "0", "--set", "store.path=\(store)"]
        let purged = try object(try Program.run(arguments))
        #expect((purged["transactions"] as? Int ?? 0) > 0 && (purged["changeRows"] as? Int ?? 0) > 0, "\(purged)")
        #expect(purged["holding"] as? [String: Int] == [:] && purged["passed"] as? [String: Int] == [:])
    }

    @Test func `commands that drop or confirm say how much`() throws {
        let store = ["--json", "--set", "store.path=\(try workspace.sampleStore())"]
        let dropped = try object(try Program.run(["dead-letters", "drop", "--all"] + store))
        #expect((dropped["count"] as? Int ?? 0) > 0, "\(dropped)")
        let again = try object(try Program.run(["dead-letters", "drop", "--all"] + store))
        #expect(again["count"] as? Int == 0)
        let conflicts = try object(try Program.run(["conflicts", "drop", "--through", "9"] + store))
        #expect(conflicts["count"] as? Int == 0)
        let confirmed = try object(try Program.run(["history", "confirm"] + store))
        #expect(confirmed["confirmed"] is NSNull, "\(confirmed)")
    }

    /// Starts a program that ignores SIGPIPE, and whose reader has gone. `$1` names a pipe, which the script makes.
    private static let withoutReader = """
        trap '' PIPE
        gate=$1; shift; mkfifo "$gate"
        { read -r _ <"$gate"; "$@"; } | { exec 0<&-; echo >"$gate"; }
        exit "${PIPESTATUS[0]}"
        """

    @Test(
        arguments: [
            (["history"], 141), (["fetch", "Chat"], 141), (["model", "describe"], 141), (["--help"], 141),
            (["dead-letters", "drop", "--all"], 0), (["history", "purge", "--keep-days", "0"], 0),
        ] as [([String], Int32)])
    func `without a reader a command that prints ends by the signal, and another does its work`(
        _ command: [String], _ status: Int32
    ) throws {
        let store = try workspace.sampleStore()
        let settings = command == ["--help"] ? [] : ["--set", "store.path=\(store)"]
        let result = try Program.run(
            command + settings,
            launcher: ["/bin/bash", "-c", Self.withoutReader, "bash", workspace.path("gate-\(UUID().uuidString)")])
        #expect(result.status == status)
        #expect(result.errors == "" || status == 0, "\(result.errors)")
    }

    @Test func `a probe says whether the worker passes, and why not`() throws {
        let failed = try object(try Program.run(["probe", "readyz", "--json", "--set", "http.port=1"]), 75)
        #expect(failed["probe"] as? String == "readyz" && failed["ok"] as? Bool == false)
        #expect(failed["reason"] as? String == "nobody answers at http://127.0.0.1:1")
    }

    @Test func `copy and grant say the places, the rows and the rights`() throws {
        let server = try PostgresServer.shared.get()
        let (schema, role) = (server.newSchema(), "json_reader_\(UInt32.random(in: 0...UInt32.max))")
        let store = try workspace.sampleStore()
        let there = ["--set", "store.url=\(server.url)&schema=\(schema)"]
        let copied = try object(try Program.run(["copy", "--from", store, "--json"] + there))
        #expect(copied["from"] as? String == store)
        let place = try #require(copied["to"] as? String)
        #expect(place.contains(schema) && !place.contains("password"))
        let rows = try #require(copied["rows"] as? [String: Int])
        #expect(try server.query("SELECT count(*) FROM \(schema).\"Message\"") == "\(rows["Message"] ?? -1)", "\(rows)")
        let path = workspace.path("back.sqlite")
        let back = try object(try Program.run(["copy", "--to", path, "--json"] + there))
        #expect(back["from"] as? String == place && back["to"] as? String == path)
        #expect(back["rows"] as? [String: Int] == rows)
        _ = try server.query("CREATE ROLE \(role)")
        let granted = try object(try Program.run(["grant", "reader", role, "--json"] + there))
        #expect(granted["role"] as? String == role && granted["rights"] as? String == "reader")
        #expect(granted["store"] as? String == place)
    }
}

import Foundation
import TestSupport
import Testing

/// The commands as scripts use them: output, exit codes, messages with a place and a remedy.
@Suite struct CommandLineTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    func run(_ arguments: [String], environment: [String: String] = [:]) throws -> Program.Result {
        try Program.run(arguments, environment: environment)
    }

    func replaySample(_ name: String = "chat-events.jsonl", model: String = "chat") throws -> String {
        let store = workspace.path("\(UUID().uuidString).sqlite")
        let result = try run([
            "replay", "samples/\(name)", "--allow-dead-letters", "--set", "store.path=\(store)", "--set",
            "model=config/models/\(model).yaml",
        ])
        try #require(result.status == 0, "\(result.errors)")
        return store
    }

    @Test func `replays a sample and verifies it`() throws {
        let store = try replaySample()
        let verified = try run(["verify", "--set", "store.path=\(store)"])
        #expect(verified.status == 0, "\(verified.output)")
        #expect(verified.output.contains("sound"))
        // Two lines of the sample are broken on purpose.
        let letters = try run(["dead-letters", "list", "--set", "store.path=\(store)"])
        #expect(letters.output.split(separator: "\n").count == 2)
        #expect(letters.output.contains("line "))
    }

    @Test func `mends what follows and says what is left`() throws {
        let store = try replaySample()
        let arguments = ["verify", "--repair", "--set", "store.path=\(store)"]
        #expect(try run(arguments).output.contains("nothing to repair"))
        _ = try Foreign.sqlite(store, "UPDATE Chat SET membersCount = 99", writing: true)
        #expect(try run(["verify", "--set", "store.path=\(store)"]).status == 65)
        let mended = try run(arguments)
        #expect(mended.status == 0, "\(mended.output)")
        #expect(
            mended.output.contains("with wrong derived values") || mended.output.contains("with a wrong derived value"))
        _ = try Foreign.sqlite(store, "UPDATE _sequence SET next = 1 WHERE entity = 'Chat'", writing: true)
        let left = try run(arguments + ["--json"])
        #expect(left.status == 65)
        #expect(left.output.contains("\"repaired\":{\"derivedObjects\":0"))
        #expect(try run(["verify", "--repair", "--dump", "--set", "store.path=\(store)"]).status == 64)
    }

    @Test func `a second replay changes nothing`() throws {
        let store = try replaySample()
        let before = try run(["verify", "--dump", "--set", "store.path=\(store)"]).output
        let arguments = ["replay", "samples/chat-events.jsonl", "--json", "--set", "store.path=\(store)"]
        let resumed = try run(arguments)
        #expect(resumed.output.contains("\"records\":0"))
        #expect(try run(["verify", "--dump", "--set", "store.path=\(store)"]).output == before)
    }

    @Test func `a pipe is another stream each time`() throws {
        let store = workspace.path("pipe.sqlite")
        let pipe = workspace.path("stream")
        _ = try Foreign.run("mkfifo", [pipe])
        for (index, name) in ["a", "b"].enumerated() {
            let line = "{\"specversion\":\"1.0\",\"type\":\"member.upserted\",\"data\":{\"id\":\"\(name)\"}}\n"
            let file = try workspace.write(line, to: "\(name).jsonl")
            let replay = try Program(["replay", pipe, "--json", "--set", "store.path=\(store)"])
            _ = try Foreign.run("sh", ["-c", "cat \(file) > \(pipe)"])
            #expect(try replay.wait().output.contains("\"applied\":1"), "stream \(index)")
        }
        #expect(try Foreign.sqlite(store, "SELECT count(*) FROM Member") == "2")
    }

    @Test func `the sqlite3 program reads the store`() throws {
        let store = try replaySample("work-orders.jsonl", model: "work-orders")
        #expect(try Foreign.sqlite(store, "PRAGMA integrity_check") == "ok")
        #expect(try Foreign.sqlite(store, "PRAGMA foreign_key_check") == "")
        #expect(try Int(Foreign.sqlite(store, "SELECT count(*) FROM WorkOrder_readable")) ?? 0 > 0)
        let wrongCounts = """
            SELECT count(*) FROM Asset a WHERE workOrdersCount <> (SELECT count(*) FROM WorkOrder w WHERE w.asset = a.pk)
            """
        #expect(try Foreign.sqlite(store, wrongCounts) == "0")
    }

    @Test func `fetches with conditions`() throws {
        let store = try replaySample()
        let all = try run(["fetch", "Message", "--count", "--set", "store.path=\(store)"])
        let some = try run([
            "fetch", "Message", "--where", "chat = nil OR seq >= 0", "--sort", "-sentAt", "--limit", "3", "--json",
            "--set", "store.path=\(store)",
        ])
        #expect(Int(all.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 3)
        #expect(some.output.split(separator: "\n").count == 3)
        let wrong = try run(["fetch", "Message", "--where", "titel = 'x'", "--set", "store.path=\(store)"])
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("titel"))
    }

    @Test func `fetches pages rows and plans`() throws {
        let store = ["--set", "store.path=\(try replaySample())"]
        let all = ["--limit", "100000"]
        let whole = try run(["fetch", "Message", "--sort", "-sentAt, id", "--fields", "id", "--json"] + store + all)
        let first = try run(
            ["fetch", "Message", "--sort", "-sentAt, id", "--fields", "id", "--json", "--limit", "2"] + store)
        #expect(whole.output.hasPrefix(first.output))
        let after = try #require(first.errors.split(separator: " ").last).trimmingCharacters(
            in: .whitespacesAndNewlines)
        let rest = try run(
            ["fetch", "Message", "--sort", "-sentAt, id", "--fields", "id", "--json", "--after", after] + store + all)
        #expect(first.output + rest.output == whole.output)
        #expect(rest.errors.isEmpty)
        let groups = try run(
            [
                "fetch", "Message", "--fields", "chat.title, count() AS messages", "--group-by", "chat.title",
                "--having", "messages > 0", "--sort", "-messages", "--json",
            ] + store)
        #expect(groups.output.contains("\"messages\":"))
        let chats = try run(["fetch", "Message", "--fields", "chat", "--distinct", "--count"] + store)
        #expect(Int(chats.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 > 1)
        let plan = try run(["fetch", "Message", "--where", "chat = 'c1'", "--explain"] + store)
        #expect(plan.output.contains("An index"))
        let counted = try run(["fetch", "Message", "--where", "chat = 'c1'", "--count", "--explain"] + store)
        #expect(counted.output.hasPrefix("SELECT count(*) FROM") && !counted.output.contains("LIMIT"))
        let wrong = try run(["fetch", "Message", "--sort", "id,-setnAt"] + store)
        #expect(wrong.status == 64)
        #expect(wrong.errors.contains("sort key 2"))
        #expect(wrong.errors.contains("'sentAt'"))
        let foreign = try run(["fetch", "Message", "--after", after] + store)
        #expect(foreign.status == 64)
        #expect(foreign.errors.contains("predicate.cursor"))
    }

    @Test func `describes models`() throws {
        let described = try run(["model", "describe", "config/models/work-orders.yaml", "--json"])
        #expect(described.output.contains("\"counts\":{\"entities\":6,"))
        #expect(described.output.contains("\"cascade\":3,"))
        let svg = try run(["model", "diagram", "config/models/chat.yaml", "--svg"])
        #expect(svg.status == 0 && svg.output.hasPrefix("<svg ") && svg.output.contains("Message"))
        let drawn = try run(["model", "diagram", "config/models/chat.yaml"])
        #expect(drawn.output.hasPrefix("erDiagram"))
    }

    @Test func `a store gives the model that it has`() throws {
        let store = try replaySample()
        let written = try run(["model", "yaml", store])
        let expected = try run(["model", "yaml", "config/models/chat.yaml"])
        #expect(written.status == 0 && written.output == expected.output)
        let former = try workspace.write(written.output, to: "former.yaml")
        #expect(try run(["verify", "--set", "store.path=\(store)", "--set", "model=\(former)"]).status == 0)
        #expect(try run(["model", "diff", store, "config/models/chat.yaml"]).status == 0)
        let other = workspace.path("other.sqlite")
        _ = try Foreign.sqlite(other, "CREATE TABLE t (a)", writing: true)
        let refused = try run(["model", "yaml", other])
        #expect(refused.status != 0 && refused.errors.contains("is no store"), "\(refused.errors)")
    }

    @Test func `model check lists the problems of every stage of each file at once`() throws {
        let good = try run(["model", "check", "config/models/chat.yaml", "config/models/work-orders.yaml"])
        #expect(good.status == 0 && good.output.split(separator: "\n").count == 2)
        #expect(good.output.contains("work-orders.yaml: 6 entities"))
        let shop = try workspace.write(
            """
            model: shop
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  mean: { type: double, derived: items.weight.@avg }
                relationships: { items: { to: Item, many: true, inverse: box } }
              Item:
                identity: id
                attributes: { id: { type: string }, weight: { type: double } }
                relationships: { box: { to: Box, inverse: items, optional: true } }

            """, to: "shop.yaml")
        let costly = try run(["model", "check", shop])
        #expect(costly.status == 0 && costly.errors.contains("shop.yaml: Box.mean: "))
        #expect(costly.errors.contains("add indexes: [[box, weight]] to Item"))
        let bad = try workspace.write(
            """
            model: shop
            entities:
              Item:
                identity: id
                colour: red
                attributes:
                  id: { type: string }
                  count: { type: integer32, default: many }
                relationships:
                  box: { to: Crate, inverse: items }

            """, to: "bad.yaml")
        let refused = try run(["model", "check", bad, "config/models/chat.yaml", workspace.path("none.yaml")])
        #expect(refused.status == 78 && refused.output.contains("chat.yaml: "))
        for problem in ["bad.yaml:5: ", "bad.yaml:8: ", "bad.yaml:10: ", "none.yaml: "] {
            #expect(refused.errors.contains(problem), "\(refused.errors)")
        }
    }

    @Test func `lists history`() throws {
        let store = try replaySample()
        let history = try run(["history", "list", "--json", "--limit", "1", "--set", "store.path=\(store)"])
        #expect(history.output.contains("\"type\":\"store.changed\""))
        #expect(history.output.contains("\"token\":1,"))
    }

    @Test func `shows what a sample would do`() throws {
        let store = workspace.path("never.sqlite")
        let result = try run([
            "check", "--sample", "samples/chat-events.jsonl", "--json", "--set", "store.path=\(store)",
        ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("\"outcome\":\"event\",\"operations\":[{\"verb\":\"upsert\""))
        #expect(result.output.split(separator: "\n").filter { $0.contains("\"deadLetter\"") }.count >= 1)
        #expect(!FileManager.default.fileExists(atPath: store))
        #expect(try run(["check", "--topic", "t", "--offline"]).status == 64)
    }

    @Test func `mends retries, exports and drops dead letters`() throws {
        let store = workspace.path("letters.sqlite")
        let event = "{\"type\":\"member.created\",\"data\":{\"id\":\"u1\",\"nick\":\"N\"}}\n{\"type\":\"x\"}\n"
        let file = try workspace.write(event, to: "members.jsonl")
        let shared = ["--set", "store.path=\(store)"]
        #expect(try run(["replay", file] + shared).status == 65)
        let shown = try run(["dead-letters", "show", "1"] + shared)
        #expect(shown.output.contains("attempts: 1") && shown.output.contains("\"nick\":\"N\""))
        // Nothing is mended: both stay.
        #expect(try run(["dead-letters", "retry"] + shared).status == 65)
        let configuration = try workspace.write(
            """
            files:
              - match: members.jsonl
                routes: [{ type: member.created, entity: Member, aliases: { nick: name } }]
            """, to: "worker.yaml")
        let mended = try run(["dead-letters", "retry", "--json", "1", "--config", configuration] + shared)
        #expect(mended.status == 0, "\(mended.errors)")
        #expect(mended.output.contains("\"applied\":1"))
        #expect(try Foreign.sqlite(store, "SELECT name FROM Member") == "N")
        #expect(try Foreign.sqlite(store, "SELECT id, attempts FROM _dead_letter") == "2|2")
        let exported = try workspace.write(try run(["dead-letters", "export"] + shared).output, to: "letters.jsonl")
        let other = workspace.path("other.sqlite")
        let again = try run(["replay", exported, "--json", "--set", "store.path=\(other)"])
        #expect(again.output.contains("\"deadLetters\":1"))
        #expect(try Foreign.sqlite(other, "SELECT topic, offset FROM _dead_letter") == "file:\(file)|2")
        #expect(try run(["dead-letters", "drop"] + shared).status == 64)
        #expect(try run(["dead-letters", "drop", "--code", "decode.type"] + shared).output.contains("0 dead"))
        #expect(try run(["dead-letters", "drop", "--all"] + shared).output.contains("1 dead letter dropped"))
        #expect(try run(["dead-letters", "list"] + shared).output.isEmpty)
    }

    @Test func `lists and drops resolved conflicts`() throws {
        let model = try workspace.membersModel()
        let lines = ["Ann", "Anna"].enumerated().map { number, name in
            #"{"specversion":"1.0","type":"member.created","data":{"id":"m\#(number)","name":"\#(name)","email":"a@x.y"}}"#
        }
        let file = try workspace.write(lines.joined(separator: "\n"), to: "members.jsonl")
        let settings = ["--set", "model=\(model)", "--set", "store.path=\(workspace.path("members.sqlite"))"]
        #expect(try run(["replay", file] + settings).status == 0)
        let list = try run(["conflicts", "list"] + settings)
        #expect(list.output.contains("Member m0.name  context \"Anna\", store \"Ann\"  objectTrump: context"))
        let json = try run(["conflicts", "list", "--json"] + settings)
        #expect(json.output.contains(#""property":"name","local":"Anna","stored":"Ann""#))
        #expect(try run(["conflicts", "list", "--after", "1"] + settings).output.isEmpty)
        #expect(try run(["conflicts", "list", "--limit", "1"] + settings).output == list.output)
        #expect(try run(["conflicts", "list", "--limit", "0"] + settings).output.isEmpty)
        #expect(try run(["conflicts", "drop", "--through", "9"] + settings).output.contains("1 conflict removed"))
        #expect(try run(["conflicts"] + settings).output.isEmpty)
    }

    @Test func `shows the demo`() throws {
        let result = try Program(["demo", "--seconds", "3", "--rate", "200", "--seed", "7"]).wait()
        #expect(result.status == 0, "\(result.output)\n\(result.errors)")
        #expect(result.output.contains("0 unexplained"))
        #expect(result.output.contains("Verification   sound"))
    }

    @Test func `the demo writes into no folder that others could have made`() throws {
        let parent = workspace.path("tmp")
        let foreign = parent + "/ingest-worker-demo"
        try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
        let demo = try Program(["demo", "--seconds", "1"], environment: ["TMPDIR": parent])
        try demo.expectGoodEnd()
        #expect(try FileManager.default.contentsOfDirectory(atPath: foreign).isEmpty)
        let made = try FileManager.default.contentsOfDirectory(atPath: parent).filter { $0 != "ingest-worker-demo" }
        #expect(made.count == 1)
        #expect(try Foreign.run("stat", ["-c", "%a", "\(parent)/\(made.first ?? "")"]) == "700\n")
    }

    @Test func `a demo that is interrupted says so, and is no failure`() throws {
        let demo = try Program(["demo", "--seconds", "600"])
        try demo.wait(for: "notifications") { demo.errors.contains(/notifications +[1-9]/) }
        demo.send(SIGINT)
        let result = try demo.wait()
        #expect(result.status == 0, "\(result.output)\n\(result.errors)")
        #expect(result.output.contains("The demo was interrupted"))
        #expect(result.output.contains("0 unexplained") && result.output.contains("Verification   sound"))
    }
}

import Foundation
import Testing

/// Options that select, order and cut, one by one, over a store with two dead letters.
@Suite struct OptionTests {
    private let workspace: Workspace
    private let settings: [String]

    init() throws {
        workspace = try Workspace()
        settings = ["--set", "store.path=\(workspace.path("store.sqlite"))"]
        for file in ["samples/chat-events.jsonl", "samples/chat-events.jsonl"] {
            let replayed = try Program.run(["replay", file, "--allow-dead-letters"] + settings)
            try #require(replayed.status == 0, "\(replayed.errors)")
        }
    }

    private func lines(_ arguments: String...) throws -> [String] {
        let result = try Program.run(arguments + settings)
        #expect(result.status == 0, "\(arguments): \(result.errors)")
        return result.output.split(separator: "\n").map(String.init)
    }

    private struct Letter: Decodable {
        let id: Int
        let topic: String
    }

    private func letters(_ command: String, _ conditions: [String]) throws -> [Letter] {
        let json = command == "list" ? ["--json"] : []
        let result = try Program.run(["dead-letters", command] + json + conditions + settings)
        #expect(result.status == 0, "\(conditions): \(result.errors)")
        return try result.output.split(separator: "\n").map {
            try JSONDecoder().decode(Letter.self, from: Data($0.utf8))
        }
    }

    @Test(arguments: ["list", "export"]) func `each condition on dead letters selects`(_ command: String) throws {
        let all = try letters(command, [])
        try #require(all.count == 2)
        let topic = all[0].topic
        for conditions in [
            ["--topic", topic], ["--partition", "0"], ["--stage", "decode"], ["--before", "2999-01-01"],
            ["--since", "2020-01-01T00:00:00Z"],
        ] {
            #expect(try letters(command, conditions).map(\.id) == all.map(\.id), "\(conditions)")
        }
        for conditions in [
            ["--topic", "other"], ["--partition", "1"], ["--stage", "apply"], ["--code", "decode.none"],
            ["--before", "2020-01-01"], ["--since", "2999-01-01"], ["--reason", "no reason has this"],
        ] {
            #expect(try letters(command, conditions).isEmpty, "\(conditions)")
        }
    }

    @Test func `summaries, single letters and pages of them`() throws {
        #expect(try lines("dead-letters", "summary", "--stage", "apply") == ["0 dead letters"])
        #expect(
            try lines("dead-letters", "summary", "--partition", "0", "--before", "2999-01-01").last == "2 dead letters"
        )
        let all = try letters("list", [])
        #expect(try letters("list", ["--after", "\(all[0].id)"]).map(\.id) == [all[1].id])
        #expect(try letters("list", ["--limit", "1"]).map(\.id) == [all[0].id])
        let shown = try lines("dead-letters", "show", "\(all[1].id)", "--json")
        #expect(shown.count == 1 && shown[0].contains("\"id\":\(all[1].id),"), "\(shown)")
    }

    @Test func `a fetch begins behind an offset`() throws {
        let all = try lines("fetch", "Message", "--sort", "id", "--fields", "id", "--json", "--limit", "4")
        #expect(
            try lines("fetch", "Message", "--sort", "id", "--fields", "id", "--json", "--limit", "2", "--offset", "1")
                == Array(all[1...2]))
    }

    @Test func `the history is selected by each of its conditions`() throws {
        func count(_ conditions: String...) throws -> Int {
            let result = try Program.run(["history", "list", "--count"] + conditions + settings)
            #expect(result.status == 0, "\(conditions): \(result.errors)")
            return try #require(Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(result.output)")
        }
        let all = try count()
        #expect(all > 0)
        #expect(try count("--since", "2999-01-01") == 0 && count("--since", "2020-01-01") == all)
        #expect(try count("--author", "nobody") == 0 && count("--author", "ingest-worker") == all)
        #expect(try count("--context", "none") == 0)
        let chats = try count("--entity", "Chat")
        #expect(chats > 0 && chats <= all)
        #expect(try count("--entity", "Chat", "--object", "nobody") == 0)
    }

    @Test func `the audit comes page by page`() throws {
        #expect(try lines("history", "cursors", "put", "feed", "1").count < 3)
        let all = try lines("audit", "--json")
        try #require(all.count >= 2)
        #expect(try lines("audit", "--json", "--limit", "1") == [all[0]])
        let id = try #require(all[0].firstMatch(of: /"id":(\d+)/)?.1)
        #expect(try lines("audit", "--json", "--before", String(id)) == Array(all.dropFirst()))
    }

    @Test func `the log has the lines of a level and above`() throws {
        func log(_ level: String) throws -> String {
            let store = ["--set", "store.path=\(workspace.path("\(level).sqlite"))"]
            return try Program.run(
                ["replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--log-level", level] + store
            ).errors
        }
        #expect(try log("warning").contains("record kept as a dead letter"))
        #expect(try !log("critical").contains("record kept as a dead letter"))
        #expect(try Program.run(["--version"]).output.contains(/^\d+\.\d+/))
    }

    @Test func `times may be ages, in each option that takes a time`() throws {
        for conditions in [["--since", "1h"], ["--since", "30m"], ["--since", "2d"], ["--before", "0s"]] {
            #expect(try letters("list", conditions).count == 2, "\(conditions)")
        }
        for conditions in [["--before", "1h"], ["--since", "0s"]] {
            #expect(try letters("list", conditions).isEmpty, "\(conditions)")
        }
        #expect(try lines("history", "--count", "--since", "1h") == lines("history", "--count"))
        #expect(try lines("history", "--count", "--since", "0s") == ["0"])
        let topic = ["replay", "--topic", "chat-events", "--from-timestamp"]
        for arguments in [
            topic + ["1x"], ["history", "--since", "1x"], ["dead-letters", "summary", "--before", "1x"],
        ] {
            let refused = try Program.run(arguments + settings)
            #expect(
                refused.status == 64 && refused.errors.contains("or an age such as 30m, 1h or 2d"), "\(refused.errors)")
        }
    }

    @Test func `INGEST_CONFIG stands for --config in commands`() throws {
        let author = try workspace.write("author: variable\n", to: "named.yaml")
        let environment = ["INGEST_CONFIG": author]
        let checked = try Program.run(["check", "--offline", "--settings"] + settings, environment: environment)
        #expect(checked.output.contains("author = variable  # \(author):1:"), "\(checked.output)\(checked.errors)")
        let none = try Program.run(["verify"] + settings, environment: ["INGEST_CONFIG": workspace.path("none.yaml")])
        #expect(none.status == 78 && none.errors.contains("none.yaml"), "\(none.errors)")
    }

    @Test func `the code of dead letters may be the name of a rule`() throws {
        #expect(try letters("list", ["--code", "validation.pattern"]).isEmpty)
        let model =
            "entities:\n  E: { identity: id, attributes: { id: { type: string }, n: { type: string, pattern: '^a' } } }\n"
        let path = try workspace.write(model, to: "pattern.yaml")
        let event = #"{"specversion":"1.0","type":"e.created","data":{"id":"1","n":"b"}}"#
        let file = try workspace.write(event + "\n", to: "pattern.jsonl")
        let store = ["--set", "model=\(path)", "--set", "store.path=\(workspace.path("pattern.sqlite"))"]
        #expect(try Program.run(["replay", file] + store).status == 65)
        for code in ["validation.pattern", "validation.1680"] {
            let listed = try Program.run(["dead-letters", "list", "--code", code] + store)
            #expect(listed.output.contains("(1680, validation.pattern)"), "\(listed.output)\(listed.errors)")
        }
        #expect(try Program.run(["dead-letters", "list", "--code", "validation.min"] + store).output.isEmpty)
    }
}

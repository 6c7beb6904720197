import Foundation
import TestSupport
import Testing

/// `history purge` and `history cursors` by hand: what a reader loses is never lost in silence.
@Suite struct HistoryCommandTests {
    private let workspace: Workspace
    private let store: String
    private let last: Int

    /// A store with some transactions, and a reader that has read the first.
    init() throws {
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
        let replayed = try Program.run([
            "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(store)", "--set",
            "chunk.maxOperations=5", "--set", "commit.maxRows=1",
        ])
        try #require(replayed.status == 0, "\(replayed.errors)")
        last = try Int(Foreign.sqlite(store, "SELECT max(token) FROM _history_transaction")) ?? 0
        try #require(last > 3)
        try #require(try history("cursors", "put", "feed", "1").status == 0)
    }

    private func history(_ arguments: String...) throws -> Program.Result {
        try Program.run(["history"] + arguments + ["--set", "store.path=\(store)"])
    }

    private func tokens() throws -> [Int] {
        try Foreign.sqlite(store, "SELECT token FROM _history_transaction ORDER BY token")
            .split(separator: "\n").compactMap { Int($0) }
    }

    @Test(arguments: [("another:1", "history.foreign_token"), ("99999", "history.token_ahead")])
    func `a token that the history does not have is refused, with and without a filter`(
        _ token: String, _ code: String
    ) throws {
        for filter in [[], ["--kind", "insert"]] {
            let refused = try Program.run(
                ["history", "list", "--after", token, "--set", "store.path=\(store)"] + filter)
            #expect(refused.status == 65 && refused.errors.contains(code), "\(refused.output)\(refused.errors)")
        }
    }

    @Test(arguments: [
        ["--keep-days", "1", "--before", "2"], ["--keep-days=-1"], ["--keep-days", "200000000"],
        ["--before=-9223372036854775808"],
    ])
    func `a purge whose bound makes no sense is refused, and removes nothing`(_ options: [String]) throws {
        let refused = try Program.run(["history", "purge", "--set", "store.path=\(store)"] + options)
        #expect(refused.status == 64, "\(refused.errors)")
        #expect(try tokens() == Array(1...last))
    }

    @Test(arguments: [
        ["history", "purge"], ["history", "cursors", "put", "feed", "0"], ["dead-letters", "drop", "--all"],
        ["dead-letters", "retry"], ["conflicts", "drop", "--through", "1"], ["history", "confirm"],
    ])
    func `a command at a mistyped path fails, and makes no store there`(_ command: [String]) throws {
        let none = workspace.path("none.sqlite")
        let result = try Program.run(command + ["--set", "store.path=\(none)"])
        #expect(result.status == 69 && result.errors.contains("There is no store at \(none)"), "\(result.errors)")
        #expect(!FileManager.default.fileExists(atPath: none))
    }

    @Test func `a record cannot control the terminal of its reader`() throws {
        let letters = workspace.path("letters.sqlite")
        let file = try workspace.write(
            #"""
            {"type":"chat.created","time":"2026-03-02T08:00:00Z","data":{"id":"\u001b]0;x\u0007\u009b31m\u202e"}}
            {"type":"chat.created","time":"2026-03-02T08:00:00Z","data":{"id":"c2","\u009btitle":"y"}}
            {"type":"chat.created","data":"\#u{9B}31m\#u{1B}[2J
            """#, to: "controls.jsonl")
        let here = ["--set", "store.path=\(letters)"]
        try #require(try Program.run(["replay", file, "--allow-dead-letters"] + here).status == 0)
        for command in [
            ["history", "list"], ["history", "list", "--entity", "Chat"], ["dead-letters", "list"],
            ["dead-letters", "show", "2"], ["dead-letters", "retry"], ["fetch", "Chat"],
        ] {
            let result = try Program.run(command + here)
            let controls = (result.output + result.errors).unicodeScalars.filter {
                $0 != "\n" && [.control, .format].contains($0.properties.generalCategory)
            }
            #expect(controls.isEmpty, "\(command): \(controls.map(\.value))")
        }
        #expect(try Program.run(["history", "list"] + here).output.contains("insert Chat ·]0;x··31m·"))
    }

    @Test func `a purge keeps the history that a cursor has not read, and says so`() throws {
        let purged = try history("purge", "--before", "\(last)")
        #expect(purged.status == 0, "\(purged.errors)")
        #expect(purged.output.contains("1 transaction removed"), "\(purged.output)")
        #expect(purged.output.contains("The cursor feed is at token 1 and keeps later transactions"))
        #expect(try tokens() == Array(2...last))
        #expect(try history("cursors", "--json").output.contains(#""expired":false"#))
        #expect(try history("list", "--after", "1").status == 0)
    }

    @Test func `a purge that passes cursors names them, and their readers learn of it`() throws {
        let purged = try history("purge", "--before", "\(last)", "--pass-cursors")
        #expect(purged.status == 0, "\(purged.errors)")
        #expect(purged.output.contains("\(last - 1) transactions removed"), "\(purged.output)")
        #expect(
            purged.output.contains(
                "The cursor feed was at token 1: unread transactions are gone, so read the store again"))
        #expect(!purged.output.contains("keeps later transactions"))
        #expect(try tokens() == [last])
        let cursors = try history("cursors", "--json")
        #expect(cursors.output.contains(#""name":"feed","token":1"#) && cursors.output.contains(#""expired":true"#))
        #expect(try history("cursors").output.contains("expired: a purge removed transactions that it had not read"))
        let refused = try history("list", "--after", "1", "--kind", "insert")
        #expect(refused.status == 65 && refused.errors.contains("history.expired"), "\(refused.errors)")
        // One that has read everything loses nothing, and is not named.
        #expect(try history("cursors", "put", "feed", "\(last)").status == 0)
        let again = try history("purge", "--before", "\(last)", "--pass-cursors")
        #expect(again.status == 0 && !again.output.contains("feed"), "\(again.output)")
    }

    /// Without a worker; a state as a worker leaves it whose clock went from one day to another.
    @Test func `held purges are shown with times, counts and remedy, and an operator confirms them`() throws {
        #expect(try history("confirm").output == "No purge is held\n")
        let state = "token=3 hour=0 commit=9 from=1767225600000000 to=1769904000000000 due.history=3 due.audit=1"
        _ = try Foreign.sqlite(store, "INSERT INTO _metadata VALUES ('purges', '\(state)')", writing: true)
        let reason =
            "between two commits the clock went from 2026-01-01T00:00:00Z to 2026-02-01T00:00:00Z; "
            + "by the clock 3 transactions, 1 audit entry are too old"
        for command in [["status"], ["doctor", "--offline"]] {
            let shown = try Program.run(command + ["--set", "store.path=\(store)", "--set", "http.port=1"])
            #expect(shown.output.contains("purges by age are held: \(reason). Compare the"), "\(shown.output)")
            #expect(shown.output.contains("ingest-worker history confirm"), "\(shown.output)")
        }
        // A purge by hand is not held.
        #expect(try history("purge", "--before", "2").status == 0)
        let confirmed = try history("confirm")
        #expect(confirmed.status == 0 && confirmed.output == "Purges by age go on: \(reason)\n", "\(confirmed)")
        #expect(try history("confirm").output == "No purge is held\n")
        let status = try Program.run(["status", "--set", "store.path=\(store)", "--set", "http.port=1"])
        #expect(!status.output.contains("held"), "\(status.output)")
        let audit = try Program.run(["audit", "--set", "store.path=\(store)"]).output
        #expect(audit.contains("history.confirm"), "\(audit)")
        #expect(audit.contains(#""history":3,"tombstones":0,"audit":1"#), "\(audit)")
    }

    @Test func `a cursor that is removed holds nothing`() throws {
        #expect(try history("cursors", "put", "other", "2").status == 0)
        let removed = try history("cursors", "remove", "feed")
        #expect(removed.status == 0, "\(removed.errors)")
        let names = try history("cursors", "--json").output
        #expect(names.contains("other") && !names.contains("feed"))
        let purged = try history("purge", "--before", "\(last)")
        #expect(purged.output.contains("2 transactions removed") && !purged.output.contains("feed"))
        #expect(purged.output.contains("The cursor other is at token 2"))
        #expect(try tokens() == Array(3...last))
        // One that is not there is no success.
        let absent = try history("cursors", "remove", "feed")
        #expect(absent.status == 65)
        #expect(absent.errors.contains("There is no cursor 'feed'"), "\(absent.errors)")
        #expect(absent.errors.contains("history cursors"))
    }
}

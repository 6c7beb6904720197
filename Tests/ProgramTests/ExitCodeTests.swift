import Foundation
import TestSupport
import Testing

/// The table of exit codes in docs/reference/exit-codes.md, the help and the program say the same.
@Suite struct ExitCodeTests {
    private let workspace: Workspace

    init() throws { workspace = try Workspace() }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Program.root.appending(path: path), encoding: .utf8)
    }

    private static func documented() throws -> Set<Int> {
        let page = try text("docs/reference/exit-codes.md")
        return Set(page.matches(of: /(?m)^\| (\d+) \|/).compactMap { Int($0.1) })
    }

    @Test func `the documented exit codes are those that the program has`() throws {
        let status = try Self.text("Sources/ingest-worker/CommandLine/ExitStatus.swift")
        let names = status.matches(of: /static let (\w+): Int32 = (\d+)/)
        let codes = Set(names.compactMap { Int($0.2) })
        #expect(try Self.documented() == codes.union([0]))
        for name in names {
            let uses = status.matches(of: try Regex("[^\\w]\(name.1)\\b")).count
            #expect(uses > 1, "nothing ends with \(name.1)")
        }
        let help = try Program.run(["--help"]).output.replacing(/\s+/, with: " ")
        let list = try #require(help.firstMatch(of: /Exit codes: ([^.]*)\./)?.1)
        #expect(Set(list.matches(of: /\d+/).compactMap { Int($0.0) }) == codes.union([0]))
    }

    @Test func `each code of the store ends the program with the documented exit code`() throws {
        let status = try Self.text("Sources/ingest-worker/CommandLine/ExitStatus.swift")
        let codes = try Self.text("Sources/GraphCore/Errors/StoreError.swift").matches(of: /case (\w+) = "([^"]+)"/)
        let chosen = try #require(status.split(separator: "func storeCode(").last?.split(separator: "\n    }\n").first)
        var exits: [String: String] = [:]
        for line in chosen.matches(of: /case ([^:]+): (\w+)/) {
            let number = try #require(status.firstMatch(of: try Regex("let \(line.2): Int32 = (\\d+)"))?[1].substring)
            for name in line.1.matches(of: /\.(\w+)/) { exits[String(name.1)] = String(number) }
        }
        let page = try Self.text("docs/reference/errors.md")
        for code in codes {
            let number = try #require(exits[String(code.1)])
            #expect(
                page.contains(try Regex("(?m)^\\| `\(code.2)` \\|.*\\| \(number) \\|$")),
                "\(code.2) ends with \(number)")
        }
    }

    @Test func `systemd starts nothing again that trying again cannot mend`() throws {
        let unit = try Self.text("deploy/ingest-worker.service")
        let line = try #require(unit.firstMatch(of: /(?m)^RestartPreventExitStatus=(.*)$/)?.1)
        #expect(line == "64 65 78")
        #expect(try Set(line.split(separator: " ").compactMap { Int($0) }).isSubset(of: Self.documented()))
    }

    @Test func `the exit codes are those of their causes`() throws {
        let store = ["--set", "store.path=\(workspace.path("s.sqlite"))"]
        let good = try workspace.write(
            #"{"specversion":"1.0","type":"member.created","data":{"id":"u1","name":"Ann"}}"#, to: "good.jsonl")
        let bad = try workspace.write("{\n", to: "bad.jsonl")
        let causes: [(code: Int32, arguments: [String])] = [
            (0, ["replay", good] + store), (64, ["replay"]), (64, ["replay", good, "--route"]),
            (65, ["replay", bad] + store), (65, ["replay", workspace.path("none.jsonl")] + store),
            (69, ["replay", good, "--set", "store.path=/proc/none/s.sqlite"]),
            (78, ["check", "--offline", "--set", "model=none.yaml"]),
            (78, ["check", "--offline", "--set", "kafka.sesion.timeout.ms=1"]),
        ]
        for (code, arguments) in causes {
            let result = try Program.run(arguments)
            #expect(result.status == code, "\(arguments): \(result.errors)")
        }
    }

    @Test(arguments: [["dead-letters", "export"], ["verify", "--dump"], ["fetch", "Chat"], ["model", "yaml"]])
    func `output that is not written whole ends a command with 75 and the reason`(_ command: [String]) throws {
        let words = [Program.url.path] + command + ["--set", "store.path=\(try workspace.sampleStore())"]
        let quoted = words.map { "'\($0)'" }.joined(separator: " ")
        func run(_ output: String) throws -> String {
            try Foreign.run("sh", ["-c", "\(quoted) 2>&1 >\(output); echo \"status $?\""])
        }
        let full = try run("/dev/full")
        let line = "ingest-worker: Standard output is incomplete: No space left on device. "
        #expect(full.contains(line) && full.hasSuffix("[output.incomplete]\nstatus 75\n"), "\(full)")
        let file = workspace.path("out")
        #expect(try run(file).hasSuffix("status 0\n"))
        #expect(try String(contentsOfFile: file, encoding: .utf8).isEmpty == false)
    }

    @Test func `a replay that is interrupted ends with 75, and the same command completes it`() throws {
        let lines = (0..<60_000).map { "{\"type\":\"member.created\",\"data\":{\"id\":\"u\($0)\",\"name\":\"Ann\"}}" }
        let file = try workspace.write(lines.joined(separator: "\n"), to: "members.jsonl")
        let store = workspace.path("s.sqlite")
        let arguments = ["replay", file, "--set", "store.path=\(store)"]
        let program = try Program(arguments)
        try program.wait(for: "the first commit") {
            (try? Foreign.sqlite(store, "SELECT count(*) FROM _position")) == "1"
        }
        program.send(SIGTERM)
        let interrupted = try program.wait()
        #expect(interrupted.status == 75 && interrupted.errors.contains("Interrupted"), "\(interrupted.errors)")
        #expect(try Program.run(arguments).status == 0)
        #expect(try Foreign.sqlite(store, "SELECT count(*) FROM Member") == "60000")
    }

    @Test func `a fault that nobody foresaw ends with 70 and asks for a report`() throws {
        let store = workspace.path("s.sqlite")
        let settings = ["--set", "store.path=\(store)"]
        #expect(
            try Program.run(["replay", "samples/work-orders.jsonl", "--allow-dead-letters"] + settings).status == 0)
        _ = try Foreign.run("sqlite3", [store, "DROP TABLE _dead_letter"])
        let result = try Program.run(["dead-letters", "list"] + settings)
        #expect(result.status == 70 && result.errors.contains("Report this with the log [store.database]"))
    }

    @Test func `a replay with dead letters ends with 65 and shows each code with an example`() throws {
        let file = try workspace.write("{\n{\"type\":\"x\"}\n{\n", to: "bad.jsonl")
        func replay(_ name: String, _ more: [String]) throws -> Program.Result {
            try Program.run(["replay", file, "--set", "store.path=\(workspace.path(name))"] + more)
        }
        let refused = try replay("one.sqlite", [])
        #expect(refused.status == 65)
        #expect(refused.errors.contains("3 records are dead letters"))
        #expect(refused.errors.contains("--allow-dead-letters"))
        #expect(refused.output.contains(#/json\.\w+: 2, the first at .*line 1: /#))
        let allowed = try replay("two.sqlite", ["--allow-dead-letters", "--json"])
        #expect(allowed.status == 0 && allowed.output.contains(#""count":2,"place":"#))
        let settings = ["--set", "store.path=\(workspace.path("two.sqlite"))"]
        let summary = try Program.run(["dead-letters", "summary"] + settings)
        #expect(summary.status == 0 && summary.output.contains("3 dead letters"))
        #expect(summary.output.contains(/2  json\.\w+  file:.*  -  \d{4}-/))
        let json = try Program.run(["dead-letters", "summary", "--json"] + settings)
        #expect(json.output.split(separator: "\n").count == 2 && json.output.contains(#""entity":null,"count":2"#))
        let conditions = ["--code", "decode.event_type", "--since", "2020-01-01", "--reason", "known verb"]
        let listed = try Program.run(["dead-letters", "list"] + conditions + settings)
        #expect(listed.status == 0 && listed.output.split(separator: "\n").count == 1)
        #expect(listed.output.contains("decode.event_type"))
        #expect(try Program.run(["dead-letters", "list", "--since", "2999-01-01"] + settings).output.isEmpty)
        #expect(try Program.run(["dead-letters", "list", "--since", "soon"] + settings).status == 64)
    }

    @Test func `a command that does not exist is refused with the closest`() throws {
        let wrong = try Program.run(["chekc"])
        #expect(wrong.status == 64 && wrong.errors.contains("Did you mean 'ingest-worker check'?"))
        let nested = try Program.run(["dead-letters", "lisst"])
        #expect(nested.status == 64 && nested.errors.contains("Did you mean 'ingest-worker dead-letters list'?"))
    }

    @Test func `check names the files that are read, and no topic that nobody configured`() throws {
        let result = try Program.run(["check", "--offline", "--config", "samples/worker.yaml"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("work-orders.csv") && !result.output.contains("chat-events"))
    }

    @Test func `a stream of JSON logs holds nothing but JSON objects`() throws {
        let bad = try workspace.write("{\n{\n", to: "bad.jsonl")
        let result = try Program.run([
            "replay", bad, "--set", "log.format=json", "--set", "store.path=\(workspace.path("s.sqlite"))",
        ])
        #expect(result.status == 65)
        let lines = result.errors.split(separator: "\n")
        #expect(lines.count >= 3)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["level"] is String, "\(line)")
        }
        #expect(result.errors.contains(#""codes":{"json."#) && result.errors.contains(#""count":1"#))
    }

    @Test func `the worker's address stands in the JSON log as a line of it`() throws {
        let program = try Program([
            "run", "--set", "log.format=json", "--set", "http.port=0", "--set", "kafka.bootstrap.servers=127.0.0.1:1",
            "--set", "store.path=\(workspace.path("run.sqlite"))",
        ])
        try program.wait(for: "the address") { program.errors.contains("http://127.0.0.1:") }
        program.send(SIGTERM)
        let errors = try program.wait().errors
        for line in errors.split(separator: "\n") {
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line.utf8)) }
        }
        #expect(errors.contains(/"port":\d+/))
        #expect(!errors.contains("experimental"))
    }

    /// A process that may write no further file than a few blocks is one whose disk is full.
    @Test func `a full disk is reported with the store's path`() throws {
        let file = workspace.path("events.jsonl")
        try Foreign.generateEvents(3_000, seed: 5, to: file)
        let store = workspace.path("full.sqlite")
        let script =
            "trap '' XFSZ; ulimit -f 300; '\(Program.url.path)' replay '\(file)' --set 'store.path=\(store)' 2>&1; true"
        let output = try Foreign.run("bash", ["-c", script])
        #expect(output.contains("under \(store)"), "\(output.suffix(500))")
    }
}

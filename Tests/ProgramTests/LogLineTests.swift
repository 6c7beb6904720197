import Foundation
import TestSupport
import Testing

/// The first and the last line of a worker's log.
@Suite struct LogLineTests {
    private let workspace: Workspace
    init() throws { workspace = try Workspace() }

    private func settings(_ format: String) -> [String] {
        [
            "--set", "log.format=\(format)", "--set", "store.path=\(workspace.path("store.sqlite"))", "--set",
            "kafka.bootstrap.servers=127.0.0.1:1", "--set", "http.enabled=false",
        ]
    }

    @Test(arguments: ["text", "json"])
    func `the last line of a worker that fails has the code and the exit status as fields`(_ format: String) throws {
        let holder = try Program(["run"] + settings(format))
        try holder.wait(for: "the start") { holder.errors.contains("worker starts") }
        let second = try Program.run(["run"] + settings(format))
        holder.send(SIGTERM)
        #expect(second.status == 69)
        let last = try #require(second.errors.split(separator: "\n").last)
        #expect(last.contains("[store.leased]") && last.contains("critical"))
        let fields = format == "json" ? [#""code":"store.leased""#, #""exit":69"#] : ["code=store.leased", "exit=69"]
        for field in fields { #expect(last.contains(field), "\(last)") }
        try holder.expectGoodEnd()
    }

    @Test func `a worker that gives up ends with the code of its budget`() throws {
        let result = try Program.run(["run", "--set", "errors.retryTimeoutSeconds=1"] + settings("text"))
        #expect(result.status == 75)
        let last = try #require(result.errors.split(separator: "\n").last)
        #expect(last.contains("code=retries.spent exit=75"), "\(last)")
    }

    @Test func `the first line names the places that the worker connects to`() throws {
        let program = try Program(["run"] + settings("text"))
        try program.wait(for: "the start") { program.errors.contains("worker starts") }
        program.send(SIGTERM)
        let line = try #require(try program.wait().errors.split(separator: "\n").first { $0.contains("worker starts") })
        for field in ["brokers=127.0.0.1:1", "group=ingest", "topics=[\"chat-events\"]", "http=off", "store.sqlite"] {
            #expect(line.contains(field), "\(field): \(line)")
        }
    }
}

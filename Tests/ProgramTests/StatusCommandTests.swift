import Foundation
import KafkaClient
import TestSupport
import Testing

/// `status` asks the running worker, and reads the store alone without one.
@Suite(.serialized) struct StatusCommandTests {
    private let workspace: Workspace
    private let store: String

    init() throws {
        workspace = try Workspace()
        store = try workspace.sampleStore()
    }

    private func status(_ arguments: [String], _ settings: [String]) throws -> Program.Result {
        let all = ["store.path=\(store)"] + settings
        return try Program.run(["status"] + arguments + all.flatMap { ["--set", $0] })
    }

    @Test func `a damaged store is an error with a remedy`() throws {
        let file = try FileHandle(forUpdating: URL(filePath: store))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: Int(size) - 4096))
        try file.close()
        let result = try status([], ["http.enabled=false"])
        #expect(result.status == 69, "\(result.errors)")
        #expect(result.errors.contains("the file is damaged") && result.errors.contains("'verify --repair'"))
        let repair = try Program.run(["verify", "--repair", "--set", "store.path=\(store)"])
        #expect(repair.status == 69 && repair.errors.contains("restore a backup"), "\(repair.errors)")
        #expect(!(repair.output + repair.errors).contains("--repair"), "\(repair.output)\(repair.errors)")
    }

    @Test func `without a worker the store alone is read`() throws {
        // Nothing may listen at port 1.
        let result = try status([], ["http.port=1"])
        #expect(result.status == 75, "\(result.errors)")
        #expect(result.output.hasPrefix("No worker answers; the store was read alone.\n"))
        #expect(result.output.contains("nobody answers at http://127.0.0.1:1"))
        #expect(result.output.contains("samples/chat-events.jsonl"))
        let json = try status(["--json"], ["http.enabled=false"])
        #expect(json.output.contains(#""withoutWorker":"http.enabled is false""#))
        #expect(json.output.contains(#""nextOffset":"#))
    }

    @Test func `a store that waits for a verification is named, with what to do`() throws {
        #expect(FileManager.default.createFile(atPath: store + "-suspect", contents: nil))
        let result = try status([], ["http.port=1"])
        #expect(result.output.hasPrefix("No worker answers. The disk failed under the store"), "\(result.output)")
        #expect(result.status == 75 && result.output.contains("'ingest-worker verify'"))
        #expect(result.output.contains("run 'verify --repair'. If problems remain, restore a backup"))
        #expect(try status(["--json"], ["http.port=1"]).output.contains(#""isSuspect":true"#))
    }

    @Test func `a running worker answers, behind its token, and only for its own store`() throws {
        let broker = try BrokerProcess(.noida)
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic("events", partitions: 1, replicationFactor: 1))
        let token = "a-token-of-sufficient-length-for-a-test"
        let settings = [
            "topics=events", "notifications.topic=null", "http.port=0", "http.bearerToken=\(token)",
            "kafka.bootstrap.servers=\(broker.bootstrapServers)", "kafka.group.id=status",
        ]
        let all = ["store.path=\(store)"] + settings
        let program = try Program(["run"] + all.flatMap { ["--set", $0] })
        var ready = false
        try program.wait(for: "readiness") {
            ready = try program.get("/readyz")?.status == 200
            return ready
        }
        try #require(ready)
        let match = try #require(program.errors.matches(of: /http:\/\/127\.0\.0\.1:(\d+)/).last)
        let port = "http.port=\(match.1)"

        let asked = try status(["--json"], [port, "http.bearerToken=\(token)"])
        #expect(asked.status == 0, "\(asked.errors)")
        #expect(asked.output.contains(#""ready":true"#))
        #expect(asked.output.contains(#""worker":"http://127.0.0.1:\#(match.1)""#))
        // Another name of the same file.
        let link = workspace.path("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store)
        let byLink = try status(["--json"], ["store.path=\(link)", port, "http.bearerToken=\(token)"])
        #expect(byLink.status == 0 && byLink.output.contains(#""ready":true"#), "\(byLink.output)\(byLink.errors)")
        let withoutToken = try status([], [port])
        #expect(
            withoutToken.output.contains("answers with 401: it requires a token. Set http.bearerToken"),
            "\(withoutToken.output)")
        let wrong = try status([], [port, "http.bearerToken=another-token-of-sufficient-length"])
        #expect(
            wrong.output.contains("answers with 401: the token in http.bearerToken does not match its own"),
            "\(wrong.output)")

        let other = workspace.path("other.sqlite")
        try #require(
            try Program.run([
                "replay", "samples/chat-events.jsonl", "--allow-dead-letters", "--set", "store.path=\(other)",
            ]).status == 0)
        let ofAnother = try Program.run(
            ["status"]
                + ["store.path=\(other)", port, "http.bearerToken=\(token)"].flatMap { ["--set", $0] })
        #expect(ofAnother.output.contains("writes another store"), "\(ofAnother.output)")
        program.send(SIGTERM)
        try program.expectGoodEnd()
    }
}

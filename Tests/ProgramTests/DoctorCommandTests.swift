import Foundation
import KafkaClient
import TestSupport
import Testing

@testable import Operations

/// `doctor` and `check` examine the same, and `doctor` goes on.
@Suite(.serialized) struct DoctorCommandTests {
    private struct Report: Decodable {
        struct Finding: Decodable {
            let name: String
            let state: String
            let message: String
            let remedy: String?
            let code: String?
        }
        struct Setting: Decodable {
            let key: String
            let value: String
            let origin: String
        }
        let ok: Bool
        let findings: [Finding]
        let settings: [Setting]?

        subscript(_ name: String) -> Finding? { findings.first { $0.name == name } }
    }

    private let workspace: Workspace
    private let store: String

    init() throws {
        workspace = try Workspace()
        store = workspace.path("store.sqlite")
    }

    private func run(_ command: [String], _ settings: [String] = []) throws -> Program.Result {
        try Program.run(command + (["store.path=\(store)", "http.port=0"] + settings).flatMap { ["--set", $0] })
    }

    private func report(_ result: Program.Result) throws -> Report {
        try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
    }

    @Test func `a sound worker without a broker has no failure`() throws {
        let result = try run(["doctor", "--offline"])
        #expect(result.status == 0, "\(result.output)\(result.errors)")
        let names = result.output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
        #expect(
            names == [
                "configuration", "model", "routes", "store", "permissions", "disk", "broker", "worker", "contents",
                "purges", "port", "topics", "positions", "group", "clock", "certificates", "limits", "versions", "0",
            ])
        #expect(result.output.contains("broker         not asked"))
        #expect(result.output.contains("will be made"))
        #expect(!FileManager.default.fileExists(atPath: store))
    }

    @Test func `a failure has a remedy, and the others are examined too`() throws {
        let result = try run(["doctor", "--json"], ["kafka.bootstrap.servers=127.0.0.1:1"])
        #expect(result.status == 69)
        let report = try report(result)
        #expect(!report.ok)
        let broker = try #require(report["broker"])
        #expect(broker.state == "failed" && broker.code != nil && broker.remedy?.isEmpty == false)
        #expect(report["topics"]?.message == "not examined, since no broker has answered")
        #expect(report["disk"]?.state != "skipped" && report["versions"]?.message.contains("SQLite 3.") == true)
    }

    @Test func `a damaged store is found`() throws {
        try #require(try run(["replay", "samples/chat-events.jsonl", "--allow-dead-letters"]).status == 0)
        let sound = try report(run(["doctor", "--offline", "--json"]))
        #expect(sound.ok && sound["contents"]?.message.hasPrefix("sound, by 17 checks") == true)
        #expect(sound["worker"]?.message == "no worker runs: nobody answers at http://127.0.0.1:0")
        _ = try Foreign.sqlite(store, "UPDATE Message SET seq = -1", writing: true)
        let broken = try report(run(["doctor", "--offline", "--json"]))
        #expect(broken["contents"]?.state == "warning")
        #expect(broken["contents"]?.message.hasSuffix("none of them damage") == true)
        _ = try Foreign.sqlite(store, "UPDATE Chat SET messagesCount = messagesCount + 1", writing: true)
        let result = try run(["doctor", "--offline", "--json"])
        #expect(result.status == 69, "\(result.output)")
        #expect(try report(result)["contents"]?.code == "store.corrupt")
    }

    @Test func `a broker is examined with its topics, the group and the clocks`() async throws {
        let broker = try BrokerProcess(.noida)
        let servers = "kafka.bootstrap.servers=\(broker.bootstrapServers)"
        let settings = [servers, "topics=events", "kafka.group.id=doctor", "notifications.topic=null"]
        let lacking = try run(["doctor", "--json"], settings)
        #expect(lacking.status == 78)
        #expect(try report(lacking)["broker"]?.code == "doctor.topic")
        let admin = try Admin(configuration: ["bootstrap.servers": broker.bootstrapServers])
        try admin.createTopic(NewTopic("events", partitions: 2, replicationFactor: 1))
        let found = try run(["doctor", "--json"], settings)
        #expect(found.status == 0, "\(found.output)")
        let sound = try report(found)
        #expect(sound["topics"]?.message == "events with 2 partitions")
        let group = try #require(sound["group"])
        #expect(group.state == "ok")
        #expect(group.message == "doctor may be read, and has offsets of 0 partitions, and no members")
        let stranger = try Consumer(
            configuration: [
                "bootstrap.servers": broker.bootstrapServers, "group.id": "doctor", "client.id": "billing",
            ], topics: ["events"])
        try wait(for: "the stranger's partitions") {
            _ = try stranger.poll(maxRecords: 1, timeoutMilliseconds: 50)
            return try stranger.assignment.count == 2
        }
        let taken = try #require(report(run(["doctor", "--json"], settings))["group"])
        #expect(taken.state == "warning" && taken.remedy?.contains("group.id of its own") == true)
        #expect(
            taken.message.contains("1 member: billing at 127.0.0.1 with events/0, events/1. Not of this configuration"),
            "\(taken.message)")
        try stranger.close(timeoutMilliseconds: patientMilliseconds)
        #expect(sound["clock"]?.state == "ok")
        let producer = try Producer(configuration: ["bootstrap.servers": broker.bootstrapServers])
        let future = Int64(Date().timeIntervalSince1970 * 1000) + 3_600_000
        _ = try await producer.send(topic: "events", partition: 1, value: [1], timestampMilliseconds: future)
        try producer.close(timeoutMilliseconds: patientMilliseconds)
        #expect(try report(run(["doctor", "--json"], settings))["clock"]?.state == "warning")
    }

    @Test func `check prints its findings and settings as JSON`() throws {
        let result = try run(["check", "--offline", "--json", "--settings"])
        #expect(result.status == 0, "\(result.errors)")
        let report = try report(result)
        let names = ["model", "routes", "store", "permissions", "disk", "broker"]
        #expect(report.ok && report.findings.map(\.name) == names)
        let path = try #require(report.settings?.first { $0.key == "store.path" })
        #expect(path.value == store && path.origin == "--set store.path")
        let refused = try run(["check", "--offline", "--json"], ["model=none.yaml"])
        #expect(refused.status == 78)
        #expect(try !self.report(refused).ok)
    }

    @Test func `model check lists its results as JSON`() throws {
        let bad = try workspace.write("name: bad\nentities: 7\n", to: "bad.yaml")
        let result = try Program.run(["model", "check", "--json", "config/models/chat.yaml", bad])
        #expect(result.status == 78)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains(#""path":"config/models/chat.yaml","entities":3,"#) == true)
        #expect(lines.last?.contains(#""problems":[""#) == true)
    }
}

import Foundation
import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

extension WorkerRuntimeTests {
    /// A program whose process ends at the record `{"crash": true}`.
    private static let program = RouteProgram(
        """
        if .crash then reduce range(1000000) as $i (0; [.])
        else {type: "message.upserted", data: {id: .id, chat: "c", body: $key}} end
        """)

    @Test func `a process of a program that cannot be started stops the reading and no record`() async throws {
        let harness = try WorkerHarness()
        var route = RouteConfiguration(entity: "")
        route.program = Self.program
        harness.configuration.topics = [TopicConfiguration(name: harness.topic, format: .json, routes: [route])]
        let worker = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(
            path: "ingest-worker")
        try #require(FileManager.default.isExecutableFile(atPath: worker.path))
        let link = harness.folder.appending(path: "linked-worker").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: worker.path)
        ProgramProcess.use(executable: link)

        try harness.send([[UInt8]("{\"id\":\"a\"}".utf8)], keys: ["k"])
        try harness.start()
        try await harness.waitForPosition(1)
        try FileManager.default.removeItem(atPath: link)
        try harness.send(["{\"crash\":true}", "{\"id\":\"b\"}"])
        func decoding() -> HealthCheck? { harness.runtime?.health.readiness().first { $0.name == "decoding" } }
        try await harness.wait(for: "the failed check") { decoding()?.isOK == false }
        #expect(try #require(decoding()?.reason).contains("cannot be started"))
        #expect(try harness.position() == 1)

        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: worker.path)
        try await harness.waitForPosition(3)
        try await harness.wait(for: "readiness") { decoding() == nil && harness.isReady() }
        try await harness.stop()
        try harness.read { context in
            #expect(try context.deadLetters(limit: 10).map(\.code) == ["jq.crashed"])
            let messages = try context.fetch(FetchRequest("Message"))
            #expect(messages.compactMap { $0["id"]?.text }.sorted() == ["a", "b"])
        }
    }
}

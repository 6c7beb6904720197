import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

extension WorkerRuntimeTests {
    private static let schema = #"""
        {"type":"record","name":"M","fields":[{"name":"id","type":"string"},{"name":"chat","type":"string"}]}
        """#

    private static func record(_ id: String, schema: UInt8 = 7) -> [UInt8] {
        [0, 0, 0, 0, schema] + TestRegistry.text(id) + TestRegistry.text("c")
    }

    @Test func `a partition waits for the schema registry, the other one goes on, and nothing is lost`() async throws {
        let harness = try WorkerHarness(partitions: 2)
        let port = try ReservedPort()
        var route = RouteConfiguration(entity: "Message")
        route.verb = .upsert
        harness.configuration.topics = [TopicConfiguration(name: harness.topic, format: .json, routes: [route])]
        harness.configuration.schemaRegistry.url = "http://localhost:\(port.number)"
        try harness.send([Array(#"{"id":"p0","chat":"c"}"#.utf8), Self.record("a"), Self.record("b")])
        try harness.start()
        func decoding() -> HealthCheck? { harness.runtime?.health.readiness().first { $0.name == "decoding" } }
        try await harness.wait(for: "the failed check") { decoding()?.isOK == false }
        #expect(decoding()?.reason?.contains("events/0 waits: The schema registry does not give schema 7") == true)
        try harness.send([#"{"id":"p1","chat":"c"}"#], partition: 1)
        try await harness.waitForPosition(1, partition: 1)
        try await harness.waitForPosition(1)
        #expect(try harness.position() == 1 && decoding()?.isOK == false)

        let server = try await RegistryServer(["/schemas/ids/7": .schema(Self.schema)], port: port)
        try await harness.waitForPosition(3)
        try await harness.wait(for: "readiness") { decoding() == nil && harness.isReady() }
        // A schema that the registry does not have is the record's fault.
        try harness.send([Self.record("x", schema: 8), Self.record("c")])
        try await harness.waitForPosition(5)
        #expect(server.requests.map(\.path) == ["/schemas/ids/7", "/schemas/ids/8"])
        try await harness.stop()
        await server.stop()
        try harness.read { context in
            #expect(try context.deadLetters(limit: 10).map(\.code) == ["registry.missing"])
            let messages = try context.fetch(FetchRequest("Message"))
            #expect(messages.compactMap { $0["id"]?.text }.sorted() == ["a", "b", "c", "p0", "p1"])
        }
    }
}

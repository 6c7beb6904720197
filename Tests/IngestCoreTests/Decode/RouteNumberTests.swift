import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// The digits of numbers in what routes state.
@Suite struct RouteNumberTests {
    @Test func `constants keep their digits as they are written`() throws {
        let text = """
            model: m.yaml
            topics:
              - name: t
                format: json
                routes:
                  - { entity: WorkOrder, constants: { price: 12345678901234567890.12, name: 1.50, large: 9007199254740993.0, medium: 007 },
                      defaults: { ratio: 1.5 } }
            """
        let loaded = try WorkerConfiguration.load(yaml: text, name: "w.yaml", settings: [], environment: [:])
        let topic = try #require(loaded.configuration.topics.first)
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: topic.routes)
        #expect(
            try decoder.shown("{\"id\":\"w1\"}") == [
                "upsert WorkOrder w1 large=9007199254740993 medium=7 name=1.50 price=12345678901234567890.12 ratio=1.5"
            ])
    }

    @Test(arguments: [
        ("p > 9", true), ("p = 10.5", true), ("p < 9", false), ("p = '10.50'", true), ("p > t", false),
        ("w = 9007199254740993", true), ("w = 9007199254740992.0", false), ("w > 9007199254740992.0", true),
        ("e = 12345678901234567.89", true), ("e = 12345678901234567.8", false),
        ("e IN {1, 12345678901234567.890}", true),
        ("g = 123456789012345678901234567890", true), ("g > 123456789012345678901234567889", true),
        ("g < -123456789012345678901234567890", false), ("h > 1", true),
    ])
    func `conditions compare numbers with all their digits and also those in texts`(
        condition: String, holds: Bool
    ) throws {
        var route = RouteConfiguration(entity: "WorkOrder")
        (route.filter, route.ignore) = (condition, ["*"])
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [route])
        let operations = try decoder.shown(
            "{\"id\":\"w1\",\"p\":\"10.50\",\"t\":\"x\",\"w\":9007199254740993,\"e\":12345678901234567.89,"
                + "\"g\":123456789012345678901234567890,\"h\":1e400}")
        #expect(operations.isEmpty != holds)
    }
}

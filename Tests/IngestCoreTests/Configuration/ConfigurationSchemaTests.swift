import Foundation
import Testing

@testable import IngestCore

@Suite struct ConfigurationSchemaTests {
    private static func schema() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(ConfigurationSchema.json.utf8)) as? [String: Any])
    }

    private static func properties(_ object: Any?) throws -> [String: Any] {
        try #require((object as? [String: Any])?["properties"] as? [String: Any])
    }

    @Test func `the file in config is the one that the program prints`() throws {
        let file = try String(
            contentsOfFile: TestModels.packageFolder + "/config/worker.schema.json", encoding: .utf8)
        #expect(file == ConfigurationSchema.json, "make it with 'make reference'")
    }

    @Test func `it has each known key with its meaning, and no other`() throws {
        var found: Set<String> = []
        for (name, value) in try Self.properties(try Self.schema()) {
            guard let nested = (value as? [String: Any])?["properties"] as? [String: Any] else {
                found.insert(name)
                continue
            }
            for key in nested.keys { found.insert("\(name).\(key)") }
        }
        let properties = Set(ConfigurationSection.kafka.properties.map { "kafka.\($0.name)" })
        #expect(found == Set(ConfigurationKey.known.map(\.path)).union(properties))
        let sections = try Self.properties(try Self.schema())
        let port = try #require(try Self.properties(sections["http"])["port"] as? [String: Any])
        #expect(port["type"] as? String == "integer" && port["maximum"] as? Int == 65_535)
        #expect((port["description"] as? String)?.contains("port of the HTTP server") == true)
        let level = try #require(try Self.properties(sections["log"])["level"] as? [String: Any])
        #expect(port["default"] as? Int == 8080 && port["x-change"] as? String == "restart")
        #expect(level["x-change"] as? String == "reload")
        #expect((level["enum"] as? [String])?.contains("debug") == true)
    }

    @Test func `routes and splits have the keys that the worker reads`() throws {
        let definitions = try #require(try Self.schema()["$defs"] as? [String: Any])
        #expect(Set(try Self.properties(definitions["route"]).keys) == Set(ConfigurationNode.routeKeys))
        #expect(Set(try Self.properties(definitions["split"]).keys) == Set(ConfigurationNode.splitKeys))
    }
}

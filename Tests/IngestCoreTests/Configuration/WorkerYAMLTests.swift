import Foundation
import Testing

@testable import IngestCore

@Suite("config/worker.yaml")
struct WorkerYAMLTests {
    private static var path: String {
        // Tests/IngestCoreTests/Configuration/WorkerYAMLTests.swift: four levels under the package.
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/")
            + "/config/worker.yaml"
    }

    @Test
    func `has exactly the defaults`() throws {
        let loaded = try WorkerConfiguration.load(file: Self.path)
        #expect(loaded.configuration == WorkerConfiguration())
        #expect(loaded.file == Self.path)
    }

    @Test
    func `is the file that the program prints`() throws {
        let file = try String(contentsOfFile: Self.path, encoding: .utf8)
        #expect(file == ConfigurationFile.yaml, "make it with 'make reference'")
    }

    @Test
    func `states every known key`() throws {
        let loaded = try WorkerConfiguration.load(file: Self.path)
        for entry in loaded.entries {
            guard case .file(let path, let line, _) = entry.origin else {
                Issue.record("\(entry.key) is missing from the file")
                continue
            }
            #expect(path == Self.path)
            #expect(line > 1)
        }
        #expect(loaded.entries.count == ConfigurationKey.known.count + 3)
    }

    @Test
    func `the route of its example loads`() throws {
        let lines = try #require(try? String(contentsOfFile: Self.path, encoding: .utf8)).split(separator: "\n")
        let begin = try #require(lines.firstIndex(of: "#     topics:"))
        let example = lines[begin...].prefix { $0.hasPrefix("#     ") }.map { $0.dropFirst(6) }.joined(separator: "\n")
        let loaded = try WorkerConfiguration.load(yaml: example, name: "example")
        let route = try #require(loaded.configuration.topics.first?.routes.first)
        #expect(loaded.configuration.topics.first?.format == .json)
        #expect(route.type == "message.changed")
        #expect(route.identity == .field("payload.id"))
        #expect(route.aliases == ["text": "body"])
        #expect(route.dates == .milliseconds)
    }
}

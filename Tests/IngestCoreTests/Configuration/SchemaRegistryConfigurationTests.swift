import Foundation
import Testing

@testable import IngestCore

@Suite struct SchemaRegistryConfigurationTests {
    private func load(_ yaml: String, _ settings: [String] = []) throws -> LoadedConfiguration {
        try WorkerConfiguration.load(yaml: yaml, name: "worker.yaml", settings: settings)
    }

    @Test func `the example of the page names a registry`() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "docs/reference/formats.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "## Schema registry\n").last)
        let block = try #require(section.components(separatedBy: "```yaml\n").dropFirst().first)
        let file = FileManager.default.temporaryDirectory.appending(path: "password-\(UUID().uuidString)")
        try "sesame-7\n".write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let yaml = try #require(block.components(separatedBy: "```").first)
            .replacing("/run/secrets/registry-password", with: file.path)
        let loaded = try load(yaml)
        let registry = loaded.configuration.schemaRegistry
        #expect(registry.addresses == ["https://registry.example:8081"])
        #expect(registry.username == "ingest" && registry.password == "sesame-7")
        #expect(loaded.configuration.topics.map(\.name) == ["members"])
        #expect(loaded.configuration.secretValues == ["sesame-7"])
        #expect(!loaded.describe().contains("sesame") && !"\(loaded.configuration)".contains("sesame"))
        var dumped = ""
        dump(loaded.configuration, to: &dumped)
        #expect(!dumped.contains("sesame"))
    }

    @Test func `several addresses are asked in their order`() throws {
        let loaded = try load("schemaRegistry: { url: \"http://a:8081/ , https://b/registry/\" }")
        #expect(loaded.configuration.schemaRegistry.addresses == ["http://a:8081", "https://b/registry"])
    }

    @Test(
        arguments: [
            "", "registry:8081", "ftp://registry", "http://", "http://user:sesame@registry", "http://a,b",
            "http://registry?token=sesame", "http://registry#x",
        ])
    func `an address that is none is refused, and not shown`(url: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try load("schemaRegistry: { url: \"\(url)\" }")
        }
        #expect(error?.description.contains("schemaRegistry.url") == true)
        #expect(error?.description.contains("sesame") == false)
    }

    @Test(arguments: ["caFile: /nowhere/ca.pem", "timeoutSeconds: 0", "timeoutSeconds: 61", "password: \"a\\nb\""])
    func `a wrong setting is refused with its name`(setting: String) {
        let error = #expect(throws: ConfigurationError.self) { try load("schemaRegistry: { \(setting) }") }
        let name = setting.components(separatedBy: ":")[0]
        #expect(error?.description.contains("schemaRegistry.\(name)") == true)
    }
}

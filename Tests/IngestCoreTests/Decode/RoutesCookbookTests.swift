import Foundation
import ObjectGraph
import Testing

@testable import IngestCore

/// The recipes of docs/how-to/routes-cookbook.md: each one's record has the outcome that stands under it.
@Suite struct RoutesCookbookTests {
    private static let root = String(#filePath.dropLast("Tests/IngestCoreTests/Decode/RoutesCookbookTests.swift".count))

    /// The page's blocks of code with their kind, such as `routes`, in order.
    private func blocks() throws -> [(kind: String, text: String)] {
        let page = try String(contentsOfFile: Self.root + "docs/how-to/routes-cookbook.md", encoding: .utf8)
        var blocks: [(kind: String, text: String)] = []
        var open: (kind: String, lines: [Substring])?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if let block = open, line == "```" {
                blocks.append((block.kind, block.lines.joined(separator: "\n")))
                open = nil
            } else if open != nil {
                open?.lines.append(line)
            } else if line.hasPrefix("```") {
                open = (line.split(separator: " ").dropFirst().first.map { String($0) } ?? "", [])
            }
        }
        return blocks
    }

    @Test func `each recipe does what the page says`() throws {
        let blocks = try blocks()
        let model = try ObjectModel.parse(try #require(blocks.first { $0.kind == "model" }).text)
        var routes = ""
        var record = ""
        var recipes = 0
        for block in blocks {
            switch block.kind {
            case "routes": routes = block.text
            case "record": record = block.text
            case "outcome":
                #expect(try outcome(of: record, routes, model) == block.text, "\(routes)")
                recipes += 1
            default: break
            }
        }
        #expect(recipes == 7)
    }

    private func outcome(of record: String, _ routes: String, _ model: ObjectModel) throws -> String {
        let indented = routes.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
        let yaml = "topics:\n  - name: t\n    format: json\n    nullValues: [\"\"]\n    routes:\n\(indented)\n"
        let folder = TestFolder()
        let path = folder.write("record.jsonl", record)
        let configuration = try WorkerConfiguration.load(yaml: yaml, name: "cookbook.yaml").configuration
        let sample = RecordSample(configuration: configuration, model: model)
        var text = ""
        _ = try sample.read(path: path, topic: "t") { place, outcome in text += sample.text(place, outcome) }
        return text.replacing("line 1  ", with: "")
    }
}

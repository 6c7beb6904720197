import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Damaged model files: a model comes of them that makes a store, or an error with a place and a remedy for each mistake.
@Suite struct ModelFuzzTests {
    private static var runs: Int {
        ProcessInfo.processInfo.environment["INGEST_TEST_RUNS"].flatMap { Int($0) } ?? 400
    }

    private static let words = [
        "true", "false", "[]", "{}", "null", "~", "-1", "0", "99999999999999999999", "1.5", "string", "decimal", "date",
        "id", "Box", "Item", "none", "inverse", "cascade", "noAction", "many", "parent", "identity", "derived",
        "unique",
        "items.@count", "now()", "''", "\"", "'", "*a", "&a x", "<<", "!!binary", "|", "- x", "[[id, id]]", "pk",
        "rowid",
        "transformable", "binary", "uuid", "&#0;", "ü", "sqlite_x", "a_readable",
    ]

    /// Exchanges words, and removes, repeats and swaps lines.
    private static func damaged(_ text: String, _ random: inout SeededRandom) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for _ in 0...random.number(below: 3) {
            let index = random.number(below: lines.count)
            switch random.number(below: 6) {
            case 0: lines.remove(at: index)
            case 1: lines.insert(lines[random.number(below: lines.count)], at: index)
            case 2: lines.swapAt(index, random.number(below: lines.count))
            default:
                var parts = lines[index].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
                let place = random.number(below: parts.count)
                let suffix = parts[place].last.map { ",:}]\">".contains($0) ? String($0) : "" } ?? ""
                parts[place] = words[random.number(below: words.count)] + suffix
                lines[index] = parts.joined(separator: " ")
            }
            if lines.isEmpty { lines = [""] }
        }
        return lines.joined(separator: "\n")
    }

    private func check(_ error: ModelError, _ text: String) {
        #expect(!error.problems.isEmpty, "\(text)")
        for problem in error.problems {
            #expect(problem.remedy.count > 5 && !problem.file.isEmpty, "\(problem)\n\(text)")
            if let line = problem.line {
                #expect(line >= 1 && line <= text.split(separator: "\n", omittingEmptySubsequences: false).count + 1)
            }
        }
    }

    /// What is taken for a model makes a store, and comes back from its YAML.
    private func use(_ model: ObjectModel, _ text: String) throws {
        do {
            let graph = try Graph(model)
            var generator = EventGenerator(model, seed: 7)
            try graph.apply(generator.events(8))
            let damage = try graph.damage()
            #expect(damage == "", "\(text)")
            let again = try ObjectModel.parse(model.yaml)
            #expect(again.hash == model.hash && again.yaml == model.yaml, "\(text)")
        } catch {
            Issue.record("\(error)\n\(text)")
        }
    }

    @Test func `a damaged model is refused with place and remedy or makes a store`() throws {
        var random = SeededRandom.forTest("ModelFuzzTests")
        let sources = [Models.rules, Models.people, Models.strict, Models.hierarchy, Models.ordered, Models.derived]
        for _ in 0..<Self.runs {
            let text = Self.damaged(sources[random.number(below: sources.count)], &random)
            let model: ObjectModel
            do throws(ModelError) {
                model = try ObjectModel.parse(text, file: "m.yaml")
            } catch {
                check(error, text)
                continue
            }
            try use(model, text)
        }
    }

    @Test func `a damaged Core Data model is refused with place and remedy or makes a store`() throws {
        var random = SeededRandom.forTest("ModelFuzzTests")
        let file = CoreDataModelFile(contents: "Shop.xcdatamodel/contents", name: "Shop", version: "1")
        for _ in 0..<Self.runs {
            let text = Self.damaged(CoreDataFormatTests.model, &random)
            let model: ObjectModel
            do throws(ModelError) {
                model = try CoreDataModels.parse(text, file)
            } catch {
                check(error, text)
                continue
            }
            try use(model, text)
        }
    }
}

import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// What docs/reference/fetching.md says: its tables, its examples with what they find, its programs.
struct FetchingPage {
    /// A line of an example: what stands before the mark, and behind it.
    struct Example: Sendable, CustomTestStringConvertible {
        let condition: String
        let result: String

        var testDescription: String { condition }
    }

    let text: String

    init() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        text = try String(contentsOf: root.appendingPathComponent("docs/reference/fetching.md"), encoding: .utf8)
    }

    private var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) } }

    /// The lines of the blocks in a language.
    func blocks(_ language: String) -> [[String]] {
        var blocks: [[String]] = []
        var isOpen = false
        for line in lines {
            if !isOpen, line == "```" + language {
                isOpen = true
                blocks.append([])
            } else if line == "```" {
                isOpen = false
            } else if isOpen {
                blocks[blocks.count - 1].append(line)
            }
        }
        return blocks
    }

    func examples(_ mark: String) -> [Example] {
        blocks("text").joined().compactMap { line in
            guard let range = line.range(of: mark) else { return nil }
            return Example(
                condition: line[..<range.lowerBound].trimmingCharacters(in: .whitespaces),
                result: line[range.upperBound...].trimmingCharacters(in: .whitespaces))
        }
    }

    /// The objects of the tables whose heading begins with an entity, as events.
    func events(_ model: ObjectModel) -> [ChangeSet] {
        var events: [ChangeSet] = []
        var heading: [String] = []
        for line in lines {
            guard line.hasPrefix("|") else {
                heading = []
                continue
            }
            let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            if heading.isEmpty {
                heading = cells
            } else if let entity = model.entity(named: heading[0]), !cells[0].hasPrefix("-") {
                var said: [String: ReadingFixture.Said] = [:]
                for (name, cell) in zip(heading, cells).dropFirst() where !cell.isEmpty {
                    guard let relationship = entity.relationship(named: name) else {
                        said[name] = .text(cell)
                        continue
                    }
                    let ids = cell.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                    said[name] = relationship.isToMany ? .many(ids) : .one(cell)
                }
                events.append(ReadingFixture.upsert(model, entity.name, cells[0], said))
            }
        }
        return events
    }

    func fixture() throws -> ReadingFixture {
        let model = try ReadingFixture.model(.workOrders)
        return try ReadingFixture(model: model, events(model))
    }
}

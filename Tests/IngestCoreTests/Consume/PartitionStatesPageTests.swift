import Foundation
import Testing

@testable import IngestCore

/// `docs/reference/partition-states.md` has the table of the machine.
@Suite struct PartitionStatesPageTests {
    @Test func `the page's table is the machine's`() throws {
        var root = URL(filePath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "docs/reference/partition-states.md"), encoding: .utf8)
        let lines = page.components(separatedBy: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| event | ") })
        let table = lines[start...].prefix { $0.hasPrefix("|") }
        let expected = PartitionTable.lines
        #expect(expected.count > 25)
        #expect(Array(table) == expected, "the page should have:\n\(expected.joined(separator: "\n"))")
    }
}

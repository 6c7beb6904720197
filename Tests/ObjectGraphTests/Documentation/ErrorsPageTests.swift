import ObjectGraph
import Testing

@testable import GraphCore

/// The table of codes in `docs/reference/errors.md`.
@Suite struct ErrorsPageTests {
    @Test func `the page lists each code of the store and whether it is retriable`() throws {
        let page = try PackageFiles.text("docs/reference/errors.md")
        let rows = page.matches(of: /(?m)^\| `([a-z_.]+)` \|.*\| (yes|no) \| \d+ \|$/)
        let documented = Dictionary(rows.map { (String($0.1), $0.2 == "yes") }) { first, _ in first }
        let codes = StoreError.Code.allCases.map { ($0.rawValue, StoreError($0, "", remedy: "").isRetriable) }
        #expect(documented == Dictionary(uniqueKeysWithValues: codes))
        #expect(rows.count == codes.count)
    }

    @Test(arguments: ["Conflicts/EditingError", "Batch/BatchUpdateRequest"])
    func `the page lists each code of a program's errors`(_ file: String) throws {
        let source = try PackageFiles.text("Sources/GraphCore/\(file).swift")
        let codes = source.matches(of: /case \w+ = "((?:editing|batch)\.[a-z_]+)"/).map { String($0.1) }
        #expect(codes.count > 1)
        let page = try PackageFiles.text("docs/reference/errors.md")
        let section = try #require(page.split(separator: "## Codes of programs").last)
        #expect(codes.filter { !section.contains("| `\($0)`") && !section.contains(", `\($0)`") } == [])
    }
}

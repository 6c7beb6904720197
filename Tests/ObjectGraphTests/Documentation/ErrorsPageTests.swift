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
}

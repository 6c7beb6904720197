import Foundation
import Testing

/// What the pages say of tests is so: each test that they name is there, and each rule of `docs/reference/rules.md` names one.
@Suite struct RulesPageTests {
    /// The names of the tests by suite, from the sources' text.
    private static let suites: [String: Set<String>] = {
        let folder = PackageFiles.root.appendingPathComponent("Tests").path
        let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        var suites: [String: Set<String>] = [:]
        for file in files where file.hasSuffix(".swift") {
            guard let text = try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8) else { continue }
            for (suite, tests) in declared(in: text) { suites[suite, default: []].formUnion(tests) }
        }
        return suites
    }()

    /// A function belongs to the type that is indented less than it; between a test's attribute and its name is no
    /// empty line.
    static func declared(in text: String) -> [String: Set<String>] {
        var suites: [String: Set<String>] = [:]
        var types: [(indent: Int, name: String)] = []
        var isTest = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let code = line.drop { $0 == " " }
            if code.isEmpty { isTest = false }
            if code.isEmpty || code.hasPrefix("//") { continue }
            let indent = line.count - code.count
            if let name = typeName(code) {
                types.removeAll { $0.indent >= indent }
                types.append((indent, String(name)))
                if suites[String(name)] == nil { suites[String(name)] = [] }
            }
            if code.contains("@Test") { isTest = true }
            if isTest, let name = code.firstMatch(of: /\bfunc `?([^`(<]+)`?[(<]/)?.1 {
                types.removeAll { $0.indent >= indent }
                if let suite = types.last?.name { suites[suite]?.insert(String(name)) }
                isTest = false
            }
        }
        return suites
    }

    /// Returns the name of the type that a line declares. A regular expression for each line of all tests would take long.
    private static func typeName(_ code: Substring) -> String? {
        let keywords: Set<Substring> = ["struct", "class", "enum", "actor", "extension"]
        guard code.split(separator: " ").contains(where: keywords.contains) else { return nil }
        return code.firstMatch(of: /^(?:@?\w+(?:\([^{]*\))? )*(?:struct|class|enum|actor|extension) (\w+)/).map {
            String($0.1)
        }
    }

    /// The suites and tests that a page names: `XTests` or `XTests.rule` between backticks.
    private static func named(in page: String) -> [(suite: String, test: String?)] {
        page.matches(of: /`([A-Z]\w*Tests)(?:\.([^`]+))?`/).map { (String($0.1), $0.2.map(String.init)) }
    }

    @Test(arguments: [
        "ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "docs/reference/rules.md", "docs/explanation/semantics.md",
        "docs/evidence/testing.md",
    ])
    func `each test that a page names is there`(_ path: String) throws {
        for (suite, test) in Self.named(in: try PackageFiles.text(path)) {
            let tests = Self.suites[suite]
            #expect(tests != nil, "\(path) names the suite \(suite), which is not in Tests")
            if let tests, let test {
                #expect(tests.contains(test), "\(path) names \(suite).\(test), which is not there")
            }
        }
    }

    /// A row of a table is a rule; its last cell names the tests.
    @Test func `each rule names its test`() throws {
        let page = try PackageFiles.text("docs/reference/rules.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| rule |") }
        #expect(rows.count > 190)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(cells.count == 2, "not a rule and its tests: \(row)")
            #expect(Self.named(in: cells.last ?? "").contains { $0.test != nil }, "no test is named: \(row)")
        }
    }

    @Test func `tests are read from the source's text`() {
        let declared = Self.declared(
            in: """
                @Suite struct OneTests {
                    @Test func first() {}

                    func helper() {}

                    @Test(arguments: [
                        1, 2,
                    ])
                    func second(_ number: Int) {}
                    struct Inner { func third() {} }
                }

                extension OneTests {
                    @Test func fourth() {}

                    @Suite(.serialized, .timeLimit(.minutes(5))) struct InnerTests {
                        @Test func fifth() {}
                    }

                    @Test func sixth() {}
                }
                """)
        #expect(declared["OneTests"] == ["first", "second", "fourth", "sixth"])
        #expect(declared["InnerTests"] == ["fifth"])
    }
}

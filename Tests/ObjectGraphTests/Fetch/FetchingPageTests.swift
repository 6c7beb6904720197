import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

// Foundation has names like these.

/// Every example of docs/reference/fetching.md, carried out.
@Suite struct FetchingPageTests {
    private static let page = Result { try FetchingPage() }
    /// All examples ask one store, which no test changes.
    private static let filled = Result { try page.get().fixture() }
    private let page: FetchingPage
    private let fixture: ReadingFixture

    init() throws {
        page = try Self.page.get()
        fixture = try Self.filled.get()
    }

    private static func examples(_ mark: String) -> [FetchingPage.Example] {
        (try? page.get().examples(mark)) ?? []
    }

    @Test(arguments: examples("→"))
    func `finds what the page says`(_ example: FetchingPage.Example) throws {
        #expect(try fixture.identities("WorkOrder", example.condition).joined(separator: " ") == example.result)
    }

    @Test(arguments: examples("✗"))
    func `refuses what the page says`(_ example: FetchingPage.Example) throws {
        let parts = example.result.split(separator: " ", maxSplits: 2).map { String($0) }
        do throws(FetchPredicateError) {
            _ = try FetchRequest("WorkOrder", where: example.condition).checked(with: fixture.model)
            Issue.record("\(example.condition) was accepted")
        } catch {
            #expect(error.column.map { "\($0)" } == parts[0], "\(error)")
            #expect(error.code.rawValue == parts[1], "\(error)")
            if parts.count > 2 { #expect(error.remedy.hasPrefix(parts[2]), "\(error)") }
        }
    }

    @Test func `the examples are there`() {
        #expect(page.examples("→").count > 80)
        #expect(page.examples("✗").count > 10)
    }

    /// The operators and words of the language that the page has to show.
    @Test(arguments: [
        "BEGINSWITH", "CONTAINS", "ENDSWITH", "LIKE", "MATCHES", "[cd]", "[c]", "IN {", "BETWEEN", "ANY", "SOME", "ALL",
        "NONE", "SUBQUERY", "@count", "@sum", "@min", "@max", "@avg", "nil", "CAST", "now()", "AND", "OR", "NOT", "&&",
        "||",
        "SELF", "lowercase", "uppercase", "canonical", "TRUEPREDICATE", "FALSEPREDICATE",
    ])
    func `every word of the language has an example`(_ word: String) {
        #expect(page.examples("→").contains { $0.condition.contains(word) })
    }

    /// The programs are those of the function below, word for word.
    @Test func `the programs are those that are tested`() throws {
        let source = try String(contentsOf: URL(fileURLWithPath: #filePath), encoding: .utf8)
        let code = source.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
        let blocks = page.blocks("swift")
        #expect(blocks.count == 9)
        for block in blocks {
            let program = block.map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: "\n")
            #expect(code.contains(program), "\(program)")
        }
    }

    @Test func `values from a program fill placeholders`() throws {
        let argued = try FetchPredicate.parse("%K = %@ AND priority < %d", arguments: ["asset.name", "Pump 7", 2])
        var named = FetchRequest("WorkOrder", where: "asset.site = $site AND status IN $states")
        named.variables = ["site": "Nord", "states": ["open", "scheduled"]]
        let built =
            FetchPredicate("title", .beginsWith, "fix", options: .caseInsensitive)
            && !FetchPredicate("priority", .equal, 1)
        #expect(try ids(FetchRequest("WorkOrder", matching: argued)) == ["w1"])
        #expect(try ids(named) == ["w1", "w2"])
        #expect(try ids(FetchRequest("WorkOrder", matching: built)) == ["w2"])
    }

    private func ids(_ request: FetchRequest) throws -> [String] {
        try fixture.fetch(request).compactMap { $0["id"]?.text }
    }

    private func json(_ objects: [some FetchedContents]) -> [String] {
        objects.map { object in
            var json = ""
            object.appendJSON(to: &json)
            return json
        }
    }

    @Test func `sorts and cuts`() throws {
        var sorted = FetchRequest("WorkOrder", where: "status != 'done'")
        sorted.sort = ["-asset.name", "title[cd]"]
        sorted.limit = 2
        sorted.offset = 1
        #expect(try ids(sorted) == ["w1", "w4"])
    }

    @Test func `reads pages and batches`() throws {
        try fixture.store.read { context in
            var request = FetchRequest("WorkOrder")
            request.sort = ["-startDate"]
            request.limit = 3
            let first = try context.page(request)
            request.after = first.next
            let second = try context.page(request)
            #expect(first.objects.compactMap { $0["id"]?.text } == ["w3", "w2", "w1"])
            #expect(second.objects.compactMap { $0["id"]?.text } == ["w4"])
            #expect(second.next == nil)
            let count = try context.batches(FetchRequest("WorkOrder", where: "priority < 4"), size: 2) { batches in
                var count = 0
                while let objects = try batches.next() { count += objects.count }
                return count
            }
            #expect(count == 3)
        }
    }

    @Test func `reads properties rows and groups`() throws {
        var report = FetchRequest("WorkOrder", where: "cost != nil")
        report.properties = ["id", "asset.name AS machine", "cost * 2 AS twice", "technicians"]
        #expect(
            json(try fixture.fetch(report)) == [
                #"{"id":"w1","machine":"Pump 7","twice":180,"technicians":["t1","t2"]}"#,
                #"{"id":"w2","machine":"Pump 7","twice":241,"technicians":["t1"]}"#,
                #"{"id":"w3","machine":"Fan 2","twice":30,"technicians":[]}"#,
            ])
        report.properties = ["cost * 2 AS title"]
        let refusal = #expect(throws: FetchPredicateError.self) { try fixture.fetch(report) }
        #expect(refusal?.code == .syntax)
        try fixture.store.read { context in
            var sites = FetchRequest("WorkOrder")
            sites.properties = ["asset.site"]
            sites.isDistinct = true
            sites.sort = ["asset.site"]
            let siteRows = try context.rows(sites)
            #expect(
                json(siteRows) == [#"{"asset.site":null}"#, #"{"asset.site":"Nord"}"#, #"{"asset.site":"Süd"}"#])
            var groups = FetchRequest("WorkOrder")
            groups.properties = ["asset.name", "count() AS orders", "sum(cost) AS total", "max(startDate) AS last"]
            groups.groupBy = ["asset.name"]
            groups.having = .text("orders > 1 OR max(priority) >= 4")
            groups.sort = ["-orders"]
            let groupRows = try context.rows(groups)
            #expect(
                json(groupRows) == [
                    #"{"asset.name":"Pump 7","orders":2,"total":210.5,"last":"2026-02-01T09:30:00Z"}"#,
                    #"{"asset.name":null,"orders":1,"total":0,"last":null}"#,
                ])
        }
    }

    @Test func `counts and explains`() throws {
        try fixture.store.read { context in
            let open = try context.count(FetchRequest("WorkOrder", where: "status = 'open'"))
            #expect(open == 2)
            let plan = try context.explain(FetchRequest("WorkOrder", where: "asset = 'a1' AND priority > 1"))
            #expect(plan.usesIndex)
            #expect(plan.valueCount == 2)
            #expect(!plan.sql.contains("a1"))
        }
    }
}

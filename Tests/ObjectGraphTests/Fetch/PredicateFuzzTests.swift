import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import SQLiteStorage

// Foundation has names like these.

/// Whatever text comes, the parser and the checker answer: with a request that can be carried out, or with an error
/// that has a remedy and a place inside the text.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED` runs it again, `INGEST_TEST_RUNS` makes the runs more.
@Suite struct PredicateFuzzTests {
    private static let good = [
        "title BEGINSWITH[cd] 'fix' AND (priority >= 3 OR asset.name = nil)",
        "SUBQUERY(checklist, $c, $c.isDone = YES AND $c.minutes > priority).minutes.@sum > 10",
        #"NOT (cost BETWEEN {1.5e0, -2} || title IN {"it's", 'a\'b', nil}) && ANY technicians.name LIKE '*a?'"#,
        "startDate > now() - 86400 AND startDate = CAST('2026-01-02T03:04:05Z', 'NSDate')",
        "ALL checklist.minutes != 3 AND NONE notes.text MATCHES '[a-z]+' AND lowercase:(title) = 'x'",
        "cost * (1 + taxRate) / 2 > 100 - -priority AND asset IN {'a1', nil} AND SELF != 'w'",
        "technicians CONTAINS 't1' AND 'Ada' IN technicians.name AND TRUEPREDICATE AND #in = 1",
        "%K = %@ AND $x.y = %d",
    ]
    private static let words = [
        "title", "priority", "asset", "checklist", "technicians", "asset.name", "=", "!=", "<", ">=", "BETWEEN", "IN",
        "CONTAINS", "BEGINSWITH[cd]", "LIKE", "MATCHES", "AND", "OR", "NOT", "!", "&&", "(", ")", "{", "}", ",", ".",
        "'a'",
        "\"b\"", "1", "-2.5", "nil", "YES", "SELF", "ANY", "ALL", "NONE", "SUBQUERY", "$x", "@count", "@sum", "now()",
        "lowercase:", "+", "-", "*", "/", "%@", "%K", "CAST", "'NSDate'", "[c]", "#", "count()", "AS", "desc",
    ]

    private let model: ObjectModel

    init() throws { model = try ReadingFixture.model(.workOrders) }

    @Test func `survives random bytes and changed predicates`() {
        Seeds.forEach(runs: 40) { seed in
            var random = SeededRandom(seed: seed)
            for _ in 0..<50 {
                let text = Self.text(&random)
                if let problem = problem(text) { Issue.record("seed \(seed): \(problem)\n\(text)") }
            }
        }
    }

    private static func text(_ random: inout SeededRandom) -> String {
        switch random.number(below: 4) {
        case 0:
            let bytes = (0..<random.number(below: 60)).map { _ in UInt8(random.number(below: 256)) }
            return String(decoding: bytes, as: UTF8.self)
        case 1:
            return (0..<random.number(below: 20)).map { _ in words[random.number(below: words.count)] }
                .joined(separator: random.number(below: 3) == 0 ? "" : " ")
        default:
            let bytes = random.mutate(Array(good[random.number(below: good.count)].utf8))
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func problem(_ text: String) -> String? {
        problem(text) { _ = try FetchRequest("WorkOrder", where: text).checked(with: model) }
            ?? problem(text) {
                var request = FetchRequest("WorkOrder")
                request.sort = [text]
                _ = try request.checked(with: model)
            }
            ?? problem(text) {
                var request = FetchRequest("WorkOrder")
                request.properties = try FetchRequest.parts(of: text)
                _ = try request.checked(with: model)
            }
            ?? problem(text) {
                // What can be read can be printed and read again.
                let predicate = try FetchPredicate.parse(text)
                if try FetchPredicate.parse(predicate.description) != predicate { throw Different() }
            }
    }

    private struct Different: Error {}

    private func problem(_ text: String, _ body: () throws -> Void) -> String? {
        do {
            try body()
            return nil
        } catch let error as FetchPredicateError {
            if error.remedy.isEmpty || error.message.isEmpty { return "\(error) has no remedy" }
            // The end of the text has a place too.
            let columns = 1...text.unicodeScalars.count + 1
            if let column = error.column, !columns.contains(column) { return "\(error) is outside of the text" }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        ("(", "priority = 1", ")"), ("NOT ", "priority = 1", ""), ("!", "priority = 1", ""), ("-", "1 = priority", ""),
        ("{", "", "}"), ("priority IN {", "1", "}"), ("lowercase(", "title", ") = 'a'"), ("+", "priority = 1", ""),
        ("SUBQUERY(checklist, $x, ", "$x.minutes = 1", ").@count = 1"), ("priority = (", "1", ")"),
        ("CAST(", "1", ", 'NSDate') = startDate"), ("ANY ", "technicians = 'a'", ""), ("asset.", "name = 'a'", ""),
        ("NOT (", "priority = 1", ")"), ("lowercase:(", "title", ")"), ("1 + ", "priority = 1", ""),
        ("priority = 1 AND (", "priority = 1", ")"),
    ])
    func `refuses ten thousand levels`(_ before: String, _ middle: String, _ after: String) throws {
        // The longest texts are refused for their length; a quarter of the levels is well below it.
        for count in [10_000, 2_500] {
            let text = String(repeating: before, count: count) + middle + String(repeating: after, count: count)
            for isSort in [false, true] {
                var request = FetchRequest("WorkOrder")
                if isSort { request.sort = [text] } else { request.condition = .text(text) }
                #expect(throws: FetchPredicateError.self) { try request.checked(with: model) }
            }
        }
    }

    @Test func `refuses ten thousand levels of a tree made by code`() throws {
        var predicate = FetchPredicate.constant(true)
        for _ in 0..<10_000 { predicate = .not(predicate) }
        #expect(throws: FetchPredicateError.self) {
            try FetchRequest("Asset", matching: predicate).checked(with: model)
        }
        #expect(throws: FetchPredicateError.self) { try predicate.substituting(["x": 1]) }
        var path = FetchPredicate.Expression.path("priority")
        for _ in 0..<10_000 { path = .negated(path) }
        let comparison = FetchPredicate.comparison(FetchPredicate.Comparison(path, .equal, 1))
        #expect(throws: FetchPredicateError.self) {
            try FetchRequest("WorkOrder", matching: comparison).checked(with: model)
        }
    }
}

/// Values are bound, never written into a statement.
@Suite struct HostilePredicateTests {
    static let hostile = [
        "' OR 1=1 --", "'; DROP TABLE WorkOrder; --", "\" OR \"\"=\"", "\\' OR TRUEPREDICATE OR 'a'='a", "%' OR '%'='%",
        "?1",
        ":id", "@id", "$id", "x'; ATTACH '/tmp/x' AS y; --", "\u{0}' OR 1=1", "*", "[a-z]*", "\\", "%@", "%K",
        "') OR (1=1",
        "\u{202E}abc", "é'", "``", "/* */", "}}", "nil", "SELF",
    ]

    private let fixture: ReadingFixture

    init() throws {
        let model = try ReadingFixture.model(.workOrders)
        fixture = try ReadingFixture(
            model: model,
            [
                ReadingFixture.upsert(model, "WorkOrder", "w1", ["title": .text("plain")]),
                ReadingFixture.upsert(model, "WorkOrder", "w2", ["title": .text("other")]),
            ])
    }

    /// SQLite's parser has a stack of a hundred places; products that are built up from the left fill it.
    @Test(arguments: 1...64)
    func `a product too long for SQLite is refused and others are computed`(_ count: Int) throws {
        let product = (0..<count).map { $0.isMultiple(of: 2) ? " * 8" : " / 8" }.joined()
        let request = FetchRequest("WorkOrder", where: "title = 'plain' AND NOT priority > 100.5\(product)")
        do {
            #expect(try fixture.fetch(request).compactMap { $0["id"]?.text } == ["w1"])
        } catch let error as StoreError {
            #expect(error.code == .tooComplex && count > 16, "\(error)")
        }
    }

    /// The values in places where a wrong compiler would paste them.
    @Test(arguments: hostile)
    func `a hostile text finds nothing and harms nothing`(_ text: String) throws {
        let predicates: [FetchPredicate] = [
            try .parse("title = %@", arguments: [text]), try .parse("title CONTAINS[cd] %@", arguments: [text + "x"]),
            try .parse("title BEGINSWITH %@", arguments: [text]), try .parse("title IN %@", arguments: [[text, text]]),
            try .parse("title BETWEEN {%@, %@}", arguments: [text + "~", text]),
            try .parse("asset = %@", arguments: [text]),
            try .parse("ANY technicians.name ENDSWITH[c] %@", arguments: [text + "y"]),
            try .parse("SUBQUERY(checklist, $c, $c.text = %@).@count > 0", arguments: [text]),
            try FetchPredicate.parse("title = $t").substituting(["t": text]),
            FetchPredicate("title", .equal, .text(text)),
        ]
        for predicate in predicates {
            let checked = try FetchRequest("WorkOrder", matching: predicate).checked(with: fixture.model)
            #expect(try fixture.store.read { try $0.fetch(checked) }.isEmpty, "\(predicate)")
            let query = try FetchQuery(checked, now: 0)
            if text.utf8.count > 3 { #expect(!query.sql.contains(text)) }
            // As text with its quotes escaped it is the same predicate.
            #expect(try FetchPredicate.parse(predicate.description) == predicate)
        }
        #expect(try fixture.identities("WorkOrder", "TRUEPREDICATE") == ["w1", "w2"])
    }

    /// A text with quotes that ends the literal is a mistake, or says what it says: it never reaches SQLite as such.
    @Test(arguments: hostile)
    func `a hostile text put into a condition is read by the grammar`(_ text: String) throws {
        let condition = "title = '\(text)'"
        guard let predicate = try? FetchPredicate.parse(condition) else { return }
        let checked = try? FetchRequest("WorkOrder", matching: predicate).checked(with: fixture.model)
        if let checked { _ = try fixture.store.read { try $0.fetch(checked) } }
        #expect(try fixture.identities("WorkOrder", "TRUEPREDICATE") == ["w1", "w2"])
    }

    @Test(arguments: hostile)
    func `a hostile key path is unknown`(_ text: String) throws {
        #expect(throws: FetchPredicateError.self) {
            let predicate = try FetchPredicate.parse("%K = 'x'", arguments: [text == "SELF" ? "SELF.x" : text])
            _ = try FetchRequest("WorkOrder", matching: predicate).checked(with: fixture.model)
        }
        var request = FetchRequest("WorkOrder")
        request.sort = [text]
        if text != "SELF" { #expect(throws: FetchPredicateError.self) { try request.checked(with: fixture.model) } }
        request.sort = []
        request.properties = [text]
        if text != "SELF", text != "nil" {
            #expect(throws: FetchPredicateError.self) { try request.checked(with: fixture.model) }
        }
    }

    @Test func `hostile values that are stored are found`() throws {
        let events = Self.hostile.filter { !$0.contains("\u{0}") }.enumerated().map { index, text in
            ReadingFixture.upsert(fixture.model, "WorkOrder", "h\(index)", ["title": .text(text)])
        }
        try fixture.apply(events)
        for (index, text) in Self.hostile.filter({ !$0.contains("\u{0}") }).enumerated() {
            for relation in [FetchPredicate.Relation.equal, .beginsWith, .contains, .endsWith] {
                let request = FetchRequest("WorkOrder", matching: FetchPredicate("title", relation, .text(text)))
                let found = try fixture.fetch(request).compactMap { $0["id"]?.text }
                #expect(found.contains("h\(index)"), "\(relation) \(text)")
                #expect(relation != .equal || found.count == 1)
            }
        }
    }
}

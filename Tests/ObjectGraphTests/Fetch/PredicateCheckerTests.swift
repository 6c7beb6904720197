import ObjectGraph
import Testing

@testable import GraphCore

struct PredicateCheckerTests {
    private let model: ObjectModel

    init() throws { model = try ReadingFixture.model(.workOrders) }

    private func failure(_ text: String, _ entity: String = "WorkOrder") -> FetchPredicateError? {
        do {
            _ = try FetchRequest(entity, where: text).checked(with: model)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        "title = 'a'", "title = nil", "priority = 3", "priority > 2.5", "priority = '3'", "cost >= 1.50",
        "cost BETWEEN {1, '2.5'}", "startDate >= '2026-01-01'", "asset = 'a1'", "asset.name BEGINSWITH[c] 'p'",
        "ANY checklist.isDone = YES", "ALL checklist.isDone = 1", "ANY technicians = 't1'", "checklist.@count > 2",
        "asset.workOrders.@count = 1", "technicians.@count BETWEEN {1, 2}", "title = status", "3 <= priority",
        "NONE notes.author.name = 'x'", "asset IN {'a', nil}", "startDate < updatedAt", "checklistCount > priority",
        "cost > priority", "checklist.minutes.@sum > 3", "checklist.@sum.minutes > 3", "ANY checklist.text = title",
        "'x, y' CONTAINS title", "'t1' IN technicians", "technicians CONTAINS 't1'", "cost * (1 + taxRate) > 100",
        "startDate > now() - 86400", "lowercase(title) = 'x'", "canonical:(title) BEGINSWITH 'x'",
        "SUBQUERY(checklist, $c, $c.minutes > priority AND $c.isDone = NO).@count = 0",
        "SUBQUERY(checklist, $c, $c.isDone = YES).minutes.@sum > 10", "title MATCHES '[a-z]+'",
        "max(notes.writtenAt) > now()",
        "priority BETWEEN {1, checklistCount + 1}", "-priority < 0", "SELF = 'w1'", "asset.workOrders CONTAINS SELF",
    ])
    func `accepts what fits`(_ text: String) {
        #expect(failure(text) == nil)
    }

    @Test(arguments: [
        ("priority = 'high'", 12), ("title = 3", 9), ("title = YES", 9), ("startDate = 5", 13),
        ("startDate > 'yesterday'", 13), ("cost = 'x'", 8), ("priority CONTAINS 'x'", 1), ("asset > 'a'", 1),
        ("title < nil", 9), ("title CONTAINS nil", 16), ("title = priority", 9),
        ("ANY title = 'x'", 5), ("asset.@count = 1", 1), ("priority = NO", 12), ("priority =[c] 3", 1),
        ("title + 1 = 2", 1), ("startDate * 2 > now()", 1), ("lowercase(priority) = 'x'", 11),
        ("asset = technicians.@count", 9), ("notes.text.@sum > 1", 1), ("checklist.isDone.@max = 1", 1),
        ("ANY technicians.@count = 1", 5), ("SUBQUERY(asset, $x, $x.id = 'a').@count = 1", 1),
        ("asset = SELF", 9), ("title MATCHES nil", 15),
    ])
    func `refuses wrong types`(_ text: String, _ column: Int) throws {
        let error = try #require(failure(text))
        #expect(error.code == .type, "\(text): \(error)")
        #expect(error.column == column, "\(text): \(error)")
    }

    @Test func `suggests the closest property`() throws {
        let error = try #require(failure("priority = 1 AND titel = 'x'"))
        #expect(error.code == .unknownProperty)
        #expect(error.column == 18)
        #expect(error.remedy == "Did you mean 'title'?")
        #expect(failure("asset.nam = 'x'")?.remedy == "Did you mean 'name'?")
        #expect(failure("zzzzzzzzzzzz = 'x'")?.remedy.contains("checklistCount") == true)
        #expect(failure("title.x = 'x'")?.code == .unknownProperty)
        let unknown = failure("title = 'x'", "WorkOrdr")
        #expect(unknown?.code == .unknownEntity)
        #expect(unknown?.remedy == "Did you mean 'WorkOrder'?")
    }

    @Test(arguments: [
        "technicians.name = 'x'", "ANY technicians.notes.text = 'x'", "checklist.@sum > 3", "checklist.text.@count > 3",
        "technicians.notes.@count > 1", "title LIKE status", "title MATCHES status", "sum(1) > 3",
        "ANY technicians.name = notes.text",
    ])
    func `refuses what it does not support`(_ text: String) {
        #expect(failure(text)?.code == .unsupported, "\(text): \(String(describing: failure(text)))")
    }

    @Test(arguments: [
        "1 = 1", "title IN 'x'", "title BETWEEN asset.name", "title MATCHES '('", "title = {'x'}", "now(1) > startDate",
        "priority BETWEEN {1}", "priority BETWEEN {1, 2, 3}",
    ])
    func `refuses wrong forms`(_ text: String) {
        #expect(failure(text)?.code == .syntax)
    }

    @Test func `limits trees made by code`() throws {
        var deep = FetchPredicate.constant(true)
        for _ in 0..<300 { deep = .not(deep) }
        #expect(throws: FetchPredicateError.self) { try FetchRequest("Asset", matching: deep).checked(with: model) }
        let many = FetchPredicate.or(
            (0..<401).map { .comparison(FetchPredicate.Comparison(.path("name"), .equal, .text("\($0)"))) })
        #expect(throws: FetchPredicateError.self) { try FetchRequest("Asset", matching: many).checked(with: model) }
        let list = "name IN {" + (0...10_000).map { "'\($0)'" }.joined(separator: ",") + "}"
        #expect(failure(list, "Asset")?.code == .tooComplex)
        var sum = FetchPredicate.Expression.path("cost")
        for _ in 0..<300 { sum = .arithmetic(sum, .add, 1) }
        let deepSum = FetchPredicate.comparison(FetchPredicate.Comparison(sum, .greater, 1))
        #expect(throws: FetchPredicateError.self) {
            try FetchRequest("WorkOrder", matching: deepSum).checked(with: model)
        }
        #expect(throws: FetchPredicateError.self) { try deep.substituting(["x": 1]) }
        let pattern = "title LIKE '" + String(repeating: "*a", count: 6000) + "'"
        #expect(failure(pattern)?.code == .tooComplex)
    }

    @Test func `names a variable without value`() {
        #expect(failure("title = $wanted")?.code == .arguments)
        #expect(failure("title = $wanted")?.column == 9)
        #expect(failure("SUBQUERY(notes, $n, $m.text = 'x').@count = 1")?.remedy.contains("$n") == true)
    }

    @Test func `checks limits sort and properties`() {
        func failure(_ change: (inout FetchRequest) -> Void) -> FetchPredicateError.Code? {
            var request = FetchRequest("WorkOrder")
            change(&request)
            do {
                _ = try request.checked(with: model)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(failure { $0.limit = -1 } == .range)
        #expect(failure { $0.offset = -1 } == .range)
        #expect(failure { $0.sort = ["nothing"] } == .unknownProperty)
        #expect(failure { $0.sort = [""] } == .syntax)
        #expect(failure { $0.sort = ["title sideways"] } == .syntax)
        #expect(failure { $0.sort = ["technicians.name"] } == .unsupported)
        #expect(failure { $0.properties = ["nothing"] } == .unknownProperty)
        #expect(failure { $0.sort = ["-title", "asset.name desc", "checklist.@count"] } == nil)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Conditions over a store: what each finds.
struct PredicateCompilerTests {
    /// All conditions ask one store, which no test changes.
    private static let filled = Result { try made() }
    private let fixture: ReadingFixture

    init() throws { fixture = try Self.filled.get() }

    private static func made() throws -> ReadingFixture {
        let model = try ReadingFixture.model(.workOrders)
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        return try ReadingFixture(
            model: model,
            [
                up("Asset", "a1", ["name": .text("Pump"), "site": .text("Nord")]),
                up("Asset", "a2", ["name": .text("Éolienne")]),
                up("Technician", "t1", ["name": .text("Ada")]),
                up("Technician", "t2", ["name": .text("Grace")]),
                up(
                    "WorkOrder", "w1",
                    [
                        "title": .text("Fix [the] pump"), "priority": .text("1"), "cost": .text("9"),
                        "startDate": .text("2026-01-01T00:00:00Z"), "asset": .one("a1"),
                        "technicians": .many(["t1", "t2"]),
                    ]),
                up(
                    "WorkOrder", "w2",
                    [
                        "title": .text("fix it's 100% *"), "priority": .text("2"), "cost": .text("10.5"),
                        "startDate": .text("2026-02-01T00:00:00Z"), "asset": .one("a2"), "technicians": .many(["t1"]),
                    ]),
                up("WorkOrder", "w3", ["priority": .text("3"), "cost": .text("123456789012345678901234567890.25")]),
                up("WorkOrder", "w4", ["title": .text("ÉTÉ"), "status": .text("done"), "asset": .one("ghost")]),
                up("ChecklistItem", "c1", ["workOrder": .one("w1"), "isDone": .text("true"), "minutes": .text("5")]),
                up("ChecklistItem", "c2", ["workOrder": .one("w1"), "isDone": .text("false"), "minutes": .text("7")]),
                up("ChecklistItem", "c3", ["workOrder": .one("w2"), "isDone": .text("true")]),
                up("Note", "n1", ["workOrder": .one("w1"), "author": .one("t1"), "text": .text("x")]),
            ])
    }

    @Test(arguments: [
        ("id = 'w1'", "w1"), ("id != 'w1'", "w2 w3 w4"), ("title = nil", "w3"), ("title != nil", "w1 w2 w4"),
        ("title != 'ÉTÉ'", "w1 w2 w3"), ("NOT title = 'ÉTÉ'", "w1 w2 w3"), ("NOT NOT title = 'ÉTÉ'", "w4"),
        ("NOT (title < 'a')", "w2 w3 w4"), ("priority < 3", "w1 w2"), ("priority >= 2.5", "w3 w4"),
        ("2 < priority", "w3 w4"),
        ("priority BETWEEN {2, 3}", "w2 w3 w4"), ("priority IN {1, 9}", "w1"), ("priority NOT IN {1, 9}", "w2 w3 w4"),
        ("priority IN {}", ""), ("title IN {nil, 'ÉTÉ'}", "w3 w4"), ("TRUEPREDICATE", "w1 w2 w3 w4"),
        ("FALSEPREDICATE", ""), ("priority = 1 OR priority = 3 AND title = nil", "w1 w3"),
        ("(priority = 1 OR priority = 3) AND title = nil", "w3"),
    ])
    func `compiled comparisons find the objects`(_ condition: String, _ found: String) throws {
        #expect(try fixture.identities("WorkOrder", condition).joined(separator: " ") == found)
    }

    @Test(arguments: [
        ("title BEGINSWITH 'fix'", "w2"), ("title BEGINSWITH[c] 'FIX'", "w1 w2"), ("title CONTAINS 'the'", "w1"),
        ("title CONTAINS[c] 'été'", "w4"), ("title CONTAINS '%'", "w2"), ("title ENDSWITH 'pump'", "w1"),
        ("title ENDSWITH[c] 'PUMP'", "w1"), ("title ENDSWITH ''", "w1 w2 w4"), ("title BEGINSWITH ''", "w1 w2 w4"),
        ("title LIKE 'Fix*'", "w1"), ("title LIKE '*[the]*'", "w1"), (#"title LIKE '*\\*'"#, "w2"),
        ("title LIKE[c] 'fix*'", "w1 w2"), ("title LIKE '?T?'", "w4"), ("title LIKE[c] 'é?é'", "w4"),
        (#"title = 'fix it\'s 100% *'"#, "w2"), ("title =[c] 'été'", "w4"), ("title IN[c] {'été'}", "w4"),
        ("title = \"' OR 1=1 --\"", ""), ("title !=[c] 'été'", "w1 w2 w3"),
        ("title =[cd] 'ete'", "w4"), ("title =[d] 'ETE'", "w4"),
        ("title BEGINSWITH[cd] 'e'", "w4"), ("asset.name CONTAINS[cd] 'EOL'", "w2"), ("title ENDSWITH[d] 'TE'", "w4"),
        ("title LIKE[cd] 'e?e'", "w4"), ("title MATCHES '[Ff]ix .*'", "w1 w2"), ("title MATCHES '[Ff]ix'", ""),
        ("title MATCHES[c] 'fix.*pump'", "w1"), ("title MATCHES[cd] 'ete|x'", "w4"),
        ("NOT title MATCHES 'f.*'", "w1 w3 w4"),
        ("lowercase:(title) = 'été'", "w4"), ("uppercase(title) ENDSWITH 'PUMP'", "w1"),
        ("canonical(title) = 'ete'", "w4"),
        ("'Fix [the] pump now' BEGINSWITH title", "w1"), ("'say ÉTÉ' ENDSWITH title", "w4"),
        ("status CONTAINS title", ""),
        ("'open' CONTAINS status", "w1 w2 w3"), ("title CONTAINS status", ""), ("title CONTAINS ''", "w1 w2 w4"),
        ("title IN[cd] {'ete', 'x'}", "w4"), ("title BETWEEN[c] {'fix', 'fix j'}", "w1 w2"),
    ])
    func `compiled comparisons of texts find the objects`(_ condition: String, _ found: String) throws {
        #expect(try fixture.identities("WorkOrder", condition).joined(separator: " ") == found)
    }

    @Test(arguments: [
        ("cost > 9", "w2 w3"), ("cost >= 9.0", "w1 w2 w3"), ("cost = 10.50", "w2"), ("cost BETWEEN {8, 11}", "w1 w2"),
        ("cost > 123456789012345678901234567890.24", "w3"), ("cost > 123456789012345678901234567890.25", ""),
        ("cost > -1", "w1 w2 w3"), ("startDate >= '2026-02-01'", "w2"),
        ("startDate < '2026-02-01T01:00:00+01:00'", "w1"), ("cost IN {9, 10.5}", "w1 w2"),
        ("totalCost = cost", "w1 w2 w3 w4"), ("cost > priority", "w1 w2 w3"), ("priority < cost", "w1 w2 w3"),
        ("cost + 0.5 = 9.5", "w1"), ("cost * (1 + taxRate) > 10", "w2 w3"), ("cost / 2 = 4.5", "w1"),
        ("cost / 0 = nil", "w1 w2 w3 w4"), ("-cost < -10", "w2 w3"), ("priority / 2 = 0.5", "w1"),
        ("priority * 2 - 1 = 3", "w2"), ("startDate + 86400 > '2026-02-01T12:00:00Z'", "w2"),
        ("startDate = CAST('2026-01-01T00:00:00Z', 'NSDate')", "w1"), ("startDate = CAST(788918400, 'NSDate')", "w1"),
        ("startDate - CAST('2026-01-01T00:00:00Z', 'NSDate') > 1", "w2"), ("startDate < now()", "w1 w2"),
        ("cost BETWEEN {priority, priority + 8}", "w1"), ("priority IN {cost - 8, 3}", "w1 w3 w4"),
        ("cost IN (9)", "w1"), ("priority = CAST('2', 'NSNumber')", "w2"),
        ("cost = CAST('9.0', 'NSDecimalNumber')", "w1"),
    ])
    func `compiled comparisons of decimals and dates find the objects`(_ condition: String, _ found: String) throws {
        #expect(try fixture.identities("WorkOrder", condition).joined(separator: " ") == found)
    }

    @Test(arguments: [
        ("asset = 'a1'", "w1"), ("asset != 'a1'", "w2 w3 w4"), ("asset = 'unknown'", ""),
        ("asset != 'unknown'", "w1 w2 w3 w4"),
        ("asset = nil", "w3"), ("asset != nil", "w1 w2 w4"), ("asset IN {'a1', 'a2'}", "w1 w2"),
        ("asset IN {'a1', nil}", "w1 w3"),
        ("asset.id = 'a1'", "w1"), ("asset.name = 'Pump'", "w1"), ("asset.name = nil", "w3 w4"),
        ("asset.name =[c] 'éolienne'", "w2"), ("asset.name != 'Pump'", "w2 w3 w4"),
        ("NOT asset.name = 'Pump'", "w2 w3 w4"),
        ("asset.workOrders.@count = 1", "w1 w2 w4"), ("asset.workOrders.@count = 0", "w3"),
        ("technicians.@count = 2", "w1"), ("checklist.@count = 0", "w3 w4"),
        ("technicians.@count > checklist.@count", ""),
        ("technicians.@count = checklist.@count", "w1 w2 w3 w4"), ("checklistCount = checklist.@count", "w1 w2 w3 w4"),
        ("ANY technicians.name = 'Grace'", "w1"), ("ANY technicians = 't1'", "w1 w2"),
        ("ANY technicians.name != 'Ada'", "w1"),
        ("NOT ANY technicians = 't1'", "w3 w4"), ("NONE technicians = 't1'", "w3 w4"),
        ("ALL checklist.isDone = YES", "w2 w3 w4"),
        ("ANY checklist.isDone = NO", "w1"), ("ANY checklist.minutes > 6", "w1"),
        ("ANY notes.author.name = 'Ada'", "w1"),
        ("ANY asset.workOrders = 'w1'", "w1"), ("ANY technicians IN {'t1', 't9'} AND asset.site = 'Nord'", "w1"),
        ("ANY technicians.workOrders.@count = 2", "w1 w2"), ("'t2' IN technicians", "w1"),
        ("technicians CONTAINS 't1'", "w1 w2"), ("'Ada' IN technicians.name", "w1 w2"),
        ("checklist.minutes.@sum = 12", "w1"), ("checklist.@sum.minutes = 0", "w2 w3 w4"),
        ("checklist.minutes.@max > 6", "w1"), ("checklist.minutes.@min = 5", "w1"),
        ("checklist.minutes.@avg = 6", "w1"),
        ("checklist.minutes.@max = nil", "w3 w4"), ("asset.workOrders.cost.@sum > 10", "w2"),
        ("asset.workOrders.cost.@avg = 9", "w1"), ("max(asset.workOrders.cost) = 10.5", "w2"),
        ("SUBQUERY(checklist, $c, $c.isDone = YES).@count = 1", "w1 w2"),
        ("SUBQUERY(checklist, $c, $c.isDone = YES AND $c.minutes > priority).@count = 1", "w1"),
        ("SUBQUERY(checklist, $c, $c.isDone = YES).minutes.@sum = 5", "w1"),
        ("SUBQUERY(technicians, $t, ANY $t.notes.text = 'x').@count > 0", "w1 w2"),
        ("SUBQUERY(technicians, $t, SUBQUERY($t.workOrders, $o, $o = SELF).@count = 1).@count = 2", "w1"),
        ("SUBQUERY(technicians, $t, $t.name = 'Ada' AND $t.workOrders.@count = 2).@count = 1", "w1 w2"),
        ("SELF = 'w2'", "w2"), ("SELF IN {'w2', 'w3'}", "w2 w3"), ("SELF != 'w2'", "w1 w3 w4"),
        ("SELF.priority = 1", "w1"),
        ("ANY checklist.workOrder = SELF", "w1 w2"), ("ANY asset.workOrders.title = title", "w1 w2 w4"),
        ("ANY checklist.minutes > priority + 5", "w1"), ("ALL technicians.name BEGINSWITH[c] 'a'", "w2 w3 w4"),
        ("NONE checklist.minutes BETWEEN {6, 9}", "w2 w3 w4"), ("ANY checklist.minutes - priority = 6", "w1"),
    ])
    func `compiled conditions follow relationships`(_ condition: String, _ found: String) throws {
        #expect(try fixture.identities("WorkOrder", condition).joined(separator: " ") == found)
    }

    @Test func `binds every value`() throws {
        let request = try FetchRequest(
            "WorkOrder",
            where: "title = 'needle' OR asset = 'needle' OR ANY technicians.name LIKE 'needle' OR priority = 77"
        ).checked(with: fixture.model)
        let query = try FetchQuery(request, now: 0)
        #expect(!query.sql.contains("needle"))
        #expect(!query.sql.contains("77"))
        #expect(query.bindings.count == query.sql.filter { $0 == "?" }.count)
    }

    /// The table of the fetched objects is searched by an index or key, not read as a whole.
    @Test(arguments: [
        "id = 'w1'", "id IN {'w1', 'w2'}", "id BEGINSWITH 'w'", "asset = 'a1'", "asset IN {'a1', 'a2'}",
        "asset.id = 'a1'",
        "startDate = nil", "startDate BETWEEN {'2026-01-01', '2026-02-01'}",
    ])
    func `compiled conditions use indexes`(_ condition: String) throws {
        let query = try FetchQuery(FetchRequest("WorkOrder", where: condition).checked(with: fixture.model), now: 0)
        var plan: [String] = []
        try fixture.store.read { context in
            let statement = try PreparedStatement(try context.connection(), sql: "EXPLAIN QUERY PLAN " + query.sql)
            while try statement.step() { plan.append(statement.text(3)) }
        }
        #expect(!plan.contains { $0.hasPrefix("SCAN t1") }, "\(plan)")
    }

    @Test func `reads with UUID and binary values`() throws {
        let yaml = """
            model: m
            entities:
              Thing:
                identity: id
                attributes:
                  id: { type: uuid }
                  data: { type: binary, optional: true }
                  size: { type: float, optional: true }
            """
        let id = "123e4567-e89b-12d3-a456-426614174000"
        let model = try ObjectModel.parse(yaml)
        let things = try ReadingFixture(
            model: model,
            [ReadingFixture.upsert(model, "Thing", id, ["data": .text("AAE="), "size": .text("0.1")])])
        #expect(try things.identities("Thing", "id = '\(id.uppercased())'") == [id])
        #expect(try things.identities("Thing", "data = 'AAE='") == [id])
        #expect(try things.identities("Thing", "size = 0.1") == [id])
        #expect(try things.identities("Thing", "id IN {'\(id)'} AND data != nil") == [id])
    }

    @Test func `many comparisons and values are within the limits of SQLite`() throws {
        let many = (0..<399).map { "priority = \($0)" }.joined(separator: " OR ")
        #expect(try fixture.identities("WorkOrder", many).count == 4)
        let list = (0..<9_999).map(String.init).joined(separator: ",")
        #expect(try fixture.identities("WorkOrder", "priority IN {\(list)}").count == 4)
        let deep = String(repeating: "NOT (", count: 31) + "priority = 1" + String(repeating: ")", count: 31)
        #expect(try fixture.identities("WorkOrder", deep) == ["w2", "w3", "w4"])
    }
}

struct TextPatternsTests {
    @Test func `ends a prefix at the next text`() {
        #expect(TextPatterns.end(ofPrefix: "ab") == "ac")
        #expect(TextPatterns.end(ofPrefix: "") == nil)
        #expect(TextPatterns.end(ofPrefix: "a\u{10FFFF}") == "b")
        #expect(TextPatterns.end(ofPrefix: "\u{D7FF}") == "\u{E000}")
    }

    @Test(arguments: [
        ("1", "2", -1), ("2", "10", -1), ("-2", "-10", 1), ("-1", "1", -1), ("1.5", "1.25", 1), ("1", "1.5", -1),
        ("0", "0", 0),
        ("-0.5", "-0.25", -1), ("0.5", "0.25", 1), ("100", "99.99", 1), ("-1", "-1", 0),
    ])
    func `orders decimals`(_ left: String, _ right: String, _ order: Int32) {
        let result = Array(left.utf8).withUnsafeBytes { left in
            Array(right.utf8).withUnsafeBytes { DecimalCollation.compare(left, $0) }
        }
        #expect(result == order)
    }
}

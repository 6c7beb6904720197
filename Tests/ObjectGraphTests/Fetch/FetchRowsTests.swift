import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Rows: key paths and expressions as properties, groups, aggregates, no repeats.
struct FetchRowsTests {
    private let fixture: ReadingFixture
    private let model: ObjectModel

    init() throws {
        model = try ReadingFixture.model(.workOrders)
        let model = model
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        fixture = try ReadingFixture(
            model: model,
            [
                up("Asset", "a1", ["name": .text("Pump"), "site": .text("Nord")]),
                up("Asset", "a2", ["name": .text("Fan"), "site": .text("Nord")]),
                up("WorkOrder", "w1", ["priority": .text("1"), "cost": .text("0.1"), "asset": .one("a1")]),
                up("WorkOrder", "w2", ["priority": .text("2"), "cost": .text("0.2"), "asset": .one("a1")]),
                up("WorkOrder", "w3", ["priority": .text("2"), "cost": .text("7.5"), "asset": .one("a2")]),
                up("WorkOrder", "w4", ["priority": .text("4")]),
                up("ChecklistItem", "c1", ["workOrder": .one("w1"), "minutes": .text("5")]),
                up("ChecklistItem", "c2", ["workOrder": .one("w1"), "minutes": .text("7")]),
            ])
    }

    private func rows(_ entity: String = "WorkOrder", _ change: (inout FetchRequest) -> Void) throws -> [String] {
        var request = FetchRequest(entity)
        change(&request)
        let checked = try request.checked(with: model)
        let found = try TestStorage.allCases.map { storage in
            let rows = try fixture.store.read(from: storage) { try $0.rows(checked) }
            #expect(try fixture.store.read(from: storage) { try $0.count(checked) } == rows.count)
            return rows.map { row in
                var json = ""
                row.appendJSON(to: &json)
                return json
            }
        }
        #expect(found.allSatisfy { $0 == found[0] })
        return found[0]
    }

    private func failure(_ change: (inout FetchRequest) -> Void) -> FetchPredicateError? {
        var request = FetchRequest("WorkOrder")
        change(&request)
        do {
            _ = try request.checked(with: model)
            return nil
        } catch {
            return error
        }
    }

    @Test func `reads key paths and expressions with names`() throws {
        let found = try rows {
            $0.properties = ["id", "asset.name", "asset", "checklist.minutes.@sum AS minutes", "cost * 2 AS twice"]
            $0.sort = ["-minutes", "id"]
            $0.limit = 2
        }
        #expect(
            found == [
                #"{"id":"w1","asset.name":"Pump","asset":"a1","minutes":12,"twice":0.2}"#,
                #"{"id":"w2","asset.name":"Pump","asset":"a1","minutes":0,"twice":0.4}"#,
            ])
        // Objects may have them too.
        var request = FetchRequest("WorkOrder", where: "id = 'w3'")
        request.properties = ["uppercase(asset.name) AS name", "technicians"]
        let object = try #require(try fixture.fetch(request).first)
        #expect(object["name"] == .text("FAN"))
        #expect(object.identities(of: "technicians") == [])
    }

    @Test func `aggregates all objects`() throws {
        let found = try rows {
            $0.properties = [
                "count() AS n", "count(asset) AS withAsset", "sum(cost) AS cost2", "average(cost) AS mean",
                "min(priority) AS low", "max(asset.name) AS name", "avg(priority) AS priority2",
            ]
        }
        #expect(
            found == [
                #"{"n":4,"withAsset":3,"cost2":7.8,"mean":2.6,"low":1,"name":"Pump","priority2":2.25}"#
            ])
        let none = try rows {
            $0.condition = .text("FALSEPREDICATE")
            $0.properties = [
                "count() AS n", "sum(cost) AS s", "sum(priority) AS p", "max(cost) AS m", "avg(priority) AS a",
            ]
        }
        #expect(none == [#"{"n":0,"s":0,"p":0,"m":null,"a":null}"#])
    }

    @Test func `groups and chooses groups`() throws {
        let found = try rows {
            $0.properties = ["asset.name", "count() AS orders", "max(cost) AS highest"]
            $0.groupBy = ["asset.name"]
            $0.sort = ["-orders", "asset.name"]
        }
        #expect(
            found == [
                #"{"asset.name":"Pump","orders":2,"highest":0.2}"#, #"{"asset.name":null,"orders":1,"highest":null}"#,
                #"{"asset.name":"Fan","orders":1,"highest":7.5}"#,
            ])
        let chosen = try rows {
            $0.properties = ["asset.name", "count() AS orders"]
            $0.groupBy = ["asset.name"]
            $0.having = .text("orders > 1 OR max(cost) > $limit")
            $0.variables = ["limit": 5]
            $0.sort = ["asset.name"]
            $0.offset = 1
        }
        #expect(chosen == [#"{"asset.name":"Pump","orders":2}"#])
        let computed = try rows {
            $0.properties = ["priority * 10 AS tens", "count()"]
            $0.groupBy = ["priority * 10"]
            $0.sort = ["priority * 10"]
        }
        #expect(
            computed == [#"{"tens":10,"count()":1}"#, #"{"tens":20,"count()":2}"#, #"{"tens":40,"count()":1}"#])
    }

    @Test func `leaves repeats out`() throws {
        let found = try rows {
            $0.properties = ["asset.site", "priority"]
            $0.isDistinct = true
            $0.sort = ["-priority", "asset.site"]
        }
        #expect(
            found == [
                #"{"asset.site":null,"priority":4}"#, #"{"asset.site":"Nord","priority":2}"#,
                #"{"asset.site":"Nord","priority":1}"#,
            ])
    }

    @Test func `refuses what differs inside a group`() throws {
        let property = failure { ($0.properties, $0.groupBy) = (["asset.name", "priority"], ["asset.name"]) }
        #expect(property?.code == .unsupported)
        #expect(property?.part == .properties)
        #expect(property?.number == 2)
        let order = failure {
            ($0.properties, $0.groupBy, $0.sort) = (["asset.name"], ["asset.name"], ["asset.name", "cost"])
        }
        #expect(order?.part == .order)
        #expect(order?.number == 2)
        let having = failure {
            ($0.properties, $0.groupBy, $0.having) = (["priority"], ["priority"], .text("priority > 1 AND cost > 2"))
        }
        #expect(having?.part == .having)
        #expect(having?.column == 18)
        #expect(having?.description.contains("of the condition on groups") == true)
        #expect(failure { ($0.properties, $0.having) = (["count() AS n"], .text("n > 1")) }?.code == .unsupported)
        #expect(failure { $0.groupBy = ["count()"] }?.part == .grouping)
        #expect(failure { ($0.properties, $0.isDistinct, $0.sort) = (["id"], true, ["cost"]) }?.part == .order)
        #expect(failure { ($0.properties, $0.isDistinct) = (["technicians"], true) }?.part == .properties)
        #expect(failure { $0.properties = ["count() AS title"] }?.code == .syntax)
        #expect(failure { $0.properties = ["id", "titel"] }?.number == 2)
        #expect(failure { $0.properties = ["sum(sum(cost))"] }?.column == 9)
        #expect(failure { $0.properties = ["id AS"] }?.column == 6)
        #expect(failure { $0.sort = ["id", "-titel"] }?.column == 2)
        #expect(failure { $0.sort = ["priority[cd]"] }?.code == .type)
        #expect(failure { $0.sort = Array(repeating: "id", count: 17) }?.code == .tooComplex)
    }

    @Test func `a request for rows gives no objects`() throws {
        var request = FetchRequest("WorkOrder")
        request.isDistinct = true
        let checked = try request.checked(with: model)
        #expect(throws: FetchPredicateError.self) {
            try fixture.store.sqlite().database.read { try ReadContext(database: $0, model: model).fetch(checked) }
        }
    }

    @Test func `cuts lists at their commas`() throws {
        #expect(
            try FetchRequest.parts(of: "chat.title, count() AS n, sum(a, b) ,'x,y'")
                == ["chat.title", "count() AS n", "sum(a, b) ", "'x,y'"])
        #expect(throws: FetchPredicateError.self) { try FetchRequest.parts(of: "a, 'x") }
    }
}

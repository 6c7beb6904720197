import ObjectGraph
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Which conditions, orders and groups PostgreSQL judges by itself. `RandomisedStorageTests` and `RandomisedPredicateTests`
/// compare the results.
@Suite struct PostgresConditionsTests {
    private let model: ObjectModel

    init() throws { model = try ObjectModel.parse(RandomPredicates.model) }

    private func isWhole(_ change: (inout FetchRequest) -> Void) throws -> Bool {
        var request = FetchRequest("Item")
        change(&request)
        let checked = try request.checked(with: model)
        var conditions = PostgresConditions(checked, PostgresTable.all(model))
        guard conditions.add(checked.predicate) else { return false }
        if checked.isOfRows { return (try? PostgresGroups(checked, &conditions)) != nil }
        return PostgresOrder(checked.sort, &conditions) != nil
    }

    @Test(arguments: [
        "name LIKE 'a?b*'", "name LIKE '100%_?'", "box.name = 'a'", "parent.box.name BEGINSWITH name",
        "size < parent.size",
        "size > 1.5", "ratio = 1", "price > size", "box == parent.box", "box.id IN {'b1', 'b2'}", "box IN {'b1', nil}",
        "ANY tags.name = 'a'", "ALL children.size > 1", "NONE tags.price < 1.5", "tags.@count > 1",
        "children.size.@max > box.size", "children.size.@sum = 3", "children.size.@avg < 2",
        "SUBQUERY(children, $c, $c.size > 1 AND ANY $c.tags.name LIKE 'a*').@count = 2", "at < now()",
        "parent.parent = nil",
    ])
    func `the server judges a condition`(_ condition: String) throws {
        #expect(try isWhole { $0.condition = .text(condition) })
    }

    @Test(arguments: [
        "name LIKE[c] 'a*'", "name MATCHES 'a.*'", "name =[cd] 'a'", "lowercase:(name) = 'a'", "size + 1 = 2",
        "ratio > price",
        "children.price.@sum = 3", "children.ratio.@sum = 3",
    ])
    func `the evaluator judges a condition`(_ condition: String) throws {
        #expect(try !isWhole { $0.condition = .text(condition) })
    }

    @Test func `the server orders and groups`() throws {
        #expect(try isWhole { $0.sort = ["box.name desc", "tags.@count", "parent.size"] })
        #expect(try !isWhole { $0.sort = ["name[cd]"] })
        #expect(
            try isWhole {
                ($0.groupBy, $0.properties) = (
                    ["box", "name"], ["box", "name", "count()", "sum(size)", "max(box.size)"]
                )
                ($0.having, $0.sort) = (.text("count() > 1"), ["count() desc", "name"])
            })
        #expect(try isWhole { ($0.properties, $0.isDistinct, $0.sort) = (["name", "box"], true, ["box"]) })
        #expect(try isWhole { $0.properties = ["count()", "average(size)", "min(name)"] })
        #expect(try !isWhole { $0.properties = ["sum(price)"] })
    }
}

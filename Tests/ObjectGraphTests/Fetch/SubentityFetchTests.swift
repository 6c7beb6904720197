import ObjectGraph
import Testing

@testable import GraphCore

/// Requests for the objects of an entity alone.
@Suite struct SubentityFetchTests {
    private let graph: Graph

    init() throws {
        graph = try Graph(yaml: Models.hierarchy)
        try graph.apply([
            graph.upsert("Task", "t", ["points": 1]), graph.upsert("Step", "s", ["points": 2]),
            graph.upsert("Note", "n"),
        ])
    }

    private func request(_ entity: String, _ text: String? = nil) -> FetchRequest {
        var request = FetchRequest(entity, where: text)
        request.includesSubentities = false
        request.sort = ["id"]
        return request
    }

    @Test(arguments: [("Task", ["t"], 2), ("Item", [], 3), ("Step", ["s"], 1), ("Note", ["n"], 1)])
    func `a fetch and a count leave the objects of sub-entities out`(
        _ entity: String, _ own: [String], _ all: Int
    ) throws {
        let request = request(entity)
        let (found, count, countOfAll) = try graph.store.read {
            (try $0.fetch(request), try $0.count(request), try $0.count(FetchRequest(entity)))
        }
        #expect(found.compactMap { $0["id"]?.text } == own)
        #expect(count == own.count && countOfAll == all)
    }

    @Test func `rows, groups and conditions regard it too`() throws {
        var rows = request("Task")
        rows.properties = ["count() AS number"]
        rows.sort = []
        let numbers = try graph.store.read { [rows] in try $0.rows(rows).map { row -> Value? in row["number"] } }
        #expect(numbers == [.integer(1)])
        let condition = request("Task", "points > 1")
        #expect(try graph.store.read { try $0.count(condition) } == 0)
    }

    @Test func `a context's own changes are judged in the same way`() throws {
        let context = try EditingContext(graph.writer)
        try context.insert("Task", identity: "u")
        try context.insert("Step", identity: "r")
        let request = request("Task")
        #expect(try context.fetch(request).map { try $0.identity } == ["t", "u"])
        #expect(try context.count(request) == 2 && context.count(FetchRequest("Task")) == 4)
    }

    @Test func `observed results leave the objects of sub-entities out`() async throws {
        var results = try graph.store.results(of: request("Task")).makeAsyncIterator()
        #expect(try await results.next()?.objects.compactMap { $0["id"]?.text } == ["t"])
        try graph.apply(graph.upsert("Step", "q"), graph.upsert("Task", "v"))
        #expect(try await results.next()?.objects.compactMap { $0["id"]?.text } == ["t", "v"])
    }

    @Test func `a cursor is of the request with the same choice`() throws {
        var page = request("Task")
        page.limit = 1
        var all = page
        all.includesSubentities = true
        let next = try graph.store.read { [all] in try $0.page(all) }.next
        #expect(next != nil)
        page.after = next
        #expect(throws: FetchPredicateError.self) { try graph.store.read { [page] in try $0.page(page) } }
    }

    @Test func `typed requests have the choice`() throws {
        let types: [TypedObject.Type] = [Typed.Party.self, Typed.Person.self, Typed.Company.self]
        let graph = try Graph(try ObjectModel(name: "parties", entities: types))
        let context = try EditingContext(graph.writer)
        try context.insert(Typed.Company.self, id: "works")
        try context.save()
        #expect(try context.fetch(Typed.Party.self).count == 1)
        #expect(try context.fetch(Typed.Party.self, includesSubentities: false).isEmpty)
        let (all, own, objects) = try graph.store.read { reader in
            (
                try reader.count(Typed.Party.self), try reader.count(Typed.Party.self, includesSubentities: false),
                try reader.fetch(Typed.Party.self, includesSubentities: false).count
            )
        }
        #expect(all == 1 && own == 0 && objects == 0)
    }
}

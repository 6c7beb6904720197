import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

// Foundation has names like these.

/// Random predicates over random objects: the store, the library's evaluator and one written from the rules agree.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n swift test --filter RandomisedPredicateTests` runs that one
/// again, and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct RandomisedPredicateTests {
    private static let predicatesPerGraph = 30

    @Test func `the store finds what the rules say`() throws {
        try Seeds.forEach(runs: 12) { seed in try run(seed) }
    }

    /// The conditions of a partial index that a request is found by, those with OR and IN too.
    private static let indexConditions = [
        "name = 'a' OR name = 'ab' OR size = 1", "name IN {'a', 'ab', 'é'} OR flag = YES", "size BETWEEN {-1, 5}",
        "NOT (size > 2 OR name = 'a')", "price = 1.5 OR (flag = NO AND size != 1)", "name != nil AND size IN {0, 1, 2}",
    ]

    /// A partial index holds the rows that its condition is true of by the rules, and so finds them, and no others.
    @Test(arguments: indexConditions)
    func `a partial index finds what the rules say`(_ condition: String) throws {
        let quoted = condition.replacingOccurrences(of: "'", with: "''")
        try Seeds.forEach(runs: 6) { seed in
            let requests = try ["YES", "NO"].map { try FetchPredicate.parse("(\(condition)) AND flag = \($0)") }
            try run(seed, indexes: "[{ name: part, on: [flag], where: '\(quoted)' }]", requests) { plan in
                #expect(plan.steps.contains { $0.contains("Item:part") }, "\(plan.text)")
            }
        }
    }

    @Test func `the store finds by expression indexes what the rules say`() throws {
        let indexes = "[{ on: [{ expression: 'lowercase:(name)' }] }, { on: [{ expression: 'uppercase:(note)' }] }]"
        try Seeds.forEach(runs: 6) { seed in try run(seed, indexes: indexes) }
    }

    private func run(
        _ seed: UInt64, indexes: String = "[]", _ requests: [FetchPredicate]? = nil,
        check: (FetchExplanation) -> Void = { _ in }
    ) throws {
        var random = RandomPredicates(seed: seed)
        let tags = "tags: { to: Tag, many: true, inverse: items }\n"
        let model = try ObjectModel.parse(
            RandomPredicates.model.replacingOccurrences(of: tags, with: "\(tags)    indexes: \(indexes)\n"))
        let graph = random.graph()
        let fixture = try ReadingFixture(model: model, RandomPredicates.events(graph, model))
        for predicate in requests ?? (0..<Self.predicatesPerGraph).map({ _ in random.predicate() }) {
            do {
                if requests != nil {
                    check(try fixture.store.read { try $0.explain(FetchRequest("Item", matching: predicate)) })
                }
                guard let problem = try problem(predicate, graph, fixture) else { continue }
                Issue.record("seed \(seed): \(problem)\n\(predicate)")
            } catch let error as FetchPredicateError where error.code == .tooComplex {
                continue
            } catch {
                Issue.record("seed \(seed): \(error)\n\(predicate)")
            }
        }
    }

    private func problem(
        _ predicate: FetchPredicate, _ graph: MemoryGraph, _ fixture: ReadingFixture
    ) throws -> String? {
        let read = try FetchPredicate.parse(predicate.description)
        if read != predicate { return "printed and read again it is another predicate: \(read)" }
        let expected = (RandomPredicates.identities["Item"] ?? []).filter { id in
            ReferenceEvaluator(graph: graph, root: MemoryGraph.Key(entity: "Item", id: id)).isTrue(predicate)
        }
        var request = FetchRequest("Item", matching: predicate)
        request.sort = ["id"]
        request.now = RandomPredicates.now
        for storage in TestStorage.allCases {
            let objects = try fixture.store.read(from: storage) { try $0.fetch(request) }
            let found = objects.compactMap { $0["id"]?.text }
            if found != expected { return "\(storage) finds \(found), the rules say \(expected)" }
        }
        let judged = try fixture.judged(request)
        return judged == expected ? nil : "in memory it is true of \(judged), the rules say \(expected)"
    }
}

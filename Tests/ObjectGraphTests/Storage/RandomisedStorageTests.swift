import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import MemoryStorage
@testable import SQLiteStorage

/// Random requests over random objects: every storage answers the same, in every form of the answer.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter RandomisedStorageTests` runs that one
/// again, and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct RandomisedStorageTests {
    private static let requestsPerGraph = 60

    @Test func `storages answer a request alike`() throws {
        try Seeds.forEach(runs: 12) { seed in
            var random = RandomRequests(seed: seed)
            let model = try ObjectModel.parse(RandomPredicates.model)
            let graph = random.predicates.graph()
            let fixture = try ReadingFixture(model: model, RandomPredicates.events(graph, model))
            try fixture.store.read { sqlite in
                let tables = try MemoryTables(sqlite)
                let memory = ReadContext(MemorySnapshot(tables, model: model), model: model)
                let postgres = try tables.inPostgres(model)
                for _ in 0..<Self.requestsPerGraph {
                    let request = random.request()
                    do {
                        let checked = try request.checked(with: model)
                        let expected = try answers(sqlite, checked, request)
                        #expect(try answers(memory, checked, request) == expected, "seed \(seed): \(request.told)")
                        let found = try postgres.read { try answers($0, checked, request) }
                        #expect(found == expected, "PostgreSQL, seed \(seed): \(request.told)")
                    } catch let error as FetchPredicateError where error.code == .tooComplex {
                        continue
                    } catch {
                        Issue.record("seed \(seed): \(error)\n\(request.told)")
                    }
                }
            }
        }
    }

    /// All that a storage says to a request, as lines.
    private func answers(
        _ context: ReadContext, _ checked: CheckedFetchRequest, _ request: FetchRequest
    ) throws -> [String] {
        var lines = ["count \(try context.count(checked))"]
        if checked.isOfRows { return lines + (try context.rows(checked)).map { "row \($0.contents)" } }
        lines += try context.fetch(checked).map { "object \($0.parts)" }
        lines += try context.batches(checked, size: 2) { batches in
            var lines: [String] = []
            while let batch = try batches.next() { lines.append("batch \(batch.map(\.parts))") }
            return lines
        }
        return lines + (try pages(context, request))
    }

    /// The pages of two objects that begin where the request does.
    private func pages(_ context: ReadContext, _ request: FetchRequest) throws -> [String] {
        var (page, lines) = (request, [String]())
        (page.limit, page.offset) = (2, 0)
        repeat {
            let found = try context.page(page)
            lines.append("page \(found.objects.map(\.parts)) \(found.next ?? "end")")
            page.after = found.next
        } while page.after != nil && lines.count < 20
        return lines
    }

    @Test func `storages answer for hierarchies, lists in order and single objects alike`() throws {
        try Seeds.forEach(runs: 10) { seed in
            let graph = try Graph(yaml: Models.hierarchy)
            var events = EventGenerator(graph.model, seed: seed)
            for _ in 0..<6 { try graph.apply((0..<10).map { _ in events.event() }) }
            for entity in graph.model.entities {
                var request = FetchRequest(entity.name)
                request.properties = entity.attributes.map(\.name) + entity.relationships.map(\.name)
                request.sort = [entity.identity.name]
                for includes in [true, false] {
                    request.includesSubentities = includes
                    let found = try TestStorage.allCases.map { storage in
                        try graph.store.read(from: storage) { try self.whole($0, request, entity) }
                    }
                    #expect(found.allSatisfy { $0 == found[0] }, "seed \(seed): \(request.told)")
                }
            }
        }
    }

    private func whole(_ context: ReadContext, _ request: FetchRequest, _ entity: Entity) throws -> [String] {
        let paths = entity.relationships.map(\.name)
        let snapshot = try context.fetch(request, prefetch: paths)
        let (objects, placeholders) = try context.count(entity)
        var lines = ["\(objects) \(placeholders)"] + (try context.fetch(request)).map { "\($0.parts)" }
        for object in snapshot.objects {
            lines.append("\(object) \(paths.map { snapshot.objects($0, of: object)?.map(\.description) ?? [] })")
        }
        return lines
    }
}

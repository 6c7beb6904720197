import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// How many rows the program reads of a store in PostgreSQL, and how many it holds at a time.
@Suite struct PostgresMemoryTests {
    private static let model = """
        entities:
          Box:
            identity: id
            attributes:
              id: { type: string }
              count: { type: integer16, derived: things.@count }
              greatest: { type: integer64, optional: true, derived: things.@max.number }
              least: { type: string, optional: true, derived: tags.@min.id }
              weight: { type: double, derived: things.@sum.weight }
            relationships:
              things: { to: Thing, many: true, inverse: box, ordered: true, delete: cascade }
              tags: { to: Tag, many: true, inverse: boxes, delete: nullify }
          Thing:
            identity: id
            attributes:
              id: { type: string }
              number: { type: integer64, default: 0 }
              weight: { type: double, default: 0 }
            relationships:
              box: { to: Box, inverse: things, delete: nullify }
          Tag:
            identity: id
            attributes:
              id: { type: string }
            relationships:
              boxes: { to: Box, many: true, inverse: tags, delete: nullify }
        """

    /// Makes a store with boxes of so many things each.
    private func graph(boxes: [Int]) throws -> Graph {
        let graph = try Graph(try ObjectModel.parse(Self.model), storage: .postgres)
        var events: [ChangeSet] = []
        for (box, count) in boxes.enumerated() {
            let tags = (0..<count % 4).map { Value.text("g\($0)") }
            events.append(graph.upsert("Box", .text("b\(box)"), ["tags": .replace(tags)]))
            for thing in 0..<count {
                events.append(
                    graph.upsert(
                        "Thing", .text("T\(box)-\(thing)"),
                        [
                            "number": .value(.integer(Int64(thing))), "weight": .value(.double(0.5)),
                            "box": .value(.text("b\(box)")),
                        ]))
            }
        }
        for tag in 0..<4 { events.append(graph.upsert("Tag", .text("g\(tag)"))) }
        try graph.apply(events)
        return graph
    }

    /// Calls `body` with a snapshot, and returns how many rows the server has sent for it.
    private func rowCount(_ graph: Graph, _ body: (ReadContext, PostgresSnapshot) throws -> Void) throws -> Int {
        try graph.store.read { context in
            let snapshot = try #require(context.session as? PostgresSnapshot)
            // The first question brings the mark of the store along.
            _ = try snapshot.storeID()
            let before = snapshot.connection.rowCount
            try body(context, snapshot)
            return snapshot.connection.rowCount - before
        }
    }

    // MARK: Derived values

    @Test func `a value that is computed again holds none of the owner's members`() throws {
        let graph = try graph(boxes: [3000])
        try graph.restart()
        let session = try #require(graph.writer.session as? PostgresWriterSession)
        // The greatest number leaves, and a double leaves the sum. The sum's terms come one by one.
        try graph.apply(graph.delete("Thing", "T0-2999"))
        #expect(session.connection.greatestHeldRowCount < 100)
        let box = try #require(try graph.store.read { try $0.fetch(FetchRequest("Box")) }.first)
        #expect(box["count"] == .integer(2999))
        #expect(box["greatest"] == .integer(2998))
        #expect(box["weight"] == .double(1499.5))
        #expect(try graph.damage() == "")
    }

    @Test func `an extreme over a join table is computed from the rows`() throws {
        let graph = try graph(boxes: [3, 2])
        #expect(try graph.apply(graph.upsert("Box", "b0", ["tags": .remove("g0")])) == ["applied"])
        #expect(try graph.value("Box", "b0", "least") == "g1")
        #expect(try graph.value("Box", "b1", "least") == "g0")
        #expect(try graph.damage() == "")
    }

    // MARK: Sets

    @Test func `a large deletion asks the server once a page`() throws {
        let graph = try graph(boxes: [300])
        try graph.writer.close()
        final class Trips {
            var session: PostgresWriterSession?
            var counts: [Int: Int] = [:]
        }
        let trips = Trips()
        var options = WriterContext.Options()
        options.setDeletionThreshold = 20
        options.validators["Thing"] = EntityValidator(validateForDelete: { _ in
            trips.counts[trips.session?.connection.roundTripCount ?? 0, default: 0] += 1
        })
        let context = try WriterContext(store: graph.store, options: options)
        trips.session = try #require(context.session as? PostgresWriterSession)
        _ = try context.apply(WriterContext.Chunk(events: [graph.delete("Box", "b0")])).check()
        try context.commit()
        // Between two round trips the deletion validates the objects of one page at most.
        #expect(trips.counts.values.reduce(0, +) == 300)
        #expect(trips.counts.values.max() ?? 0 <= 20)
        #expect(try graph.store.read { try $0.count(FetchRequest("Thing")) } == 0)
        #expect(try graph.store.verify().isSound)
    }

    @Test(arguments: [TestStorage.memory, .postgres])
    func `an object that several pages of a deletion change has one change`(_ storage: TestStorage) throws {
        let model = try ObjectModel.parse(
            """
            entities:
              Shelf:
                identity: id
                attributes:
                  id: { type: string }
                  count: { type: integer64, derived: things.@count }
                  greatest: { type: integer64, optional: true, derived: things.@max.number }
                relationships:
                  things: { to: Thing, many: true, inverse: shelf, delete: nullify }
                  boxes: { to: Box, many: true, inverse: shelves, delete: nullify }
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  count: { type: integer64, derived: things.@count }
                relationships:
                  things: { to: Thing, many: true, inverse: box, delete: cascade }
                  labels: { to: Label, many: true, inverse: box, delete: nullify }
                  shelves: { to: Shelf, many: true, inverse: boxes, delete: nullify }
              Thing:
                identity: id
                attributes:
                  id: { type: string }
                  number: { type: integer64, default: 0 }
                relationships:
                  box: { to: Box, inverse: things, delete: nullify }
                  shelf: { to: Shelf, inverse: things, delete: nullify, optional: true }
              Label:
                identity: id
                attributes:
                  id: { type: string }
                relationships:
                  box: { to: Box, inverse: labels, delete: nullify, optional: true }
            """)
        func changes(pageLength: Int) throws -> [String] {
            let graph = try Graph(model, setDeletionThreshold: pageLength, storage: storage)
            var events = [graph.upsert("Shelf", "s"), graph.upsert("Box", "b", ["shelves": .add("s")])]
            for number in 0..<25 {
                events.append(graph.upsert("Label", .text("l\(number)"), ["box": .value("b")]))
                events.append(
                    graph.upsert(
                        "Thing", .text("t\(number)"),
                        ["number": .value(.integer(Int64(number))), "box": .value("b"), "shelf": .value("s")]))
            }
            try graph.apply(events)
            #expect(try graph.apply(graph.delete("Box", "b")) == ["applied"])
            #expect(try graph.value("Shelf", "s", "count") == 0)
            #expect(try graph.damage() == "")
            return try graph.history(after: 1).sorted()
        }
        let found = try changes(pageLength: 10)
        #expect(found.count == 1 + 1 + 25 + 25)
        #expect(found.contains("update Shelf s count,greatest,boxes"))
        // With all objects in memory the deletion is one save.
        #expect(found == (try changes(pageLength: 1000)))
    }

    @Test(arguments: [TestStorage.memory, .postgres])
    func `numbers of destinations are checked once all pages of a deletion are saved`(_ storage: TestStorage) throws {
        let model = try ObjectModel.parse(
            """
            entities:
              Shelf:
                identity: id
                attributes:
                  id: { type: string }
                relationships:
                  things: { to: Thing, many: true, inverse: shelf, delete: nullify, optional: true, minCount: 12 }
              Box:
                identity: id
                attributes:
                  id: { type: string }
                relationships:
                  things: { to: Thing, many: true, inverse: box, delete: cascade }
              Thing:
                identity: id
                attributes:
                  id: { type: string }
                relationships:
                  box: { to: Box, inverse: things, delete: nullify }
                  shelf: { to: Shelf, inverse: things, delete: nullify, optional: true }
            """)
        for rest in [0, 3, 12] {
            let graph = try Graph(model, setDeletionThreshold: 5, storage: storage)
            // A shelf may be empty, and has twelve things otherwise.
            func thing(_ id: String, box: Value) -> ObjectOperation {
                model.upsert("Thing", .text(id), [("box", .value(box)), ("shelf", .value("s"))])
            }
            let owners = [("Shelf", "s"), ("Box", "b"), ("Box", "other")].map { model.upsert($0, .text($1), []) }
            let operations =
                owners + (0..<20).map { thing("t\($0)", box: "b") } + (0..<rest).map { thing("r\($0)", box: "other") }
            #expect(try graph.apply(ChangeSet(operations)) == ["applied"])
            let word = try graph.apply(graph.delete("Box", "b")).first
            #expect((word == "applied") == (rest != 3), "\(rest) stay: \(word ?? "")")
            #expect(try graph.damage() == "")
        }
    }

    // MARK: Requests

    @Test func `a request that the evaluator judges reads no further than its page`() throws {
        let graph = try graph(boxes: [3000])
        var request = FetchRequest("Thing", where: "id CONTAINS[c] 't0'")
        (request.limit, request.offset) = (10, 5)
        let count = try rowCount(graph) { context, _ in
            let found = try context.fetch(request)
            #expect(found.compactMap { $0["number"] } == (5..<15).map { Value.integer(Int64($0)) })
        }
        // A batch of candidates, and what the fetch asks beside.
        #expect(count < 1010)
        // Of all that match in another order, the page alone is kept.
        request.sort = ["id[c] desc"]
        let found = try graph.store.read { try $0.fetch(request) }
        #expect(found.first?["id"] == "T0-994")
        #expect(found.count == 10)
    }

    @Test func `the evaluator reads an owner's members until it has its answer`() throws {
        let graph = try graph(boxes: [3000])
        let count = try rowCount(graph) { context, snapshot in
            snapshot.pageLength = 100
            let found = try context.fetch(FetchRequest("Box", where: "ANY things.id =[c] 't0-5'"))
            #expect(found.count == 1)
        }
        #expect(count <= 110)
        try graph.store.read { context in
            let snapshot = try #require(context.session as? PostgresSnapshot)
            snapshot.pageLength = 100
            let condition = "SUBQUERY(things, $t, $t.id BEGINSWITH[c] 't0').@count = 3000"
            #expect(try context.fetch(FetchRequest("Box", where: condition)).count == 1)
        }
    }

    @Test(arguments: [1, 2, 3, 7])
    func `the length of the pages of members changes no result`(_ length: Int) throws {
        let graph = try graph(boxes: [3, 0, 9, 1, 7, 2, 5])
        for condition in [
            "ANY things.id ENDSWITH[c] '-4'", "ALL things.id CONTAINS[c] 't'", "NONE things.id ENDSWITH[c] '-1'",
            "SUBQUERY(things, $t, $t.id BEGINSWITH[c] 't').@count > 2", "things.weight.@sum > 1 AND id LIKE[c] 'B*'",
            "SUBQUERY(tags, $g, $g.id LIKE[c] 'G*').@count = 1",
            "SUBQUERY(tags, $g, ANY $g.boxes.id LIKE[c] 'B2').@count > 0",
        ] {
            for sort in [[], ["id[c] desc"], ["things.@count"]] {
                var request = FetchRequest("Box", where: condition)
                (request.sort, request.properties) = (sort, ["id", "things", "tags"])
                let expected = try graph.store.read { try $0.fetch(request) }.map(\.contents)
                let found = try graph.store.read { context in
                    (context.session as? PostgresSnapshot)?.pageLength = length
                    return try context.fetch(request).map(\.contents)
                }
                #expect(found == expected, "\(condition) by \(sort)")
            }
        }
    }

    @Test func `the server returns the groups of a page alone, and counts them by itself`() throws {
        let graph = try graph(boxes: [50])
        var request = FetchRequest("Thing")
        (request.groupBy, request.properties, request.sort) = (["number"], ["number", "count()"], ["number"])
        (request.limit, request.offset) = (5, 3)
        let count = try rowCount(graph) { context, _ in
            let checked = try request.checked(with: graph.model)
            let expected = (3..<8).map { number -> [FetchedContent] in
                [.value(.integer(Int64(number))), .value(.integer(1))]
            }
            #expect(try context.session.rows(checked).map(\.contents) == expected)
            #expect(try context.session.count(checked) == 50)
        }
        #expect(count <= 8 + 1)
    }

    // MARK: Verification

    @Test func `the check of a sum holds none of the owner's members`() throws {
        let graph = try graph(boxes: [3000, 1])
        var held = 0
        let report = try graph.store.read { context in
            let snapshot = try #require(context.session as? PostgresSnapshot)
            var check = VerificationReport.Check(name: "derived")
            try PostgresVerifier(context, .ofOneSnapshot, VerificationProgress()).checkDerived(&check)
            held = snapshot.connection.greatestHeldRowCount
            return check
        }
        #expect(report.problemCount == 0 && report.checkedCount > 0)
        #expect(held < 100)
    }

    @Test func `the check of an order reads no row of a sound owner`() throws {
        let graph = try graph(boxes: Array(repeating: 2, count: 40))
        var check = VerificationReport.Check(name: "order")
        let count = try rowCount(graph) { context, _ in
            try PostgresVerifier(context, .ofOneSnapshot, VerificationProgress()).checkOrder(&check)
        }
        #expect(check.checkedCount == 80)
        #expect(check.problemCount == 0)
        #expect(count <= 1)
    }
}

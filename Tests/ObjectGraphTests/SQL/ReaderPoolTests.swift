import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// What the connections of readers keep from one read to the next.
@Suite struct ReaderPoolTests {
    private let graph: Graph

    init() throws {
        graph = try Graph(configuredModel("chat"))
        try graph.apply((1...9).map { graph.upsert("Chat", .text("c\($0)"), ["title": .value(.text("t\($0 % 3)"))]) })
    }

    private func ids(_ request: FetchRequest) throws -> [String] {
        try graph.store.read { try $0.fetch(request).compactMap { $0["id"]?.text } }
    }

    @Test func `a request that comes again sees what was saved meanwhile`() throws {
        var request = FetchRequest("Chat", where: "title = 't1'")
        request.sort = ["-id"]
        #expect(try ids(request) == ["c7", "c4", "c1"])
        try graph.apply(graph.upsert("Chat", "c4", ["title": "t2"]), graph.delete("Chat", "c1"))
        #expect(try ids(request) == ["c7"])
    }

    @Test func `a request that comes again has its own page and time`() throws {
        var request = FetchRequest("Chat")
        request.sort = ["id"]
        request.limit = 2
        #expect(try ids(request) == ["c1", "c2"])
        (request.limit, request.offset) = (3, 4)
        #expect(try ids(request) == ["c5", "c6", "c7"])
        (request.limit, request.offset) = (nil, 7)
        #expect(try ids(request) == ["c8", "c9"])
        (request.limit, request.offset) = (2, 0)
        let page = try graph.store.read { try $0.page(request) }
        request.after = page.next
        #expect(try ids(request) == ["c3", "c4"])
        request.after = nil
        #expect(try ids(request) == ["c1", "c2"])
        var timed = FetchRequest("Chat", where: "now() > '2001-01-01'")
        timed.now = 0
        #expect(try ids(timed).isEmpty)
        timed.now = 1_700_000_000_000_000
        #expect(try ids(timed).count == 9)
    }

    @Test func `a wrong request is refused each time`() throws {
        var request = FetchRequest("Chat")
        #expect(try ids(request).count == 9)
        request.limit = -1
        for _ in 0..<2 { #expect(throws: (any Error).self) { try ids(request) } }
        request = FetchRequest("Chat", where: "titel = 'x'")
        for _ in 0..<2 { #expect(throws: (any Error).self) { try ids(request) } }
        #expect(try ids(FetchRequest("Chat")).count == 9)
    }

    @Test func `requests of one shape share a statement`() throws {
        let counts = try graph.store.read { context in
            for number in 0..<10 { _ = try context.fetch(FetchRequest("Chat", where: "title = 't\(number)'")) }
            return (context.requests?.count, try context.sqlite().caches?.statements.count)
        }
        // The transaction's BEGIN is the other one.
        #expect(counts.0 == 10 && counts.1 == 2)
    }

    @Test func `only the last requests and statements are kept`() throws {
        let counts = try graph.store.read { context in
            for number in 1...FetchRequestCache.maximumCount + 9 {
                let parts = [String](repeating: "title != 'x'", count: number)
                _ = try context.fetch(FetchRequest("Chat", where: parts.joined(separator: " AND ")))
            }
            return (context.requests?.count, try context.sqlite().caches?.statements.count)
        }
        #expect(counts.0 == FetchRequestCache.maximumCount)
        #expect(counts.1 == StatementCache.maximumCount)
    }

    @Test func `fetches of one shape may be nested`() throws {
        var request = FetchRequest("Chat", where: "title != 't0'")
        request.sort = ["id"]
        let counts = try graph.store.read { context in
            var counts: [Int] = []
            try context.fetch(request) { _ in
                counts.append(try context.fetch(request).count)
                return counts.count < 3
            }
            return counts
        }
        #expect(counts == [6, 6, 6])
        #expect(try ids(request).count == 6)
    }

    @Test func `a read that fails leaves its connection usable`() throws {
        struct Enough: Error {}
        for _ in 0..<10 {
            #expect(throws: Enough.self) {
                try graph.store.read { context in
                    try context.fetch(FetchRequest("Chat")) { _ in throw Enough() }
                }
            }
        }
        #expect(try ids(FetchRequest("Chat")).count == 9)
    }

    @Test func `all that a read sees is of one commit`() throws {
        let (before, after) = try graph.store.read { context in
            let before = try context.fetch(FetchRequest("Chat")).count
            try graph.apply(graph.delete("Chat", "c1"))
            return (before, try context.fetch(FetchRequest("Chat")).count)
        }
        #expect(before == 9 && after == 9)
        #expect(try ids(FetchRequest("Chat")).count == 8)
    }

    @Test func `a closed store is read no more`() throws {
        #expect(try ids(FetchRequest("Chat")).count == 9)
        try graph.writer.close()
        try graph.store.close()
        let error = #expect(throws: StoreError.self) { try ids(FetchRequest("Chat")) }
        #expect(error?.code == .unavailable)
    }
}

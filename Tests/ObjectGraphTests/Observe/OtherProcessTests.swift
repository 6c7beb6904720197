import Testing

@testable import GraphCore
@testable import ObjectGraph
@testable import SQLiteStorage

/// What a writer of another process commits: a store opened a second time shares nothing with the first but the file.
@Suite struct OtherProcessTests {
    private let folder: TemporaryFolder
    private let writer: Graph
    private let reader: Store
    private let options: ObservationOptions

    init() throws {
        folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        writer = try Graph(model, path: folder.path("s.sqlite"))
        reader = try Store.openForReading(path: folder.path("s.sqlite"), model: model)
        var options = ObservationOptions()
        options.pollInterval = .milliseconds(10)
        options.minimumInterval = .milliseconds(1)
        self.options = options
        try writer.apply([
            writer.upsert("Chat", "a", ["title": "1"]), writer.upsert("Chat", "b", ["title": "2"]),
            writer.upsert("Chat", "c", ["title": "3"]),
        ])
    }

    private func results() throws -> FetchedResultsSequence.AsyncIterator {
        var request = FetchRequest("Chat")
        request.sort = ["title"]
        return try reader.results(of: request, options: options).makeAsyncIterator()
    }

    @Test func `an insertion has its index`() async throws {
        var results = try results()
        #expect(try await results.next()?.objects.map { $0["id"] } == ["a", "b", "c"])
        try writer.apply(writer.upsert("Chat", "d", ["title": "15"]))
        let next = try await results.next()
        #expect(next?.objects.map { $0["id"] } == ["a", "d", "b", "c"])
        #expect(next?.difference?.insertions == [1])
        #expect(next?.difference?.deletions == [])
        #expect(next?.difference?.moves == [])
        #expect(next?.difference?.updates == [])
    }

    @Test func `a deletion has the index it had`() async throws {
        var results = try results()
        _ = try await results.next()
        try writer.apply(writer.delete("Chat", "b"))
        let next = try await results.next()
        #expect(next?.objects.map { $0["id"] } == ["a", "c"])
        #expect(next?.difference?.deletions == [1])
        #expect(next?.difference?.insertions == [])
        #expect(next?.difference?.updates == [])
    }

    @Test func `a move has both indexes and is an update too`() async throws {
        var results = try results()
        _ = try await results.next()
        try writer.apply(writer.upsert("Chat", "a", ["title": "9"]))
        let next = try await results.next()
        #expect(next?.objects.map { $0["id"] } == ["b", "c", "a"])
        #expect(next?.difference?.moves == [.init(from: 0, to: 2)])
        #expect(next?.difference?.updates == [.init(from: 0, to: 2)])
        #expect(next?.difference?.insertions == [])
        #expect(next?.difference?.deletions == [])
    }

    @Test func `an update has both indexes`() async throws {
        var results = try results()
        _ = try await results.next()
        // A derived count changes with the objects that it counts.
        try writer.apply([
            writer.upsert("Chat", "0", ["title": "0"]), writer.upsert("Message", "m", ["chat": "b"]),
        ])
        let next = try await results.next()
        #expect(next?.objects.map { $0["id"] } == ["0", "a", "b", "c"])
        #expect(next?.objects[2]["messagesCount"] == 1)
        #expect(next?.difference?.updates == [.init(from: 1, to: 2)])
        #expect(next?.difference?.insertions == [0])
        #expect(next?.difference?.moves == [])
    }

    @Test func `a batch request is seen like any other change`() async throws {
        var results = try results()
        _ = try await results.next()
        _ = try writer.writer.execute(
            BatchUpdateRequest("Chat", where: "title > '1'", set: ["title": .value("0")]))
        let next = try await results.next()
        #expect(next?.objects.map { $0["title"] } == ["0", "0", "1"])
        #expect(next?.difference?.updates.count == 2)
        #expect(next?.difference?.moves == [.init(from: 0, to: 2)])
    }

    @Test func `changes outside the request give no element`() async throws {
        var results = try results()
        _ = try await results.next()
        try writer.apply(writer.upsert("Member", "m"))
        try writer.apply(writer.delete("Chat", "c"))
        #expect(try await results.next()?.difference?.deletions == [2])
    }

    @Test func `the history comes in the order of the commits`() async throws {
        var changes = reader.changes(options: options).makeAsyncIterator()
        #expect(try await changes.next()?.transactions.map(\.token) == [1])
        try writer.apply(writer.upsert("Chat", "d"))
        try writer.apply(writer.delete("Chat", "a"))
        var kinds: [ChangeKind] = []
        var tokens: [Int64] = []
        while kinds.count < 2, let page = try await changes.next() {
            tokens += page.transactions.map(\.token)
            kinds += page.transactions.flatMap(\.changes).map(\.kind)
        }
        #expect(tokens == [2, 3])
        #expect(kinds == [.insert, .delete])
    }
}

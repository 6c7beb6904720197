import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct LeaseTests {
    private func code(_ body: () throws -> Void) -> StoreError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }

    @Test func `second writer is refused until the first closes`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let first = try Graph(model, path: folder.path("s.sqlite"))
        #expect(code { _ = try Graph(model, path: folder.path("s.sqlite")) } == .leased)
        #expect(code { _ = try WriterContext(store: first.store) } == .leased)
        try first.apply(first.upsert("Chat", "c"))
        try first.writer.close()
        let second = try Graph(model, path: folder.path("s.sqlite"))
        #expect(try second.identities("Chat") == ["c"])
    }

    @Test func `second context of a busy store is refused and harms nothing`() throws {
        let graph = try Graph(configuredModel("chat"))
        _ = try graph.writer.apply(WriterContext.Chunk(events: [graph.upsert("Chat", "c")]))
        #expect(code { _ = try WriterContext(store: graph.store) } == .leased)
        try graph.writer.commit()
        #expect(try graph.identities("Chat") == ["c"])
    }

    @Test func `a writer that nobody closed leaves nothing of its open chunk`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let event = ChangeSet(model.upsert("Chat", .text("c"), []))
        for number in 0..<20 {
            let path = folder.path("\(number).sqlite")
            do {
                // Nothing but the writer holds the store: both go at once, in the middle of a transaction.
                let writer = try WriterContext(store: Store.open(path: path, model: model))
                _ = try writer.apply(WriterContext.Chunk(events: [event]))
            }
            let store = try Store.openForReading(path: path, model: model)
            #expect(try store.read { try $0.count(FetchRequest("Chat")) } == 0)
        }
    }

    @Test func `a closed writer writes no more, whoever has the store`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let first = try WriterContext(store: Store.open(path: folder.path("s.sqlite"), model: model))
        let context = try EditingContext(first)
        let chat = try context.insert("Chat", identity: "c", ["title": "1"])
        try context.save()
        try first.close()
        try first.close()
        let second = try Graph(model, path: folder.path("s.sqlite"))
        try chat.set("title", "2")
        #expect(code { try context.save() } == .unavailable)
        let event = ChangeSet(model.upsert("Chat", .text("d"), []))
        #expect(code { _ = try first.apply(WriterContext.Chunk(events: [event])) } == .unavailable)
        #expect(code { _ = try first.execute(BatchDeleteRequest("Chat")) } == .unavailable)
        #expect(code { try first.renewLease() } != .fenced)
        try second.apply(second.upsert("Chat", "d"))
        #expect(try second.column("SELECT title FROM Chat ORDER BY id") == ["1", nil])
    }

    @Test func `a second writer of one process is told to share the first`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let first = try Graph(model, path: folder.path("s.sqlite"))
        let error = #expect(throws: StoreError.self) { try Graph(model, path: folder.path("s.sqlite")) }
        #expect(error?.message == "This process has a writer of the store already")
        try first.writer.close()
    }

    @Test func `a closed writer that is dropped late harms not the next`() throws {
        let store = try Store.inMemory(model: configuredModel("chat"))
        var first: WriterContext? = try WriterContext(store: store)
        try first?.close()
        let second = try WriterContext(store: store)
        let event = ChangeSet(store.model.upsert("Chat", .text("c"), []))
        _ = try second.apply(WriterContext.Chunk(events: [event]))
        first = nil
        try second.close()
        #expect(try store.read { try $0.count(FetchRequest("Chat")) } == 1)
    }

    @Test func `writer that was taken over is fenced`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let clock = Clock(0)
        let first = try Graph(model, path: folder.path("s.sqlite"), clock: clock)
        try first.apply(first.upsert("Chat", "before"))
        clock.now = 11_000_000
        let second = try Graph(model, path: folder.path("s.sqlite"), clock: clock)
        #expect(code { try first.apply(first.upsert("Chat", "zombie")) } == .fenced)
        #expect(code { try first.writer.renewLease() } == .fenced)
        #expect(code { try first.writer.close() } == .fenced)
        try second.apply(second.upsert("Chat", "after"))
        #expect(try second.identities("Chat") == ["after", "before"])
        #expect(code { _ = try Graph(model, path: folder.path("s.sqlite"), clock: clock) } == .leased)
    }

    @Test func `commits and renewals prolong the lease`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let clock = Clock(0)
        let first = try Graph(model, path: folder.path("s.sqlite"), clock: clock)
        clock.now = 8_000_000
        try first.apply(first.upsert("Chat", "c"))
        clock.now = 15_000_000
        #expect(code { _ = try Graph(model, path: folder.path("s.sqlite"), clock: clock) } == .leased)
        try first.writer.renewLease()
        clock.now = 24_000_000
        #expect(code { _ = try Graph(model, path: folder.path("s.sqlite"), clock: clock) } == .leased)
    }

    @Test func `dead process of this machine holds nothing`() throws {
        let current = LeaseHolder.current()
        let dead = LeaseHolder(host: current.host, process: current.process, startTime: "1", instance: "x")
        let elsewhere = LeaseHolder(host: "other", process: 1, startTime: "1", instance: "x")
        #expect(!dead.isAlive(expires: 10, now: 5))
        #expect(current.isAlive(expires: 10, now: 5))
        #expect(!current.isAlive(expires: 10, now: 10))
        #expect(elsewhere.isAlive(expires: 10, now: 5))
        #expect(LeaseHolder(text: current.text) == current)
        #expect(LeaseHolder(text: "nonsense") == nil)
    }
}

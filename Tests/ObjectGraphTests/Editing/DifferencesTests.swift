import Testing

@testable import GraphCore
@testable import ObjectGraph

/// The differences from Core Data that docs/explanation/semantics.md states and no other suite looks at.
@Suite struct DifferencesTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    @Test func `a refresh reads the row at once`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        context.refreshAll()
        #expect(chat.isFault)
        try fixture.elsewhere("Chat", "c", ["title": "Then"])
        try context.refresh(chat, mergeChanges: false)
        #expect(!chat.isFault)
        try fixture.elsewhere("Chat", "c", ["title": "Later"])
        #expect(try chat["title"] == "Then")
    }

    @Test func `a fetch gives realized objects unless a batch size asks for faults`() throws {
        let context = try fixture.context()
        #expect(try context.fetch(FetchRequest("Message")).allSatisfy { !$0.isFault })
        context.reset()
        #expect(try context.fetch(FetchRequest("Message"), batchSize: 2).allSatisfy(\.isFault))
    }

    @Test func `a fetch leaves marked deletions out even without pending changes`() throws {
        let context = try fixture.context()
        try context.delete(try context.require("Message", "m1"))
        try context.insert("Message", identity: "m4", ["body": "new"])
        let all = try context.fetch(FetchRequest("Message"))
        let saved = try context.fetch(FetchRequest("Message"), includesPendingChanges: false)
        #expect(try context.ids(all) == ["m2", "m3", "m4"])
        #expect(try context.ids(saved) == ["m2", "m3"])
    }

    @Test func `a row holds the identity of a to-one destination`() throws {
        var request = FetchRequest("Message", where: "id = 'm1'")
        request.properties = ["chat"]
        request.isDistinct = true
        let rows = try fixture.store.read { [request] in try $0.rows(request) }
        #expect(rows.first?["chat"] == "c")
    }

    @Test func `the hook before deletion waits for the delete rules`() throws {
        let context = try fixture.context()
        var called: [String] = []
        context.options.hooks.prepareForDeletion = { called.append($0.objectID.entity) }
        try context.delete(try context.require("Chat", "c"))
        #expect(called.isEmpty)
        try context.processPendingChanges()
        #expect(called == ["Chat", "Message", "Message", "Message"])
        try context.save()
        #expect(called.count == 4)
    }

    @Test func `a new object's count is 0 before its first save`() throws {
        let context = try fixture.context()
        let chat = try context.insert("Chat", identity: "d")
        try context.insert("Message", identity: "m4", ["body": "new", "chat": chat])
        #expect(try chat["messagesCount"] == 0)
        try context.save()
        #expect(try chat["messagesCount"] == 1)
    }

    @Test func `a required derived attribute may be without a value`() throws {
        let model = try ObjectModel.parse(
            """
            model: extremes
            entities:
              Box:
                identity: id
                attributes:
                  id: { type: string }
                  largest: { type: integer64, derived: items.@max.size }
                relationships:
                  items: { to: Item, many: true, inverse: box }
              Item:
                identity: id
                attributes: { id: { type: string }, size: { type: integer64 } }
                relationships: { box: { to: Box, inverse: items } }
            """)
        let context = try EditingContext(WriterContext(store: try Store.inMemory(model: model)))
        let box = try context.insert("Box", identity: "b")
        try context.save()
        #expect(try box["largest"].isNull)
    }

    @Test func `results report commits and not what a context has not saved`() async throws {
        var options = ObservationOptions()
        options.minimumInterval = .zero
        var results = try fixture.store.results(of: FetchRequest("Message"), options: options).makeAsyncIterator()
        #expect(try await results.next()?.objects.count == 3)
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try context.insert("Message", identity: "m4", ["body": "new", "chat": chat])
        try context.insert("Message", identity: "m5", ["body": "new", "chat": chat])
        #expect(try fixture.store.read { try $0.count(FetchRequest("Message")) } == 3)
        try context.save()
        // One element for one commit, where a controller reports each change of its context.
        #expect(try await results.next()?.difference?.insertions == [3, 4])
    }

    @Test func `an object that changes its section in its place is updated and not moved`() async throws {
        var request = FetchRequest("Message")
        request.sort = ["seq", "id"]
        try fixture.elsewhere("Message", "m1", ["seq": 1])
        try fixture.elsewhere("Message", "m2", ["seq": 1])
        try fixture.elsewhere("Message", "m3", ["seq": 2])
        var options = ObservationOptions()
        options.minimumInterval = .zero
        var results = try fixture.store.results(of: request, section: "seq", options: options).makeAsyncIterator()
        let first = try await results.next()
        #expect(first?.place(of: 1)?.section == 0)
        try fixture.elsewhere("Message", "m2", ["seq": 2])
        let second = try await results.next()
        #expect(second?.place(of: 1)?.section == 1)
        #expect(second?.difference?.moves == [])
        #expect(second?.difference?.updates == [.init(from: 1, to: 1)])
    }

    @Test func `an operator of a key path stands before the attribute or behind it`() throws {
        let context = try fixture.context()
        #expect(try context.count(FetchRequest("Chat", where: "messages.@sum.seq = 21")) == 1)
        #expect(try context.count(FetchRequest("Chat", where: "messages.seq.@sum = 21")) == 1)
    }

    @Test func `results without a section's key path have no sections`() async throws {
        var results = try fixture.store.results(of: FetchRequest("Message")).makeAsyncIterator()
        let first = try await results.next()
        #expect(first?.objects.count == 3)
        #expect(first?.sections == [])
        #expect(first?.place(of: 0) == nil)
    }

    @Test func `a model without entities is refused`() throws {
        let error = #expect(throws: ModelError.self) { try ObjectModel.parse("model: empty") }
        #expect(error?.description.contains("no entities") == true)
    }

    @Test func `a failure has a code for each limit, and neither predicate nor value`() throws {
        let context = try fixture.context()
        try context.require("Message", "m1").set("body", "?")
        let error = #expect(throws: EditingError.self) { try context.save() }
        let failure = try #require(error?.failures.first)
        #expect(failure.code == 1670)
        #expect(!failure.description.contains("?"))
    }

    @Test func `a row without a list of properties holds attributes and to-one relationships`() throws {
        var request = FetchRequest("Message", where: "id = 'm1'")
        request.isDistinct = true
        let rows = try fixture.store.read { [request] in try $0.rows(request) }
        let row = try #require(rows.first)
        #expect(row["body"] == "hello")
        #expect(row["sender"] == "ann")
    }

    @Test func `a transformable attribute takes JSON and no archive`() throws {
        let model = try ObjectModel.parse(
            """
            entities:
              Box:
                identity: id
                attributes: { id: { type: string }, content: { type: transformable, optional: true } }
            """)
        let context = try EditingContext(WriterContext(store: try Store.inMemory(model: model)))
        let box = try context.insert("Box", identity: "b")
        let error = #expect(throws: EditingError.self) { try box.set("content", [UInt8]("bplist00".utf8)) }
        #expect(error?.code == .type)
    }
}

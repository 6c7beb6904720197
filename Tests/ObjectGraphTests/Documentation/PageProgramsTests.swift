import Foundation
import Testing

@testable import GraphCore
@testable import ObjectGraph

/// The short programs of the pages: they compile and run here, and `Tests/Documentation/run` compares them line by line.
@Suite struct PageProgramsTests {
    private let date = Date(timeIntervalSince1970: 1_767_323_045)

    /// Two messages of a chat, one of them old, and a member with a message.
    private func chats() throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([
            graph.upsert("Chat", "chat-lunch"), graph.upsert("Chat", "empty"), graph.upsert("Member", "ada"),
        ])
        try graph.apply([
            graph.upsert(
                "Message", "m1",
                ["chat": "chat-lunch", "seq": 1, "sentAt": .value(Value(date.addingTimeInterval(-60)))]),
            graph.upsert(
                "Message", "m2", ["chat": "chat-lunch", "seq": 2, "sentAt": .value(Value(date.addingTimeInterval(60)))]),
        ])
        return graph
    }

    @Test func `batch requests update, insert and delete`() throws {
        let writer = try chats().writer
        do {
            let request = BatchUpdateRequest(
                "Message", where: "sentAt < %@", date,
                set: ["body": .value("archived"), "seq": .expression("seq * 2")])
            let result = try writer.execute(request)
            #expect(result.count == 1)
        }
        do {
            let rows: [[String: Value]] = [["id": "eve", "email": "eve@example.org"]]
            var request = BatchInsertRequest("Member", values: rows)  // any sequence of dictionaries
            request.matching = "email"  // a unique attribute; the identity if nil
            #expect(request.matching == "email")
        }
        let result = try writer.execute(BatchDeleteRequest("Chat", where: "messages.@count = 0"))
        #expect(result.count == 1)
    }

    @Test func `contexts take objects and dates as they are`() throws {
        let context = try EditingContext(try chats().writer)
        let found = try context.fetch(FetchRequest("Message", where: "id = 'm2'"))
        let message = try #require(found.first)
        let member = try #require(try context.fetch(FetchRequest("Member")).first)
        try message.set("sender", member)
        let request = FetchRequest("Message", where: "sender = %@ AND sentAt > %@", member, date)
        let sentAt = try message.value("sentAt", as: Date.self)
        #expect(try context.fetch(request).count == 1)
        #expect(sentAt == date.addingTimeInterval(60))
    }

    @Test func `the history comes page by page`() throws {
        let graph = try chats()
        let (store, token) = (graph.store, try graph.store.read { try $0.historyToken() })
        try graph.apply(graph.delete("Message", "m1"))
        var found: [String] = []
        var request = HistoryRequest(after: token)  // nil: from what the history still holds
        request.entity = "Message"
        request.kinds = [.delete]
        var next: HistoryRequest? = request
        while let current = next {
            let page = try store.history(current)
            for change in page.changes { found.append(change.entity) }
            next = page.next
        }
        #expect(found == ["Message"])
    }

    @Test func `sequences give changes and results as they come`() async throws {
        let graph = try chats()
        let store = graph.store
        var seen = 0
        let token = HistoryToken?.none
        for try await page in store.changes(HistoryRequest(after: token)) {  // pages, as they are committed
            seen += page.changes.count
            break
        }
        #expect(seen > 0)

        var request = FetchRequest("Message", where: "chat.id = 'chat-lunch'")
        request.sort = ["sender", "-sentAt"]
        for try await results in try store.results(of: request, section: "sender") {
            let objects = results.objects  // the newest state
            let difference = results.difference  // since the previous element: deletions, insertions, moves, updates
            let sections = results.sections  // runs of objects with the same value
            seen = objects.count + sections.count + (difference?.insertions.count ?? 0)
            break
        }
        #expect(seen >= 3)
    }

    final class Chat: TypedObject {
        @Identity var id: String
        @Field var title: String?
        @Field var updatedAt: Date?

        override class var entityOptions: EntityOptions {
            EntityOptions(version: \Chat.updatedAt, indexes: [[\Chat.title, \Chat.updatedAt]])
        }
    }

    @Test func `a typed entity declares its version and its indexes`() throws {
        let options = EntityOptions(indexes: [
            EntityOptions.Index(
                "recent", on: [.ascending(\Chat.title), .descending(\Chat.updatedAt)], where: \Chat.title != nil),
            EntityOptions.Index(on: [.function(.lowercase, \Chat.title)]),
        ])
        #expect(options.indexes.count == 2)
        let model = try ObjectModel(name: "chats", entities: [Chat.self])
        #expect(model.entity(named: "Chat")?.name == "Chat")
    }

    @Test func `the program of the tutorial says what the tutorial shows`() throws {
        let folder = try TemporaryFolder()
        let lines = try tendGarden(at: folder.path("garden.sqlite"))
        let page = try PackageFiles.text("docs/tutorial/swift-program.md")
        let shown = try #require(page.split(separator: "## Run it").last?.split(separator: "```text\n").last)
        #expect(shown.hasPrefix(lines.joined(separator: "\n") + "\n```"), "\(lines)")
        let again = try #require(try tendGarden(at: folder.path("garden.sqlite")).last)
        #expect(again.hasPrefix("the history has 18 changes"))
        #expect(page.contains("which then has 18"))
    }

    @Test func `a program reads beside a writer, is refused as a second one, and has stores in memory`() throws {
        let folder = try TemporaryFolder()
        let (model, path) = (try configuredModel("chat"), folder.path("chat.sqlite"))
        let graph = try Graph(model, path: path)
        try graph.apply([graph.upsert("Chat", "c", ["title": "Pumps"]), graph.upsert("Message", "m", ["chat": "c"])])

        let store = try Store.openForReading(path: path, model: model)
        let chats = try store.read { try $0.fetch(FetchRequest("Chat", where: "messagesCount > 0")) }
        let titles = try chats.map { try $0.value("title", as: String.self) }
        #expect(titles == ["Pumps"])

        var refusal: String?
        do {
            _ = try WriterContext(store: store)
        } catch {
            if error.code == .leased { refusal = error.remedy }
        }
        #expect(refusal != nil)

        let memory = try Store.inMemory(model: model)
        let context = try EditingContext(try WriterContext(store: memory))
        _ = try context.insert("Chat", identity: "c1", ["title": "Pumps"])
        try context.save()
        #expect(try memory.read { try $0.fetch(FetchRequest("Chat")).count } == 1)
    }

    @Test func `a stage of a migration moves an attribute into an entity of its own`() throws {
        let page = try PackageFiles.text("docs/how-to/migration.md")
        let block = try #require(
            page.split(separator: "```yaml model\nmodel: people\n").last?.split(separator: "```").first)
        let text = "model: people\n\(block)"
        let ends = try #require(text.range(of: "    relationships:"))
        let first = try ObjectModel.parse(
            String(text[..<ends.lowerBound]).replacing("version: 2", with: "version: 1"))
        let second = try ObjectModel.parse(text)
        let third = try ObjectModel.parse(
            text.replacing("version: 2", with: "version: 3")
                .replacing(/\n *street: [^\n]*version 3 has no street/, with: ""))
        let folder = try TemporaryFolder()
        let path = folder.path("people.sqlite")
        let store = try Store.open(path: path, model: first)
        let writer = try WriterContext(store: store)
        let context = try EditingContext(writer)
        _ = try context.insert("Person", identity: "ada", ["street": "Elm"])
        _ = try context.insert("Person", identity: "eve")
        try context.save()
        try writer.close()
        try store.close()
        try Migrator(path: path).migrate(through: [
            .custom(
                from: first, to: second,
                didMigrate: { context in
                    try context.rows(of: "Person") { row in
                        guard let street = row["street"], !street.isNull else { return }
                        let place = try context.insert("Place", ["id": Value(UUID()), "street": street])
                        try context.link("Person", pk: row.pk, "home", to: place)
                    }
                }),
            .lightweight(to: third),
        ])
        let migrated = try Store.open(path: path, model: third)
        #expect(try migrated.read { try $0.fetch(FetchRequest("Person", where: "home.street = 'Elm'")).count } == 1)
        #expect(try migrated.read { try $0.fetch(FetchRequest("Place")).count } == 1)
    }

    @Test func `the plan counts the values of a property that was renamed without renamedFrom`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("talks.sqlite")
        func model(_ attribute: String) throws -> ObjectModel {
            try ObjectModel.parse(
                """
                model: talks
                entities:
                  Talk:
                    identity: id
                    attributes: { id: { type: string }, \(attribute): { type: string, optional: true } }
                """)
        }
        let store = try Store.open(path: path, model: try model("title"))
        let writer = try WriterContext(store: store)
        let context = try EditingContext(writer)
        _ = try context.insert("Talk", identity: "pumps", ["title": "Pumps"])
        try context.save()
        try writer.close()
        try store.close()
        let model = try model("name")
        let plan = try Migrator(path: path).plan(to: model)
        #expect(plan.droppedValues == ["Talk.title": 1])
        #expect(plan.text.contains("1 value is dropped"))
        print(try Migrator(path: path).plan(to: model).text)
        try Migrator(path: path).migrate(to: model)
        let migrated = try Store.open(path: path, model: model)
        #expect(try migrated.read { try $0.fetch(FetchRequest("Talk", where: "name = nil")).count } == 1)
    }
}

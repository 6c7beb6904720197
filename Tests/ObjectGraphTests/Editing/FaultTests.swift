import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct FaultTests {
    let fixture: EditingFixture
    let context: EditingContext

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
        context = try fixture.context()
    }

    private func insertMembers(_ count: Int) throws {
        let members = (0..<count).map {
            fixture.graph.upsert("Member", .text("n\($0)"), ["name": "N", "age": .value(.integer(Int64($0)))])
        }
        try fixture.graph.apply(members)
    }

    @Test func `without a batch size all rows are read`() throws {
        #expect(try context.fetch(FetchRequest("Message")).allSatisfy { !$0.isFault })
    }

    @Test func `touching a fault reads its batch`() throws {
        try insertMembers(250)
        var request = FetchRequest("Member", where: "name = 'N'")
        request.sort = ["age"]
        let members = try context.fetch(request, batchSize: 100)
        #expect(members.count == 250 && members.allSatisfy(\.isFault))
        #expect(try members[120]["age"] == 120)
        #expect(members.filter { !$0.isFault }.count == 100)
        #expect(!members[219].isFault && members[220].isFault && members[119].isFault)
        _ = try members[0]["age"]
        #expect(members.filter { !$0.isFault }.count == 200)
    }

    @Test func `prefetched key paths leave no faults`() throws {
        let chats = try context.fetch(FetchRequest("Chat"), prefetch: ["messages.sender", "members"])
        let registry = context.registry
        #expect(registry.byKey.map(\.values.count).reduce(0, +) == 6)
        #expect(
            try chats[0].objects("messages").allSatisfy { try !$0.isFault && $0.object("sender")?.isFault == false })
        #expect(
            editingError { _ = try context.fetch(FetchRequest("Chat"), prefetch: ["messages.body"]) }?.code
                == .unknownProperty)
    }

    @Test func `prefetched objects need no second read`() throws {
        try insertMembers(300)
        try fixture.graph.apply(
            (0..<300).map {
                fixture.graph.upsert(
                    "Message", .text("x\($0)"), ["chat": "c", "body": "text", "sender": .value(.text("n\($0)"))])
            })
        let chats = try context.fetch(FetchRequest("Chat"), prefetch: ["messages.sender"])
        try fixture.deleteElsewhere("Chat", "c")
        let messages = try chats[0].objects("messages")
        #expect(messages.count == 303)
        for message in messages { #expect(try message.object("sender")?.identity != nil) }
    }

    @Test func `snapshots prefetch too`() throws {
        let snapshot = try fixture.store.read {
            try $0.fetch(FetchRequest("Chat"), prefetch: ["messages.sender", "members"])
        }
        let chat = try #require(snapshot.objects.first)
        #expect(chat["title"] == "Chat" && chat.identity == "c" && chat["colour"] == nil)
        let messages = try #require(snapshot.objects("messages", of: chat))
        #expect(messages.map(\.identity) == ["m1", "m2", "m3"])
        #expect(messages.allSatisfy { snapshot.object("sender", of: $0)?["name"] == "Ann" })
        #expect(snapshot.objects("members", of: chat)?.count == 2)
        // What no key path led to is not known to be empty.
        #expect(snapshot.objects("locks", of: chat) == nil)
        #expect(try context.object(with: messages[0].objectID)["body"] == "hello")
    }

    @Test func `objects to be deleted are left out`() throws {
        let message = try context.require("Message", "m1")
        try context.delete(message)
        #expect(try context.ids(context.fetch(FetchRequest("Message"))) == ["m2", "m3"])
    }

    @Test func `fetching again keeps what the context knows`() throws {
        let chat = try context.require("Chat", "c")
        try chat.set("title", "mine")
        try fixture.elsewhere("Chat", "c", ["topic": "new"])
        let again = try context.fetch(FetchRequest("Chat"))
        #expect(again[0] === chat)
        #expect(try chat["title"] == "mine" && chat["topic"] == "old")
    }

    @Test func `a fault whose row is gone says so`() throws {
        let messages = try context.fetch(FetchRequest("Message"), batchSize: 10)
        try fixture.deleteElsewhere("Message", "m2")
        #expect(try messages[0]["body"] == "hello")
        #expect(editingError { _ = try messages[1]["body"] }?.code == .objectGone)
    }
}

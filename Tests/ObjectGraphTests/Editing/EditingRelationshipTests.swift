import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct EditingRelationshipTests {
    let fixture: EditingFixture
    let context: EditingContext

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
        context = try fixture.context()
    }

    @Test func `setting a to-one changes both sides at once`() throws {
        let chat = try context.require("Chat", "c")
        let other = try context.insert("Chat", identity: "d")
        let message = try context.require("Message", "m1")
        #expect(try chat.objects("messages").count == 3)
        try message.setObject("chat", other)
        #expect(try context.ids(chat.objects("messages")) == ["m2", "m3"])
        #expect(try other.objects("messages").map(\.objectID) == [message.objectID])
    }

    @Test func `adding to a to-many sets the to-one`() throws {
        let message = try context.insert("Message", identity: "m4")
        let chat = try context.require("Chat", "c")
        try chat.add(message, to: "messages")
        #expect(try message.object("chat") === chat)
        try chat.remove(message, from: "messages")
        #expect(try message.object("chat") == nil)
    }

    @Test func `many-to-many changes both sides at once`() throws {
        let carl = try context.insert("Member", identity: "carl")
        let chat = try context.require("Chat", "c")
        try carl.add(chat, to: "chats")
        #expect(try context.ids(chat.objects("members")).sorted() == ["ann", "bob", "carl"])
        #expect(chat.isUpdated)
        try chat.remove(try context.require("Member", "bob"), from: "members")
        #expect(try context.require("Member", "bob").objects("chats").isEmpty)
        try context.save()
        #expect(try fixture.value("Chat", "c", "members") == #"["ann","carl"]"#)
    }

    @Test func `one-to-one drops both former partners`() throws {
        let (ann, bob) = (try context.require("Member", "ann"), try context.require("Member", "bob"))
        let (carl, dora) = (
            try context.insert("Member", identity: "carl"), try context.insert("Member", identity: "dora")
        )
        try ann.setObject("spouse", bob)
        try carl.setObject("spouse", dora)
        try context.save()
        try ann.setObject("spouse", dora)
        #expect(try dora.object("spouse") === ann)
        #expect(try bob.object("spouse") == nil && carl.object("spouse") == nil)
        try context.save()
        #expect(try fixture.value("Member", "dora", "spouse") == "ann")
        #expect(try fixture.value("Member", "carl", "spouse") == .null)
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test func `replacing a to-many lets the others go`() throws {
        let chat = try context.require("Chat", "c")
        let message = try context.insert("Message", identity: "m9")
        let kept = try context.require("Message", "m2")
        let other = try context.insert("Chat", identity: "d")
        try chat.setObjects("messages", [message, kept])
        #expect(try context.require("Message", "m1").object("chat") == nil)
        for identity in ["m1", "m3"] as [Value] { try context.require("Message", identity).setObject("chat", other) }
        try context.save()
        #expect(
            try fixture.graph.column("SELECT id FROM Message_readable WHERE chat = 'c' ORDER BY id") == ["m2", "m9"])
    }

    @Test func `members added by two contexts are both kept`() throws {
        let other = try fixture.context()
        try other.require("Chat", "c").add(try other.insert("Member", identity: "carl"), to: "members")
        try context.require("Chat", "c").remove(try context.require("Member", "bob"), from: "members")
        try other.save()
        try context.save()
        #expect(try fixture.value("Chat", "c", "members") == #"["ann","carl"]"#)
    }

    @Test func `a reference to what somebody else deleted is empty`() throws {
        let message = try context.require("Message", "m1")
        try message.setObject("sender", try context.require("Member", "bob"))
        try fixture.deleteElsewhere("Member", "bob")
        try context.save()
        #expect(try fixture.value("Message", "m1", "sender") == .null)
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test func `an object of another entity is refused by every call`() throws {
        let context = try fixture.context()
        let (chat, message) = (try context.require("Chat", "c"), try context.require("Message", "m1"))
        let bob = try context.require("Member", "bob")
        let calls: [() throws -> Void] = [
            { try chat.add(message, to: "members") }, { try chat.remove(message, from: "members") },
            { try chat.setObjects("members", [bob, message]) }, { try message.setObject("sender", chat) },
            { try chat.remove(bob, from: "messages") }, { try chat.insert(message, into: "members", at: 0) },
        ]
        for call in calls { #expect(editingError(call)?.code == .type) }
        #expect(!context.hasChanges)
    }
}

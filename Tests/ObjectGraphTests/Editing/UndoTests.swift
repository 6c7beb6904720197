import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct UndoTests {
    let fixture: EditingFixture
    let context: EditingContext

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
        context = try fixture.context()
    }

    @Test func `undo and redo go through changes one by one`() throws {
        let chat = try context.require("Chat", "c")
        try chat.set("title", "one")
        try chat.set("title", "two")
        context.undo()
        #expect(try chat["title"] == "one")
        context.undo()
        #expect(try chat["title"] == "Chat" && !chat.isUpdated && !context.canUndo)
        context.redo()
        context.redo()
        #expect(try chat["title"] == "two" && !context.canRedo)
        context.undo()
        try chat.set("topic", "x")
        #expect(!context.canRedo)
    }

    @Test func `changes after an undo within a group are a step of their own`() throws {
        let chat = try context.require("Chat", "c")
        try chat.set("title", "a")
        try context.undoGroup {
            try chat.set("title", "b")
            context.undo()
            try chat.set("topic", "c")
            try chat.set("updatedAt", Value.integer(5))
        }
        context.undo()
        #expect(try chat["title"] == "a" && chat["topic"] == "old" && chat["updatedAt"] == .null)
        context.redo()
        #expect(try chat["topic"] == "c" && chat["updatedAt"] == .integer(5))
    }

    @Test func `undo takes inverses back too`() throws {
        let chat = try context.require("Chat", "c")
        let carl = try context.insert("Member", identity: "carl")
        try carl.add(chat, to: "chats")
        context.undo()
        #expect(try context.ids(chat.objects("members")) == ["ann", "bob"])
        context.redo()
        #expect(try context.ids(chat.objects("members")).sorted() == ["ann", "bob", "carl"])
        try context.save()
        #expect(try fixture.value("Chat", "c", "members") == #"["ann","bob","carl"]"#)
    }

    @Test func `redo brings an undone insertion back`() throws {
        let member = try context.insert("Member", identity: "x", ["name": "X"])
        context.undo()
        #expect(!member.isInserted && !context.hasChanges)
        #expect(try context.object("Member", identity: "x") == nil)
        context.redo()
        #expect(try member.isInserted && member["name"] == "X")
        try context.save()
        #expect(try fixture.value("Member", "x", "name") == "X")
    }

    @Test func `an undone deletion brings back what the rules took`() throws {
        let chat = try context.require("Chat", "c")
        let message = try context.require("Message", "m1")
        try context.delete(chat)
        try context.processPendingChanges()
        #expect(message.isDeleted)
        context.undo()
        #expect(!chat.isDeleted && !message.isDeleted && !context.hasChanges)
        #expect(try message.object("chat") === chat)
        #expect(try context.ids(chat.objects("members")) == ["ann", "bob"])
        context.redo()
        #expect(chat.isDeleted)
        try context.save()
        #expect(try fixture.graph.identities("Message").isEmpty)
    }

    @Test func `a group is undone as a whole`() throws {
        let chat = try context.require("Chat", "c")
        try context.undoGroup {
            try chat.set("title", "one")
            try chat.set("topic", "two")
        }
        context.undo()
        #expect(try !chat.isUpdated && chat["topic"] == "old")
    }

    @Test func `a save ends what can be undone`() throws {
        try context.require("Chat", "c").set("title", "one")
        try context.save()
        #expect(!context.canUndo && !context.canRedo)
    }

    @Test func `only so many groups are remembered`() throws {
        context.options.undoLevels = 2
        let chat = try context.require("Chat", "c")
        for title in ["1", "2", "3"] as [Value] { try chat.set("title", title) }
        context.undo()
        context.undo()
        context.undo()
        #expect(try chat["title"] == "1")
    }
}

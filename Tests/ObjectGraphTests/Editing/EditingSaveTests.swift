import ObjectGraph
import Testing

@testable import GraphCore

/// The order of a save, its validation, and what a failed one leaves.
@Suite struct EditingSaveTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    @Test func `one failure has its own code`() throws {
        let context = try fixture.context()
        try context.require("Chat", "c").set("title", "much too long")
        let error = try #require(editingError { try context.save() })
        #expect(error.coreDataCode == 1660 && error.failures.map(\.property) == ["title"])
    }

    @Test func `several failures are 1560 with all details`() throws {
        let context = try fixture.context()
        let message = try context.insert("Message", identity: "m9", ["body": "x", "seq": -1])
        let error = try #require(editingError { try context.save() })
        #expect(error.coreDataCode == 1560)
        #expect(error.failures.map(\.code).sorted() == [1570, 1620, 1670])
        #expect(message.isInserted)
    }

    @Test func `counts are checked`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        for name in ["x", "y"] as [Value] { try chat.add(try context.insert("Member", identity: name), to: "members") }
        #expect(editingError { try context.save() }?.coreDataCode == 1590)
    }

    @Test func `counts are checked with what others added`() throws {
        let context = try fixture.context()
        try context.require("Chat", "c").add(try context.insert("Member", identity: "x"), to: "members")
        try context.validate()
        try fixture.graph.apply(fixture.graph.upsert("Chat", "c", ["members": .add("y")]))
        #expect(editingError { try context.save() }?.coreDataCode == 1590)
        #expect(try fixture.graph.identities("Member") == ["ann", "bob", "y"])
    }

    @Test func `a failed save harms no later one`() throws {
        let context = try fixture.context()
        let bad = try context.insert("Message", identity: "bad")
        let last = try fixture.store.read { try $0.lastToken() }
        for _ in 0..<3 { #expect(editingError { try context.save() } != nil) }
        let other = try fixture.context()
        try other.require("Member", "bob").set("name", "Rob")
        try other.save()
        try fixture.graph.apply(fixture.graph.upsert("Member", "eve", ["name": "Eve"]))
        try bad.setObject("chat", try context.require("Chat", "c"))
        try context.save()
        #expect(
            try fixture.graph.history(after: last) == [
                "update Member bob name", "insert Member eve", "insert Message bad", "update Chat c messagesCount",
            ])
        #expect(try fixture.value("Member", "bob", "name") == "Rob")
    }

    @Test func `the order of a save is Core Data's`() throws {
        let context = try fixture.context()
        var order: [String] = []
        let member = try context.insert("Member", identity: "x")
        context.options.hooks.contextWillSave = { context in
            order.append("context will save, \(context.deletedObjects.count) deleted")
            // Invalid until the object's own hook has run: that one comes after the validation.
            try member.set("name", "from the context")
        }
        context.options.hooks.willSave = { object in
            if object === member { order.append("will save") }
            #expect(object !== member || object.objectID.isTemporary)
        }
        context.options.hooks.didSave = { object in if object === member { order.append("did save") } }
        context.options.hooks.contextDidSave = { _, result in order.append("context did save \(result.inserted.count)")
        }
        try context.delete(try context.require("Chat", "c"))
        try context.save()
        #expect(
            order == ["context will save, 4 deleted", "will save", "did save", "context did save 1"])
        #expect(try fixture.value("Member", "x", "name") == "from the context")
    }

    @Test func `validation comes before the will save hooks`() throws {
        let context = try fixture.context()
        var isCalled = false
        context.options.hooks.willSave = { _ in isCalled = true }
        try context.insert("Message", identity: "bad")
        #expect(editingError { try context.save() } != nil)
        #expect(!isCalled)
    }

    @Test func `values that will-save hooks leave are validated too`() throws {
        let context = try fixture.context()
        context.options.hooks.willSave = { try $0.set("title", "much too long") }
        try context.require("Chat", "c").set("title", "short")
        #expect(editingError { try context.save() }?.coreDataCode == 1660)
        #expect(try fixture.value("Chat", "c", "title") == "Chat")
    }

    @Test func `will save hooks run until nothing changes`() throws {
        let context = try fixture.context()
        var calls = 0
        context.options.hooks.willSave = { object in
            calls += 1
            let seq = try object["seq"].integer ?? 0
            if seq < 5 { try object.set("seq", Value.integer(seq + 1)) }
        }
        let message = try context.require("Message", "m1")
        try message.set("seq", 2)
        try context.save()
        #expect(try fixture.value("Message", "m1", "seq") == 5)
        #expect(calls == 4)
    }

    @Test func `will save hooks that never rest are stopped`() throws {
        let context = try fixture.context()
        context.options.hooks.willSave = { try $0.set("seq", Value.integer(((try $0["seq"].integer) ?? 0) + 1)) }
        try context.require("Message", "m1").set("body", "changed")
        #expect(editingError { try context.save() }?.code == .unstableHooks)
        #expect(try fixture.value("Message", "m1", "body") == "hello")
    }

    @Test func `a hook that throws fails the save`() throws {
        let context = try fixture.context()
        context.options.hooks.willSave = { _ in throw Missing() }
        try context.require("Chat", "c").set("title", "new")
        #expect(throws: Missing.self) { try context.save() }
        context.options.hooks.willSave = nil
        try context.save()
        #expect(try fixture.value("Chat", "c", "title") == "new")
    }

    @Test func `an insertion is whole or nothing`() throws {
        let context = try fixture.context()
        #expect(editingError { try context.insert("Chat", identity: "x", ["titel": "a"]) }?.code == .unknownProperty)
        #expect(editingError { try context.insert("Member", identity: "x", ["age": "old"]) }?.code == .type)
        #expect(editingError { try context.insert("Chat", identity: "x", ["messagesCount": 1]) }?.code == .readOnly)
        struct Refusal: Error {}
        context.options.hooks.awakeFromInsert = { _ in throw Refusal() }
        #expect(throws: Refusal.self) { try context.insert("Chat", identity: "x") }
        #expect(
            try !context.hasChanges && context.insertedObjects.isEmpty && context.object("Chat", identity: "x") == nil)
        context.options.hooks.awakeFromInsert = nil
        try context.insert("Chat", identity: "x", ["title": "a"])
        #expect(try context.save().inserted.count == 1)
    }

    @Test(arguments: [100, 1, 0]) func `an insertion that its hook refuses takes the hook's other changes back`(
        _ levels: Int
    ) throws {
        let context = try fixture.context { $0.undoLevels = levels }
        let (chat, ann) = (try context.require("Chat", "c"), try context.require("Member", "ann"))
        let (message, bob) = (try context.require("Message", "m1"), try context.require("Member", "bob"))
        context.options.hooks.awakeFromInsert = { object in
            guard object.objectID.entity == "Chat" else { return }
            try chat.set("topic", "moved")
            try message.setObject("chat", object)
            try context.insert("Message", identity: "n").setObject("chat", object)
            try chat.remove(ann, from: "members")
            try context.delete(bob)
            throw Missing()
        }
        #expect(throws: Missing.self) { try context.insert("Chat", identity: "x") }
        #expect(!context.hasChanges && !context.canUndo && !context.canRedo && !bob.isDeleted)
        #expect(try message.object("chat") === chat && chat["topic"] == "old")
        #expect(try context.ids(chat.objects("members")) == ["ann", "bob"])
        #expect(try context.object("Message", identity: "n") == nil)
        #expect(try context.save().token == nil)
    }

    @Test func `a refused insertion leaves the rest of its undo group`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        context.options.hooks.awakeFromInsert = { _ in
            try chat.set("topic", "lost")
            throw Missing()
        }
        try context.undoGroup {
            try chat.set("title", "kept")
            #expect(throws: Missing.self) { try context.insert("Chat", identity: "x") }
            try chat.set("updatedAt", Value.integer(5))
        }
        #expect(try chat["title"] == "kept" && chat["topic"] == "old" && chat["updatedAt"] == 5)
        context.undo()
        #expect(try chat["title"] == "Chat" && chat["topic"] == "old" && chat["updatedAt"] == .null)
        #expect(!context.canUndo && !context.hasChanges)
    }

    @Test func `a hook may catch the refusal of an insertion of its own`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        context.options.hooks.awakeFromInsert = { object in
            if object.objectID.entity == "Message" {
                try chat.set("topic", "lost")
                throw Missing()
            }
            _ = try? context.insert("Message", identity: "n")
            try chat.set("title", "kept")
        }
        try context.insert("Member", identity: "x")
        #expect(try chat["title"] == "kept" && chat["topic"] == "old")
        context.undo()
        #expect(!context.hasChanges && !context.canUndo)
    }

    @Test func `a refused insertion undoes what its hook undid`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try chat.set("title", "kept")
        context.options.hooks.awakeFromInsert = { _ in
            context.undo()
            context.undo()
            throw Missing()
        }
        #expect(throws: Missing.self) { try context.insert("Chat", identity: "x") }
        #expect(try chat["title"] == "kept" && context.insertedObjects.isEmpty && !context.canRedo)
    }

    @Test func `awake from insert sees defaults`() throws {
        let context = try fixture.context()
        context.options.hooks.awakeFromInsert = { try $0.set("seq", Value.integer(((try $0["seq"].integer) ?? 0) + 1)) }
        #expect(try context.insert("Message", identity: "n")["seq"] == 8)
    }
}

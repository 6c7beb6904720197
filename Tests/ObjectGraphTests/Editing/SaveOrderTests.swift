import ObjectGraph
import Testing

@testable import GraphCore

/// What comes before what in a save, and how much an error says.
@Suite struct SaveOrderTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    @Test func `conflicts are looked for after the will save hooks`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try chat.set("topic", "mine")
        let fixture = fixture
        var isDone = false
        context.options.hooks.willSave = { object in
            if object !== chat || isDone { return }
            isDone = true
            // Somebody saves the same object while the hooks run.
            try fixture.elsewhere("Chat", "c", ["title": "theirs"])
        }
        #expect(editingError { try context.save() }?.coreDataCode == 133_020)
    }

    @Test func `changes of a will-save hook take part in the conflicts`() throws {
        let context = try fixture.context(.objectTrump)
        let chat = try context.require("Chat", "c")
        try chat.set("topic", "mine")
        context.options.hooks.willSave = { object in if object === chat { try object.set("title", "hook") } }
        try fixture.elsewhere("Chat", "c", ["title": "theirs"])
        try context.save()
        #expect(try fixture.value("Chat", "c", "title") == "hook")
        #expect(try fixture.notes() == ["changed Chat c title context"])
    }

    @Test func `validation comes before the conflicts`() throws {
        let context = try fixture.context()
        try context.require("Chat", "c").set("title", "much too long")
        try fixture.elsewhere("Chat", "c", ["title": "theirs"])
        #expect(editingError { try context.save() }?.coreDataCode == 1660)
    }

    @Test func `locking conflicts come before those of unique values`() throws {
        let context = try fixture.context()
        try context.require("Member", "bob").set("email", "ann@x.y")
        try fixture.elsewhere("Member", "bob", ["name": "Rob"])
        #expect(editingError { try context.save() }?.coreDataCode == 133_020)
        try context.refresh(context.require("Member", "bob"), mergeChanges: true)
        #expect(editingError { try context.save() }?.coreDataCode == 133_021)
    }

    @Test func `did save hooks see permanent ids and the store written`() throws {
        let context = try fixture.context()
        let member = try context.insert("Member", identity: "x", ["name": "X"])
        let fixture = fixture
        var seen: [String] = []
        context.options.hooks.didSave = { object in
            let stored = try? fixture.value("Member", "x", "name")
            seen.append("\(object === member) \(object.objectID.isTemporary) \(stored?.text ?? "nothing")")
        }
        try context.save()
        #expect(seen == ["true false X"])
        #expect(!context.hasChanges)
    }

    @Test func `every conflict is in the list`() throws {
        let context = try fixture.context()
        try context.require("Member", "ann").set("name", "mine")
        try context.require("Member", "bob").set("name", "mine")
        try context.require("Chat", "c").set("topic", "mine")
        try fixture.elsewhere("Member", "ann", ["age": 3])
        try fixture.elsewhere("Chat", "c", ["title": "theirs"])
        try fixture.deleteElsewhere("Member", "bob")
        let error = try #require(editingError { try context.save() })
        #expect(error.coreDataCode == 133_020)
        #expect(
            Set(error.conflicts.map { "\($0.kind) \($0.identity.text ?? "")" })
                == ["changed ann", "changed c", "deletedInStore bob"])
    }

    @Test func `every uniqueness conflict is in the list one for each object`() throws {
        let context = try fixture.context()
        try context.insert("Member", identity: "x", ["email": "ann@x.y"])
        try context.insert("Chat", identity: "c")
        let error = try #require(editingError { try context.save() })
        #expect(error.coreDataCode == 133_021)
        #expect(Set(error.conflicts.map(\.constraint)) == [["email"], ["id"]])
    }

    @Test func `derived values in a context are those of the last save`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let message = try context.insert("Message", identity: "m4", ["body": "more"])
        try message.setObject("chat", chat)
        #expect(try chat["messagesCount"] == 3)
        try context.save()
        #expect(try chat["messagesCount"] == 4)
        // What others save is seen after a refresh.
        try fixture.graph.apply(fixture.graph.upsert("Message", "m5", ["chat": "c", "body": "and more"]))
        #expect(try chat["messagesCount"] == 4)
        try context.refresh(chat, mergeChanges: true)
        #expect(try chat["messagesCount"] == 5)
    }

    @Test func `many-to-many links of both sides are kept and no conflict`() throws {
        let context = try fixture.context()
        try context.require("Member", "bob").remove(context.require("Chat", "c"), from: "chats")
        let other = try fixture.context()
        try other.require("Chat", "c").add(other.insert("Member", identity: "eve"), to: "members")
        try other.save()
        try context.save()
        #expect(try fixture.value("Chat", "c", "members") == #"["ann","eve"]"#)
    }
}

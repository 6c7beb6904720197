import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct EditingContextTests {
    let fixture: EditingFixture

    init() throws { fixture = try EditingFixture() }

    @Test func `an inserted object has defaults and a temporary id until it is saved`() throws {
        let context = try fixture.context()
        let chat = try context.insert("Chat", identity: "c")
        let message = try context.insert("Message", identity: "m")
        try message.setObject("chat", chat)
        #expect(message.objectID.isTemporary && message.isInserted && message.hasChanges)
        #expect(try message["seq"] == 7)
        let before = message.objectID
        let result = try context.save()
        #expect(!message.objectID.isTemporary && message.objectID != before && !message.hasChanges)
        #expect(result.inserted.contains(message.objectID))
        #expect(try fixture.value("Message", "m", "chat") == "c")
        #expect(try chat["messagesCount"] == 1)
        #expect(context.hasChanges == false)
    }

    @Test func `a save is one transaction of the history with its author and name`() throws {
        let context = try fixture.context { $0.author = "ann" }
        try context.insert("Member", identity: "a")
        try context.insert("Member", identity: "b")
        let result = try context.save()
        let history = try fixture.store.read { try $0.history(after: 0) }
        #expect(history.count == 1)
        #expect(history[0].token == result.token && history[0].author == "ann" && history[0].context == "test")
        #expect(history[0].changes.map(\.kind) == [.insert, .insert])
    }

    @Test func `a save without changes writes nothing`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try chat.set("title", "Other")
        try chat.set("title", "Chat")
        #expect(!chat.isUpdated && !context.hasChanges)
        #expect(try context.save().token == nil)
    }

    @Test func `only changed columns are written`() throws {
        try fixture.seed()
        let last = try fixture.store.read { try $0.lastToken() }
        try fixture.elsewhere("Chat", "c", ["topic": "new"])
        #expect(try fixture.graph.history(after: last) == ["update Chat c topic"])
    }

    @Test func `changed and committed values tell both sides`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let message = try context.require("Message", "m1")
        try message.set("body", "changed")
        try message.setObject("sender", try context.require("Member", "bob"))
        #expect(try message.changedValues() == ["body": "changed", "sender": "bob"])
        let committed = try message.committedValues()
        #expect(committed["body"] == "hello" && committed["sender"] == "ann" && committed["chat"] == "c")
        #expect(message.isUpdated && context.updatedObjects.contains { $0 === message })
    }

    @Test func `one object has one handle`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let found = try context.fetch(FetchRequest("Chat"))
        #expect(found.count == 1 && found[0] === chat)
        #expect(try context.object(with: chat.objectID) === chat)
        #expect(try context.require("Message", "m1").object("chat") === chat)
    }

    @Test func `texts and numbers become the property's type`() throws {
        let context = try fixture.context()
        let device = try context.insert("Device", ["price": "12.50", "active": false])
        #expect(try device["price"] == "12.5")
        let uuid = UUID()
        try context.insert("Device", identity: Value(uuid))
        let member = try context.insert("Member", identity: "a", ["updatedAt": "2026-01-02", "age": 3.0])
        #expect(try member["updatedAt"] == .integer(1_767_312_000_000_000) && member["age"] == 3)
        try member.set("updatedAt", Value(Date(timeIntervalSince1970: 1.5)))
        #expect(try member["updatedAt"] == .integer(1_500_000))
        try context.save()
        #expect(try context.object("Device", identity: Value(uuid)) != nil)
        #expect(editingError { try member.set("age", "old") }?.code == .type)
        #expect(editingError { try member.set("age", Value.integer(1 << 40)) }?.code == .type)
    }

    @Test func `an identity is made where the type allows it`() throws {
        let context = try fixture.context()
        let member = try context.insert("Member")
        #expect(try member.identity.text?.count == 36)
        #expect(try context.insert("Device").identity != .null)
    }

    @Test func `identities and derived values cannot be set`() throws {
        let context = try fixture.context()
        let chat = try context.insert("Chat", identity: "c")
        #expect(editingError { try chat.set("id", "d") }?.code == .readOnly)
        #expect(editingError { try chat.set("messagesCount", 3) }?.code == .readOnly)
    }

    @Test func `wrong names are refused with the nearest one`() throws {
        let context = try fixture.context()
        #expect(editingError { try context.insert("Chatt") }?.description.contains("Chat") == true)
        let chat = try context.insert("Chat", identity: "c")
        #expect(editingError { try chat.set("titel", "x") }?.description.contains("title") == true)
        #expect(editingError { _ = try chat.object("messages") }?.code == .unknownProperty)
        #expect(editingError { try chat.setObject("owner", chat) }?.code == .type)
    }

    @Test func `objects stay in their context and ids travel`() throws {
        try fixture.seed()
        let (one, two) = (try fixture.context(), try fixture.context())
        let chat = try one.require("Chat", "c")
        let message = try two.require("Message", "m1")
        #expect(editingError { try message.setObject("chat", chat) }?.code == .otherContext)
        try message.setObject("chat", try two.object(with: chat.objectID))
        #expect(!message.isUpdated)
    }

    @Test func `rollback drops changes and insertions`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let member = try context.insert("Member", identity: "new")
        try chat.set("title", "Other")
        try chat.setObjects("members", [member])
        try context.delete(try context.require("Message", "m1"))
        try context.processPendingChanges()
        context.rollback()
        #expect(!context.hasChanges && !chat.hasChanges)
        #expect(try chat["title"] == "Chat")
        #expect(try context.ids(chat.objects("members")) == ["ann", "bob"])
        #expect(try context.ids(chat.objects("messages")) == ["m1", "m2", "m3"])
        #expect(editingError { _ = try member.identity }?.code == .objectGone)
    }

    @Test func `reset forgets everything and held objects become faults`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try chat.set("title", "Other")
        try fixture.elsewhere("Chat", "c", ["title": "Third"])
        context.reset()
        #expect(chat.isFault && !context.hasChanges)
        #expect(try chat["title"] == "Third")
    }

    @Test func `a save forgets the objects that nobody holds`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let held = try context.require("Message", "m1")
        _ = try context.fetch(FetchRequest("Message"))
        #expect(context.registry.byKey.map(\.values.count).reduce(0, +) == 3)
        try context.insert("Member", identity: "x")
        try context.save()
        #expect(context.registry.byKey.map(\.values.count).reduce(0, +) == 1)
        #expect(!held.isFault)
    }

    @Test func `refresh takes the store's row and keeps or drops changes`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        try chat.set("title", "Mine")
        try fixture.elsewhere("Chat", "c", ["title": "Theirs", "topic": "new"])
        try context.refresh(chat, mergeChanges: true)
        #expect(try chat["title"] == "Mine" && chat["topic"] == "new" && chat.isUpdated)
        try context.refresh(chat, mergeChanges: false)
        #expect(try chat["title"] == "Theirs" && !chat.isUpdated)
    }

    @Test func `refresh all keeps changes and reads the rest again`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let ann = try context.require("Member", "ann")
        let message = try context.insert("Message", identity: "m4", ["body": "new"])
        try message.setObject("chat", chat)
        try chat.remove(ann, from: "members")
        let bob = try context.require("Member", "bob")
        try fixture.elsewhere("Member", "bob", ["name": "Rob"])
        context.refreshAll()
        #expect(bob.isFault && !ann.isFault)
        #expect(try bob["name"] == "Rob")
        #expect(try context.ids(chat.objects("messages")).sorted() == ["m1", "m2", "m3", "m4"])
        #expect(try context.ids(chat.objects("members")) == ["bob"])
        try context.save()
        #expect(try context.ids(chat.objects("members")) == ["bob"])
    }

    @Test func `a context takes up the save of another context`() throws {
        try fixture.seed()
        let (one, two) = (try fixture.context(), try fixture.context())
        let chat = try one.require("Chat", "c")
        #expect(try chat.objects("messages").count == 3)
        let message = try two.insert("Message", identity: "m4")
        try message.setObject("chat", try two.require("Chat", "c"))
        try two.require("Chat", "c").set("title", "Theirs")
        try one.mergeChanges(from: try two.save())
        #expect(try chat["title"] == "Theirs" && chat["messagesCount"] == 4)
        #expect(try one.ids(chat.objects("messages")).count == 4)
    }

    @Test func `a context takes up the changes of a batch request`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let messages = try chat.objects("messages")
        try messages[0].set("body", "mine")
        let writer = fixture.graph.writer
        try context.mergeChanges(from: try writer.execute(BatchUpdateRequest("Message", set: ["seq": .value(99)])))
        #expect(try messages.map { try $0["seq"] } == [99, 99, 99] && messages[0]["body"] == "mine")
        try context.mergeChanges(from: try writer.execute(BatchDeleteRequest("Message", where: "id != 'm1'")))
        #expect(try chat["messagesCount"] == 1)
        #expect(try context.ids(chat.objects("messages")) == ["m1"])
        try context.save()
        #expect(try fixture.value("Message", "m1", "body") == "mine")
    }

    @Test func `an object whose deletion is taken up stays readable and says so`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let (message, chat) = (try context.require("Message", "m1"), try context.require("Chat", "c"))
        let sender = try message.object("sender")
        let two = try fixture.context()
        try two.delete(try two.require("Message", "m1"))
        try context.mergeChanges(from: try two.save())
        #expect(message.isDeleted && !message.isFault && !message.hasChanges && !context.hasChanges)
        #expect(try message["body"] == "hello" && message.identity == "m1" && message.object("sender") === sender)
        #expect(try context.ids(chat.objects("messages")) == ["m2", "m3"])
        #expect(editingError { try message.set("body", "mine") }?.code == .objectGone)
        #expect(editingError { try chat.setObjects("messages", [message]) }?.code == .objectGone)
        try context.delete(message)
        try chat.remove(message, from: "messages")
        try chat.set("topic", "mine")
        try context.save()
        #expect(try message.isDeleted && message["body"] == "hello")
        context.reset()
        #expect(!message.isDeleted && editingError { _ = try message["body"] }?.code == .objectGone)
    }

    @Test func `batch results and the history let deleted objects stay readable too`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let (first, second) = (try context.require("Message", "m1"), try context.require("Message", "m2"))
        let writer = fixture.graph.writer
        try context.mergeChanges(from: try writer.execute(BatchDeleteRequest("Message", where: "id = 'm1'")))
        #expect(try first.isDeleted && first["body"] == "hello" && !second.isDeleted)
        var request = HistoryRequest()
        request.after = try fixture.store.read { try $0.historyToken() }
        try fixture.deleteElsewhere("Message", "m2")
        try context.mergeChanges(from: try fixture.store.read { [request] in try $0.history(request) })
        #expect(try second.isDeleted && second["body"] == "hello")
    }

    @Test func `a context takes up changes from the history`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        #expect(try chat.objects("messages").count == 3)
        try chat.set("topic", "mine")
        var request = HistoryRequest()
        request.after = try fixture.store.read { try $0.historyToken() }
        try fixture.elsewhere("Chat", "c", ["title": "Theirs"])
        try fixture.deleteElsewhere("Message", "m2")
        try context.mergeChanges(from: try fixture.store.read { [request] in try $0.history(request) })
        #expect(try chat["title"] == "Theirs" && chat["topic"] == "mine" && chat["messagesCount"] == 2)
        #expect(try chat.objects("messages").count == 2)
    }

    @Test func `an object that somebody deleted says so`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let message = try context.object(with: try context.require("Message", "m1").objectID)
        context.reset()
        try fixture.deleteElsewhere("Message", "m1")
        let error = editingError { _ = try message["body"] }
        #expect(error?.code == .objectGone && error?.coreDataCode == 133_000)
    }

    @Test func `a placeholder is completed by the first change of its own`() throws {
        try fixture.graph.apply(fixture.graph.upsert("Message", "m", ["chat": "late"]))
        let context = try fixture.context()
        let chat = try context.require("Chat", "late")
        #expect(try chat.isPlaceholder)
        let message = try context.insert("Message", identity: "n")
        try message.setObject("chat", chat)
        #expect(try chat.isPlaceholder)
        try chat.set("title", "Here")
        #expect(try !chat.isPlaceholder)
        try context.save()
        #expect(try fixture.graph.value("SELECT _placeholder FROM Chat WHERE id = 'late'") == 0)
        #expect(try context.ids(chat.objects("messages")) == ["m", "n"])
    }

    @Test func `an insertion completes a placeholder of its identity`() throws {
        try fixture.graph.apply(fixture.graph.upsert("Message", "m", ["chat": "late"]))
        let context = try fixture.context()
        let chat = try context.insert("Chat", identity: "late", ["title": "Here"])
        try context.save()
        #expect(
            try fixture.graph.rows("SELECT id, title, _placeholder, messagesCount FROM Chat") == [
                ["late", "Here", 0, 1]
            ])
        #expect(try context.ids(chat.objects("messages")) == ["m"])
    }

    @Test func `an insertion of a deleted identity is a new object`() throws {
        try fixture.seed()
        try fixture.deleteElsewhere("Member", "bob")
        #expect(try fixture.graph.tombstones().count == 1)
        let context = try fixture.context()
        try context.insert("Member", identity: "bob")
        try context.save()
        #expect(try fixture.graph.tombstones().isEmpty)
        #expect(try fixture.graph.identities("Member") == ["ann", "bob"])
    }

    @Test func `deleting and inserting one identity in one save replaces the object`() throws {
        try fixture.seed()
        let context = try fixture.context()
        let old = try context.require("Member", "ann")
        try context.delete(old)
        let new = try context.insert("Member", identity: "ann", ["email": "ann@x.y"])
        let message = try context.require("Message", "m1")
        try message.setObject("sender", new)
        try context.save()
        #expect(try fixture.value("Member", "ann", "name") == .null)
        #expect(
            try fixture.value("Message", "m1", "sender") == "ann" && fixture.value("Message", "m2", "sender") == .null)
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }
}

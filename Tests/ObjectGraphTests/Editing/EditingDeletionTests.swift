import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct EditingDeletionTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    @Test func `propagation runs at the end of the change cycle`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let message = try context.require("Message", "m1")
        try context.delete(chat)
        #expect(chat.isDeleted && !message.isDeleted)
        #expect(try chat.objects("messages").count == 3)
        try context.processPendingChanges()
        #expect(message.isDeleted)
        #expect(context.deletedObjects.count == 4)
        try context.save()
        #expect(try fixture.graph.identities("Message").isEmpty && fixture.graph.identities("Chat").isEmpty)
        #expect(try fixture.graph.tombstones().count == 4)
    }

    @Test func `cascade takes what others added in the meantime`() throws {
        let context = try fixture.context()
        try context.delete(try context.require("Chat", "c"))
        try context.processPendingChanges()
        try fixture.graph.apply(fixture.graph.upsert("Message", "late", ["chat": "c", "body": "late"]))
        try context.save()
        #expect(try fixture.graph.identities("Message").isEmpty)
    }

    /// The context did not know of the link; its own save follows it all the same, and its handle says so.
    @Test func `a context drops objects that its save deletes through links of others`() throws {
        let context = try fixture.context()
        let late = try context.insert("Message", identity: "late", ["body": "late"])
        try late.setObject("chat", try context.insert("Chat", identity: "other"))
        try context.save()
        #expect(try late["body"] == "late")
        try fixture.graph.apply(fixture.graph.upsert("Message", "late", ["chat": "c"]))
        try context.delete(try context.require("Chat", "c"))
        let result = try context.save()
        #expect(result.deleted.contains(late.objectID))
        #expect(editingError { _ = try late["body"] }?.code == .objectGone)
    }

    @Test func `an object that moves away before the end of the cycle stays`() throws {
        let context = try fixture.context()
        try context.delete(try context.require("Chat", "c"))
        try context.require("Message", "m1").setObject("chat", try context.insert("Chat", identity: "d"))
        try context.save()
        #expect(try fixture.graph.identities("Message") == ["m1"])
    }

    @Test func `the hook before deletion sees relationships intact`() throws {
        let context = try fixture.context()
        var seen: [String] = []
        context.options.hooks.prepareForDeletion = { object in
            if object.objectID.entity == "Chat" {
                seen.append("chat with \(try object.objects("messages").count)")
            } else {
                seen.append(
                    "\(try object.identity.text ?? "") of \(try object.object("chat")?.identity.text ?? "none")")
            }
        }
        try context.delete(try context.require("Chat", "c"))
        try context.save()
        #expect(seen == ["chat with 3", "m1 of c", "m2 of c", "m3 of c"])
    }

    @Test func `the hook before deletion may save an object from the cascade`() throws {
        let context = try fixture.context()
        let shelter = try context.insert("Chat", identity: "d")
        context.options.hooks.prepareForDeletion = { object in
            guard object.objectID.entity == "Chat" else { return }
            try object.objects("messages").last?.setObject("chat", shelter)
        }
        try context.delete(try context.require("Chat", "c"))
        try context.save()
        #expect(try fixture.graph.identities("Message") == ["m3"])
    }

    @Test func `deny fails the save with 1600 and the context goes on`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let lock = try context.insert("Lock", identity: "l")
        try lock.setObject("chat", chat)
        try context.save()
        try context.delete(chat)
        let error = editingError { try context.save() }
        #expect(error?.code == .validation && error?.coreDataCode == 1600)
        #expect(try fixture.graph.identities("Chat") == ["c"])
        context.rollback()
        try chat.set("title", "Fine")
        try context.save()
        #expect(try fixture.value("Chat", "c", "title") == "Fine")
    }

    @Test func `deny is lifted when the destination is deleted in the same save`() throws {
        let context = try fixture.context()
        let chat = try context.require("Chat", "c")
        let lock = try context.insert("Lock", identity: "l")
        try lock.setObject("chat", chat)
        try context.save()
        try context.delete(chat)
        try context.delete(lock)
        try context.save()
        #expect(try fixture.graph.identities("Chat").isEmpty && fixture.graph.identities("Lock").isEmpty)
    }

    @Test func `an object that was never saved goes though a saved one with the rule deny refers to it`() throws {
        let context = try fixture.context()
        let lock = try context.insert("Lock", identity: "l")
        try lock.setObject("chat", try context.require("Chat", "c"))
        try context.save()
        let chat = try context.insert("Chat", identity: "new")
        try lock.setObject("chat", chat)
        try context.delete(chat)
        try context.save()
        #expect(try lock.object("chat") == nil)
        #expect(try fixture.value("Lock", "l", "chat") == .null)
        #expect(try fixture.graph.identities("Chat") == ["c"])
        #expect(try fixture.graph.tombstones().isEmpty)
    }

    @Test func `nullify clears the inverse`() throws {
        let context = try fixture.context()
        let message = try context.require("Message", "m1")
        try context.delete(try context.require("Member", "ann"))
        try context.processPendingChanges()
        #expect(try message.object("sender") == nil)
        try context.save()
        #expect(try fixture.value("Message", "m1", "sender") == .null)
        #expect(try fixture.value("Chat", "c", "members") == #"["bob"]"#)
    }

    @Test func `nullify of a required inverse fails unless it is reassigned`() throws {
        let model = try ObjectModel.parse(
            EditingFixture.model.replacingFirst("delete: cascade", "delete: nullify"))
        let graph = try Graph(model)
        let context = try EditingContext(graph.writer)
        let (one, two) = (try context.insert("Chat", identity: "a"), try context.insert("Chat", identity: "b"))
        let message = try context.insert("Message", identity: "m")
        try message.setObject("chat", one)
        try context.save()
        try context.delete(one)
        #expect(editingError { try context.save() }?.coreDataCode == 1570)
        try message.setObject("chat", two)
        try context.save()
        #expect(try graph.identities("Chat") == ["b"])
    }

    @Test func `without inverse the owner is not changed and reads nil later`() throws {
        let context = try fixture.context()
        let ann = try context.require("Member", "ann")
        let chat = try context.require("Chat", "c")
        try ann.setObject("home", chat)
        try context.save()
        let last = try fixture.store.read { try $0.lastToken() }
        try context.delete(chat)
        try context.processPendingChanges()
        try context.save()
        #expect(try ann.object("home") == nil)
        #expect(try !fixture.graph.history(after: last).contains { $0.hasPrefix("update Member ann home") })
    }

    @Test func `an inserted object that is deleted leaves no trace`() throws {
        let context = try fixture.context()
        let member = try context.insert("Member", identity: "x")
        try context.delete(member)
        try context.save()
        #expect(!context.hasChanges)
        #expect(try fixture.graph.tombstones().isEmpty)
    }

    @Test func `deleting what somebody else deleted is no conflict`() throws {
        let context = try fixture.context()
        try context.delete(try context.require("Message", "m1"))
        try fixture.deleteElsewhere("Message", "m1")
        try context.save()
        #expect(try fixture.graph.identities("Message") == ["m2", "m3"])
    }

    /// The context undoes a deletion before the delete rules act. A redo would bring the deletion back without them.
    @Test func `the end of a change cycle leaves nothing to redo and keeps why objects go`() throws {
        let context = try fixture.context(.storeTrump)
        try context.delete(try context.require("Chat", "c"))
        try context.require("Member", "bob").set("name", "Rob")
        context.undo()
        #expect(context.canRedo)
        try context.validate()
        #expect(!context.canRedo)
        context.redo()
        try fixture.elsewhere("Chat", "c", ["topic": "new"])
        try context.save()
        #expect(try fixture.graph.identities("Chat") == ["c"])
        #expect(try fixture.graph.identities("Message") == ["m1", "m2", "m3"])
    }

    @Test func `a deletion that clears too many references is refused with a remedy`() throws {
        let context = try fixture.context { $0.maximumDeletionCount = 2 }
        try context.delete(try context.require("Member", "ann"))
        #expect(editingError { try context.save() }?.code == .tooLarge)
        context.options.maximumDeletionCount = 3
        try context.save()
        #expect(try fixture.value("Message", "m1", "sender") == .null)
    }

    @Test func `a deletion that reaches too far is refused with a remedy`() throws {
        let context = try fixture.context { $0.maximumDeletionCount = 2 }
        try context.delete(try context.require("Chat", "c"))
        #expect(editingError { try context.save() }?.code == .tooLarge)
        // As the error says.
        context.options.maximumDeletionCount = 100
        try context.save()
        #expect(try fixture.graph.identities("Message").isEmpty)
    }
}

extension String {
    func replacingFirst(_ text: String, _ other: String) -> String {
        guard let range = range(of: text) else { return self }
        return replacingCharacters(in: range, with: other)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

/// Conflicts with what others saved, policy by policy.
@Suite struct MergePolicyTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    /// A context that changed title and topic of the chat, while somebody else changed title and updatedAt.
    private func conflicting(_ policy: MergePolicy) throws -> (EditingContext, ManagedObject) {
        let context = try fixture.context(policy)
        let chat = try context.require("Chat", "c")
        try chat.set("title", "mine")
        try chat.set("topic", "mine")
        try fixture.elsewhere("Chat", "c", ["title": "theirs", "updatedAt": .integer(5)])
        return (context, chat)
    }

    private func chat() throws -> [Value] {
        try fixture.graph.rows("SELECT title, topic, updatedAt FROM Chat WHERE id = 'c'")[0]
    }

    @Test func `error fails with 133020 and the list of conflicts`() throws {
        let (context, chat) = try conflicting(.error)
        let error = try #require(editingError { try context.save() })
        #expect(error.code == .mergeConflict && error.coreDataCode == 133_020)
        let conflict = try #require(error.conflicts.first)
        #expect(conflict.kind == .changed && conflict.objectID == chat.objectID && conflict.identity == "c")
        let title = try #require(conflict.properties.first { $0.name == "title" })
        #expect(title.snapshot == "Chat" && title.local == "mine" && title.stored == "theirs")
        #expect(title.isChangedInContext && title.isChangedInStore)
        let topic = try #require(conflict.properties.first { $0.name == "topic" })
        #expect(topic.isChangedInContext && !topic.isChangedInStore)
        #expect(try self.chat() == ["theirs", "old", 5])
        #expect(try fixture.notes().isEmpty)
    }

    @Test func `after an error the context keeps its changes and saves after a refresh`() throws {
        let (context, chat) = try conflicting(.error)
        #expect(editingError { try context.save() } != nil)
        #expect(try chat["title"] == "mine" && context.hasChanges)
        try context.refresh(chat, mergeChanges: true)
        try context.save()
        #expect(try self.chat() == ["mine", "mine", 5])
    }

    @Test func `after an error another policy saves`() throws {
        let (context, _) = try conflicting(.error)
        #expect(editingError { try context.save() } != nil)
        context.options.mergePolicy = .storeTrump
        try context.save()
        #expect(try chat() == ["theirs", "mine", 5])
    }

    @Test func `store trump keeps the store's value where both changed`() throws {
        let (context, chat) = try conflicting(.storeTrump)
        try context.save()
        #expect(try self.chat() == ["theirs", "mine", 5])
        #expect(try chat["title"] == "theirs" && chat["updatedAt"] == 5)
        #expect(try fixture.notes() == ["changed Chat c title store"])
    }

    @Test func `object trump keeps the context's value where both changed`() throws {
        let (context, _) = try conflicting(.objectTrump)
        try context.save()
        #expect(try chat() == ["mine", "mine", 5])
        #expect(try fixture.notes() == ["changed Chat c title context"])
    }

    @Test func `overwrite reverts what others changed`() throws {
        let (context, _) = try conflicting(.overwrite)
        try context.save()
        #expect(try chat() == ["mine", "mine", .null])
        #expect(try fixture.notes() == ["changed Chat c title context", "changed Chat c updatedAt context"])
    }

    @Test func `rollback drops the context's changes`() throws {
        let (context, chat) = try conflicting(.rollback)
        try context.save()
        #expect(try self.chat() == ["theirs", "old", 5])
        #expect(try chat["title"] == "theirs" && !chat.hasChanges)
        #expect(try fixture.notes() == ["changed Chat c title store", "changed Chat c topic store"])
    }

    @Test(arguments: [(4, "theirs"), (5, "theirs"), (6, "mine")])
    func `last writer wins by a named attribute`(_ time: Int64, _ winner: String) throws {
        let (context, chat) = try conflicting(.lastWriterWins(attribute: "updatedAt"))
        try chat.set("updatedAt", Value.integer(time))
        try context.save()
        #expect(try self.chat() == [.text(winner), "mine", .integer(max(5, time))])
    }

    @Test func `last writer wins without an attribute says what is missing`() throws {
        let (context, _) = try conflicting(.lastWriterWins())
        #expect(editingError { try context.save() }?.code == .unknownProperty)
    }

    @Test func `a program decides by values or by another policy`() throws {
        let (context, _) = try conflicting(
            .custom { conflict in
                let title = conflict.properties.first { $0.name == "title" }
                return .values(["title": .text((title?.local.text ?? "") + (title?.stored.text ?? ""))])
            })
        try context.save()
        #expect(try chat() == ["minetheirs", "old", 5])
        #expect(try fixture.notes() == ["changed Chat c title custom"])
        let (second, chat) = try conflicting(.custom { _ in .policy(.objectTrump) })
        try chat.set("title", "again")
        try second.save()
        #expect(try self.chat()[0] == "again")
    }

    @Test func `the values of a program's merge policy are checked`() throws {
        let context = try fixture.context()
        let message = try context.require("Message", "m1")
        try message.set("seq", 1)
        try fixture.elsewhere("Message", "m1", ["seq": 2])
        let wrong: [([String: Value], EditingError.Code)] = [
            (["sender": "nobody"], .type), (["sender": 5], .type), (["sequence": 5], .unknownProperty),
            (["seq": "many"], .type), (["id": "m9"], .unknownProperty), (["seq": -1], .validation),
        ]
        for (values, code) in wrong {
            context.options.mergePolicy = .custom { _ in .values(values) }
            #expect(editingError { try context.save() }?.code == code, "\(values)")
            #expect(try fixture.value("Message", "m1", "seq") == 2)
        }
        context.options.mergePolicy = .custom { _ in .values(["sender": "bob", "seq": 3]) }
        try context.save()
        #expect(try fixture.value("Message", "m1", "sender") == "bob")
    }

    @Test func `a policy for what is no entity is refused`() throws {
        let context = try fixture.context { $0.mergePolicies["Caht"] = .objectTrump }
        try context.require("Chat", "c").set("title", "mine")
        let error = editingError { try context.save() }
        #expect(error?.code == .unknownEntity && error?.description.contains("Chat") == true)
        context.options.mergePolicies = [:]
        try context.save()
        #expect(try chat()[0] == "mine")
    }

    @Test func `an error of a program's merge policy fails the save`() throws {
        let (context, _) = try conflicting(.custom { _ in throw Missing() })
        #expect(throws: Missing.self) { try context.save() }
        context.options.mergePolicy = .objectTrump
        try context.save()
        #expect(try chat()[0] == "mine")
    }

    @Test func `changes of different properties conflict under error and merge under the trumps`() throws {
        for (policy, isRefused) in [(MergePolicy.error, true), (.storeTrump, false), (.objectTrump, false)] {
            let context = try fixture.context(policy)
            try context.require("Chat", "c").set("topic", "\(policy.name)")
            try fixture.elsewhere("Chat", "c", ["updatedAt": .integer(Int64(policy.name.count))])
            #expect((editingError { try context.save() } != nil) == isRefused)
        }
        #expect(try chat()[1] == "objectTrump")
        #expect(try fixture.notes().isEmpty)
    }

    @Test func `derived values and to-many are no conflict`() throws {
        let context = try fixture.context()
        try context.require("Chat", "c").set("title", "mine")
        try fixture.graph.apply(fixture.graph.upsert("Message", "m9", ["chat": "c", "body": "more"]))
        try context.save()
        #expect(try fixture.graph.rows("SELECT title, messagesCount FROM Chat") == [["mine", 4]])
    }

    @Test func `to-one relationships are in the snapshot`() throws {
        let context = try fixture.context(.storeTrump)
        let message = try context.require("Message", "m1")
        try message.setObject("sender", nil)
        let other = try fixture.context()
        try other.require("Message", "m1").setObject("sender", try other.require("Member", "bob"))
        try other.save()
        try context.save()
        #expect(try message.object("sender")?.identity == "bob")
        let note = try #require(try fixture.store.read { try $0.conflicts() }.first)
        #expect(
            note.local == "null" && note.stored == "\"bob\"" && note.policy == "storeTrump" && note.source == "test")
    }

    @Test func `the same value on both sides is not disputed`() throws {
        let context = try fixture.context(.storeTrump)
        try context.require("Chat", "c").set("title", "same")
        try fixture.elsewhere("Chat", "c", ["title": "same"])
        try context.save()
        #expect(try fixture.notes().isEmpty)
    }

    @Test func `an entity's policy goes before the context's`() throws {
        let context = try fixture.context(.error) { $0.mergePolicies["Chat"] = .objectTrump }
        try context.require("Chat", "c").set("title", "mine")
        try fixture.elsewhere("Chat", "c", ["title": "theirs"])
        try context.save()
        #expect(try chat()[0] == "mine")
    }

    @Test func `the model names an entity's policy`() throws {
        let yaml = EditingFixture.model.replacingFirst("identity: id", "identity: id\n    mergePolicy: storeTrump")
        let graph = try Graph(yaml: yaml)
        try graph.apply(graph.upsert("Chat", "c", ["title": "old"]))
        let context = try EditingContext(graph.writer)
        try context.require("Chat", "c").set("title", "mine")
        try graph.apply(graph.upsert("Chat", "c", ["title": "theirs"]))
        try context.save()
        #expect(try graph.value("Chat", "c", "title") == "theirs")
    }

    // MARK: Notes

    /// What was lost can be read afterwards: the values are in the note, for nothing else has them.
    @Test func `a note of a whole object has its values`() throws {
        let context = try fixture.context(.storeTrump)
        let message = try context.require("Message", "m1")
        try message.set("body", "mine")
        try message.setObject("sender", try context.require("Member", "bob"))
        try fixture.deleteElsewhere("Message", "m1")
        try context.save()
        let deleting = try fixture.context(.objectTrump)
        try deleting.delete(try deleting.require("Member", "ann"))
        try fixture.elsewhere("Member", "ann", ["name": "Anna"])
        try deleting.save()
        try fixture.elsewhere("Member", "bob", ["name": "Bob", "email": "bob@x.y"])
        let inserting = try fixture.context(.overwrite)
        try inserting.insert("Member", identity: "new").set("email", "bob@x.y")
        try inserting.save()
        let notes = try fixture.store.read { try $0.conflicts() }
        #expect(notes.map(\.kind) == ["deletedInStore", "deletedInContext", "uniqueness"])
        #expect(notes[0].local == #"{"body":"mine","sender":"bob"}"# && notes[0].stored == nil)
        #expect(notes[1].local == nil && notes[1].stored == #"{"name":"Anna"}"#)
        #expect(notes[2].identity == "bob" && notes[2].local == #"{"email":"bob@x.y"}"#)
        #expect(notes[2].stored?.contains(#""email":"bob@x.y""#) == true)
        #expect(notes[2].stored?.contains(#""name":"Bob""#) == true)
    }

    @Test func `notes are read in order and dropped`() throws {
        for _ in 0..<2 {
            let (context, _) = try conflicting(.storeTrump)
            try context.save()
            try fixture.elsewhere("Chat", "c", ["title": "Chat", "topic": "old", "updatedAt": .null])
        }
        let notes = try fixture.store.read { try $0.conflicts() }
        #expect(notes.count == 2 && notes[0].id < notes[1].id && notes[0].token > 0 && notes[0].time == 1_000)
        #expect(try fixture.store.read { try $0.conflicts(after: notes[0].id) }.count == 1)
        #expect(try fixture.graph.writer.dropConflicts(through: notes[0].id) == 1)
        #expect(try fixture.store.read { try $0.conflicts() }.map(\.id) == [notes[1].id])
    }
}

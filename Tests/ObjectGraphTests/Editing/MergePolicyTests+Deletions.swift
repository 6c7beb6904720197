import ObjectGraph
import Testing

@testable import GraphCore

/// Objects that one side changed and the other deleted.
extension MergePolicyTests {
    @Test(arguments: ["error", "storeTrump", "rollback", "objectTrump", "overwrite"])
    func `a changed object that somebody deleted`(_ name: String) throws {
        let policy = try #require(MergePolicy(named: name))
        let context = try fixture.context(policy)
        let ann = try context.require("Member", "ann")
        try ann.set("name", "Anna")
        try fixture.deleteElsewhere("Member", "ann")
        switch name {
        case "error":
            #expect(editingError { try context.save() }?.conflicts.map(\.kind) == [.deletedInStore])
            #expect(try fixture.graph.identities("Member") == ["bob"])
        case "storeTrump", "rollback":
            try context.save()
            #expect(try fixture.graph.identities("Member") == ["bob"])
            #expect(editingError { _ = try ann["name"] }?.code == .objectGone)
            #expect(try fixture.notes() == ["deletedInStore Member ann - store"])
        default:
            let id = ann.objectID
            try context.save()
            #expect(try fixture.value("Member", "ann", "name") == "Anna")
            #expect(try fixture.value("Member", "ann", "email") == "ann@x.y")
            #expect(ann.objectID == id)
            #expect(try fixture.graph.tombstones().isEmpty)
            #expect(try StoreCheck.problems(fixture.graph).isEmpty)
        }
    }

    /// What No Action left dangling does not come alive with the object, or counts and one-to-one ends would be wrong.
    @Test(arguments: ["objectTrump", "overwrite"])
    func `an object that is inserted again leaves dangling references dangling`(_ name: String) throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Box:
                    identity: id
                    attributes: { id: { type: string }, title: { type: string, optional: true }, count: { type: integer64, derived: traces.@count } }
                    relationships:
                      traces: { to: Trace, many: true, ordered: true, inverse: box, delete: noAction }
                      seal: { to: Seal, inverse: box, optional: true, delete: noAction }
                  Trace: { identity: id, attributes: { id: { type: string } }, relationships: { box: { to: Box, inverse: traces, optional: true } } }
                  Seal: { identity: id, attributes: { id: { type: string } }, relationships: { box: { to: Box, inverse: seal, optional: true } } }
                """)
        try graph.apply(
            graph.upsert("Box", "b", ["traces": ["t"], "seal": "s"]), graph.upsert("Trace", "t"),
            graph.upsert("Seal", "s"))
        let context = try graph.context(name)
        let box = try context.require("Box", "b")
        let late = try context.insert("Trace", identity: "late")
        try late.setObject("box", box)
        try box.set("title", "mine")
        try graph.apply(graph.delete("Box", "b"))
        try context.save()
        #expect(try graph.value("Trace", "t", "box") == .null)
        // The seal is led to by the box itself, as the context has it.
        #expect(try graph.value("Seal", "s", "box") == "b")
        #expect(try graph.rows("SELECT title, count FROM Box") == [["mine", 1]])
        #expect(try graph.value("Trace", "late", "box") == "b" && box["title"] == "mine")
        #expect(try graph.damage() == "")
    }

    @Test(arguments: ["error", "storeTrump", "rollback", "objectTrump", "overwrite"])
    func `a deleted object that somebody changed`(_ name: String) throws {
        let policy = try #require(MergePolicy(named: name))
        let context = try fixture.context(policy)
        let ann = try context.require("Member", "ann")
        try context.delete(ann)
        try fixture.elsewhere("Member", "ann", ["name": "Anna"])
        switch name {
        case "error":
            #expect(editingError { try context.save() }?.conflicts.map(\.kind) == [.deletedInContext])
            context.rollback()
            try context.save()
        case "storeTrump", "rollback":
            try context.save()
            #expect(try fixture.graph.identities("Member") == ["ann", "bob"])
            #expect(try !ann.isDeleted && ann["name"] == "Anna")
            #expect(try context.ids(context.require("Chat", "c").objects("members")) == ["ann", "bob"])
        default:
            try context.save()
            #expect(try fixture.graph.identities("Member") == ["bob"])
            #expect(try fixture.notes() == ["deletedInContext Member ann - context"])
        }
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    /// What a rule took along stays with what takes it along, and goes with it.
    @Test(arguments: ["storeTrump", "rollback", "objectTrump", "overwrite"])
    func `a deletion that is dropped takes nothing along`(_ name: String) throws {
        let context = try fixture.context(try #require(MergePolicy(named: name)))
        let messages = try ["m1", "m2", "m3"].map { try context.require("Message", $0) }
        try context.delete(context.require("Chat", "c"))
        try fixture.elsewhere("Chat", "c", ["title": "Theirs"])
        try context.save()
        let isKept = !["objectTrump", "overwrite"].contains(name)
        #expect(try fixture.graph.identities("Chat") == (isKept ? ["c"] : []))
        #expect(try fixture.graph.identities("Message") == (isKept ? ["m1", "m2", "m3"] : []))
        #expect(try fixture.notes() == ["deletedInContext Chat c - \(isKept ? "store" : "context")"])
        if isKept { #expect(try messages.map { try $0["body"] } == ["hello", "hello", "hello"]) }
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test(arguments: ["storeTrump", "rollback", "objectTrump"])
    func `a changed object is deleted with the object that cascades to it`(_ name: String) throws {
        let context = try fixture.context(try #require(MergePolicy(named: name)))
        try context.delete(context.require("Chat", "c"))
        try context.processPendingChanges()
        try fixture.elsewhere("Message", "m1", ["body": "theirs"])
        try context.save()
        #expect(try fixture.graph.identities("Chat").isEmpty && fixture.graph.identities("Message").isEmpty)
        #expect(try fixture.notes() == ["deletedInContext Message m1 - context"])
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    /// A message that was moved in the context goes for the chat that it was moved to, though the store knows no such link.
    @Test(arguments: ["c", "d"])
    func `a moved object is deleted with its new owner`(_ changed: String) throws {
        let before = try fixture.context()
        try before.insert("Chat", identity: "d")
        try before.save()
        let context = try fixture.context(.storeTrump)
        let other = try context.require("Chat", "d")
        try context.require("Message", "m1").setObject("chat", other)
        try context.delete(other)
        try fixture.elsewhere("Chat", .text(changed), ["title": "Theirs"])
        try context.save()
        #expect(try fixture.graph.identities("Chat") == (changed == "d" ? ["c", "d"] : ["c"]))
        #expect(try fixture.graph.identities("Message") == (changed == "d" ? ["m1", "m2", "m3"] : ["m2", "m3"]))
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test func `a program that keeps a deleted object keeps what would go with it`() throws {
        let context = try fixture.context(.custom { _ in .values(["title": "Both"]) })
        try context.delete(context.require("Chat", "c"))
        try fixture.elsewhere("Chat", "c", ["title": "Theirs"])
        try context.save()
        #expect(try fixture.value("Chat", "c", "title") == "Both")
        #expect(try fixture.graph.identities("Message") == ["m1", "m2", "m3"])
        #expect(try fixture.notes() == ["deletedInContext Chat c - custom"])
    }

    @Test(arguments: [(5, false), (50, true)])
    func `last writer wins against a deletion`(_ time: Int64, _ lives: Bool) throws {
        let yaml = EditingFixture.model.replacingFirst(
            "Member:\n    identity: id", "Member:\n    identity: id\n    version: updatedAt")
        let graph = try Graph(yaml: yaml)
        try graph.apply(graph.upsert("Member", "a", ["updatedAt": 1]))
        var options = EditingContext.Options()
        options.mergePolicy = .lastWriterWins()
        let context = try EditingContext(graph.writer, options: options)
        try context.require("Member", "a").set("updatedAt", Value.integer(time))
        try graph.apply(graph.delete("Member", "a", version: 10))
        try context.save()
        #expect(try graph.identities("Member") == (lives ? ["a"] : []))
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

/// Values that have to be unique and are taken, policy by policy.
@Suite struct UniquenessConflictTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    /// A context with a new member who has Ann's e-mail, a name and a message.
    private func colliding(_ policy: MergePolicy) throws -> (EditingContext, ManagedObject) {
        let context = try fixture.context(policy)
        let member = try context.insert("Member", identity: "new", ["email": "ann@x.y", "name": "Newcomer"])
        try member.set("updatedAt", Value.integer(9))
        let message = try context.insert("Message", identity: "m9")
        try message.setObject("chat", try context.require("Chat", "c"))
        try message.setObject("sender", member)
        return (context, member)
    }

    private func members() throws -> [[Value]] {
        try fixture.graph.rows("SELECT id, name, email, age, updatedAt FROM Member ORDER BY id")
    }

    @Test func `error fails with 133021 and does not poison the next save`() throws {
        let (context, member) = try colliding(.error)
        let error = try #require(editingError { try context.save() })
        #expect(error.code == .constraintConflict && error.coreDataCode == 133_021)
        #expect(error.conflicts.map(\.constraint) == [["email"]] && error.conflicts[0].objectID == member.objectID)
        #expect(try members().count == 2)
        let other = try fixture.context()
        try other.require("Member", "bob").set("name", "Rob")
        try other.save()
        try member.set("email", "new@x.y")
        try context.save()
        #expect(try fixture.graph.identities("Member") == ["ann", "bob", "new"])
        #expect(try fixture.value("Message", "m9", "sender") == "new")
    }

    @Test func `object trump merges into the persisted object and leaves absent values alone`() throws {
        try fixture.elsewhere("Member", "ann", ["age": 40])
        let setup = try fixture.context()
        try setup.require("Member", "ann").setObject("home", try setup.require("Chat", "c"))
        try setup.save()
        let (context, member) = try colliding(.objectTrump)
        try context.save()
        // The age was never set here, though it has a default; nor was the to-one relationship.
        #expect(try members() == [["ann", "Newcomer", "ann@x.y", 40, 9], ["bob", "Bob", .null, 18, .null]])
        #expect(try fixture.value("Member", "ann", "home") == "c")
        #expect(try fixture.value("Message", "m9", "sender") == "ann")
        #expect(try member.identity == "ann" && !member.objectID.isTemporary)
        #expect(
            try fixture.notes() == ["uniqueness Member ann name context", "uniqueness Member ann updatedAt context"])
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test func `store trump fills only what the persisted object lacks`() throws {
        let (context, _) = try colliding(.storeTrump)
        try context.save()
        #expect(try members()[0] == ["ann", "Ann", "ann@x.y", 18, 9])
        #expect(try fixture.value("Message", "m9", "sender") == "ann")
    }

    @Test func `rollback lets the store win`() throws {
        let (context, _) = try colliding(.rollback)
        try context.save()
        #expect(try members()[0] == ["ann", "Ann", "ann@x.y", 18, .null])
        #expect(try fixture.value("Message", "m9", "sender") == "ann")
    }

    @Test func `overwrite deletes the displaced object`() throws {
        let (context, _) = try colliding(.overwrite)
        let ann = try context.require("Member", "ann")
        #expect(try ann["name"] == "Ann")
        try context.save()
        #expect(editingError { _ = try ann["name"] }?.code == .objectGone)
        #expect(try members() == [["bob", "Bob", .null, 18, .null], ["new", "Newcomer", "ann@x.y", 18, 9]])
        #expect(
            try fixture.value("Message", "m9", "sender") == "new" && fixture.value("Message", "m1", "sender") == .null)
        #expect(try fixture.notes() == ["uniqueness Member ann - context"])
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test(arguments: [(8, "Newcomer"), (10, "Ann")])
    func `last writer wins decides whose values stay`(_ stored: Int64, _ name: String) throws {
        try fixture.elsewhere("Member", "ann", ["updatedAt": .integer(stored)])
        let (context, _) = try colliding(.lastWriterWins(attribute: "updatedAt"))
        try context.save()
        #expect(try members()[0][1] == .text(name))
    }

    @Test func `a program decides`() throws {
        let (context, _) = try colliding(
            .custom { conflict in
                #expect(conflict.kind == .uniqueness && conflict.constraint == ["email"])
                return .values(["name": "Both"])
            })
        try context.save()
        #expect(try members()[0][1] == "Both")
    }

    @Test(arguments: ["error", "objectTrump", "overwrite"])
    func `an identity that is taken is a conflict too`(_ name: String) throws {
        let context = try fixture.context(try #require(MergePolicy(named: name)))
        let chat = try context.insert("Chat", identity: "c", ["title": "again"])
        switch name {
        case "error":
            #expect(editingError { try context.save() }?.conflicts.map(\.constraint) == [["id"]])
        case "objectTrump":
            try context.save()
            #expect(try fixture.graph.rows("SELECT title, topic FROM Chat") == [["again", "old"]])
            #expect(try context.ids(chat.objects("messages")).count == 3)
        default:
            try context.save()
            #expect(try fixture.graph.rows("SELECT title, topic FROM Chat") == [["again", .null]])
            // The displaced chat took its messages along.
            #expect(try fixture.graph.identities("Message").isEmpty)
        }
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
    }

    @Test func `two objects of one context that claim one value conflict`() throws {
        let context = try fixture.context()
        try context.insert("Member", identity: "x", ["email": "same"])
        try context.insert("Member", identity: "y", ["email": "same", "name": "Y"])
        #expect(editingError { try context.save() }?.code == .constraintConflict)
        context.options.mergePolicy = .objectTrump
        try context.save()
        #expect(try fixture.graph.rows("SELECT id, name FROM Member WHERE email = 'same'") == [["x", "Y"]])
    }

    @Test func `values may pass from one object to another in one save`() throws {
        try fixture.elsewhere("Member", "bob", ["email": "bob@x.y"])
        let context = try fixture.context()
        try context.require("Member", "ann").set("email", "bob@x.y")
        try context.require("Member", "bob").set("email", "ann@x.y")
        try context.save()
        #expect(try fixture.graph.column("SELECT email FROM Member ORDER BY id") == ["bob@x.y", "ann@x.y"])
        try context.require("Member", "ann").set("email", nil)
        try context.insert("Member", identity: "new", ["email": "bob@x.y"])
        try context.save()
        #expect(try fixture.value("Member", "new", "email") == "bob@x.y")
    }

    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a stored object that claims the value of another`(_ name: String) throws {
        let context = try fixture.context(try #require(MergePolicy(named: name)))
        let bob = try context.require("Member", "bob")
        try bob.set("email", "ann@x.y")
        try bob.set("name", "Rob")
        switch name {
        case "error", "objectTrump":
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            try bob.set("email", nil)
            try context.save()
            #expect(try fixture.value("Member", "bob", "name") == "Rob")
        case "storeTrump":
            try context.save()
            #expect(try fixture.graph.rows("SELECT name, email FROM Member WHERE id = 'bob'") == [["Rob", .null]])
            #expect(try bob["email"] == .null)
        case "rollback":
            try context.save()
            #expect(try fixture.graph.rows("SELECT name, email FROM Member WHERE id = 'bob'") == [["Bob", .null]])
        default:
            try context.save()
            #expect(try fixture.graph.rows("SELECT id, name, email FROM Member") == [["bob", "Rob", "ann@x.y"]])
        }
    }

    @Test func `a program decides of a stored object that claims the value of another`() throws {
        let context = try fixture.context(.custom { _ in .values(["name": "Rob"]) })
        let bob = try context.require("Member", "bob")
        try bob.set("email", "ann@x.y")
        try bob.set("age", 50)
        try context.save()
        // The store's values stay for all other properties.
        #expect(try fixture.graph.rows("SELECT name, email, age FROM Member WHERE id = 'bob'") == [["Rob", .null, 18]])
        #expect(try bob["name"] == "Rob" && bob["email"] == .null)
        #expect(
            try fixture.notes() == [
                "uniqueness Member bob name custom", "uniqueness Member bob email store",
                "uniqueness Member bob age store",
            ])
    }

    @Test func `uniqueness is resolved after the locking conflicts`() throws {
        let context = try fixture.context(.storeTrump)
        let bob = try context.require("Member", "bob")
        try bob.set("email", "ann@x.y")
        // Somebody else gives Bob another address: that wins, and nothing is left to collide.
        try fixture.elsewhere("Member", "bob", ["email": "bob@x.y"])
        try context.save()
        #expect(try bob["email"] == "bob@x.y")
        #expect(try fixture.notes() == ["changed Member bob email store"])
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

/// Saves of contexts that meet placeholders: each becomes an object as a whole, or stays a placeholder.
@Suite struct PlaceholderMergeTests {
    private static let winning = ["objectTrump", "storeTrump", "rollback"]
    private let graph: Graph

    init() throws { graph = try Graph(yaml: Self.parts) }

    private static let parts = """
        model: parts
        entities:
          Part:
            identity: id
            unique: [[holder]]
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              code: { type: string, optional: true, unique: true }
              size: { type: integer64, default: 7 }
            relationships:
              shelf: { to: Box, inverse: parts, optional: true }
              holder: { to: Box, inverse: held, optional: true }
          Machine:
            parent: Part
            attributes:
              speed: { type: integer64, default: 5 }
            relationships:
              box: { to: Box, inverse: machines, optional: true }
          Box:
            identity: id
            attributes: { id: { type: string } }
            relationships:
              parts: { to: Part, many: true, inverse: shelf }
              held: { to: Part, many: true, inverse: holder }
              machines: { to: Machine, many: true, inverse: box }
        """

    private func part(_ identity: String) throws -> [[Value]] {
        try graph.rows("SELECT title, size, _placeholder FROM Part WHERE id = '\(identity)'")
    }

    private static let placeholder: [[Value]] = [[.null, .null, 1]]

    /// A placeholder holds a unique link, and a new object claims it.
    @Test(arguments: winning)
    func `a new object that becomes a placeholder completes it`(_ policy: String) throws {
        try graph.apply(graph.upsert("Part", "p"), graph.delete("Part", "p", time: 10))
        try graph.apply(graph.upsert("Box", "b", ["held": ["p"]], time: 20))
        let context = try graph.context(policy)
        let new = try context.insert("Part", identity: "new", ["title": "new"])
        try new.setObject("holder", context.require("Box", "b"))
        try context.save()
        #expect(try graph.identities("Part") == ["p"])
        #expect(try part("p") == (policy == "rollback" ? Self.placeholder : [["new", 7, 0]]))
        #expect(try new.isPlaceholder == (policy == "rollback"))
        #expect(try graph.tombstones().count == (policy == "rollback" ? 1 : 0))
        #expect(try graph.damage() == "")
    }

    /// The tombstone of what the placeholder was before goes, wherever a chunk begins.
    @Test func `an event that becomes a placeholder lifts its tombstone`() throws {
        let graph = try Graph(
            yaml: Self.parts.replacingOccurrences(
                of: "unique: [[holder]]", with: "unique: [[holder]]\n    mergePolicy: objectTrump"))
        try graph.apply(graph.upsert("Part", "p"), graph.delete("Part", "p", time: 10))
        try graph.apply(graph.upsert("Box", "b", ["held": ["p"]], time: 20))
        try graph.apply(graph.upsert("Part", "new", ["holder": "b", "title": "new"], time: 30))
        #expect(try graph.rows("SELECT id, title, _placeholder FROM Part") == [["p", "new", 0]])
        #expect(try graph.tombstones() == [])
        #expect(try graph.damage() == "")
    }

    @Test(arguments: winning)
    func `a placeholder that both sides change is complete unless the context's changes are dropped`(
        _ policy: String
    ) throws {
        try graph.apply(graph.upsert("Box", "b", ["parts": ["p"]]))
        let context = try graph.context(policy)
        try context.require("Part", "p").set("title", "mine")
        try graph.apply(graph.upsert("Box", "c", ["parts": ["p"]]))
        try context.save()
        #expect(try part("p") == (policy == "rollback" ? Self.placeholder : [["mine", 7, 0]]))
        #expect(try graph.value("Part", "p", "shelf") == "c")
        #expect(try graph.damage() == "")
    }

    @Test(arguments: winning)
    func `a placeholder whose unique value is taken is complete unless the context's changes are dropped`(
        _ policy: String
    ) throws {
        try graph.apply(graph.upsert("Part", "x", ["code": "c"]), graph.upsert("Box", "b", ["parts": ["p"]]))
        let context = try graph.context(policy)
        let part = try context.require("Part", "p")
        try part.set("title", "mine")
        try part.set("code", "c")
        if policy == "objectTrump" {
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            return
        }
        try context.save()
        #expect(try self.part("p") == (policy == "rollback" ? Self.placeholder : [["mine", 7, 0]]))
        #expect(try graph.damage() == "")
    }

    /// Another writer deletes an object that the context changes, and an event refers to it again.
    @Test(arguments: winning + ["error", "overwrite"])
    func `an object that is a placeholder again was deleted for the context`(_ policy: String) throws {
        try graph.apply(graph.upsert("Part", "p", ["title": "old", "code": "c", "size": 3]))
        let context = try graph.context(policy)
        let part = try context.require("Part", "p")
        try part.set("title", "mine")
        try graph.apply(graph.delete("Part", "p", time: 10))
        try graph.apply(graph.upsert("Box", "b", ["parts": ["p"]], time: 20))
        if policy == "error" {
            #expect(editingError { try context.save() }?.code == .mergeConflict)
            return
        }
        try context.save()
        let stays = policy == "storeTrump" || policy == "rollback"
        #expect(try self.part("p") == (stays ? Self.placeholder : [["mine", 3, 0]]))
        #expect(try graph.value("Part", "p", "code") == (stays ? .null : "c"))
        // The context has said nothing of the link that the event has made.
        #expect(try graph.value("Part", "p", "shelf") == "b")
        #expect(try graph.tombstones().count == (stays ? 1 : 0))
        #expect(try graph.damage() == "")
    }

    /// Somebody refers to an object of an abstract entity below, which has not arrived.
    @Test(arguments: ["error", "objectTrump", "storeTrump", "rollback", "overwrite"])
    func `a placeholder of an abstract entity below the new object`(_ name: String) throws {
        let graph = try Graph(
            yaml: Self.parts.replacingOccurrences(of: "parent: Part\n", with: "parent: Part\n    abstract: true\n"))
        let context = try graph.context(name)
        try graph.apply(graph.upsert("Box", "b", ["parts": ["p"], "machines": ["m"]]))
        let part = try context.require("Part", "p")
        try context.insert("Part", identity: "m", ["title": "new"])
        if name == "overwrite" {
            try context.save()
            #expect(
                try graph.rows("SELECT id, _entity, _placeholder FROM Part ORDER BY id")
                    == [["m", "Part", 0], ["p", "Part", 1]])
        } else {
            #expect(editingError { try context.save() }?.code == .constraintConflict)
            context.rollback()
        }
        #expect(try graph.damage() == "")
        // The context completes a part of which others find out meanwhile that it is a machine.
        try part.set("title", "mine")
        try graph.apply(graph.upsert("Box", "b", ["machines": ["p"]]))
        #expect(editingError { try context.save() }?.code == .mergeConflict)
        #expect(
            try graph.rows("SELECT _entity, title, _placeholder FROM Part WHERE id = 'p'") == [["Machine", .null, 1]])
        #expect(try graph.damage() == "")
    }

    @Test func `a placeholder that events find to be more special has the defaults of both entities`() throws {
        try graph.apply(graph.upsert("Box", "b", ["parts": ["p", "q"]]))
        let context = try graph.context()
        try context.require("Part", "p").set("title", "mine")
        let other = try context.require("Part", "q")
        try other.set("title", "mine")
        try graph.apply(graph.upsert("Box", "b", ["machines": ["p", "q"]]))
        try context.refresh(other, mergeChanges: true)
        try context.save()
        #expect(
            try graph.rows("SELECT id, _entity, title, size, speed FROM Part ORDER BY id")
                == [["p", "Machine", "mine", 7, 5], ["q", "Machine", "mine", 7, 5]])
        #expect(try graph.damage() == "")
    }

    /// Both are new, and the second one is merged into the first.
    @Test func `the store's values win over links too that the same save makes`() throws {
        try graph.apply(graph.upsert("Box", "b"), graph.upsert("Box", "c"), graph.upsert("Part", "s", ["code": "kept"]))
        let context = try graph.context("storeTrump")
        let (b, c) = (try context.require("Box", "b"), try context.require("Box", "c"))
        for (identity, box) in [("x", b), ("y", c)] {
            try context.insert("Part", identity: identity, ["code": "same"]).setObject("shelf", box)
        }
        try context.require("Part", "s").setObject("shelf", b)
        try context.insert("Part", identity: "z", ["code": "kept"]).setObject("shelf", c)
        try context.save()
        #expect(try graph.rows("SELECT id FROM Part ORDER BY id") == [["s"], ["x"]])
        #expect(try graph.value("Part", "x", "shelf") == "b")
        #expect(try graph.value("Part", "s", "shelf") == "b")
        #expect(try graph.damage() == "")
    }

    /// Readers that keep the last change of an identity see the object that is there.
    @Test(arguments: [true, false])
    func `the history tells of a deletion before an insertion of the same identity`(deletes: Bool) throws {
        try graph.apply(graph.upsert("Part", "p"), graph.upsert("Part", "q"))
        let last = try graph.store.read { try $0.lastToken() }
        let context = try graph.context(deletes ? "error" : "overwrite")
        if deletes { try context.delete(context.require("Part", "p")) }
        try context.insert("Part", identity: "p", ["title": "new"])
        try context.save()
        #expect(try graph.history(after: last) == ["delete Part p", "insert Part p"])
        #expect(try graph.damage() == "")
    }
}

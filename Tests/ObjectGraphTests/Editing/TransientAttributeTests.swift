import ObjectGraph
import Testing

@testable import GraphCore

/// Transient attributes: held by a context, never stored.
@Suite struct TransientAttributeTests {
    static let model = """
        model: drafts
        entities:
          Draft:
            identity: id
            attributes:
              id: { type: string }
              title: { type: string, optional: true }
              mark: { type: string, optional: true, transient: true, maxLength: 3 }
              weight: { type: integer32, default: 7, transient: true }
          Letter:
            parent: Draft
            attributes: { stamp: { type: date, optional: true, transient: true } }
        """
    let graph: Graph
    let context: EditingContext

    init() throws {
        graph = try Graph(yaml: Self.model)
        context = try EditingContext(graph.writer)
    }

    @Test func `a context holds them over its saves and stores nothing`() throws {
        let letter = try context.insert("Letter", identity: "l", ["title": "t", "mark": "x", "stamp": "2026-01-02"])
        #expect(try letter["mark"] == "x" && letter["weight"] == 7)
        try context.save()
        #expect(try letter["mark"] == "x")
        #expect(try letter["stamp"] == .integer(1_767_312_000_000_000))
        #expect(try graph.column("SELECT name FROM pragma_table_info('Draft') WHERE name = 'mark'") == [])
        let other = try EditingContext(graph.writer)
        #expect(try other.require("Letter", "l")["mark"] == .null)
        #expect(editingError { try letter.set("marc", "x") }?.code == .unknownProperty)
    }

    @Test func `setting one is no change`() throws {
        let draft = try context.insert("Draft", identity: "d")
        try context.save()
        let token = try graph.store.read { try $0.lastToken() }
        try draft.set("mark", "y")
        #expect(!context.hasChanges && !draft.isUpdated)
        #expect(try draft.changedValues() == [:])
        #expect(try context.save().token == nil)
        #expect(try graph.store.read { try $0.lastToken() } == token)
        #expect(try draft["mark"] == "y")
    }

    @Test func `limits are checked at the save`() throws {
        let draft = try context.insert("Draft", identity: "d", ["mark": "long"])
        #expect(editingError { try context.save() }?.failures.map(\.code) == [1660])
        try draft.set("mark", "ok")
        try context.save()
        #expect(editingError { try draft.set("weight", "many") }?.code == .type)
    }

    @Test func `undo takes them back and a rollback forgets them`() throws {
        let draft = try context.insert("Draft", identity: "d")
        try context.save()
        try draft.set("mark", "a")
        try draft.set("mark", "b")
        context.undo()
        #expect(try draft["mark"] == "a")
        context.redo()
        #expect(try draft["mark"] == "b")
        try context.refresh(draft, mergeChanges: true)
        #expect(try draft["mark"] == "b")
        context.rollback()
        #expect(try draft["mark"] == .null)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

/// What is undone of new objects, whose set properties are remembered one by one.
@Suite struct ManyEditsTests {
    @Test func `undo forgets that a property of a new object was set`() throws {
        let graph = try Graph(configuredModel("chat"))
        let context = try EditingContext(graph.writer)
        let chat = try context.insert("Chat", identity: "c")
        try chat.set("title", "first")
        try chat.set("title", "second")
        context.undo()
        #expect(try chat["title"] == "first")
        context.undo()
        #expect(try chat["title"] == .null)
        context.redo()
        #expect(try chat["title"] == "first")
        try context.save()
        #expect(try graph.value("Chat", "c", "title") == "first")
    }

    @Test func `a failed edit of a new object leaves it as it was`() throws {
        let graph = try Graph(configuredModel("chat"))
        let context = try EditingContext(graph.writer)
        let message = try context.insert("Message", identity: "m", ["body": "kept"])
        #expect(throws: EditingError.self) { try message.set("seq", "no number") }
        try message.setObject("chat", try context.insert("Chat", identity: "c"))
        try context.save()
        #expect(try graph.rows("SELECT id, body, seq FROM Message") == [["m", "kept", 0]])
    }
}

import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Contexts and the events' writer in one process: one lease, one writer after the other.
@Suite struct SharedWriterTests {
    let fixture: EditingFixture

    init() throws {
        fixture = try EditingFixture()
        try fixture.seed()
    }

    @Test func `a save commits the chunks that came before it`() throws {
        let (graph, writer) = (fixture.graph, fixture.graph.writer)
        _ = try writer.apply(
            WriterContext.Chunk(
                events: [graph.upsert("Member", "eve", ["name": "Eve"])],
                positions: [SourcePosition(topic: "t", partition: 0, nextOffset: 5)]))
        let context = try fixture.context()
        try context.require("Chat", "c").set("title", "mine")
        try context.save()
        try writer.rollback()
        #expect(try graph.identities("Member") == ["ann", "bob", "eve"])
        #expect(try fixture.store.read { try $0.positions() }.map(\.nextOffset) == [5])
        #expect(writer.uncommittedRows == 0)
    }

    @Test func `a failed save undoes no chunk`() throws {
        let (graph, writer) = (fixture.graph, fixture.graph.writer)
        _ = try writer.apply(WriterContext.Chunk(events: [graph.upsert("Member", "eve", ["name": "Eve"])]))
        let context = try fixture.context()
        try context.insert("Member", identity: "x", ["email": "ann@x.y"])
        #expect(editingError { try context.save() } != nil)
        _ = try writer.apply(WriterContext.Chunk(events: [graph.upsert("Member", "fay", ["name": "Fay"])]))
        try writer.commit()
        #expect(try graph.identities("Member") == ["ann", "bob", "eve", "fay"])
    }

    @Test func `a context reads what is committed`() throws {
        let (graph, writer) = (fixture.graph, fixture.graph.writer)
        _ = try writer.apply(WriterContext.Chunk(events: [graph.upsert("Member", "eve", ["name": "Eve"])]))
        let context = try fixture.context()
        #expect(try context.object("Member", identity: "eve") == nil)
        try writer.commit()
        #expect(try context.object("Member", identity: "eve") != nil)
    }

    @Test func `events and saves of several threads come one after the other`() async throws {
        let writer = fixture.graph.writer
        let model = fixture.graph.model
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask {
                    var options = EditingContext.Options()
                    options.mergePolicy = .objectTrump
                    let context = try EditingContext(writer, options: options)
                    for number in 0..<25 {
                        let message = try context.insert("Message", identity: "w\(worker)-\(number)")
                        try message.setObject("chat", try context.object("Chat", identity: "c"))
                        try context.save()
                    }
                }
            }
            group.addTask {
                for number in 0..<50 {
                    let event = ChangeSet(
                        model.upsert("Message", .text("e\(number)"), [("chat", "c"), ("body", "event")]))
                    _ = try writer.apply(WriterContext.Chunk(events: [event]))
                    if number % 7 == 0 { try writer.commit() }
                }
                try writer.commit()
            }
            try await group.waitForAll()
        }
        #expect(try fixture.graph.value("SELECT messagesCount FROM Chat") == 153)
        #expect(try fixture.graph.value("SELECT count(*) FROM Message") == 153)
        #expect(try StoreCheck.problems(fixture.graph).isEmpty)
        let report = try fixture.store.read { try $0.history(after: 0, limit: 1000) }
        #expect(report.map(\.token) == report.map(\.token).sorted() && report.count == 151)
    }

    @Test func `a fenced writer saves nothing`() throws {
        let context = try fixture.context()
        try context.require("Chat", "c").set("title", "mine")
        try fixture.graph.writer.write("fence") { try $0.runOnce("UPDATE _lease SET epoch = epoch + 1") }
        #expect(throws: StoreError.self) { try context.save() }
        #expect(context.hasChanges)
    }
}

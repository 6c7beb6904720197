import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct StoreTests {
    private func open(_ path: String, _ model: ObjectModel) -> StoreError? {
        do {
            _ = try Store.open(path: path, model: model)
            return nil
        } catch {
            return error
        }
    }

    @Test func `another shape is refused`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s.sqlite")
        #expect(open(path, try configuredModel("chat")) == nil)
        let error = open(path, try configuredModel("work-orders"))
        #expect(error?.code == .modelMismatch)
        #expect(error?.description.contains("the store is unharmed") == true)
        #expect(open(path, try configuredModel("chat")) == nil)
    }

    @Test func `newer layout is refused`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        _ = try graph.rows("UPDATE _metadata SET value = '99' WHERE key = 'formatVersion'")
        #expect(open(folder.path("s.sqlite"), model)?.code == .newerFormat)
    }

    @Test func `file that is no database is refused and left alone`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("notes.txt")
        let text = String(repeating: "These are notes and no database at all.\n", count: 100)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        #expect(open(path, try configuredModel("chat"))?.code == .corrupt)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test func `database of somebody else is refused`() throws {
        let folder = try TemporaryFolder()
        try SQLiteProgram.run(folder.path("s.sqlite"), "CREATE TABLE recipes (name TEXT)")
        let error = open(folder.path("s.sqlite"), try configuredModel("chat"))
        #expect(error?.code == .corrupt)
        #expect(error?.message.contains("recipes") == true)
    }

    @Test func `folder that cannot be written is unavailable`() throws {
        let model = try configuredModel("chat")
        #expect(open("/proc/nowhere/s.sqlite", model)?.code == .unavailable)
        let folder = try TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.url.path)
        // The superuser may write anywhere but here.
        let path = getuid() == 0 ? "/proc/s.sqlite" : folder.path("s.sqlite")
        #expect(open(path, model)?.code == .unavailable)
        #expect(throws: StoreError.self) { try Store.openForReading(path: folder.path("none.sqlite"), model: model) }
    }

    @Test func `rollback forgets and goes on`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "kept", ["title": "t"]))
        _ = try graph.writer.apply(
            WriterContext.Chunk(events: [graph.upsert("Chat", "lost"), graph.delete("Chat", "kept")]))
        try graph.writer.rollback()
        #expect(graph.writer.uncommittedRows == 0)
        #expect(try graph.apply([graph.upsert("Chat", "next")]).token == 2)
        #expect(try graph.identities("Chat") == ["kept", "next"])
        #expect(try graph.tombstones() == [])
    }

    @Test func `store error undoes everything since the commit`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "kept"))
        _ = try graph.writer.apply(WriterContext.Chunk(events: [graph.upsert("Chat", "first")]))
        // A store that may not grow is a disk that is full.
        try graph.writer.commit()
        _ = try graph.rows("PRAGMA max_page_count = 1")
        _ = try graph.writer.apply(WriterContext.Chunk(events: [graph.upsert("Chat", "second")]))
        let large = graph.upsert(
            "Message", "x", ["chat": "first", "body": .value(.text(String(repeating: "x", count: 9000)))])
        let error = #expect(throws: StoreError.self) {
            try graph.writer.apply(WriterContext.Chunk(events: Array(repeating: large, count: 1)))
        }
        #expect(error?.code == .full)
        #expect(error?.isRetriable == true)
        _ = try graph.rows("PRAGMA max_page_count = 1000000")
        #expect(try graph.identities("Chat") == ["first", "kept"])
        #expect(try graph.apply([graph.upsert("Chat", "second"), large]).token == 3)
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `rule that only the schema knows fails its event alone`() throws {
        let graph = try Graph(configuredModel("chat"))
        _ = try graph.rows(
            "CREATE TEMP TRIGGER t AFTER INSERT ON main.Chat WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END")
        let result = try graph.writer.apply(
            WriterContext.Chunk(
                events: [
                    graph.upsert("Chat", "a"), graph.upsert("Chat", "bad", ["members": ["m"]]),
                    graph.upsert("Chat", "b"),
                ],
                positions: [SourcePosition(topic: "t", partition: 0, nextOffset: 3)])
        ) { index, failure in
            DeadLetter(
                time: 0, topic: "t", partition: 0, offset: Int64(index), stage: "apply", code: failure.code,
                reason: failure.description, key: nil, value: nil, valueBytes: 0)
        }
        try graph.writer.commit()
        #expect(result.outcomes.map(\.word) == ["applied", "store.constraint", "applied"])
        #expect(result.placeholderCount == 0)
        #expect(try graph.history() == ["insert Chat a", "insert Chat b"])
        #expect(try graph.identities("Member") == [])
        let (letters, positions) = try graph.store.read { (try $0.deadLetters(), try $0.positions()) }
        #expect(letters.map(\.offset) == [1])
        #expect(letters.map(\.code) == ["store.constraint"])
        #expect(positions.map(\.nextOffset) == [3])
    }

    @Test func `another shape is refused with the differences, the first five`() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("s.sqlite")
        func model(_ entities: String) throws -> ObjectModel {
            try ObjectModel.parse("model: m\nversion: 1\nentities:\n\(entities)")
        }
        let id = "id: { type: string }"
        let first = try model(
            """
              Chat: { identity: id, attributes: { \(id), title: { type: string }, n: { type: string } }, relationships: { tags: { to: Tag, many: true, inverse: none } } }
              Tag: { identity: id, attributes: { \(id) } }
            """)
        let second = try model(
            """
              Chat: { identity: id, attributes: { \(id), title: { type: integer64 }, size: { type: integer64, default: 0 } } }
              Note: { identity: id, attributes: { \(id) } }
            """)
        #expect(open(path, first) == nil)
        let message = try #require(open(path, second)?.message)
        #expect(
            message.hasSuffix(
                ": Chat.title: type changed: string → integer64; Chat.size: attribute added: integer64; "
                    + "Chat.n: attribute removed: was string; Chat.tags: relationship removed: was to many Tag; "
                    + "Note: entity added; and 1 more"), "\(message)")
    }

    @Test func `an error of a repair does not advise the repair`() {
        let error = StoreError.damaged.ofRepair
        #expect(error.code == .corrupt && error.message == StoreError.damaged.message)
        #expect(
            error.remedy == "Check the disk, and restore a backup, or build the store again with 'run --rebuild'")
        let busy = StoreError(.busy, "It is busy", remedy: "Try again")
        #expect(busy.ofRepair.remedy == "Try again")
    }
}

import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct TombstoneFilterTests {
    @Test func `late events meet the tombstones of a deletion inside the store`() throws {
        let graph = try Graph(configuredModel("chat"), setDeletionThreshold: 100)
        // The first tombstone lets the next chunk read the filter, so the deletion has to note its own.
        try graph.apply(graph.delete("Chat", "gone", time: 9))
        let messages = (0..<500).map { graph.upsert("Message", .text("x\($0)"), ["chat": "c"], time: 1) }
        try graph.apply([graph.upsert("Chat", "c", time: 1)] + messages)
        try graph.apply(graph.delete("Chat", "c", time: 9))
        #expect(try graph.value("SELECT count(*) FROM _tombstone") == 502)
        let late = (0..<500).map { graph.upsert("Message", .text("x\($0)"), ["body": "late"], time: 5) }
        #expect(try Set(graph.apply(late).outcomes.map(\.word)) == ["stale"])
        #expect(try graph.identities("Message") == [])
    }

    @Test func `the filter grows with the tombstones and misses none`() throws {
        let graph = try Graph(configuredModel("chat"))
        for start in stride(from: 0, to: 5000, by: 500) {
            let part = start..<start + 500
            try graph.apply(part.map { graph.delete("Message", .text("m\($0)"), time: 9) })
        }
        let late = (0..<5000).map { graph.upsert("Message", .text("m\($0)"), ["chat": "c"], time: 5) }
        #expect(try Set(graph.apply(late).outcomes.map(\.word)) == ["stale"])
        let others = (0..<500).map { graph.upsert("Message", .text("n\($0)"), ["chat": "c"], time: 5) }
        #expect(try Set(graph.apply(others).outcomes.map(\.word)) == ["applied"])
        #expect(try graph.value("SELECT count(*) FROM Message") == 500)
    }

    @Test func `a claim forgets what the filter knew of the store before`() throws {
        let folder = try TemporaryFolder()
        let graph = try Graph(configuredModel("chat"), path: folder.path("s.sqlite"))
        try graph.apply(graph.delete("Chat", "a", time: 9))
        try graph.apply(graph.upsert("Chat", "b", time: 1))
        let connection = try #require(graph.writer.session as? SQLiteWriterSession)
        #expect(connection.tombstoneFilter.isRead)
        // As another process would, between two claims.
        _ = try graph.rows("INSERT INTO _tombstone VALUES ('Chat', 'foreign', NULL, 9, 0, 0)")
        _ = try connection.access { try connection.claim(ttlSeconds: 10, now: 0) }
        #expect(!connection.tombstoneFilter.isRead)
        #expect(try graph.apply(graph.upsert("Chat", "foreign", time: 5)) == ["stale"])
    }
}

import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct BatchDeleteTests {
    @Test(.onlyInSQLite("memory writes one change for each object"))
    func `the delete rules hold`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([
            graph.upsert("Chat", "a", ["title": "t", "members": ["m"]]), graph.upsert("Chat", "b"),
            graph.upsert("Member", "m"), graph.upsert("Message", "1", ["chat": "a", "sender": "m"]),
            graph.upsert("Message", "2", ["chat": "b", "sender": "m"]),
        ])
        let result = try graph.writer.execute(BatchDeleteRequest("Chat", where: "id = 'a'"))
        #expect(result.count == 1)
        #expect(result.changes.count(.delete) == 2)
        #expect(try graph.identities("Message") == ["2"])
        #expect(try graph.value("Member", "m", "messagesCount") == 1)
        #expect(
            try graph.history(after: 1).sorted() == [
                "delete Chat a", "delete Message 1", "update Member m chats", "update Member m messagesCount",
            ])
        #expect(try graph.store.inSQLite().verify().isSound)
        #expect(try StoreCheck.problems(graph) == [])
    }

    @Test func `events older than the request change nothing`() throws {
        let clock = Clock(100)
        let graph = try Graph(configuredModel("chat"), clock: clock)
        try graph.apply(graph.upsert("Chat", "a"))
        _ = try graph.writer.execute(BatchDeleteRequest("Chat"))
        #expect(try graph.apply(graph.upsert("Chat", "a", time: 99)) == ["stale"])
        #expect(try graph.apply(graph.upsert("Chat", "a", time: 101)) == ["applied"])
    }

    @Test func `deny makes the request fail as a whole and is lifted where the destinations go too`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply([
            graph.upsert("Asset", "a"), graph.upsert("Asset", "b"), graph.upsert("WorkOrder", "w", ["asset": "a"]),
        ])
        let error = #expect(throws: BatchError.self) { try graph.writer.execute(BatchDeleteRequest("Asset")) }
        #expect(error?.coreDataCode == 134_050)
        #expect(error?.failure?.reason == .deniedDelete)
        #expect(try graph.identities("Asset") == ["a", "b"])
        #expect(try graph.writer.execute(BatchDeleteRequest("Asset", where: "workOrders.@count = 0")).count == 1)
        _ = try graph.writer.execute(BatchDeleteRequest("WorkOrder"))
        #expect(try graph.writer.execute(BatchDeleteRequest("Asset")).count == 1)
    }

    @Test func `a required inverse makes the request fail as a whole`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Owner:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { things: { to: Thing, many: true, inverse: owner, delete: nullify } }
                  Thing:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { owner: { to: Owner, inverse: things } }
                """)
        try graph.apply([
            graph.upsert("Owner", "o"), graph.upsert("Owner", "p"), graph.upsert("Thing", "t", ["owner": "o"]),
        ])
        let error = #expect(throws: BatchError.self) { try graph.writer.execute(BatchDeleteRequest("Owner")) }
        #expect(error?.failure?.reason == .missingMandatory)
        #expect(try graph.identities("Owner") == ["o", "p"])
        #expect(try graph.tombstones().isEmpty)
    }

    @Test func `a minimum count makes the request fail as a whole`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Team:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { players: { to: Player, many: true, inverse: teams, minCount: 2 } }
                  Player:
                    identity: id
                    attributes: { id: { type: string } }
                    relationships: { teams: { to: Team, many: true, inverse: players } }
                """)
        try graph.apply([
            graph.upsert("Team", "t", ["players": ["a", "b", "c"]]), graph.upsert("Player", "a"),
            graph.upsert("Player", "b"), graph.upsert("Player", "c"),
        ])
        let error = #expect(throws: BatchError.self) {
            try graph.writer.execute(BatchDeleteRequest("Player", where: "id IN {'a', 'b'}"))
        }
        #expect(error?.failure?.reason == .tooFewDestinations)
        #expect(try graph.writer.execute(BatchDeleteRequest("Player", where: "id = 'a'")).count == 1)
    }

    @Test func `a request that meets nothing leaves no trace`() throws {
        let graph = try Graph(configuredModel("chat"))
        let result = try graph.writer.execute(BatchDeleteRequest("Chat"))
        #expect(result.count == 0)
        #expect(result.token == nil)
    }

    @Test(.onlyInSQLite("it looks at temporary tables"))
    func `a deletion of many objects is written whole part by part`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c"), graph.upsert("Chat", "d"))
        _ = try graph.rows(
            """
            INSERT INTO Message (pk, id, chat) WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n \
            WHERE i < 40009) SELECT i, 'm' || i, 1 + (i % 4 = 0) FROM n
            """)
        try graph.writer.write("count") { connection in
            try connection.runOnce(
                "UPDATE Chat SET messagesCount = (SELECT count(*) FROM Message WHERE chat = Chat.pk)")
        }
        let result = try graph.writer.execute(BatchDeleteRequest("Chat", where: "id = 'c'"))
        #expect(result.changes.count(.delete) == 30_001)
        #expect(try graph.value("SELECT count(*) FROM Message") == 10_000)
        #expect(try graph.value("SELECT count(*) FROM _tombstone") == 30_001)
        #expect(try graph.value("SELECT count(DISTINCT object) FROM _history_change WHERE change = 2") == 30_001)
        #expect(try graph.value("SELECT messagesCount FROM Chat") == 10_000)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct StoreRepairTests {
    static func graph(_ storage: TestStorage = .sqlite) throws -> Graph {
        let graph = try Graph(ObjectModel.parse(Models.derived), clock: Clock(5), storage: storage)
        var events = [
            graph.upsert("Team", "t", ["name": "T"]), graph.upsert("Tag", "g"),
            graph.upsert("Chat", "c", ["title": "C", "team": "t", "tags": ["g"], "marks": ["g"]]),
        ]
        for number in 0..<20 {
            events.append(
                graph.upsert(
                    "Message", .text("m\(number)"),
                    ["chat": "c", "size": .value(.integer(Int64(number))), "pin": "g", "weight": 0.5]))
        }
        try graph.apply(events)
        return graph
    }

    private static func damage(_ graph: Graph, _ sql: [String]) throws {
        _ = try graph.rows("PRAGMA foreign_keys")
        for statement in sql {
            try graph.writer.write("damage") { try $0.runOnce(statement) }
        }
    }

    @Test func `sound store is left alone`() throws {
        let graph = try Self.graph()
        let before = try StoreDump.lines(graph)
        let report = try graph.writer.repair(chunkLength: 3)
        #expect(report.mendedCount == 0 && report.transactionCount == 0 && report.remaining.isSound)
        #expect(report.text.hasPrefix("nothing to repair"))
        #expect(try StoreDump.lines(graph) == before)
    }

    @Test(arguments: [1, 7, 5000]) func `derived values are mended with all that reads them`(_ chunkLength: Int) throws
    {
        let graph = try Self.graph()
        let before = try StoreDump.lines(graph)
        let token = try graph.store.read { try $0.lastToken() }
        try Self.damage(
            graph,
            [
                "UPDATE Chat SET count = 3, size = NULL, largest = 99, cheapest = '4', meanSize = 1, weight = 9",
                "UPDATE Message SET chatTitle = 'X' WHERE id IN ('m3', 'm4')",
                "UPDATE Team SET spread = -1, messagesCount = 0",
                "UPDATE Message SET loud = NULL WHERE id = 'm5'",
            ])
        #expect(try !graph.store.verify().isSound)
        let report = try graph.writer.repair(chunkLength: chunkLength)
        #expect(report.remaining.isSound, "\(report.text)")
        #expect(report.mendedCount > 0 && report.transactionCount > 0)
        #expect(try StoreDump.lines(graph) == before)
        let transactions = try graph.store.read { try $0.history(after: token) }
        #expect(transactions.count == report.transactionCount)
        #expect(transactions.allSatisfy { $0.author == "verify" && $0.context == "repair" })
        let names = transactions.flatMap(\.changes).map { "\($0.entity) \($0.identity.text ?? "")" }
        #expect(Set(names).isSuperset(of: ["Chat c", "Team t", "Message m3", "Message m4", "Message m5"]))
        #expect(names.count < 30, "what was right is not written")
    }

    @Test func `dangling references and orphaned links are mended`() throws {
        let graph = try Self.graph()
        _ = try graph.rows("SELECT 1")
        try graph.writer.commit()
        try graph.store.sqlite().onWriter { handle in
            let connection = SQLiteWriterSession(handle, model: graph.model)
            try connection.runOnce("PRAGMA foreign_keys = OFF")
            try connection.runOnce("UPDATE Message SET pin = 77 WHERE id IN ('m1', 'm2')")
            try connection.runOnce("UPDATE Chat SET team = 77")
            try connection.runOnce("INSERT INTO Chat_tags (owner, destination) VALUES (1, 55), (56, 1)")
            try connection.runOnce("INSERT INTO Chat_marks (owner, destination) VALUES (1, 58)")
        }
        let report = try graph.writer.repair(chunkLength: 1)
        #expect(report.danglingReferenceCount == 3)
        #expect(report.orphanedLinkCount == 3)
        #expect(report.remaining.isSound, "\(report.text)")
        #expect(try graph.rows("SELECT teamName FROM Chat") == [[nil]])
        #expect(try graph.rows("SELECT chatsCount FROM Team") == [[0]])
        let changes = try graph.history(after: 1)
        #expect(changes.contains("update Message m1 pin"))
        #expect(changes.contains("update Chat c tags"))
        #expect(changes.contains("update Chat c marks"))
    }

    @Test func `a repair leaves and names the problems that only a person can decide`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  A: { identity: id, attributes: { id: { type: string }, n: { type: integer64, default: 1 } } }
                """)
        try graph.apply(graph.upsert("A", "a"))
        try Self.damage(graph, ["UPDATE A SET n = NULL"])
        let report = try graph.writer.repair()
        #expect(report.mendedCount == 0)
        #expect(report.remaining.problemCount == 1)
        #expect(report.text.contains("A a.n: is required and has no value"))
    }

    @Test func `writing goes on afterwards`() throws {
        let graph = try Self.graph()
        try Self.damage(graph, ["UPDATE Chat SET count = 3"])
        _ = try graph.writer.repair()
        try graph.apply(graph.upsert("Message", "n", ["chat": "c"]))
        #expect(try graph.column("SELECT count FROM Chat") == [21])
        #expect(try graph.store.verify().isSound)
    }
}

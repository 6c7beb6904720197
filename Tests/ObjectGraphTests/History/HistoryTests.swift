import Foundation
import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct HistoryTests {
    @Test func `one transaction per chunk with its changes`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", ["title": "t"]), graph.upsert("Member", "m"))
        try graph.apply(
            graph.upsert("Chat", "c", ["title": "u", "members": ["m"]]), graph.upsert("Member", "m"))
        try graph.apply(graph.delete("Chat", "c"))
        let transactions = try graph.store.read { try $0.history(after: 0) }
        #expect(transactions.map(\.token) == [1, 2, 3])
        #expect(transactions.map(\.source) == ["test", "test", "test"])
        #expect(transactions.map(\.author) == Array(repeating: ProcessInfo.processInfo.processName, count: 3))
        #expect(
            try graph.history() == [
                "insert Chat c", "insert Member m", "update Chat c title,membersCount,members", "update Member m chats",
                "delete Chat c", "update Member m chats",
            ])
        #expect(transactions[2].changes[0].tombstone == "{\"title\":\"u\"}")
    }

    @Test func `only changed columns are written`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Member", "m", ["name": "n", "email": "a@b.c"]))
        _ = try graph.rows(
            "CREATE TEMP TRIGGER t AFTER UPDATE OF name ON main.Member BEGIN SELECT RAISE(ABORT, 'written'); END")
        #expect(try graph.apply(graph.upsert("Member", "m", ["name": "n", "email": "x@y.z"])) == ["applied"])
        #expect(try graph.history(after: 1) == ["update Member m email"])
    }

    @Test func `failed and undone events leave no trace`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", ["title": "t"]))
        let result = try graph.apply([
            graph.upsert("Message", "x", ["body": "no chat"]), graph.upsert("Chat", "c", ["title": "u"]),
            graph.upsert("Chat", "c", ["title": "t"]),
        ])
        #expect(result.token == nil)
        #expect(try graph.history(after: 1) == [])
    }

    @Test func `insert and deletion in one chunk is nothing but a tombstone`() throws {
        let graph = try Graph(configuredModel("chat"))
        let result = try graph.apply([graph.upsert("Chat", "c"), graph.delete("Chat", "c", time: 3)])
        #expect(result.token == nil)
        #expect(try graph.tombstones() == [["Chat", "c", 3, 3]])
    }

    @Test(arguments: DeletionWay.allCases) func `tombstone keeps the preserved values`(_ way: DeletionWay) throws {
        let graph = try way.graph(
            """
            entities:
              E:
                identity: id
                attributes:
                  id: { type: string, preserveAfterDeletion: true }
                  text: { type: string, optional: true, preserveAfterDeletion: true }
                  flag: { type: boolean, default: true, preserveAfterDeletion: true }
                  at: { type: date, optional: true, preserveAfterDeletion: true }
                  key: { type: uuid, optional: true, preserveAfterDeletion: true }
                  price: { type: decimal, optional: true, preserveAfterDeletion: true }
                  share: { type: double, optional: true, preserveAfterDeletion: true }
                  secret: { type: string, optional: true }
            """)
        let bytes = Value.blob(Array(0..<16))
        try graph.apply(
            graph.upsert(
                "E", "a\"b",
                ["text": "ü\n", "at": -1, "key": .value(bytes), "price": "1.5", "share": 0.5, "secret": "s"]))
        try graph.apply(graph.delete("E", "a\"b"))
        let tombstone = try graph.store.read { try $0.history(after: 1) }.first?.changes.first?.tombstone
        #expect(
            tombstone == """
                {"id":"a\\"b","text":"ü\\n","flag":true,"at":"1969-12-31T23:59:59.999999Z",\
                "key":"00010203-0405-0607-0809-0a0b0c0d0e0f","price":1.5,"share":0.5}
                """)
    }

    // MARK: Purging

    @Test func `purge keeps what is young and tokens go on`() throws {
        let clock = Clock(100)
        let graph = try Graph(configuredModel("chat"), clock: clock)
        for time in [100, 200, 300] as [Int64] {
            clock.now = time
            try graph.apply(graph.upsert("Chat", .text("c\(time)")))
        }
        let result = try graph.writer.purgeHistory(before: 300)
        #expect(result == PurgeResult(transactionCount: 2, changeRowCount: 2))
        #expect(try graph.history(after: 2) == ["insert Chat c300"])
        let error = #expect(throws: StoreError.self) { try graph.history(after: 1) }
        #expect(error?.code == .historyExpired)
        #expect(try graph.writer.purgeHistory(before: 301).transactionCount == 1)
        #expect(try graph.store.read { try $0.lastToken() } == 3)
        #expect(try graph.apply([graph.upsert("Chat", "d")]).token == 4)
        #expect(try graph.history(after: 3) == ["insert Chat d"])
    }

    @Test func `tokens are not reused by the next writer`() throws {
        let folder = try TemporaryFolder()
        let model = try configuredModel("chat")
        for round in 1...3 {
            let graph = try Graph(model, path: folder.path("s.sqlite"))
            #expect(try graph.apply([graph.upsert("Chat", .text("c\(round)"))]).token == Int64(round))
            _ = try graph.writer.purgeHistory(before: .max)
            try graph.writer.close()
        }
        let graph = try Graph(model, path: folder.path("s.sqlite"))
        try graph.apply(graph.upsert("Chat", "last"))
        #expect(try graph.history(after: 3) == ["insert Chat last"])
    }

    @Test func `purge stops at a cursor and takes bites`() throws {
        let graph = try Graph(configuredModel("chat"))
        for number in 1...6 { try graph.apply(graph.upsert("Chat", .text("c\(number)"))) }
        try graph.writer.putCursors(["feed": 4, "other": 9])
        try graph.writer.commit()
        #expect(
            try graph.writer.purgeHistory(before: .max, limit: 3)
                == PurgeResult(
                    transactionCount: 3, changeRowCount: 3, holdingCursors: ["feed": 4], isFinished: false))
        #expect(try graph.writer.purgeHistory(before: .max, limit: 3).transactionCount == 1)
        #expect(try graph.writer.purgeHistory(before: .max, limit: 3).transactionCount == 0)
        #expect(try graph.history(after: 4) == ["insert Chat c5", "insert Chat c6"])
        #expect(try graph.store.read { try $0.cursors() } == ["feed": 4, "other": 9])
    }

    @Test func `reading stops at its bounds`() throws {
        let graph = try Graph(configuredModel("chat"))
        for number in 1...4 {
            try graph.apply([graph.upsert("Chat", .text("a\(number)")), graph.upsert("Chat", .text("b\(number)"))])
        }
        let (few, bounded, atLeastOne) = try graph.store.read {
            (
                try $0.history(after: 1, limit: 2), try $0.history(after: 0, maximumChangeCount: 5),
                try $0.history(after: 0, maximumChangeCount: 1)
            )
        }
        #expect(few.map(\.token) == [2, 3])
        #expect(bounded.map(\.token) == [1, 2])
        #expect(atLeastOne.map(\.token) == [1])
    }
}

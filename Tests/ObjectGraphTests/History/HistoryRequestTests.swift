import ObjectGraph
import Testing

import class Foundation.ProcessInfo

@testable import GraphCore
@testable import SQLiteStorage

@Suite struct HistoryRequestTests {
    /// Two chats and a member, saved at 100, 200, 300 and 50: the clock goes back before the last.
    private static func graph() throws -> Graph {
        let clock = Clock(100)
        let graph = try Graph(configuredModel("chat"), clock: clock)
        try graph.apply(graph.upsert("Chat", "a"), graph.upsert("Member", "m"))
        clock.now = 200
        try graph.apply(graph.upsert("Chat", "a", ["title": "t"]), graph.upsert("Chat", "b"))
        clock.now = 300
        try graph.apply(graph.delete("Chat", "a"))
        clock.now = 50
        try graph.apply(graph.upsert("Chat", "a", ["title": "again"], time: 400))
        return graph
    }

    private func lines(_ result: HistoryResult) -> [String] {
        result.changes.map {
            "\($0.token) \($0.kind.name) \($0.entity) \($0.identity.text ?? "?")"
        }
    }

    private func lines(_ graph: Graph, _ edit: (inout HistoryRequest) -> Void) throws -> [String] {
        var request = HistoryRequest()
        edit(&request)
        let found = try TestStorage.allCases.map { storage in
            lines(try graph.store.read(from: storage) { try $0.history(request) })
        }
        #expect(found.allSatisfy { $0 == found[0] })
        return found[0]
    }

    @Test func `without filters everything comes in the order of the saves not of the clock`() throws {
        let graph = try Self.graph()
        let result = try graph.store.read { try $0.history(HistoryRequest()) }
        #expect(
            lines(result) == [
                "1 insert Chat a", "1 insert Member m", "2 update Chat a", "2 insert Chat b", "3 delete Chat a",
                "4 insert Chat a",
            ])
        #expect(result.transactions.map(\.time) == [100, 200, 300, 50])
        #expect(result.next == nil)
        #expect(result.token.number == 4)
    }

    @Test func `filters by entity object and kind`() throws {
        let graph = try Self.graph()
        #expect(try lines(graph) { $0.entity = "Member" } == ["1 insert Member m"])
        #expect(try lines(graph) { $0.kinds = [.delete] } == ["3 delete Chat a"])
        #expect(try lines(graph) { $0.kinds = [] } == [])
        // The object that was deleted and the one that came again have different primary keys, and one identity.
        let object = try lines(graph) {
            $0.entity = "Chat"
            $0.identity = "a"
        }
        #expect(object == ["1 insert Chat a", "2 update Chat a", "3 delete Chat a", "4 insert Chat a"])
        let none = try lines(graph) {
            $0.entity = "Chat"
            $0.identity = "z"
        }
        #expect(none == [])
    }

    @Test func `since a date is inclusive and before is not`() throws {
        let graph = try Self.graph()
        #expect(try lines(graph) { $0.since = 200 } == ["2 update Chat a", "2 insert Chat b", "3 delete Chat a"])
        #expect(try lines(graph) { $0.before = 200 } == ["1 insert Chat a", "1 insert Member m", "4 insert Chat a"])
        #expect(try lines(graph) { $0.since = 301 } == [])
    }

    @Test func `filters by author and context name`() throws {
        let store = try Store.inMemory(model: configuredModel("chat"))
        for (author, name) in [("one", nil), ("two", "import"), ("one", "import")] as [(String, String?)] {
            var options = WriterContext.Options()
            options.author = author
            options.name = name
            let writer = try WriterContext(store: store, options: options)
            _ = try writer.apply(
                .init(events: [ChangeSet(store.model.upsert("Chat", .text(author + (name ?? "")), []))]))
            try writer.close()
        }
        var byAuthor = HistoryRequest()
        byAuthor.author = "one"
        var byBoth = byAuthor
        byBoth.context = "import"
        #expect(try store.read { try $0.history(byAuthor) }.transactions.map(\.token) == [1, 3])
        #expect(try store.read { try $0.history(byBoth) }.transactions.map(\.token) == [3])
    }

    @Test func `each form of a history request returns its part`() throws {
        let graph = try Self.graph()
        var request = HistoryRequest()
        request.entity = "Chat"
        let page = try graph.store.history(request)
        #expect(page.changes.map(\.token) == [1, 2, 2, 3, 4])
        #expect(page.transactions.map(\.changes.count) == [1, 2, 1, 1])
        #expect(page.objects.map(\.pk) == [1, 2, 3])
        #expect(page.count == 5 && page.hasChanges)
        #expect(try graph.store.historyCount(request) == 5)
        try graph.store.read { [request] in
            let heads = try $0.historyTransactions(request).transactions
            #expect(heads.map(\.token) == [1, 2, 3, 4])
            #expect(heads.map(\.changeCount) == [2, 2, 1, 1])
            #expect(try $0.hasHistory(request))
        }
        request.author = "nobody"
        #expect(try graph.store.history(request).changes.isEmpty)
        let hasHistory = try graph.store.read { [request] in try $0.hasHistory(request) }
        #expect(!hasHistory)
        request.entity = "Nobody"
        #expect(throws: FetchPredicateError.self) { try graph.store.history(request) }
    }

    @Test func `an embedded program writes as its process unless it says otherwise`() throws {
        let graph = try Graph(configuredModel("chat"))
        let store = try Store.inMemory(model: graph.store.model)
        let context = try EditingContext(WriterContext(store: store))
        try context.insert("Chat", identity: "c")
        try context.save()
        #expect(try store.history().transactions.map(\.author) == [ProcessInfo.processInfo.processName])
    }

    @Test(arguments: 1...7, TestStorage.allCases)
    func `pages of any size together are the whole`(_ limit: Int, _ storage: TestStorage) throws {
        let graph = try Self.graph()
        let whole = lines(try graph.store.read { try $0.history(HistoryRequest()) })
        var request: HistoryRequest? = HistoryRequest()
        request?.limit = limit
        var paged: [String] = []
        while let current = request {
            let page = try graph.store.read(from: storage) { try $0.history(current) }
            #expect(page.count <= limit)
            paged += lines(page)
            request = page.next
            // Whoever remembers only the token sees an unfinished transaction again, and never misses one.
            if let next = page.next { #expect(page.token == next.after) }
        }
        #expect(paged == whole)
    }

    @Test(arguments: [Int.min, 0, Int.max]) func `a limit of any size is taken`(_ limit: Int) throws {
        let graph = try Self.graph()
        var request = HistoryRequest()
        request.limit = limit
        let page = try graph.store.history(request)
        #expect(page.hasChanges)
        #expect((page.next == nil) == (limit == .max))
        let heads = try graph.store.read { [request] in try $0.historyTransactions(request) }
        #expect(!heads.transactions.isEmpty)
        #expect((heads.next == nil) == (limit == .max))
        #expect(
            try graph.store.read { try $0.transaction(1, from: limit, limit: 5) }?.changes.count
                == (limit == .max ? 0 : 2))
    }

    // MARK: Tokens

    @Test func `a token is read back from its text`() throws {
        let graph = try Self.graph()
        let token = try graph.store.read { try $0.historyToken() }
        #expect(token.number == 4)
        let read = try HistoryToken("\(token)")
        #expect(read == token)
        for text in ["", "4", ":4", "s:", "s:x", "s:-1", "s:1:2"] {
            let error = #expect(throws: StoreError.self) { try HistoryToken(text) }
            #expect(error?.code == .historyMalformedToken)
        }
    }

    @Test(arguments: TestStorage.allCases)
    func `a token of another store is refused`(_ storage: TestStorage) throws {
        let graph = try Self.graph()
        let foreign = HistoryToken(store: "other", number: 1)
        let error = #expect(throws: StoreError.self) {
            try graph.store.read(from: storage) { try $0.history(HistoryRequest(after: foreign)) }
        }
        #expect(error?.code == .historyForeignToken)
        #expect(error?.coreDataCode == 134_501)
    }

    @Test(arguments: TestStorage.allCases)
    func `an expired token is refused with the way back`(_ storage: TestStorage) throws {
        let graph = try Self.graph()
        _ = try graph.writer.purgeHistory(HistoryPurge(before: .token(3)))
        let store = try graph.store.identity()
        let error = #expect(throws: StoreError.self) {
            try graph.store.read(from: storage) {
                try $0.history(HistoryRequest(after: HistoryToken(store: store, number: 1)))
            }
        }
        #expect(error?.code == .historyExpired)
        #expect(error?.coreDataCode == 134_301)
        // How to go on: the store itself is read, and the history from the token that it had.
        let remedy = error?.remedy ?? ""
        #expect(remedy.contains("Read the store itself") && remedy.contains("token"), "\(remedy)")
        // Nothing was missed after the last purged transaction.
        let after = HistoryRequest(after: HistoryToken(store: store, number: 2))
        #expect(try graph.store.read(from: storage) { try $0.history(after) }.transactions.map(\.token) == [3, 4])
    }

    @Test(arguments: TestStorage.allCases)
    func `a token ahead of the history is refused`(_ storage: TestStorage) throws {
        let graph = try Self.graph()
        let ahead = HistoryToken(store: try graph.store.identity(), number: 5)
        let error = #expect(throws: StoreError.self) {
            try graph.store.read(from: storage) { try $0.history(HistoryRequest(after: ahead)) }
        }
        #expect(error?.code == .historyTokenAhead)
    }

    @Test func `an unknown entity is refused`() throws {
        let graph = try Self.graph()
        #expect(throws: FetchPredicateError.self) { try lines(graph) { $0.entity = "Nothing" } }
        #expect(throws: FetchPredicateError.self) { try lines(graph) { $0.identity = "a" } }
    }

    // MARK: Ranges, as batch requests write them

    /// Ten chats, of which the history says in one range that some were updated.
    private static func ranged(_ keys: [Int64]) throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply((1...10).map { graph.upsert("Chat", .text("c\($0)")) })
        try graph.writer.write("write a range") { store in
            let history = HistoryWriter(
                store, time: 0, author: "a", context: nil, source: nil, nextChange: try store.nextChangeID())
            try history.append(
                keys: keys, entity: graph.model.entities[0], kind: .update, properties: "title", to: store)
            _ = try history.close()
        }
        try graph.restart()
        return graph
    }

    @Test(.onlyInSQLite("it writes a range with SQL"), arguments: [[2, 3, 4], [1, 4, 9]] as [[Int64]])
    func `ranges read as the changes they stand for`(_ keys: [Int64])
        throws
    {
        let graph = try Self.ranged(keys)
        let names = keys.map { "update Chat c\($0) title" }
        #expect(try graph.history(after: 1) == names)
        #expect(
            try graph.column("SELECT identity FROM _history WHERE token = 2 ORDER BY identity").compactMap(\.text)
                == keys.map { "c\($0)" })
        var count = HistoryRequest()
        count.kinds = [.update]
        #expect(try graph.store.historyCount(count) == 3)
        for key in 1...10 {
            var object = HistoryRequest()
            object.entity = "Chat"
            object.identity = .text("c\(key)")
            object.kinds = [.update]
            let isIn = keys.contains(Int64(key))
            #expect(try graph.store.read { try $0.history(object) }.count == (isIn ? 1 : 0))
            let heads = try graph.store.read { [object] in try $0.historyTransactions(object) }
            #expect(heads.transactions.map(\.token) == (isIn ? [2] : []))
            #expect(try graph.store.historyCount(object) == (isIn ? 1 : 0))
        }
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test(.onlyInSQLite("it writes a range with SQL"))
    func `a range keeps the identities of objects that were deleted after it`() throws {
        let graph = try Self.ranged([2, 3, 5])
        try graph.apply(graph.delete("Chat", "c3"))
        #expect(
            try graph.history(after: 1) == [
                "update Chat c2 title", "update Chat c3 title", "update Chat c5 title", "delete Chat c3",
            ])
        #expect(
            try graph.column("SELECT identity FROM _history WHERE token = 2").compactMap(\.text).sorted()
                == ["c2", "c3", "c5"])
    }

    @Test(.onlyInSQLite("it writes ranges with SQL"))
    func `ranges are read page by page`() throws {
        let graph = try Self.ranged([2, 3, 4, 5])
        let pages = try graph.store.read { context in
            try (0..<4).map { try context.transaction(2, from: $0, limit: 2)?.changes.map(\.pk) ?? [] }
        }
        #expect(pages == [[2, 3], [3, 4], [4, 5], [5]])
        var request: HistoryRequest? = HistoryRequest()
        request?.limit = 3
        var found: [Int64] = []
        while let current = request {
            let page = try graph.store.read { try $0.history(current) }
            found += page.transactions.flatMap(\.changes).map(\.pk)
            request = page.next
        }
        #expect(found == Array(1...10) + [2, 3, 4, 5])
    }

    @Test func `the index of deletions finds what became of the objects of a range`() throws {
        let graph = try Graph(configuredModel("chat"))
        let lookUps = [
            """
            SELECT object, identity FROM _history_change \
            WHERE change = 2 AND entity = ? AND object BETWEEN ? AND ? AND id > ?
            """,
            "SELECT identity FROM _history",
        ]
        for sql in lookUps {
            let plan = try graph.rows("EXPLAIN QUERY PLAN \(sql)").compactMap(\.[3].text)
            #expect(plan.contains { $0.contains("_history_change_deletion (object>? AND object<?)") }, "\(plan)")
        }
    }

    @Test func `the index by object is used where it is wished`() throws {
        var options = Store.Options()
        options.indexesHistoryByObject = true
        let store = try Store.inMemory(model: configuredModel("chat"), options: options)
        let plan = try store.sqlite().onWriter { handle in
            let statement = try PreparedStatement(
                handle,
                sql:
                    "EXPLAIN QUERY PLAN SELECT 1 FROM _history_change c WHERE c.id >= 1 AND c.entity = 'Chat' AND c.object IN (4)"
            )
            return try statement.step() ? statement.text(3) : ""
        }
        #expect(plan.contains("_history_change_object"))
    }
}

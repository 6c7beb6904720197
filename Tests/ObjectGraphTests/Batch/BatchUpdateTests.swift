import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct BatchUpdateTests {
    private func chats() throws -> Graph {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply([graph.upsert("Chat", "c"), graph.upsert("Chat", "d", ["title": "kept"])])
        try graph.apply(
            (1...9).map { graph.upsert("Message", .text("m\($0)"), ["chat": "c", "seq": .value(.integer($0))]) })
        return graph
    }

    @Test func `sets constants where the condition holds`() throws {
        let graph = try chats()
        let result = try graph.writer.execute(
            BatchUpdateRequest("Message", where: "seq > 6", set: ["body": .value("b"), "seq": .value(0)]))
        #expect(result.count == 3)
        #expect(result.token == 3)
        #expect(
            try graph.column("SELECT id FROM Message WHERE body = 'b' AND seq = 0 ORDER BY id") == ["m7", "m8", "m9"])
        #expect(
            try graph.history(after: 2) == [
                "update Message m7 body,seq", "update Message m8 body,seq", "update Message m9 body,seq",
            ])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `a computed value with a rule is set beside a constant`() throws {
        let graph = try chats()
        let result = try graph.writer.execute(
            BatchUpdateRequest("Message", set: ["body": .value("b"), "seq": .expression("seq + 1")]))
        #expect(result.count == 9)
        let numbers = try graph.column("SELECT seq FROM Message WHERE body = 'b' ORDER BY seq")
        #expect(numbers == (2...10).map { .integer($0) })
    }

    @Test func `objects that hold the values already are left alone and nothing leaves no trace`() throws {
        let graph = try chats()
        let some = BatchUpdateRequest("Message", set: ["seq": .value(4)])
        #expect(try graph.writer.execute(some).count == 8)
        let again = try graph.writer.execute(some)
        #expect(again.count == 0)
        #expect(again.token == nil)
        #expect(try graph.store.read { try $0.lastToken() } == 3)
    }

    @Test func `a derived copy of any type follows`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    attributes:
                      id: { type: string }
                      key: { type: uuid, optional: true }
                      data: { type: binary, optional: true }
                      text: { type: string, optional: true }
                      keyCopy: { type: uuid, derived: key }
                      dataCopy: { type: binary, derived: data }
                      textCopy: { type: string, derived: text }
                """)
        try graph.apply(graph.upsert("E", "x"))
        let key = UUID()
        // No text of PostgreSQL has a NUL.
        let text = TestStorage.current == .postgres ? "ab" : "a\0b"
        _ = try graph.writer.execute(
            BatchUpdateRequest(
                "E", set: ["key": .value(key), "data": .value(Data([0, 1, 255])), "text": .value(text)]))
        let row = try #require(try graph.rows("SELECT key, keyCopy, data, dataCopy, text, textCopy FROM E").first)
        #expect(row[0] == .blob(withUnsafeBytes(of: key.uuid) { [UInt8]($0) }) && row[1] == row[0])
        #expect(row[2] == .blob([0, 1, 255]) && row[3] == row[2])
        #expect(row[4] == .text(text) && row[5] == row[4])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test(.onlyInSQLite("memory names the changed properties only"))
    func `expressions read what was there before`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    attributes:
                      id: { type: string }
                      a: { type: integer64, default: 1 }
                      b: { type: double, default: 2 }
                      price: { type: decimal, optional: true }
                      total: { type: decimal, derived: price * 2 }
                """)
        try graph.apply(graph.upsert("E", "x", ["price": "0.10"]), graph.upsert("E", "y", ["a": 5]))
        let result = try graph.writer.execute(
            BatchUpdateRequest(
                "E", set: ["a": .expression("b + 1"), "b": .expression("a"), "price": .expression("price * 3")]))
        #expect(result.count == 2)
        #expect(
            try graph.rows("SELECT a, b, price, total FROM E ORDER BY id")
                == [[3, .double(1), "0.3", "0.6"], [3, .double(5), .null, .null]])
        #expect(try graph.history(after: 1) == ["update E x a,b,price,total", "update E y a,b,price,total"])
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `sums over the objects and what follows from them are kept true`() throws {
        let graph = try Graph(configuredModel("work-orders"))
        try graph.apply([
            graph.upsert("Asset", "a"), graph.upsert("WorkOrder", "w", ["asset": "a", "cost": "10", "taxRate": "0.5"]),
            graph.upsert("WorkOrder", "v", ["asset": "a", "cost": "1"]),
            graph.upsert("ChecklistItem", "i", ["workOrder": "w", "minutes": 5]),
        ])
        let result = try graph.writer.execute(
            BatchUpdateRequest("WorkOrder", where: "taxRate > 0", set: ["cost": .expression("cost + 2")]))
        #expect(result.count == 1)
        #expect(result.changes.total == 2)
        #expect(try graph.value("WorkOrder", "w", "totalCost") == "18")
        #expect(try graph.value("Asset", "a", "maintenanceCost") == "13")
        _ = try graph.writer.execute(BatchUpdateRequest("ChecklistItem", set: ["minutes": .value(7)]))
        #expect(try graph.value("WorkOrder", "w", "minutesPlanned") == 7)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `a value that the model forbids refuses the request as a whole`() throws {
        let graph = try chats()
        func code(_ assignment: BatchUpdateRequest.Assignment) throws -> Int? {
            let error = #expect(throws: BatchError.self) {
                try graph.writer.execute(BatchUpdateRequest("Message", set: ["seq": assignment]))
            }
            #expect(error?.coreDataCode == 134_050)
            return error?.failure?.code
        }
        #expect(try code(.value(-1)) == 1620)
        #expect(try code(.value(nil)) == 1570)
        // Only the first message would get a negative number.
        #expect(try code(.expression("seq - 2")) == 1620)
        #expect(try graph.column("SELECT seq FROM Message ORDER BY id") == (1...9).map { .integer($0) })
        #expect(try graph.store.read { try $0.lastToken() } == 2)
        #expect(try graph.apply(graph.upsert("Chat", "later")) == ["applied"])
    }

    @Test func `a value taken twice refuses the request as a whole`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    attributes: { id: { type: string }, code: { type: integer64, optional: true, unique: true } }
                """)
        try graph.apply([graph.upsert("E", "x"), graph.upsert("E", "y")])
        let error = #expect(throws: BatchError.self) {
            try graph.writer.execute(BatchUpdateRequest("E", set: ["code": .value(1)]))
        }
        #expect(error?.code == .refused)
        #expect(try graph.column("SELECT code FROM E") == [.null, .null])
    }

    /// SQLite checks row by row: the way of each value to its new object leads over one that has it still.
    @Test func `objects pass unique values on to each other`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  Base:
                    abstract: true
                    identity: id
                    attributes:
                      id: { type: string }
                      code: { type: integer64, optional: true, unique: true }
                      other: { type: integer64, optional: true }
                      doubled: { type: integer64, optional: true, derived: code * 2 }
                  First: { parent: Base }
                  Second: { parent: Base }
                """)
        try graph.apply(
            (Int64(1)...6).map { number in
                graph.upsert(
                    number % 2 == 0 ? "First" : "Second", .text("\(number)"),
                    ["code": .value(Value.integer(number)), "other": .value(Value.integer(7 - number))])
            })
        let moved = try graph.writer.execute(BatchUpdateRequest("Base", set: ["code": .expression("code + 1")]))
        #expect(moved.count == 6)
        #expect(try graph.column("SELECT code FROM Base ORDER BY id") == (2...7).map { .integer($0) })
        let swapped = try graph.writer.execute(
            BatchUpdateRequest("Base", set: ["code": .expression("other"), "other": .expression("code")]))
        // One has the same value in both.
        #expect(swapped.count == 5)
        #expect(try graph.column("SELECT code FROM Base ORDER BY id") == (1...6).reversed().map { .integer($0) })
        #expect(try graph.column("SELECT other FROM Base ORDER BY id") == (2...7).map { .integer($0) })
        #expect(try graph.column("SELECT doubled FROM Base ORDER BY id") == (1...6).reversed().map { .integer($0 * 2) })
        // At the end two would have 3.
        let error = #expect(throws: BatchError.self) {
            try graph.writer.execute(
                BatchUpdateRequest("Base", where: "code > 1", set: ["code": .expression("code / code + 2")]))
        }
        #expect(error?.code == .refused)
        #expect(try graph.column("SELECT code FROM Base ORDER BY id") == (1...6).reversed().map { .integer($0) })
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test(arguments: ["id", "messagesCount", "nothing", "messages"])
    func `a batch update refuses values that cannot be assigned`(_ name: String) throws {
        let graph = try chats()
        #expect(throws: (any Error).self) {
            try graph.writer.execute(BatchUpdateRequest("Chat", set: [name: .value("x")]))
        }
    }

    @Test func `placeholders are left alone`() throws {
        let graph = try chats()
        try graph.apply(graph.upsert("Message", "late", ["chat": "unknown"]))
        let result = try graph.writer.execute(BatchUpdateRequest("Chat", set: ["title": .value("t")]))
        #expect(result.count == 2)
        #expect(try graph.value("Chat", "unknown", "title") == .null)
    }

    @Test func `a condition over relationships is decided before the first change`() throws {
        let graph = try Graph(yaml: Models.people)
        try graph.apply(
            (1...5).map { number in
                graph.upsert(
                    "Person", .text("p\(number)"),
                    number == 1 ? ["salary": 1] : ["salary": 1, "manager": .value(.text("p\(number - 1)"))])
            })
        let result = try graph.writer.execute(
            BatchUpdateRequest("Person", where: "manager.salary = 1", set: ["salary": .value(2)]))
        #expect(result.count == 4)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `a batch update returns the changed objects on request`() throws {
        let graph = try chats()
        var request = BatchUpdateRequest("Message", where: "seq <= 2", set: ["seq": .value(0)])
        request.resultKind = .objects
        #expect(try graph.writer.execute(request).objects.map(\.identity) == ["m1", "m2"])
    }

    /// More objects than keys are listed: the table is changed window by window.
    @Test(arguments: [nil, "seq = 1", "id != 'm00004'"]) func `many objects are changed in windows`(
        _ condition: String?
    )
        throws
    {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c"))
        _ = try graph.rows(
            """
            INSERT INTO Message (pk, id, chat, seq) WITH RECURSIVE n(i) AS \
            (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
            SELECT i * 2, printf('m%05d', i), 1, i % 2 FROM n
            """)
        _ = try graph.rows("UPDATE Chat SET messagesCount = 50000")
        _ = try graph.rows("INSERT OR REPLACE INTO _sequence VALUES ('Message', 100001)")
        try graph.restart()
        let expected = try graph.column(
            "SELECT id FROM Message WHERE seq != 7 AND \(condition ?? "1") ORDER BY pk")
        let result = try graph.writer.execute(BatchUpdateRequest("Message", where: condition, set: ["seq": .value(7)]))
        #expect(result.count == expected.count)
        #expect(try graph.value("SELECT count(*) FROM Message WHERE seq = 7") == .integer(Int64(expected.count)))
        #expect(try graph.value("SELECT count(*) FROM _history_change") == 1)
        var found: [Value] = []
        var index: Int? = 0
        while let start = index {
            let page = try graph.store.read { try $0.transaction(2, from: start, limit: 7000) }
            found += page?.changes.map(\.identity) ?? []
            index = page?.nextIndex
        }
        #expect(found == expected)
        #expect(try graph.store.inSQLite().verify().isSound)
    }
}

import ObjectGraph
import Testing

@testable import GraphCore

@Suite struct BatchInsertTests {
    @Test func `inserts with defaults relationships and derived values`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c"))
        let rows = (1...1200).map { ["id": .text("m\($0)"), "chat": "c"] as [String: Value] }
        let result = try graph.writer.execute(BatchInsertRequest("Message", values: rows))
        #expect(result.count == 1200)
        #expect(result.token == 2)
        #expect(try graph.value("SELECT count(*) FROM Message WHERE seq = 0 AND chat = 1") == 1200)
        #expect(try graph.value("Chat", "c", "messagesCount") == 1200)
        #expect(try graph.store.inSQLite().verify().isSound)
    }

    @Test func `a row that meets an object leaves absent attributes alone`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Member", "m", ["name": "n", "email": "a@b.c"]))
        let result = try graph.writer.execute(BatchInsertRequest("Member", values: [["id": "m", "name": "new"]]))
        #expect(result.count == 1)
        #expect(try graph.rows("SELECT name, email FROM Member") == [["new", "a@b.c"]])
        #expect(try graph.history(after: 1) == ["update Member m name"])
    }

    @Test func `rows meet objects by another unique attribute`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    attributes:
                      id: { type: string }
                      code: { type: integer64, optional: true, unique: true }
                      text: { type: string, default: d }
                """)
        try graph.apply(graph.upsert("E", "old", ["code": 1, "text": "kept"]))
        var request = BatchInsertRequest(
            "E", values: [["id": "x", "code": 1], ["id": "y", "code": 2], ["id": "z", "code": 2, "text": "two"]])
        request.matching = "code"
        _ = try graph.writer.execute(request)
        #expect(try graph.rows("SELECT id, code, text FROM E ORDER BY id") == [["old", 1, "kept"], ["y", 2, "two"]])
    }

    private static let people = """
        entities:
          Person:
            identity: id
            version: v
            attributes:
              id: { type: string }
              email: { type: string, optional: true, unique: true }
              v: { type: integer64, optional: true }
        """

    /// - Parameter count: the number of rows between the two.
    @Test(arguments: [0, 1, 500], [nil, "new"] as [String?])
    func `a row may take the value that a row before gave away`(_ count: Int, _ email: String?) throws {
        let graph = try Graph(yaml: Self.people)
        try graph.apply(graph.upsert("Person", "a", ["email": "old"]))
        let others = (0..<count).map { ["id": .text("o\($0)"), "email": .text("e\($0)")] as [String: Value] }
        let new = email.map { Value.text($0) } ?? .null
        var request = BatchInsertRequest(
            "Person", values: [["id": "a", "email": new]] + others + [["id": "b", "email": "old"]])
        request.matching = "email"
        #expect(try graph.writer.execute(request).count == count + 2)
        #expect(
            try graph.rows("SELECT id, email FROM Person WHERE id IN ('a', 'b') ORDER BY id")
                == [["a", new], ["b", "old"]])
    }

    @Test(arguments: [0, 1, 500]) func `a stale row gives no value away and takes none`(_ count: Int) throws {
        let graph = try Graph(yaml: Self.people)
        try graph.apply(graph.upsert("Person", "a", ["email": "old", "v": 9]))
        let others = (0..<count).map { ["id": .text("o\($0)"), "email": .text("e\($0)")] as [String: Value] }
        var request = BatchInsertRequest(
            "Person",
            values: [["id": "a", "email": "new", "v": 8]] + others
                + [["id": "b", "email": "old", "v": 10], ["id": "c", "email": "new", "v": 10]])
        request.matching = "email"
        let result = try graph.writer.execute(request)
        #expect(result.staleCount == 1)
        #expect(
            try graph.rows("SELECT id, email, v FROM Person WHERE v = 10 ORDER BY id")
                == [["a", "old", 10], ["c", "new", 10]])
    }

    @Test func `the number of a refused row counts those of a chunk that ended early`() throws {
        let graph = try Graph(yaml: Self.people)
        try graph.apply(graph.upsert("Person", "a", ["email": "old"]))
        var request = BatchInsertRequest(
            "Person",
            values: [["id": "a", "email": "new"], ["id": "b", "email": "old"], ["email": "x"]])
        request.matching = "email"
        let error = #expect(throws: BatchError.self) { try graph.writer.execute(request) }
        #expect(error?.row == 3)
        #expect(try graph.rows("SELECT id, email FROM Person") == [["a", "old"]])
    }

    /// Core Data's entities need no identity: they get a hidden one.
    @Test func `rows without identity get a new one`() throws {
        let model = try CoreDataModels.read(
            """
            <entity name="Item"><attribute name="x" attributeType="Integer 64" optional="YES"/>
            <attribute name="code" attributeType="Integer 64" optional="YES"/>
            <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint></uniquenessConstraints>
            </entity>
            """)
        let graph = try Graph(model)
        _ = try graph.writer.execute(BatchInsertRequest("Item", values: [["x": 1], ["x": 1]]))
        var request = BatchInsertRequest("Item", values: [["code": 5, "x": 2], ["code": 5, "x": 3]])
        request.matching = "code"
        _ = try graph.writer.execute(request)
        #expect(try graph.rows("SELECT x, code FROM Item ORDER BY pk") == [[1, nil], [1, nil], [3, 5]])
        #expect(try graph.rows("SELECT count(DISTINCT _identity), min(length(_identity)) FROM Item") == [[3, 16]])
    }

    /// Core Data overwrites what the row does not name with defaults; here defaults are for new objects.
    @Test func `a row that claims a unique value is merged by the model's policy and keeps the rest`() throws {
        let graph = try Graph(
            yaml: """
                entities:
                  E:
                    identity: id
                    mergePolicy: objectTrump
                    attributes:
                      id: { type: string }
                      code: { type: integer64, unique: true }
                      text: { type: string, default: d }
                      size: { type: integer64, default: 1 }
                    relationships: { next: { to: E, inverse: none, optional: true } }
                """)
        try graph.apply(
            graph.upsert("E", "n", ["code": 9]),
            graph.upsert("E", "old", ["code": 1, "text": "kept", "size": 5, "next": "n"]))
        _ = try graph.writer.execute(BatchInsertRequest("E", values: [["id": "x", "code": 1, "size": 7]]))
        #expect(
            try graph.rows("SELECT id, code, text, size, next IS NULL FROM E ORDER BY id")
                == [["n", 9, "d", 1, 1], ["old", 1, "kept", 7, 0]])
    }

    @Test func `a row that breaks a rule refuses all and is named`() throws {
        let graph = try Graph(configuredModel("chat"))
        let rows = (1...700).map { number -> [String: Value] in
            ["id": .text("m\(number)"), "email": number == 650 ? "no address" : "a@b.c"]
        }
        let error = #expect(throws: BatchError.self) {
            try graph.writer.execute(BatchInsertRequest("Member", values: rows))
        }
        #expect(error?.row == 650)
        #expect(error?.code == .refused)
        #expect(try graph.identities("Member").isEmpty)
        #expect(try graph.apply(graph.upsert("Member", "m1")) == ["applied"])
    }

    @Test func `a row older than its object is stale`() throws {
        let graph = try Graph(configuredModel("chat"))
        try graph.apply(graph.upsert("Chat", "c", ["updatedAt": 9, "title": "new"]))
        let result = try graph.writer.execute(
            BatchInsertRequest("Chat", values: [["id": "c", "updatedAt": Value.integer(8), "title": "old"]]))
        #expect(result.staleCount == 1)
        #expect(try graph.value("Chat", "c", "title") == "new")
    }

    @Test(arguments: [["name": "n"], ["id": "x", "nothing": 1], ["id": 4]] as [[String: Value]])
    func `a row that does not fit the model is refused`(_ row: [String: Value]) throws {
        let graph = try Graph(configuredModel("chat"))
        #expect(throws: (any Error).self) { try graph.writer.execute(BatchInsertRequest("Member", values: [row])) }
        #expect(try graph.identities("Member").isEmpty)
    }
}

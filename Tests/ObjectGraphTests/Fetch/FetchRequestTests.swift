import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

struct FetchRequestTests {
    private let fixture: ReadingFixture

    init() throws {
        let model = try ReadingFixture.model(.chat)
        func up(_ entity: String, _ id: String, _ said: [String: ReadingFixture.Said]) -> ChangeSet {
            ReadingFixture.upsert(model, entity, id, said)
        }
        fixture = try ReadingFixture(
            model: model,
            [
                up("Member", "m1", ["name": .text("Ada"), "email": .text("ada@example.org")]),
                up("Chat", "c1", ["title": .text("Work"), "members": .many(["m2", "m1"])]),
                up("Chat", "c2", ["title": .text("Home")]),
                up(
                    "Message", "x1",
                    [
                        "body": .text("a \"quoted\"\n\u{1B}[31mtext"), "sentAt": .text("2026-01-02T03:04:05.5Z"),
                        "chat": .one("c1"), "sender": .one("m1"), "seq": .text("2"),
                    ]),
                up("Message", "x2", ["sentAt": .text("2026-01-03T00:00:00Z"), "chat": .one("c2"), "seq": .text("1")]),
                up("Message", "x3", ["chat": .one("c1"), "seq": .text("2")]),
            ])
    }

    private func fetch(_ entity: String, _ change: (inout FetchRequest) -> Void = { _ in }) throws -> [FetchedObject] {
        var request = FetchRequest(entity)
        change(&request)
        return try fixture.fetch(request)
    }

    private func ids(_ objects: [FetchedObject]) -> [String] { objects.compactMap { $0["id"]?.text } }

    @Test func `delivers values and the identities of destinations`() throws {
        let objects = try fetch("message") { $0.condition = .text("id = 'x1'") }
        let object = try #require(objects.first)
        #expect(object.entity.name == "Message")
        #expect(!object.isPlaceholder)
        #expect(object["chat"] == .text("c1"))
        #expect(object["sender"] == .text("m1"))
        #expect(object["seq"] == .integer(2))
        #expect(object["sentAt"] == .integer(1_767_323_045_500_000))
        #expect(object["updatedAt"] == .null)
        #expect(object["nothing"] == nil)
        #expect(object.identities(of: "chat") == nil)
    }

    @Test func `a reference that dangles is missing in every condition`() throws {
        let fixture = try ReadingFixture(yaml: Models.rules)
        func up(_ entity: String, _ id: String, _ box: String? = nil) -> ChangeSet {
            ReadingFixture.upsert(fixture.model, entity, id, box.map { ["box": .one($0)] } ?? [:])
        }
        try fixture.apply([up("Trace", "dangling", "gone"), up("Trace", "held", "kept"), up("Trace", "none")])
        // Who comes back under the same identity is another object.
        for event in [ReadingFixture.delete(fixture.model, "Box", "gone"), up("Box", "gone")] {
            try fixture.apply([event])
            for condition in ["box == nil", "box.id == nil", "NOT box != nil", "box IN {nil}"] {
                #expect(try fixture.identities("Trace", condition) == ["dangling", "none"], "\(condition)")
            }
            for condition in ["box != nil", "box.id != nil", "box == 'kept'", "NOT box == nil"] {
                #expect(try fixture.identities("Trace", condition) == ["held"], "\(condition)")
            }
            #expect(try fixture.identities("Trace", "box == 'gone'") == [])
            #expect(try fixture.identities("Box", "ANY traces.box == SELF") == ["kept"])
        }
        var request = FetchRequest("Trace")
        (request.properties, request.groupBy, request.sort) = (["box", "count() AS traces"], ["box"], ["box"])
        for storage in TestStorage.allCases {
            let rows = try fixture.store.read(from: storage) { try $0.rows(request) }
            #expect(rows.map { [$0["box"], $0["traces"]] } == [[.null, 2], ["kept", 1]], "\(storage)")
        }
    }

    @Test func `a fetch writes JSON`() throws {
        var output = ""
        try fetch("Message") { $0.condition = .text("id = 'x1'") }.first?.appendJSON(to: &output)
        #expect(
            output == #"{"id":"x1","body":"a \"quoted\"\n\u001b[31mtext","sentAt":"2026-01-02T03:04:05.500Z","#
                + #""updatedAt":null,"seq":2,"chat":"c1","sender":"m1"}"#)
        output = ""
        try fetch("Chat") {
            $0.condition = .text("id = 'c1'")
            $0.properties = ["title", "members", "messages", "membersCount"]
        }.first?.appendJSON(to: &output)
        #expect(output == #"{"title":"Work","members":["m1","m2"],"messages":["x1","x3"],"membersCount":2}"#)
        output = ""
        try fetch("Member") {
            $0.condition = .text("id = 'm2'")
            $0.properties = ["id", "chats"]
        }.first?.appendJSON(to: &output)
        #expect(output == #"{"id":"m2","chats":["c1"],"_placeholder":true}"#)
    }

    @Test func `writes decimals booleans and UUIDs`() throws {
        let model = try ObjectModel.parse(
            """
            model: m
            entities:
              Thing:
                identity: id
                attributes:
                  id: { type: uuid }
                  price: { type: decimal }
                  isDone: { type: boolean }
                  data: { type: binary }
                  detail: { type: transformable }
            """)
        let id = "123e4567-e89b-12d3-a456-426614174000"
        let things = try ReadingFixture(
            model: model,
            [
                ReadingFixture.upsert(
                    model, "Thing", id,
                    [
                        "price": .text("12.50"), "isDone": .text("yes"), "data": .text("AAE="),
                        "detail": .text(#"{"a":[1]}"#),
                    ])
            ])
        var output = ""
        try things.fetch(FetchRequest("Thing")).first?.appendJSON(to: &output)
        #expect(output == #"{"id":"\#(id)","price":12.5,"isDone":true,"data":"AAE=","detail":{"a":[1]}}"#)
    }

    @Test func `a fetch sorts its objects`() throws {
        #expect(ids(try fetch("Message") { $0.sort = ["-sentAt"] }) == ["x2", "x1", "x3"])
        #expect(ids(try fetch("Message") { $0.sort = ["sentAt asc"] }) == ["x3", "x1", "x2"])
        #expect(ids(try fetch("Message") { $0.sort = ["chat.title", "id desc"] }) == ["x2", "x3", "x1"])
        #expect(ids(try fetch("Message") { $0.sort = ["-chat", "-id"] }) == ["x2", "x3", "x1"])
        #expect(ids(try fetch("Chat") { $0.sort = ["-messages.@count"] }) == ["c1", "c2"])
        #expect(ids(try fetch("Message") { $0.sort = ["seq"] }) == ["x2", "x1", "x3"])
    }

    @Test func `sorts decimals as numbers`() throws {
        let model = try ReadingFixture.model(.workOrders)
        let costs = [
            "w1": "9", "w2": "10.5", "w3": "0.25", "w4": "1000000000000000000000.5", "w5": "1000000000000000000000",
        ]
        let orders = try ReadingFixture(
            model: model,
            costs.sorted { $0.key < $1.key }.map {
                ReadingFixture.upsert(model, "WorkOrder", $0.key, ["cost": .text($0.value)])
            })
        var request = FetchRequest("WorkOrder")
        request.sort = ["cost"]
        #expect(ids(try orders.fetch(request)) == ["w3", "w1", "w2", "w5", "w4"])
    }

    @Test func `limits and skips`() throws {
        #expect(ids(try fetch("Message") { ($0.sort, $0.limit, $0.offset) = (["id"], 1, 1) }) == ["x2"])
        #expect(ids(try fetch("Message") { ($0.sort, $0.offset) = (["id"], 2) }) == ["x3"])
        #expect(ids(try fetch("Message") { $0.limit = 0 }).isEmpty)
        func count(_ change: (inout FetchRequest) -> Void) throws -> Int {
            var request = FetchRequest("Message")
            change(&request)
            return try fixture.store.read { try $0.count(request) }
        }
        #expect(try count { _ in } == 3)
        #expect(try count { $0.limit = 2 } == 2)
        #expect(try count { $0.offset = 2 } == 1)
        #expect(try count { $0.offset = 5 } == 0)
        #expect(try count { $0.condition = .text("chat.title = 'Work'") } == 2)
    }

    @Test func `leaves placeholders out on request`() throws {
        #expect(ids(try fetch("Member") { $0.sort = ["id"] }) == ["m1", "m2"])
        #expect(ids(try fetch("Member") { $0.includesPlaceholders = false }) == ["m1"])
    }

    @Test func `stops and passes errors on`() throws {
        struct Enough: Error {}
        let request = try FetchRequest("Message").checked(with: fixture.model)
        try fixture.store.read { context in
            var seen = 0
            try context.fetch(request) { _ in
                seen += 1
                return seen < 2
            }
            #expect(seen == 2)
            #expect(throws: Enough.self) { try context.fetch(request) { _ in throw Enough() } }
            // Fetches may be nested, those with decimals too.
            try context.fetch(request) { _ in try context.fetch(request).count == 3 }
        }
        #expect(throws: FetchPredicateError.self) {
            try fixture.store.sqlite().database.read { database in
                try ReadContext(database: database, model: fixture.model).fetch(FetchRequest("Nothing"))
            }
        }
    }

    @Test func `nests fetches that order decimals`() throws {
        let model = try ReadingFixture.model(.workOrders)
        let orders = try ReadingFixture(
            model: model,
            (1...5).map { ReadingFixture.upsert(model, "WorkOrder", "w\($0)", ["cost": .text("\($0)")]) })
        var request = FetchRequest("WorkOrder", where: "cost > 0")
        request.sort = ["cost"]
        let checked = try request.checked(with: model)
        var counts: [Int] = []
        try orders.store.read { context in
            try context.fetch(checked) { _ in
                counts.append(try context.fetch(checked).count)
                return true
            }
        }
        #expect(counts == [5, 5, 5, 5, 5])
    }

    @Test func `refuses a request of another model`() throws {
        let other = try FetchRequest("Message").checked(with: try ReadingFixture.model(.chat))
        #expect(throws: StoreError.self) { try fixture.store.read { try $0.fetch(other) } }
    }

    @Test func `lays a table out`() throws {
        let objects = try fetch("Message") {
            ($0.sort, $0.properties) = (["id"], ["id", "seq", "body", "sender"])
        }
        #expect(
            FetchedTable().text(objects)
                == """
                id  seq  body                   sender
                ──  ───  ─────────────────────  ──────
                x1    2  a "quoted"··[31mtext  m1
                x2    1
                x3    2

                """.replacing("─────────────────────", with: "────────────────────").replacing(
                    "body                   sender", with: "body                  sender"))
        var narrow = FetchedTable()
        narrow.maximumColumnWidth = 5
        #expect(narrow.text(objects).contains("a \"q…"))
        #expect(FetchedTable().text([FetchedObject]()).isEmpty)
    }
}

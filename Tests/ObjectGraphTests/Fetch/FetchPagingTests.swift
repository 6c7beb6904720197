import ObjectGraph
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Pages, batches and rows over a store with ties, missing values and every kind of sort key.
struct FetchPagingTests {
    /// The store of the tests that change nothing.
    private static let filled = Result { try made() }
    private let fixture: ReadingFixture
    private let model: ObjectModel

    init() throws {
        fixture = try Self.filled.get()
        model = fixture.model
    }

    private static func made() throws -> ReadingFixture {
        let model = try ReadingFixture.model(.workOrders)
        var random = SystemRandomNumberGenerator()
        var events: [ChangeSet] = (1...3).map {
            ReadingFixture.upsert(model, "Asset", "a\($0)", ["name": .text(["Pump", "élan", "Élan"][$0 - 1])])
        }
        for index in 1...40 {
            var said: [String: ReadingFixture.Said] = ["priority": .text(String(index % 3 + 1))]
            if index % 4 != 0 { said["title"] = .text("Order \(index % 5)") }
            if index % 3 != 0 { said["cost"] = .text(["9", "10.5", "0.25"][index % 3]) }
            if index % 5 != 0 { said["asset"] = .one("a\(index % 3 + 1)") }
            if index % 2 == 0 { said["startDate"] = .text("2026-01-0\(index % 9 + 1)") }
            events.append(ReadingFixture.upsert(model, "WorkOrder", "w\(index)", said))
        }
        for index in 1...60 {
            events.append(
                ReadingFixture.upsert(
                    model, "ChecklistItem", "c\(index)",
                    ["workOrder": .one("w\(Int.random(in: 1...20, using: &random))"), "minutes": .text("\(index % 7)")])
            )
        }
        return try ReadingFixture(model: model, events)
    }

    private func request(_ sort: [String], _ change: (inout FetchRequest) -> Void = { _ in }) -> FetchRequest {
        var request = FetchRequest("WorkOrder")
        request.sort = sort
        request.properties = ["id"]
        change(&request)
        return request
    }

    static let orders = [
        [], ["title"], ["-title"], ["-cost", "title"], ["cost"], ["asset.name[cd]", "-priority"], ["-asset.name[c]"],
        ["-checklist.@count", "-startDate"], ["checklist.minutes.@max", "asset"], ["-priority", "startDate", "-title"],
        ["-startDate"], ["startDate", "-cost"], ["priority * 1e308 * 10"], ["lowercase(title) desc", "cost"],
        ["-(priority * 2)", "id"],
    ]

    @Test(arguments: orders, [1, 3, 7, 100])
    func `pages together are the whole`(_ sort: [String], _ size: Int) throws {
        let whole = try fixture.fetch(request(sort)).map(\.pk)
        #expect(whole.count == 40)
        for storage in TestStorage.allCases {
            let found = try fixture.store.read(from: storage) { try pages($0, sort, size) }
            #expect(found == whole, "\(storage)")
        }
    }

    private func pages(_ context: ReadContext, _ sort: [String], _ size: Int) throws -> [Int64] {
        var pages: [Int64] = []
        var after: String?
        repeat {
            let page = try context.page(
                request(sort) {
                    $0.limit = size
                    $0.after = after
                })
            #expect(page.objects.count <= size)
            pages += page.objects.map(\.pk)
            after = page.next
        } while after != nil && pages.count <= 40
        return pages
    }

    @Test func `a page begins behind the last whatever happened before`() throws {
        let fixture = try Self.made()
        let first = try fixture.store.read { try $0.page(request(["title", "id"]) { $0.limit = 10 }) }
        let next = try #require(first.next)
        let gone = try #require(first.objects.first?["id"]?.text)
        let last = try #require(first.objects.last?["id"]?.text)
        let rest = try fixture.fetch(request(["title", "id"])).dropFirst(10).compactMap { $0["id"]?.text }
        try fixture.apply([
            ReadingFixture.delete(model, "WorkOrder", gone), ReadingFixture.delete(model, "WorkOrder", last),
            ReadingFixture.upsert(model, "WorkOrder", "w0", ["title": .text("Order 9")]),
        ])
        let second = try fixture.fetch(request(["title", "id"]) { $0.after = next }).compactMap { $0["id"]?.text }
        #expect(second == rest + ["w0"])
    }

    @Test func `refuses a cursor of another request`() throws {
        let page = try fixture.store.read { try $0.page(request(["title"]) { $0.limit = 5 }) }
        let cursor = try #require(page.next)
        func failure(_ request: FetchRequest) -> FetchPredicateError.Code? {
            do {
                _ = try request.checked(with: model)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(failure(request(["title"]) { $0.after = cursor }) == nil)
        #expect(failure(request(["-title"]) { $0.after = cursor }) == .cursor)
        #expect(failure(request(["title", "id"]) { $0.after = cursor }) == .cursor)
        #expect(failure(request(["title"]) { ($0.after, $0.condition) = (cursor, .text("priority = 1")) }) == .cursor)
        #expect(failure(request(["title"]) { ($0.after, $0.includesPlaceholders) = (cursor, false) }) == .cursor)
        #expect(failure(request(["title"]) { ($0.after, $0.offset) = (cursor, 1) }) == .cursor)
        #expect(failure(request([]) { ($0.after, $0.isDistinct) = (cursor, true) }) == .cursor)
        for broken in [
            "", "x", "!!", String(cursor.dropLast(2)), cursor + "AAAA", String(repeating: "A", count: 2_000_000),
        ] {
            #expect(failure(request(["title"]) { $0.after = broken }) == .cursor)
        }
    }

    @Test func `a cursor survives its text`() throws {
        let values: [Value] = [.null, .integer(.min), .double(-0.0), .text("é\0'"), .blob([0, 255])]
        let cursor = FetchCursor(fingerprint: 7, pk: -3, values: values)
        #expect(cursor.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        let types: [AttributeType] = [.uuid, .integer64, .double, .string, .binary]
        #expect(try FetchCursor(cursor.text, fingerprint: 7, types: types.map { .value($0) }) == cursor)
    }

    @Test(arguments: TestStorage.allCases)
    func `refuses a cursor with values that the order does not have`(_ storage: TestStorage) throws {
        let wrong: [(key: String, values: [Value])] = [
            ("priority", [.double(.nan), .double(-.nan), .text("1"), .blob([1])]),
            ("checklist.minutes.@avg", [.double(.nan), .double(.signalingNaN), .text("1")]),
            ("startDate", [.double(.nan), .text("2026")]), ("title", [.integer(1), .double(.nan), .blob([])]),
            ("cost", [.integer(1), .double(1), .text("1e2"), .text("many"), .text("")]),
        ]
        for (key, values) in wrong {
            let checked = try request([key]).checked(with: model)
            for value in values {
                let cursor = FetchCursor(fingerprint: checked.fingerprint, pk: 1, values: [value])
                let error = #expect(throws: FetchPredicateError.self, "\(key) \(value)") {
                    try fixture.store.read(from: storage) { try $0.page(request([key]) { $0.after = cursor.text }) }
                }
                #expect(error?.code == .cursor)
            }
        }
    }

    @Test func `what is not a number has a place before all whole numbers`() {
        for number in [Int64.min, 0, .max] {
            #expect(ValueOrder.compare(.integer(number), .double(.nan)) == 1)
            #expect(ValueOrder.compare(.double(.nan), .integer(number)) == -1)
        }
    }

    // MARK: Batches

    @Test(arguments: orders, [1, 7, 40, 100])
    func `batches together are the whole`(_ sort: [String], _ size: Int) throws {
        let request = request(sort) { $0.properties = ["id", "asset.name", "technicians"] }
        let whole = try fixture.fetch(request)
        for storage in TestStorage.allCases {
            var sizes: [Int] = []
            var found: [FetchedObject] = []
            try fixture.store.read(from: storage) { context in
                try context.batches(request, size: size) { batches in
                    while let batch = try batches.next() {
                        sizes.append(batch.count)
                        found += batch
                    }
                    #expect(try batches.next() == nil)
                }
            }
            #expect(found.map(\.parts) == whole.map(\.parts))
            #expect(sizes.dropLast().allSatisfy { $0 == size })
        }
    }

    @Test func `batches regard limit offset and cursor`() throws {
        let page = try fixture.store.read { try $0.page(request(["-startDate"]) { $0.limit = 5 }) }
        let whole = try fixture.fetch(request(["-startDate"])).map(\.pk)
        func batches(_ change: (inout FetchRequest) -> Void) throws -> [Int64] {
            try fixture.store.read { context in
                try context.batches(request(["-startDate"], change), size: 4) { batches in
                    var keys: [Int64] = []
                    while let batch = try batches.next() { keys += batch.map(\.pk) }
                    return keys
                }
            }
        }
        #expect(try batches { ($0.limit, $0.offset) = (10, 5) } == Array(whole[5..<15]))
        #expect(try batches { $0.after = page.next } == Array(whole[5...]))
        #expect(try batches { ($0.after, $0.limit) = (page.next, 20) } == Array(whole[5..<25]))
    }

    @Test func `all batches are of one snapshot`() throws {
        let fixture = try Self.made()
        let request = request(["id"])
        var count = 0
        try fixture.store.read { context in
            try context.batches(request, size: 10) { batches in
                count += try batches.next()?.count ?? 0
                try fixture.apply([ReadingFixture.upsert(model, "WorkOrder", "z", [:])])
                while let batch = try batches.next() { count += batch.count }
            }
        }
        #expect(count == 40)
        #expect(try fixture.fetch(request).count == 41)
    }

    @Test func `refuses an unusable batch size`() throws {
        let checked = try request([]).checked(with: model)
        for size in [0, -1, 10_001] {
            #expect(throws: FetchPredicateError.self) {
                try fixture.store.sqlite().database.read { database in
                    try ReadContext(database: database, model: model).batches(checked, size: size) { _ in }
                }
            }
        }
    }
}

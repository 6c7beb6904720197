import Foundation
import ObjectGraph
import Testing

@testable import GraphCore

/// One conversion of values, whoever takes them.
@Suite struct PropertyValueTests {
    final class Owner: TypedObject {
        @Identity var id: String
        @ToMany(inverse: \Thing.owner) var things: [Thing]
    }

    final class Thing: TypedObject {
        @Identity var id: UUID
        @Field var text: String?
        @Field var short: Int16?
        @Field var long: Int?
        @Field var real: Double?
        @Field var single: Float?
        @Field var flag: Bool?
        @Field var price: Decimal?
        @Field var at: Date?
        @Field var key: UUID?
        @Field var link: URL?
        @Field var bytes: Data?
        @ToOne var owner: Owner?
    }

    private static let date = Date(timeIntervalSince1970: 1_772_439_300.25)
    private static let uuid = UUID()
    private static let url = URL(string: "https://example.org/a") ?? URL(fileURLWithPath: "/")
    private static var values: [String: (any PropertyValue)?] {
        [
            "text": "a", "short": UInt8(7), "long": UInt32(9), "real": 1.5, "single": Float(0.25), "flag": true,
            "price": Decimal(string: "12.50"), "at": date, "key": uuid, "link": url, "bytes": Data([1, 2]),
        ]
    }

    private let store: Store
    private let writer: WriterContext
    private let context: EditingContext

    init() throws {
        let model = try ObjectModel(name: "values", entities: [Owner.self, Thing.self])
        store = try Store.inMemory(model: model)
        writer = try WriterContext(store: store)
        context = try EditingContext(writer)
    }

    private func checkStored() throws {
        let object = try stored()
        #expect(try object.value("text", as: String.self) == "a")
        #expect(try object.value("short", as: Int.self) == 7)
        #expect(try object.value("long", as: Int64.self) == 9)
        #expect(try object.value("real", as: Double.self) == 1.5)
        #expect(try object.value("single", as: Float.self) == 0.25)
        #expect(try object.value("flag", as: Bool.self) == true)
        #expect(try object.value("price", as: Decimal.self) == Decimal(string: "12.5"))
        #expect(try object.value("at", as: Date.self) == Self.date)
        #expect(try object.value("key", as: UUID.self) == Self.uuid)
        #expect(try object.value("link", as: URL.self) == Self.url)
        #expect(try object.value("bytes", as: [UInt8].self) == [1, 2])
    }

    private func stored() throws -> any FetchedContents {
        try #require(try store.read { try $0.fetch(FetchRequest("Thing")) }.first)
    }

    @Test func `a dictionary gives each property its Swift type`() throws {
        try context.insert("Thing", identity: UUID(), Self.values)
        try context.save()
        try checkStored()
    }

    @Test func `a setter takes what a dictionary takes`() throws {
        let thing = try context.insert("Thing")
        for (name, value) in Self.values { try thing.set(name, value) }
        try context.save()
        try checkStored()
        #expect(try thing.value("at", as: Date.self) == Self.date)
        try thing.set("at", nil)
        #expect(try thing.value("at", as: Date.self) == nil)
    }

    @Test func `a batch request takes what a dictionary takes`() throws {
        let id = UUID()
        _ = try writer.execute(BatchInsertRequest("Owner", values: [["id": "o"]]))
        var row = Self.values
        row["id"] = id
        row["owner"] = "o"
        _ = try writer.execute(BatchInsertRequest("Thing", values: [row]))
        try checkStored()
        let later = Self.date.addingTimeInterval(1)
        let request = BatchUpdateRequest(
            "Thing", where: "at = %@ AND key = %@", Self.date, Self.uuid,
            set: ["at": .value(later), "price": .value(Decimal(3)), "link": .value(nil)])
        #expect(try writer.execute(request).count == 1)
        #expect(try stored().value("at", as: Date.self) == later)
        #expect(try stored().value("price", as: Decimal.self) == 3)
        #expect(try stored().value("link", as: URL.self) == nil)
    }

    @Test func `a relationship takes objects, typed or not`() throws {
        let owner = try context.insert("Owner", identity: "o")
        let typed = try context.typed(as: Owner.self, owner)
        let first = try context.insert("Thing", ["owner": owner])
        let second = try context.insert("Thing", ["owner": typed])
        #expect(try owner.objects("things").count == 2)
        try first.set("owner", nil)
        #expect(try owner.objects("things").map(\.objectID) == [second.objectID])
        try owner.set("things", [first, second])
        #expect(try first.object("owner")?.objectID == owner.objectID)
        let third = try context.insert("Owner", identity: "p", ["things": [first]])
        #expect(try first.object("owner")?.objectID == third.objectID)
    }

    @Test func `a condition takes dates, uuids and objects`() throws {
        let owner = try context.insert("Owner", identity: "o")
        try context.insert("Thing", Self.values.merging(["owner": owner]) { $1 })
        try context.insert("Thing", ["at": Self.date])
        try context.save()
        let typed = try context.typed(as: Owner.self, owner)
        func count(_ text: String, _ arguments: (any PropertyValue)?...) throws -> Int {
            try store.read { try $0.count(FetchRequest("Thing", where: text, arguments: arguments)) }
        }
        #expect(try count("owner = %@ AND at >= %@", owner, Self.date) == 1)
        #expect(try count("owner = %@", typed) == 1)
        #expect(try count("at > %@", Self.date) == 0)
        #expect(try count("key = %@ AND price = %@ AND flag = %@", Self.uuid, Decimal(string: "12.5"), true) == 1)
        #expect(try count("link = %@ AND bytes = %@", Self.url, Data([1, 2])) == 1)
        #expect(try count("key = %@", UUID?.none) == 1)
        #expect(try count("%K IN %@", "short", [UInt16(7), 8]) == 1)
        var request = FetchRequest("Thing", where: "at = $date AND key = $key")
        request.variables = ["date": Self.date, "key": Self.uuid]
        let found = try store.read { [request] in try $0.count(request) }
        #expect(found == 1)
    }

    @Test func `an object that is gone makes a condition fail`() throws {
        let owner = try context.insert("Owner", identity: "o")
        try context.save()
        try context.delete(owner)
        try context.save()
        #expect(throws: FetchPredicateError.self) {
            try store.read { try $0.count(FetchRequest("Thing", where: "owner = %@", owner)) }
        }
    }

    @Test func `the error of a wrong type names the property and both types`() throws {
        let thing = try context.insert("Thing")
        let refused: [(String, (any PropertyValue)?, String)] = [
            ("at", 3, "Int"), ("key", "secret", "String"), ("short", 1 << 20, "Int"), ("long", UInt64.max, "UInt64"),
            ("text", Self.date, "Date"), ("real", Double.nan, "Double"), ("owner", "o", "String"),
            ("price", Self.uuid, "UUID"), ("owner", Value.integer(4), "Value"),
        ]
        for (name, value, type) in refused {
            let error = #expect(throws: EditingError.self) { try thing.set(name, value) }
            #expect(error?.code == .type)
            let text = error?.description ?? ""
            #expect(text.contains("Thing.\(name)") && text.contains(type) && !text.contains("secret"), "\(text)")
        }
        let error = #expect(throws: EditingError.self) { try thing.value("long", as: Date.self) }
        #expect(error?.code == .type)
        #expect(error?.description.contains("Thing.long") == true)
        #expect(throws: EditingError.self) { try thing.value("nothing", as: Date.self) }
    }

    @Test func `descriptions are readable where the type is known`() throws {
        try context.insert("Thing", identity: Self.uuid, ["at": "2026-03-02T08:15:00.25Z", "bytes": Data([255, 1])])
        try context.save()
        let text = "\(try stored())"
        #expect(text.contains("id: \(Self.uuid.uuidString.lowercased())"))
        #expect(text.contains("at: 2026-03-02T08:15:00.25"))
        #expect(text.hasPrefix("Thing("))
        let snapshot = try store.read { try $0.fetch(FetchRequest("Thing"), prefetch: []) }
        let object = try #require(snapshot.objects.first)
        #expect("\(object)".contains("at: 2026-03-02T08:15:00.25"))
        #expect("\(Value.blob([255, 1]))" == "ff01")
        #expect("\(Value.text("a")) \(Value.integer(3)) \(Value.null)" == "a 3 null")
    }

    @Test func `the cases of a stored value stand where a value is expected`() throws {
        let thing = try context.insert(
            "Thing", identity: Self.uuid,
            ["text": .text("a"), "long": .integer(9), "real": .double(1.5), "bytes": .blob([1])])
        #expect(try thing["text"] == "a" && thing["long"] == 9 && thing["real"] == 1.5 && thing["bytes"] == .blob([1]))
        try thing.set("text", .null)
        #expect(try thing["text"].isNull)
        try context.save()
        let request = FetchRequest("Thing", where: "text = %@ AND long = %@", .null, .integer(9))
        #expect(try context.count(request) == 1)
    }
}

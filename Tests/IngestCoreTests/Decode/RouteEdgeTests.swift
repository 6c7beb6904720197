import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// Records at the edges of what a route expects: nulls on the way, times of another unit, arrays, keys alone.
@Suite struct RouteEdgeTests {
    private func decoder(
        _ entity: String = "WorkOrder", format: EventFormat = .json, nullValues: [String] = [],
        _ change: (inout RouteConfiguration) -> Void
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: format, routes: [route], nullValues: nullValues)
    }

    // MARK: Null

    @Test func `a path that meets null clears the property, and one that is not there leaves it alone`() throws {
        let decoder = try decoder(nullValues: [""]) {
            ($0.fields, $0.ignore) = (["name": "head.title.text", "price": "{head.price}"], ["head"])
        }
        #expect(try decoder.shown("{\"id\":\"w1\",\"head\":null}") == ["upsert WorkOrder w1 name=null price=null"])
        #expect(try decoder.shown("{\"id\":\"w1\",\"head\":{\"title\":\"\"}}") == ["upsert WorkOrder w1 name=null"])
        #expect(try decoder.shown("{\"id\":\"w1\",\"head\":{}}") == ["upsert WorkOrder w1"])
        #expect(try decoder.shown("{\"id\":\"w1\"}") == ["upsert WorkOrder w1"])
    }

    @Test func `a text that stands for null is null in expressions too`() throws {
        let decoder = try decoder(nullValues: ["NA", ""]) {
            $0.identity = .field("{site}-{num}")
            ($0.fields, $0.add) = (["name": "{site}/{head.title}"], ["parts": "tags"])
        }
        #expect(decoder.failure("{\"site\":\"S\",\"num\":\"\"}")?.code == "decode.missing_identity")
        #expect(
            try decoder.shown("{\"site\":\"S\",\"num\":\"1\",\"tags\":[\"NA\",\"7\"],\"head\":\"NA\"}") == [
                "upsert WorkOrder S-1 name=null parts+[7]-[]"
            ])
        #expect(
            try decoder.shown("{\"site\":\"S\",\"num\":\"1\",\"tags\":\"NA\"}") == ["upsert WorkOrder S-1"])
    }

    @Test(arguments: ["num", "$value", "{$record.site}-{num}"])
    func `an element whose identity stands for null has none`(identity: String) throws {
        let decoder = try decoder(nullValues: ["NA"]) {
            var split = SplitConfiguration(field: "parts", entity: "Part", parent: "order")
            (split.identity, split.ignore, $0.ignore) = (.field(identity), ["*"], ["site"])
            $0.splits = [split]
        }
        let element = identity == "$value" ? "\"NA\"" : "{\"num\":\"NA\"}"
        let failure = decoder.failure("{\"id\":\"w1\",\"site\":1,\"parts\":[\(element)]}")
        #expect(failure?.code == "decode.missing_identity")
    }

    @Test func `a field of a key that stands for null is null`() throws {
        let decoder = try decoder(nullValues: ["NA"]) { ($0.identity, $0.ignore) = (.field("$key.id"), ["*"]) }
        #expect(decoder.failure(TestRecord("{}", key: "{\"id\":\"NA\"}"))?.code == "decode.missing_identity")
        #expect(try decoder.shown(TestRecord("{}", key: "{\"id\":\"w1\"}")) == ["upsert WorkOrder w1"])
    }

    // MARK: Times

    @Test(arguments: ["upsert", "delete"])
    func `a time of another unit is refused, for it would make each later event stale`(verb: String) throws {
        let decoder = try decoder {
            ($0.timeField, $0.dates, $0.typeField) = ("at", .seconds, "do")
        }
        let event = "{\"do\":\"order.\(verb == "upsert" ? "updated" : "deleted")\",\"id\":\"w1\",\"at\":1767323045"
        #expect(
            try decoder.shown(event + "}") == ["\(verb) WorkOrder w1 version=2026-01-02T03:04:05Z"])
        let wrong = try #require(decoder.failure(event + "000}"))
        #expect(wrong.code == "decode.type" && wrong.description.contains("set 'dates: milliseconds'"))
    }

    @Test func `an attribute's date of another unit is refused with its unit`() throws {
        let decoder = try decoder { $0.dates = .seconds }
        let wrong = try #require(decoder.failure("{\"id\":\"w1\",\"happenedAt\":1767323045000000000}"))
        #expect(wrong.code == "decode.type" && wrong.description.contains("types: { happenedAt: nanoseconds }"))
    }

    @Test func `dates may count nanoseconds`() throws {
        let decoder = try decoder { $0.dates = .nanoseconds }
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"happenedAt\":1767323045000000000}") == [
                "upsert WorkOrder w1 happenedAt=2026-01-02T03:04:05Z"
            ])
    }

    // MARK: Columns

    @Test func `a column that makes the identity is a property too`() throws {
        let decoder = try decoder("Part", format: .maxwell) {
            ($0.table, $0.identity) = ("lines", .field("{order_id}{number}"))
        }
        #expect(
            try decoder.shown(
                """
                {"database":"shop","table":"lines","type":"insert","ts":1767323045,"data":{"order_id":7,"number":1}}
                """) == ["upsert Part 71 order=7"])
    }

    // MARK: Arrays

    @Test func `a record that is an array holds events`() throws {
        let decoder = try decoder { _ in }
        let record = TestRecord("[{\"id\":\"w1\",\"name\":\"A\"},{\"id\":\"w2\"}]")
        #expect(try decoder.shown(record) == ["upsert WorkOrder w1 name=A", "upsert WorkOrder w2"])
        #expect(try decoder.event(record).eventEnds == [1, 2])
        #expect(try decoder.shown("[]").isEmpty)
        let filtered = try self.decoder { $0.filter = "name != nil" }
        let events = TestRecord("[{\"id\":\"w1\",\"name\":\"A\"},{\"id\":\"w2\"},{\"id\":\"w3\",\"name\":\"C\"}]")
        #expect(try filtered.event(events).eventEnds == [1, 2])
        let wrong = try #require(decoder.failure("[{\"id\":\"w1\"},{\"name\":\"B\"}]"))
        #expect(wrong.code == "decode.missing_identity" && wrong.description.hasPrefix("Element 2 of the record: "))
    }

    @Test func `a program may take an array apart`() throws {
        let decoder = try decoder("") {
            $0.program = RouteProgram(".[] | {type: \"workOrder.upserted\", data: {id: .no}}")
        }
        #expect(
            try decoder.shown("[{\"no\":\"w1\"},{\"no\":\"w2\"}]") == ["upsert WorkOrder w1", "upsert WorkOrder w2"])
    }

    @Test func `an array may lie in an object that has the name of its relationship`() throws {
        let decoder = try decoder {
            var split = SplitConfiguration(field: "parts.data", entity: "Part", parent: "")
            split.relationship = "parts"
            $0.splits = [split]
        }
        #expect(
            try decoder.shown("{\"id\":\"w1\",\"parts\":{\"data\":[{\"number\":1}],\"more\":false}}") == [
                "upsert Part 1", "upsert WorkOrder w1 parts+[1]-[]",
            ])
    }

    // MARK: Places and keys

    @Test func `partition and offset identify the records of a log without keys`() throws {
        let decoder = try decoder { $0.identity = .field("{$partition}-{$offset}") }
        var record = TestRecord("{\"name\":\"N\"}", offset: 41)
        record.partition = 3
        #expect(try decoder.shown(record) == ["upsert WorkOrder 3-41 name=N"])
        record.topic = "file:/a.jsonl"
        #expect(decoder.failure(record)?.code == "decode.missing_identity")
    }

    @Test func `a null value is taken by the type that a header states`() throws {
        var (orders, parts) = (RouteConfiguration(entity: "WorkOrder"), RouteConfiguration(entity: "Part"))
        (orders.type, orders.typeField, orders.identity) = ("order", "$header.kind", .field("$key"))
        (parts.type, parts.typeField, parts.identity) = ("part", "$header.kind", .field("$key"))
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [orders, parts])
        #expect(try decoder.shown(TestRecord(nil, key: "7", headers: ["kind": "part"])) == ["delete Part 7"])
        #expect(try decoder.shown(TestRecord(nil, key: "7", headers: ["kind": "order"])) == ["delete WorkOrder 7"])
        #expect(decoder.failure(TestRecord(nil, key: "7"))?.code == "decode.null")
    }

    @Test func `a null value needs no choice between routes that delete alike`() throws {
        var (one, other) = (RouteConfiguration(entity: "WorkOrder"), RouteConfiguration(entity: "WorkOrder"))
        (one.condition, other.constants) = ("isOpen = true", ["name": .string("closed")])
        let decoder = try TestDecoder(TestModels.kinds(), format: .json, routes: [one, other])
        #expect(try decoder.shown(TestRecord(nil, key: "w1")) == ["delete WorkOrder w1"])
    }

    @Test(arguments: ["1e3", "1.0", "12345678901234567890", "-0"])
    func `a key that looks like a number may be a text`(key: String) throws {
        let decoder = try decoder(format: .connect) { _ in }
        #expect(try decoder.shown(TestRecord(nil, key: key)) == ["delete WorkOrder \(key)"])
    }
}

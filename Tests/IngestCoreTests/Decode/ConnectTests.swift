import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct ConnectTests {
    private typealias Records = DebeziumRecords

    private func decoder(_ change: (inout RouteConfiguration) -> Void = { _ in }) throws -> TestDecoder {
        var route = RouteConfiguration(entity: "WorkOrder")
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: .connect, routes: [route])
    }

    private func record(_ name: String, _ type: String, _ logical: String?, _ value: String, scale: Int? = nil)
        -> String
    {
        let schema = Records.structure([
            Records.field("id", "string"), Records.field(name, type, logical, scale: scale),
        ])
        return "{\"schema\":\(schema),\"payload\":{\"id\":\"w1\",\"\(name)\":\(value)}}"
    }

    private static let connect = "org.apache.kafka.connect.data."

    @Test(arguments: [
        ("happenedAt", "int64", connect + "Timestamp", "1767323045123", "2026-01-02T03:04:05.123Z"),
        ("happenedAt", "int32", connect + "Date", "20455", "2026-01-02T00:00:00Z"),
        ("happenedAt", "int64", "io.debezium.time.NanoTimestamp", "-1", "1969-12-31T23:59:59.999999Z"),
        ("name", "int32", connect + "Date", "20455", "2026-01-02T00:00:00Z"),
        ("name", "int32", connect + "Time", "3723004", "01:02:03.004"),
        ("large", "int64", connect + "Timestamp", "1767323045123", "1767323045123"),
        ("isOpen", "boolean", nil, "true", "true"),
        ("price", "struct", "io.debezium.data.VariableScaleDecimal", "{\"scale\":1,\"value\":\"Bw==\"}", "0.7"),
        ("happenedAt", "int64", connect + "Timestamp", "null", "null"),
    ])
    func `the schema says what a value means`(
        name: String, type: String, logical: String?, value: String, expected: String
    ) throws {
        #expect(try decoder().shown(record(name, type, logical, value)) == ["upsert WorkOrder w1 \(name)=\(expected)"])
    }

    @Test(arguments: [
        ("AA==", 2, "0"), ("AMn/", 2, "517.11"), ("/w==", 2, "-0.01"), ("gA==", 0, "-128"), ("AIA=", 3, "0.128"),
        ("Bw==", -3, "7000"), ("/zYB", 2, "-517.11"),
    ])
    func `decimals are exact`(base64: String, scale: Int, expected: String) throws {
        #expect(ConnectValues.decimal(base64, scale: scale) == expected)
        let record = record("price", "bytes", Self.connect + "Decimal", "\"\(base64)\"", scale: scale)
        #expect(try decoder().shown(record) == ["upsert WorkOrder w1 price=\(expected)"])
    }

    @Test func `a decimal that would lose digits is refused`() throws {
        let wide = Base64Text.text([UInt8](repeating: 0x7F, count: 17))
        #expect(ConnectValues.decimal(wide, scale: 2) == nil)
        let failure = try #require(
            try decoder().failure(record("price", "bytes", Self.connect + "Decimal", "\"\(wide)\"", scale: 2)))
        #expect(failure.code == "decode.type" && failure.description.contains("price"))
    }

    @Test func `a time of day is no date`() throws {
        let failure = try decoder().failure(record("happenedAt", "int32", Self.connect + "Time", "1000"))
        #expect(failure?.code == "decode.type")
    }

    @Test(arguments: [
        ("io.debezium.time.Time", "86400000", "24:00:00"), ("io.debezium.time.Time", "-1", "-00:00:00.001"),
        ("io.debezium.time.MicroTime", "360000000000", "100:00:00"),
        ("io.debezium.time.MicroTime", "-3600000000", "-01:00:00"),
        ("io.debezium.time.MicroTime", "-3020399000000", "-838:59:59"),
        ("io.debezium.time.NanoTime", "86400000001000", "24:00:00.000001"),
        ("io.debezium.time.NanoTime", "-999", "00:00:00"), (connect + "Time", "90061001", "25:01:01.001"),
    ])
    func `a database's time may lie beyond a day or below zero`(
        logical: String, value: String, expected: String
    ) throws {
        #expect(
            try decoder().shown(record("name", "int64", logical, value)) == ["upsert WorkOrder w1 name=\(expected)"])
        let template = try decoder { ($0.fields, $0.ignore) = (["name": "at {when}"], ["when"]) }
        #expect(
            try template.shown(record("when", "int64", logical, value)) == ["upsert WorkOrder w1 name=at \(expected)"])
    }

    @Test func `a scale far above the precision keeps the number`() throws {
        #expect(ConnectValues.decimal(Base64Text.text(Self.oracleHalf), scale: 127) == "0.5")
        let record = record(
            "price", "bytes", Self.connect + "Decimal", "\"\(Base64Text.text(Self.oracleHalf))\"", scale: 127)
        #expect(try decoder().shown(record) == ["upsert WorkOrder w1 price=0.5"])
    }

    /// 5 * 10^126 in two's complement.
    private static let oracleHalf: [UInt8] = {
        var bytes: [UInt8] = [5]
        for _ in 0..<126 {
            var carry = 0
            for index in bytes.indices.reversed() {
                carry += Int(bytes[index]) * 10
                bytes[index] = UInt8(carry & 0xFF)
                carry >>= 8
            }
            if carry > 0 { bytes.insert(UInt8(carry), at: 0) }
        }
        return [0] + bytes
    }()

    @Test func `bytes are no number, whatever their base64 looks like`() throws {
        for name in ["price", "large", "isOpen", "happenedAt"] {
            #expect(try decoder().failure(record(name, "bytes", nil, "\"1234\""))?.code == "decode.type")
        }
        #expect(
            try decoder().shown(record("picture", "bytes", nil, "\"1234\"")) == ["upsert WorkOrder w1 picture=1234"])
        #expect(try decoder().shown(record("name", "bytes", nil, "\"1234\"")) == ["upsert WorkOrder w1 name=1234"])
        var part = RouteConfiguration(entity: "Part")
        for identity in [nil, "number"] {
            part.identity = identity.map { .field($0) }
            let decoder = try TestDecoder(TestModels.kinds(), format: .connect, routes: [part])
            let row = wrapped([Records.field("number", "bytes")], "{\"number\":\"1234\"}")
            #expect(decoder.failure(row)?.code == "decode.identity")
            #expect(decoder.failure(TestRecord(nil, key: row))?.code == "decode.identity")
        }
    }

    @Test func `a text that is no JSON does not become it`() throws {
        #expect(
            try decoder().failure(record("extra", "string", "io.debezium.data.Json", "\"{\""))?.code == "decode.type")
    }

    @Test func `records without the wrapper are taken`() throws {
        #expect(try decoder().shown("{\"id\":17,\"name\":\"N\"}") == ["upsert WorkOrder 17 name=N"])
    }

    @Test func `a null payload deletes what its key names`() throws {
        for key in ["w1", "\"w1\"", "{\"id\":\"w1\"}", "{\"schema\":{\"type\":\"string\"},\"payload\":\"w1\"}"] {
            #expect(try decoder().shown(TestRecord(nil, key: key)) == ["delete WorkOrder w1"])
            #expect(
                try decoder().shown(TestRecord("{\"schema\":null,\"payload\":null}", key: key)) == [
                    "delete WorkOrder w1"
                ])
        }
        #expect(try decoder().failure(TestRecord(nil, key: "{\"a\":1,\"b\":2}"))?.code == "decode.identity")
        #expect(try decoder().failure(TestRecord(nil))?.code == "decode.null")
    }

    // MARK: The schema in keys and expressions

    private func wrapped(_ fields: [String], _ payload: String) -> String {
        "{\"schema\":\(Records.structure(fields)),\"payload\":\(payload)}"
    }

    @Test(arguments: [nil, "id", "{id}", "{$record.id}", "$key.id", "{$key.id}"])
    func `a decimal is one identity in the row and in the key of its deletion`(identity: String?) throws {
        let fields = [Records.field("id", "bytes", Self.connect + "Decimal", scale: 1)]
        let key = wrapped(fields, "{\"id\":\"aQ==\"}")
        let decoder = try decoder { $0.identity = identity.map { .field($0) } }
        #expect(try decoder.shown(TestRecord(key, key: key)) == ["upsert WorkOrder 10.5"])
        #expect(try decoder.shown(TestRecord(nil, key: key)) == ["delete WorkOrder 10.5"])
        let alone = wrapped([], "\"aQ==\"").replacing(
            Records.structure([]), with: Records.field("id", "bytes", Self.connect + "Decimal", scale: 1))
        if identity == nil { #expect(try decoder.shown(TestRecord(nil, key: alone)) == ["delete WorkOrder 10.5"]) }
    }

    @Test func `a prefix stands before the identity that the schema means`() throws {
        let fields = [Records.field("id", "bytes", Self.connect + "Decimal", scale: 0)]
        let key = wrapped(fields, "{\"id\":\"Cg==\"}")
        for identity in [nil, RouteConfiguration.Identity.field("id")] {
            let decoder = try decoder { ($0.identity, $0.identityPrefix) = (identity, "pg-") }
            #expect(try decoder.shown(TestRecord(key)) == ["upsert WorkOrder pg-10"])
            #expect(try decoder.shown(TestRecord(nil, key: key)) == ["delete WorkOrder pg-10"])
        }
    }

    @Test func `expressions read values by their schema`() throws {
        let fields = [
            Records.field("id", "string"), Records.field("cost", "bytes", Self.connect + "Decimal", scale: 2),
            Records.field("at", "int64", "io.debezium.time.MicroTimestamp"),
        ]
        let decoder = try decoder {
            ($0.fields, $0.timeField) = (["price": "cost", "name": "{cost} EUR", "happenedAt": "at"], "at")
        }
        let record = wrapped(fields, "{\"id\":\"w1\",\"cost\":\"AMn/\",\"at\":1767323045123456}")
        let time = "2026-01-02T03:04:05.123456Z"
        #expect(
            try decoder.shown(record) == [
                "upsert WorkOrder w1 version=\(time) happenedAt=\(time) name=517.11 EUR price=517.11"
            ])
    }

    @Test func `the data inside a record has the schema of its place`() throws {
        let row = Records.structure(
            [Records.field("id", "string"), Records.field("price", "bytes", Self.connect + "Decimal", scale: 2)],
            field: "after")
        let decoder = try decoder { $0.data = "after" }
        #expect(
            try decoder.shown(wrapped([row], "{\"after\":{\"id\":\"w1\",\"price\":\"AMn/\"}}")) == [
                "upsert WorkOrder w1 price=517.11"
            ])
    }

    // MARK: The schema registry

    @Test func `Avro is refused by its schema where no registry is configured`() throws {
        let record = TestRecord(bytes: [0, 0, 0, 1, 44, 2, 0x6D, 0x31])
        for format in EventFormat.allCases {
            let decoder = try TestDecoder(
                TestModels.kinds(), format: format, routes: [RouteConfiguration(entity: "WorkOrder")])
            let failure = try #require(decoder.failure(record))
            #expect(failure.code == "decode.schema_registry")
            #expect(failure.description.contains("schemaRegistry.url"))
            #expect(failure.description.contains("schema 300"))
        }
    }

    @Test func `JSON of the schema registry is decoded`() throws {
        let bytes = [0, 0, 0, 0, 7] + Array("{\"id\":\"w1\",\"name\":\"N\"}".utf8)
        #expect(try decoder().shown(TestRecord(bytes: bytes)) == ["upsert WorkOrder w1 name=N"])
    }

    @Test func `a header may name the schema too`() throws {
        var record = TestRecord(bytes: [2, 2, 0x6D, 0x31])
        record.headers = TestRecord("", headers: ["__value_schema_id": "\u{1}0123456789abcdef"]).headers
        #expect(try decoder().failure(record)?.code == "decode.schema_registry")
        record.headers = []
        #expect(try decoder().failure(record)?.code == "json.syntax")
    }

    @Test(arguments: [
        ("price", "12345678901234567890.12", "12345678901234567890.12"),
        ("price", "1234567890123456.789", "1234567890123456.789"),
        ("price", "123456789012345678901234567890", "123456789012345678901234567890"), ("large", "5.00", "5"),
        ("name", "12345678901234567890.10", "12345678901234567890.1"),
    ])
    func `a decimal that is written as a number is exact`(name: String, number: String, expected: String) throws {
        let record = record(name, "bytes", Self.connect + "Decimal", number, scale: 2)
        #expect(try decoder().shown(record) == ["upsert WorkOrder w1 \(name)=\(expected)"])
    }

    // MARK: Conditions

    @Test(arguments: [
        (
            "price", "bytes", connect + "Decimal", "\"BBo=\"", "price > 9 AND price = 10.5",
            "price = 'BBo=' OR price < 10"
        ),
        ("price", "bytes", connect + "Decimal", "10.50", "price = 10.5", "price > 10.5"),
        (
            "price", "struct", "io.debezium.data.VariableScaleDecimal", "{\"scale\":1,\"value\":\"Bw==\"}",
            "price = 0.7", "price > 1"
        ),
        (
            "happenedAt", "int64", "io.debezium.time.MicroTimestamp", "1767323045500000",
            "happenedAt > '2026-01-02T03:04:05Z' AND happenedAt < '2026-01-03' AND happenedAt BEGINSWITH '2026-01-02T'",
            "happenedAt > 5 OR happenedAt = '2026-01-02'"
        ),
        (
            "happenedAt", "int32", connect + "Date", "20455",
            "happenedAt = '2026-01-02' AND happenedAt > '2026-01-01Z'",
            "happenedAt = 20455"
        ),
        (
            "happenedAt", "string", "io.debezium.time.ZonedTimestamp", "\"2026-01-02T03:04:05.5+01:00\"",
            "happenedAt = '2026-01-02T02:04:05.500Z'", "happenedAt > '2026-01-02T03:00:00Z'"
        ),
        ("name", "int32", connect + "Time", "3723004", "name = '01:02:03.004'", "name = 3723004"),
        ("name", "bytes", nil, "\"1234\"", "name = '1234'", "name = 1234 OR name > 5"),
    ])
    func `a condition compares values and no wire forms`(
        name: String, type: String, logical: String?, value: String, holding: String, failing: String
    ) throws {
        let record = record(name, type, logical, value, scale: 2)
        #expect(try decoder { $0.filter = holding }.shown(record).count == 1)
        #expect(try decoder { $0.filter = failing }.shown(record).isEmpty)
        #expect(try decoder { $0.condition = holding }.shown(record).count == 1)
        #expect(try decoder { $0.condition = failing }.failure(record)?.code == "decode.no_route")
    }

    @Test func `conditions of further routes and of splits compare values too`() throws {
        let part = Records.structure([
            Records.field("number", "int64"), Records.field("cost", "bytes", Self.connect + "Decimal", scale: 2),
        ])
        let schema = Records.structure([
            Records.field("id", "string"), Records.field("cost", "bytes", Self.connect + "Decimal", scale: 2),
            "{\"type\":\"array\",\"items\":\(part),\"field\":\"lines\"}",
        ])
        let lines = "[{\"number\":1,\"cost\":\"BBo=\"},{\"number\":2,\"cost\":\"A1I=\"}]"
        let record = "{\"schema\":\(schema),\"payload\":{\"id\":\"w1\",\"cost\":\"A1I=\",\"lines\":\(lines)}}"
        var split = SplitConfiguration(field: "lines", entity: "Part", parent: "order")
        (split.filter, split.ignore) = ("cost > 9", ["*"])
        var further = RouteConfiguration(entity: "Owner")
        (further.condition, further.ignore) = ("cost > 9", ["*"])
        let decoder = try decoder {
            ($0.splits, $0.ignore, $0.also) = ([split], ["*"], [further])
        }
        #expect(try decoder.shown(record) == ["upsert Part 1", "upsert WorkOrder w1 parts+[1]-[]"])
    }

    @Test func `infinity is no date and no remedy makes it one`() throws {
        let record = record("happenedAt", "int64", "io.debezium.time.MicroTimestamp", "9223372036825200000")
        let failure = try #require(try decoder().failure(record))
        #expect(failure.code == "decode.type" && failure.message.contains("in the years 1 to 9999"))
        #expect(!failure.message.contains("nanoseconds"))
        let plain = try #require(try decoder().failure("{\"id\":\"w1\",\"happenedAt\":9223372036825200000}"))
        #expect(plain.code == "decode.type" && !plain.message.contains("nanoseconds"))
        #expect(try decoder { $0.types = ["happenedAt": .nanoseconds] }.failure(record)?.code == "decode.type")
    }
}

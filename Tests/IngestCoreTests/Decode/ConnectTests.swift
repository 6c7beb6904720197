import ObjectGraph
import Testing

@testable import IngestCore

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
}

import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

/// The one reading of keys, in each format that names objects by them.
@Suite struct RecordKeyTests {
    private func decoder(
        _ format: EventFormat, _ entity: String = "WorkOrder", registry: SchemaRegistry? = nil,
        _ change: (inout RouteConfiguration) -> Void = { _ in }
    ) throws -> TestDecoder {
        var route = RouteConfiguration(entity: entity)
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: format, routes: [route], registry: registry)
    }

    /// A record that deletes the object of its key, in one of the formats that have such records.
    private func deletion(_ key: String, _ format: EventFormat) -> TestRecord {
        TestRecord(format == .debezium ? DebeziumRecords.change("d") : nil, key: key)
    }

    private static let formats: [EventFormat] = [.json, .connect, .debezium]
    private static let texts = [
        ("w1", "w1"), ("\"w1\"", "w1"), (" \"w1\" ", "w1"), ("{\"id\":\"w1\"}", "w1"), ("{\"no\":\"w1\"}", "w1"),
        ("{\"id\":\"w1\",\"site\":\"B\"}", "w1"), ("{\"schema\":{\"type\":\"string\"},\"payload\":\"w1\"}", "w1"),
        ("{\"schema\":null,\"payload\":{\"id\":\"w1\"}}", "w1"), ("{\"id\":17}", "17"), ("17", "17"), (" 17 ", "17"),
        ("1e3", "1e3"), ("007", "007"), ("{w1", "{w1"), ("\"{\\\"id\\\":1}\"", "{\"id\":1}"),
        ("true story", "true story"),
        ("\"true\"", "true"), ("nullable", "nullable"),
    ]

    @Test(arguments: formats, texts)
    func `a key names its object by a text, a number or a field`(format: EventFormat, key: (String, String)) throws {
        let shown = try decoder(format).shown(deletion(key.0, format))
        #expect(shown.count == 1 && shown[0].hasPrefix("delete WorkOrder \(key.1)"), "\(key.0): \(shown)")
        let variable = try decoder(format) { $0.identity = .field("$key") }.shown(deletion(key.0, format))
        if !key.0.contains("\"no\"") { #expect(variable == shown, "\(key.0)") }
    }

    @Test(
        arguments: formats,
        [
            "true", "false", "null", "[1]", "[\"w1\"]", "{}", "{\"a\":1,\"b\":2}", "{\"id\":true}", "{\"id\":null}",
            "{\"id\":[1]}", "{\"id\":{\"x\":1}}", "\"\"", "{\"schema\":{\"type\":\"string\"},\"payload\":null}",
        ])
    func `a key that names no object is a dead letter`(format: EventFormat, key: String) throws {
        for identity in [nil, "$key", "{$key}-"] {
            let decoder = try decoder(format) { $0.identity = identity.map { .field($0) } }
            #expect(decoder.failure(deletion(key, format))?.code == "decode.identity", "\(key) \(identity ?? "")")
        }
    }

    @Test(arguments: formats)
    func `a number in a key is an identity that is a number`(format: EventFormat) throws {
        for key in ["17", "\"17\"", "{\"number\":17}", "{\"number\":\"17\"}", "{\"no\":17}"] {
            let shown = try decoder(format, "Part").shown(deletion(key, format))
            #expect(shown == ["delete Part 17"], "\(key)")
        }
        #expect(try decoder(format, "Part").failure(deletion("\"seventeen\"", format))?.code == "decode.identity")
    }

    @Test(arguments: formats)
    func `a template reads the fields of the key that it names`(format: EventFormat) throws {
        let key = "{\"no\":\"w1\",\"site\":\"B\"}"
        for (identity, expected) in [("{no}", "w1"), ("no", "w1"), ("{site}/{no}", "B/w1"), ("{$key.no}", "w1")] {
            let shown = try decoder(format) { $0.identity = .field(identity) }.shown(deletion(key, format))
            #expect(shown.first?.hasPrefix("delete WorkOrder \(expected)") == true, "\(identity): \(shown)")
        }
        for identity in ["{other}", "{site}/{other}", "other"] {
            let failure = try decoder(format) { $0.identity = .field(identity) }.failure(deletion(key, format))
            #expect(failure?.code == "decode.identity", "\(identity)")
        }
        // A path leads to the only field too, a template does not.
        let only = deletion("{\"id\":\"w1\"}", format)
        #expect(try decoder(format) { $0.identity = .field("{no}") }.failure(only)?.code == "decode.identity")
        #expect(try decoder(format) { $0.identity = .field("no") }.shown(only).count == 1)
    }

    @Test func `the key is one identity in an upsert and in its deletion`() throws {
        for key in ["w1", "\"w1\"", "{\"id\":\"w1\"}", "{\"schema\":{\"type\":\"string\"},\"payload\":\"w1\"}"] {
            for (identity, expected) in [("$key", "w1"), ("{$topic}:{$key}", "events:w1")] {
                let decoder = try decoder(.json) { ($0.identity, $0.ignore) = (.field(identity), ["*"]) }
                #expect(try decoder.shown(TestRecord("{}", key: key)) == ["upsert WorkOrder \(expected)"])
                #expect(try decoder.shown(TestRecord(nil, key: key)) == ["delete WorkOrder \(expected)"])
            }
        }
        let decoder = try decoder(.json) { ($0.identity, $0.ignore) = (.field("$key"), ["*"]) }
        #expect(decoder.failure(TestRecord("{}", key: "{\"a\":1,\"b\":2}"))?.code == "decode.identity")
    }

    @Test func `a key that is an object stands as it is written outside of identities`() throws {
        let decoder = try decoder(.json) { $0.fields = ["name": "$key"] }
        let key = "{\"a\": 1, \"b\": 2}"
        #expect(try decoder.shown(TestRecord("{\"id\":\"w1\"}", key: key)) == ["upsert WorkOrder w1 name=\(key)"])
    }

    // MARK: Schemas

    private static let scaled = "io.debezium.data.VariableScaleDecimal"

    @Test(arguments: formats)
    func `a key whose schema is a decimal of its own scale names its object`(format: EventFormat) throws {
        let value = "{\"scale\":0,\"value\":\"EQ==\"}"
        let alone = "{\"schema\":\(DebeziumRecords.field("id", "struct", Self.scaled)),\"payload\":\(value)}"
        let inside =
            "{\"schema\":\(DebeziumRecords.structure([DebeziumRecords.field("number", "struct", Self.scaled)])),"
            + "\"payload\":{\"number\":\(value)}}"
        for key in [alone, inside] {
            for identity in [nil, "$key"] {
                let decoder = try decoder(format, "Part") { $0.identity = identity.map { .field($0) } }
                #expect(try decoder.shown(deletion(key, format)) == ["delete Part 17"])
            }
        }
    }

    @Test func `a decimal that a key cannot hold is no identity`() throws {
        let wide = Base64Text.text([UInt8](repeating: 0x7F, count: 17))
        let schema = DebeziumRecords.structure([
            DebeziumRecords.field("id", "bytes", "org.apache.kafka.connect.data.Decimal", scale: 2)
        ])
        let record = TestRecord(nil, key: "{\"schema\":\(schema),\"payload\":{\"id\":\"\(wide)\"}}")
        for identity in [nil, "id", "{id}-", "$key", "$key.id"] {
            let decoder = try decoder(.connect) { $0.identity = identity.map { .field($0) } }
            #expect(decoder.failure(record) != nil, "\(identity ?? "")")
        }
    }

    private static let registry = TestRegistry.registry { path in
        switch path {
        case "/schemas/ids/1": .schema(RegistrySchema(kind: .avro, text: #""string""#, references: []))
        case "/schemas/ids/2": .schema(RegistrySchema(kind: .avro, text: #""long""#, references: []))
        case "/schemas/ids/3": .schema(RegistrySchema(kind: .avro, text: record("id"), references: []))
        case "/schemas/ids/4": .schema(RegistrySchema(kind: .avro, text: record("a", "b"), references: []))
        case "/schemas/ids/5": .schema(RegistrySchema(kind: .json, text: "{}", references: []))
        case "/schemas/ids/6": .schema(RegistrySchema(kind: .protobuf, text: message, references: []))
        case "/schemas/ids/7": .schema(RegistrySchema(kind: .avro, text: #""boolean""#, references: []))
        default: .missing
        }
    }
    private static let message = "syntax = \"proto3\"; message K { string id = 1; }"
    private static func record(_ fields: String...) -> String {
        let list = fields.map { #"{"name":"\#($0)","type":"string"}"# }.joined(separator: ",")
        return #"{"type":"record","name":"K","fields":[\#(list)]}"#
    }

    @Test(
        arguments: formats,
        [
            ([1] + TestRegistry.text("w1"), "w1"), ([2, 34], "17"), ([3] + TestRegistry.text("w1"), "w1"),
            ([4] + TestRegistry.text("w1") + TestRegistry.text("x"), nil), ([5] + Array("\"w1\"".utf8), "w1"),
            ([5] + Array("{\"id\":\"w1\",\"b\":1}".utf8), "w1"), ([6, 0, 0x0A, 2, 0x77, 0x31], "w1"), ([7, 1], nil),
        ] as [([UInt8], String?)])
    func `keys of a schema registry are read alike`(format: EventFormat, key: ([UInt8], String?)) throws {
        var deletion = deletion("", format)
        deletion.key = [0, 0, 0, 0] + key.0
        let decoder = try decoder(format, registry: Self.registry)
        guard let expected = key.1 else {
            #expect(decoder.failure(deletion)?.code == "decode.identity")
            return
        }
        #expect(try decoder.shown(deletion).first?.hasPrefix("delete WorkOrder \(expected)") == true)
    }
}

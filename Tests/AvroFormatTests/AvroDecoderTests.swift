import AvroFormat
import Foundation
import Testing

@Suite struct AvroDecoderTests {
    private func json(_ schema: String, _ bytes: [UInt8], limits: AvroLimits = AvroLimits()) throws -> String {
        let decoder = AvroDecoder(schema: try AvroSchema(json: schema, limits: limits), limits: limits)
        return String(decoding: try decoder.json(bytes), as: UTF8.self)
    }

    /// The examples of Avro's specification: zigzag, text, record, array and union.
    @Test(
        arguments: [
            (#""long""#, [0x00], "0"), (#""long""#, [0x01], "-1"), (#""long""#, [0x7F], "-64"),
            (#""long""#, [0x80, 0x01], "64"), (#""string""#, [0x06, 0x66, 0x6F, 0x6F], #""foo""#),
            (
                #"{"type":"record","name":"test","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]}"#,
                [0x36, 0x06, 0x66, 0x6F, 0x6F], #"{"a":27,"b":"foo"}"#
            ),
            (#"{"type":"array","items":"long"}"#, [0x04, 0x06, 0x36, 0x00], "[3,27]"),
            (#"["null","string"]"#, [0x00], "null"), (#"["null","string"]"#, [0x02, 0x02, 0x61], #""a""#),
        ] as [(String, [UInt8], String)])
    func `the examples of the specification are read`(schema: String, bytes: [UInt8], expected: String) throws {
        #expect(try json(schema, bytes) == expected)
    }

    @Test(
        arguments: [
            (#"{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}"#, [0x04, 0xFB, 0x32], #""-12.30""#),
            (#"{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}"#, [0x00], #""0.00""#),
            (#"{"type":"bytes","logicalType":"decimal","precision":6,"scale":2}"#, [0x02, 0x80], #""-1.28""#),
            (#"{"type":"int","logicalType":"date"}"#, [0x01], #""1969-12-31""#),
            (#"{"type":"int","logicalType":"date"}"#, [0xA0, 0x9A, 0x02], #""2019-06-17""#),
            (#"{"type":"int","logicalType":"time-millis"}"#, [0x02], #""00:00:00.001""#),
            (#"{"type":"long","logicalType":"timestamp-millis"}"#, [0x01], #""1969-12-31T23:59:59.999Z""#),
            (#"{"type":"long","logicalType":"local-timestamp-nanos"}"#, [0x02], #""1970-01-01T00:00:00.000000001""#),
            (
                #"{"type":"fixed","name":"F","size":12,"logicalType":"duration"}"#,
                [1, 0, 0, 0, 2, 0, 0, 0, 0xBC, 0x0B, 0, 0], #""P1M2DT3.004S""#
            ),
            (#"{"type":"enum","name":"E","symbols":["A","B"]}"#, [0x02], #""B""#),
            (#"{"type":"map","values":"int"}"#, [0x01, 0x06, 0x02, 0x22, 0x02, 0x00], #"{"\"":1}"#),
            (#""bytes""#, [0x08, 0x66, 0x6F, 0x6F, 0x62], #""Zm9vYg==""#),
            (#""double""#, [0, 0, 0, 0, 0, 0, 0xF8, 0x7F], #""NaN""#),
            (#""float""#, [0, 0, 0xC0, 0x3F], "1.5"),
        ] as [(String, [UInt8], String)])
    func `logical types and the other types are read`(schema: String, bytes: [UInt8], expected: String) throws {
        #expect(try json(schema, bytes) == expected)
    }

    private static func type(_ type: String, _ rest: String) -> String { #"{"type":"\#(type)",\#(rest)}"# }
    private static let connectDecimal = #""connect.name":"org.apache.kafka.connect.data.Decimal""#

    @Test(
        arguments: [
            (
                type("long", #""connect.name":"io.debezium.time.MicroTime""#), [0x80, 0x80, 0xBB, 0xDD, 0x83, 0x05],
                "24:00:00"
            ),
            (
                type("long", #""connect.name":"io.debezium.time.MicroTime""#),
                [0xFF, 0xE6, 0xF9, 0xDC, 0xE7, 0xAF, 0x01], "-838:59:59"
            ),
            (
                type("long", #""connect.name":"io.debezium.time.NanoTime""#),
                [0xCF, 0x8F, 0xC5, 0x8B, 0xC6, 0xD1, 0x01], "-01:00:00.000001"
            ),
            (type("int", #""connect.name":"io.debezium.time.Time""#), [0x80, 0xA8, 0xA9, 0xD7, 0x02], "100:00:00"),
            (type("int", #""logicalType":"time-millis""#), [0x01], "-00:00:00.001"),
            (type("int", #""logicalType":"time-millis""#), [0x82, 0xF0, 0xB2, 0x52], "24:00:00.001"),
            (type("int", #""logicalType":"time-millis""#), [0x02], "00:00:00.001"),
        ] as [(String, [UInt8], String)])
    func `a database's time may lie beyond a day or below zero`(schema: String, bytes: [UInt8], expected: String) throws
    {
        #expect(try json(schema, bytes) == "\"\(expected)\"")
    }

    @Test(
        arguments: [
            (#""logicalType":"decimal","precision":4,"scale":10"#, [0x02, 0x7B], "0.0000000123"),
            (#""logicalType":"decimal","precision":4,"scale":-2"#, [0x02, 0x7B], "12300"),
            (#""logicalType":"decimal","precision":64,"scale":127"#, [0x00], "0"),
            (#""scale":1,"connect.parameters":{"scale":"3"}"#, [0x02, 0x80], "-0.128"),
            (#""connect.parameters":{"scale":"0"}"#, [0x02, 0x80], "-128"),
        ] as [(String, [UInt8], String)])
    func `a decimal of Kafka Connect has the scale that Connect states`(
        schema: String, bytes: [UInt8], expected: String
    ) throws {
        #expect(try json(Self.type("bytes", "\(schema),\(Self.connectDecimal)"), bytes) == "\"\(expected)\"")
    }

    @Test(arguments: [
        "1234", "12e5", "1E10", "+123", "12345678", "1/e5", "eeee", "e123", "12ee", "+e12", "12A4", "120=", "",
    ])
    func `base64 that looks like a number is none`(base64: String) throws {
        let bytes = try #require(Data(base64Encoded: base64))
        let text = try json(#""bytes""#, [UInt8(bytes.count * 2)] + bytes)
        // JSON has the line break escaped.
        #expect(text == (Double(base64) == nil ? "\"\(base64)\"" : "\"\(base64)\\n\""))
        #expect(Double(text.replacing("\"", with: "")) == nil)
    }

    private static let scaledDecimal = #"""
        {"type":"record","name":"V","connect.name":"io.debezium.data.VariableScaleDecimal",
         "fields":[{"name":"scale","type":"int"},{"name":"value","type":"bytes"}]}
        """#

    @Test(
        arguments: [
            (#""string""#, [0x06, 0x66], .truncated), (#""long""#, [0x80], .truncated), (#""null""#, [0x00], .trailing),
            (#""string""#, [0x01], .invalid("length")), (#""string""#, [0x02, 0xFF], .invalid("text")),
            (#""bytes""#, [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], .truncated),
            (#""long""#, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02], .invalid("number")),
            (#""int""#, [0x80, 0x80, 0x80, 0x80, 0x20], .invalid("number")), (#"["null"]"#, [0x02], .invalid("union")),
            (#"{"type":"enum","name":"E","symbols":["A"]}"#, [0x01], .invalid("enum")),
            (
                #"{"type":"array","items":"null"}"#, [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
                .limit("jsonBytes")
            ),
            (#"{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}"#, [], .limit("depth")),
            (scaledDecimal, [0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00], .invalid("scale")),
            (scaledDecimal, [0xDA, 0x04, 0x00], .invalid("scale")),
            (scaledDecimal, [0x00, 0x82, 0x02] + [UInt8](repeating: 1, count: 129), .limit("decimal")),
        ] as [(String, [UInt8], AvroError)])
    func `hostile bytes are refused`(schema: String, bytes: [UInt8], expected: AvroError) {
        var limits = AvroLimits()
        limits.jsonBytes = 10_000
        #expect(throws: expected) { try json(schema, bytes, limits: limits) }
    }

    @Test(arguments: ["{", "3", #""unknown""#, #"{"type":"array"}"#, #"{"type":"record","name":"R"}"#])
    func `a wrong schema is refused`(schema: String) {
        #expect(throws: AvroError.self) { try AvroSchema(json: schema) }
    }
}

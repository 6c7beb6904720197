import AvroFormat
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

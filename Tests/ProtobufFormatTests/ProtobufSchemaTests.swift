import Foundation
import ProtobufFormat
import Testing

/// Records that other programs wrote are read in `RegistryVectorsTests`.
@Suite struct ProtobufSchemaTests {
    private func json(_ schema: String, _ bytes: [UInt8], _ limits: ProtobufLimits = ProtobufLimits()) throws -> String
    {
        String(decoding: try ProtobufSchema(text: schema, limits: limits).json(indexed: bytes), as: UTF8.self)
    }

    private static let text = "syntax = \"proto3\"; message A { string t = 1; repeated A a = 2; int32 n = 3; }"

    /// The examples of Protobuf's documentation, "Encoding".
    @Test(
        arguments: [
            ("syntax = \"proto3\"; message T { optional int32 a = 1; }", [8, 0x96, 1], #"{"a":150}"#),
            (
                "syntax = \"proto3\"; message T { optional string b = 2; }",
                [0x12, 7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67], #"{"b":"testing"}"#
            ),
            (
                "syntax = \"proto3\"; message T { repeated int32 f = 6; }", [0x32, 6, 3, 0x8E, 2, 0x9E, 0xA7, 5],
                #"{"f":[3,270,86942]}"#
            ),
            ("syntax = \"proto2\"; message T { required int32 a = 1; }", [], "{}"),
        ] as [(String, [UInt8], String)])
    func `the examples of the documentation are read`(schema: String, bytes: [UInt8], expected: String) throws {
        #expect(try json(schema, [0] + bytes) == expected)
    }

    @Test(arguments: ["1234", "12e5", "1E10", "+123", "1/e5", "eeee", "12ee", "12A4", "120="])
    func `base64 that looks like a number is none`(base64: String) throws {
        let bytes = [UInt8](try #require(Data(base64Encoded: base64)))
        let text = try json("syntax = \"proto3\"; message T { bytes b = 1; }", [0, 0x0A, UInt8(bytes.count)] + bytes)
        #expect(text == "{\"b\":\"\(base64)\(Double(base64) == nil ? "" : "\\n")\"}")
    }

    @Test func `the last value of a field counts, and parts of a message are joined`() throws {
        let schema = "syntax = \"proto3\"; message T { T t = 1; int32 n = 2; int32 m = 3; }"
        #expect(
            try json(schema, [0, 0x10, 1, 0x10, 2, 0x0A, 2, 0x10, 5, 0x0A, 2, 0x18, 6])
                == #"{"t":{"n":5,"m":6},"n":2,"m":0}"#)
    }

    @Test(
        arguments: [
            ([], .invalid), ([0, 0x0A], .invalid), ([0, 0x0A, 5, 0x61], .invalid), ([0, 0x0A, 1, 0xFF], .invalid),
            ([0, 0x0F], .invalid), ([0, 0x0B], .invalid), ([0, 0x0C], .invalid),
            ([0, 0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], .invalid), ([2, 2], .noMessage), ([2, 1], .noMessage),
            ([4, 0, 0], .noMessage), ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], .invalid),
            ([0xFE, 0xFF, 0xFF, 0x0F], .noMessage),
        ] as [([UInt8], ProtobufError)])
    func `hostile bytes are refused`(bytes: [UInt8], expected: ProtobufError) {
        #expect(throws: expected) { try json(Self.text, bytes) }
    }

    @Test func `a message that would take much memory is refused before it takes it`() {
        let fields = (1...900).map { "string f\($0) = \($0 + 10);" }.joined(separator: " ")
        let schema = "syntax = \"proto3\"; message B { \(fields) } message A { repeated B b = 1; }"
        var limits = ProtobufLimits()
        limits.memoryBytes = 64 << 20
        // Two bytes for each inner message, which takes thousands.
        let bytes = [2, 2] + [UInt8](repeating: 0, count: 0) + (0..<100_000).flatMap { _ in [UInt8(0x0A), 0] }
        #expect(throws: ProtobufError.limit) { try json(schema, bytes, limits) }
    }

    @Test func `depth and output are bounded`() {
        var limits = ProtobufLimits()
        (limits.depth, limits.jsonBytes) = (20, 1_000)
        var bytes: [UInt8] = []
        for _ in 0..<30 { bytes = [0x12, UInt8(bytes.count)] + bytes }
        #expect(throws: ProtobufError.limit) { try json(Self.text, [0] + bytes, limits) }
        #expect(throws: ProtobufError.limit) {
            try json(Self.text, [0] + (0..<100).flatMap { _ in [UInt8(0x12), 0] }, limits)
        }
    }

    @Test(
        arguments: [
            ("message {", "schema.proto line 1: Expected message name."),
            ("syntax = \"proto3\"; import \"other.proto\"; message A {}", "other.proto"),
            ("syntax = \"proto3\"; message A { B b = 1; }", "\"B\" is not defined."), ("", "no message"),
        ])
    func `a wrong schema is refused with its place`(text: String, part: String) {
        do {
            _ = try ProtobufSchema(text: text).json(indexed: [0])
            Issue.record("the schema is taken")
        } catch {
            #expect(error.reason.contains(part), "\(error.reason)")
        }
    }
}

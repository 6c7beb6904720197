import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct JSONErrorTests {
    struct Case: CustomTestStringConvertible {
        var text: String
        var kind: JSONError.Kind
        var offset: Int?
        var place: JSONError.Place?
        init(_ text: String, _ kind: JSONError.Kind, _ offset: Int?, _ place: JSONError.Place? = nil) {
            (self.text, self.kind, self.offset, self.place) = (text, kind, offset, place)
        }
        var testDescription: String { text }
    }

    @Test(arguments: [
        Case("", .empty, nil), Case("   \n", .empty, nil),
        Case("{", .truncated, 1, .object), Case("{\"a\"", .truncated, 4, .object),
        Case("{\"a\":", .truncated, 5, .object), Case("{\"a\":1", .truncated, 6, .object),
        Case("{\"a\":1,", .truncated, 7, .object), Case("[1,[2", .truncated, 5, .array),
        Case("[\"abc", .truncated, 5, .string), Case("\"abc\\", .truncated, 5, .string),
        Case("[\"\\ud83d", .truncated, 8, .string), Case("[tr", .truncated, 3, .literal),
        Case("{\"a\":-", .truncated, 6, .number), Case("1.", .truncated, 2, .number),
        Case("{a:1}", .syntax, 1), Case("{\"a\" 1}", .syntax, 5), Case("[1 2]", .syntax, 3), Case("[1,]", .syntax, 3),
        Case("{\"a\":1]", .syntax, 6), Case("[1}", .syntax, 2), Case("{\"a\":1,}", .syntax, 7),
        Case("[nul]", .syntax, 4),
        Case("'a'", .syntax, 0), Case("NaN", .syntax, 0),
        Case("[\"a\nb\"]", .string, 3), Case("[\"\\x\"]", .string, 2), Case("[\"\\ud83dx\"]", .string, 2),
        Case("[\"\\u12g4\"]", .string, 2),
        Case("[18446744073709551616,01]", .number, 22), Case("{\"a\":1e999,\"b\":1.}", .number, 15),
        Case("[1e999e3]", .syntax, 6), Case("[-18446744073709551616e5E3]", .syntax, 24),
        Case("[01]", .number, 1), Case("[1.x]", .number, 1),
        Case("[-a]", .number, 1),
        Case("{} {}", .trailing, 3), Case("1,", .trailing, 1),
    ])
    func `says what and where`(_ example: Case) throws {
        let error = try #require(jsonError(Array(example.text.utf8)))
        #expect(error.kind == example.kind)
        #expect(error.byteOffset == example.offset)
        #expect(error.place == example.place)
    }

    @Test(
        arguments: [
            ([0x22, 0x61, 0xFF, 0x22], 2), ([0x22, 0xC0, 0x80, 0x22], 1), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
            ([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], 1), ([0x22, 0xC3, 0xA4, 0xE2, 0x82, 0x22], 3),
            ([0x22, 0x80, 0x22], 1),
        ] as [([UInt8], Int)])
    func `finds the first byte that is not UTF 8`(bytes: [UInt8], offset: Int) {
        #expect(jsonError(bytes) == JSONError(.utf8, byteOffset: offset))
    }

    @Test func `UTF 8 faults agree with the standard library`() {
        var random = SeededRandom.forTest("utf8FaultsAgreeWithTheStandardLibrary")
        let notable: [UInt8] = [
            0x7F, 0x80, 0xBF, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0x9F, 0xA0, 0x90, 0x8F,
        ]
        for _ in 0..<20_000 {
            let bytes = (0..<random.number(below: 7)).map { _ in notable[random.number(below: notable.count)] }
            let offset = bytes.withUnsafeBytes { UTF8Fault.firstOffset(in: $0) }
            #expect((offset == nil) == (String(validating: bytes, as: UTF8.self) != nil), "\(bytes)")
            if let offset { #expect(String(validating: bytes[..<offset], as: UTF8.self) != nil, "\(bytes)") }
        }
    }

    @Test(arguments: JSONError.Kind.allCases) func `describes every kind with a remedy`(kind: JSONError.Kind) {
        let error = JSONError(kind, byteOffset: 7, place: .string, limit: 9)
        #expect(error.code.hasPrefix("json."))
        #expect(error.description.contains("at byte 7. "))
        #expect(error.description.hasSuffix("."))
    }

    @Test func `never quotes the document`() throws {
        let error = try #require(jsonError(Array("{\"password\":\"hunter2\",oops}".utf8)))
        #expect(!error.description.contains("hunter2") && !error.description.contains("oops"))
        #expect(
            error.description
                == "The JSON document has a syntax error at byte 22. Have the producer write the record with a JSON library."
        )
    }
}

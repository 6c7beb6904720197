import TestSupport
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct JSONDocumentTests {
    @Test func `tells kinds apart`() throws {
        let text = #"[{},[],"s",1,-1,9223372036854775807,9223372036854775808,1.0,1e2,true,false,null]"#
        let kinds: [JSONValue.Kind] = [
            .object, .array, .string, .integer, .integer, .integer, .unsignedInteger, .double, .double, .boolean,
            .boolean,
            .null,
        ]
        try withJSON(text) { #expect($0.elements.map(\.kind) == kinds) }
    }

    @Test func `the parser reads numbers`() throws {
        try withJSON("[-9223372036854775808,18446744073709551615,0.1,5e-324,1.7976931348623157e308,-0.0,3]") { root in
            let values = Array(root.elements)
            #expect(values[0].int64 == .min)
            #expect(values[0].uint64 == nil)
            #expect(values[1].uint64 == .max)
            #expect(values[1].int64 == nil)
            #expect(values[1].double == 0x1p64)
            #expect(values[2].double == 0.1 && values[2].int64 == nil)
            #expect(values[3].double == .leastNonzeroMagnitude)
            #expect(values[4].double == .greatestFiniteMagnitude)
            #expect(values[5].double == 0 && values[5].double?.sign == .minus)
            #expect(values[6].uint64 == 3 && values[6].double == 3)
        }
    }

    @Test func `no digit of a number is lost`() throws {
        let numbers = [
            "18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "1e400", "-1E+999",
            "12345678901234567.89", "0.123456789012345678901", "9007199254740993.0", "1e-400", "100000000000000000000",
        ]
        let text = "{\"a\":[\(numbers.joined(separator: " , ")), {}, \"1e400\", 5, 1.5]}"
        try withJSON(text) { root in
            let values = Array(try #require(root.member("a")).elements)
            #expect(values.prefix(numbers.count).allSatisfy { $0.kind == .double })
            for (value, number) in zip(values, numbers) {
                #expect(value.double == Double(number), "\(number)")
                #expect(String(decoding: value.serialized(), as: UTF8.self) == number)
            }
            #expect(String(decoding: root.serialized(), as: UTF8.self) == text.replacing(" ", with: ""))
        }
        try withJSON("[1.50,1e3,-0.25,0.1]") {
            #expect(String(decoding: $0.serialized(), as: UTF8.self) == "[1.5,1000.0,-0.25,0.1]")
        }
        try withJSON("123456789012345678901") { #expect($0.wholeNumberText == "123456789012345678901") }
        try withJSON("-12345678901234567890.50") { #expect($0.numberText == "-12345678901234567890.5") }
    }

    @Test func `a number beyond 64 bits stands anywhere in a record`() throws {
        var random = SeededRandom.forTest("numbersBeyond64Bits")
        for _ in 0..<200 {
            var great = 0
            var parts: [String] = []
            for _ in 0..<random.number(below: 200) {
                switch random.number(below: 6) {
                case 0: parts.append("\"k,:[{\\\"1e999\"")
                case 1: parts.append("{\"n\":[\(random.number(below: 1000)),null],\"m\":2.5}")
                case 2: parts.append("9223372036854775807")
                case 3: parts.append("[true,{}]")
                default:
                    great += 1
                    parts.append(String(repeating: "7", count: 20 + random.number(below: 90)))
                }
            }
            let text = "[\(parts.joined(separator: ","))]"
            try withJSON(text) { root in
                #expect(String(decoding: root.serialized(), as: UTF8.self) == text)
                #expect(root.elements.count { $0.kind == .double } == great)
            }
        }
    }

    @Test func `texts of any bytes read as the standard library reads them`() {
        var random = SeededRandom.forTest("JSONDocumentTests")
        let parts: [[UInt8]] = [
            Array("a".utf8), Array("identity-0193c0de".utf8), Array("é".utf8), Array("日".utf8), Array("😀".utf8),
            Array("e\u{301}".utf8), [0], [0xED, 0xA0, 0x80], [0xC3], [0xFF], [0xF4, 0x90, 0x80, 0x80], [0x80],
        ]
        for round in 0..<2000 {
            // Every other text is UTF-8.
            let count = round % 2 == 0 ? 7 : parts.count
            let bytes = (0..<random.number(below: 12)).flatMap { _ in parts[random.number(below: count)] }
            let text = bytes.withUnsafeBufferPointer { JSONValue.text($0) }
            let expected = String(decoding: bytes, as: UTF8.self)
            #expect(Array(text.utf8) == Array(expected.utf8))
            #expect(text.hashValue == expected.hashValue && text == expected)
        }
    }

    @Test func `the parser reads strings`() throws {
        try withJSON(#"["", "a\"\\\/\b\f\n\r\t\u0000\u00e9\ud83d\ude00 é😀"]"#) { root in
            let values = Array(root.elements)
            #expect(values[0].string == "")
            #expect(values[1].string == "a\"\\/\u{8}\u{c}\n\r\t\u{0}é😀 é😀")
            #expect(values[1].utf8?.count == 23)
        }
    }

    @Test func `answers nil for other kinds`() throws {
        try withJSON(#"[{"a":1},true]"#) { root in
            let values = Array(root.elements)
            #expect(
                values[0].string == nil && values[0].bool == nil && values[0].double == nil && values[0].utf8 == nil)
            #expect(
                values[1].int64 == nil && values[1].uint64 == nil && values[1].member("a") == nil
                    && values[1].count == 0)
            #expect(Array(values[1].elements).isEmpty && Array(values[1].members).isEmpty)
            #expect(Array(values[0].elements).isEmpty)
            #expect(!values[0].isNull)
        }
    }

    @Test func `an object finds its members`() throws {
        try withJSON(#"{"":0,"a":{"b":[1,{"a":9}]},"é":2,"a\nb":3,"ab":4}"#) { root in
            #expect(root.count == 5)
            #expect(root.member("")?.int64 == 0)
            #expect(root.member("a")?.member("b")?.elements.map(\.kind) == [.integer, .object])
            #expect(root.member(named: "é")?.int64 == 2)
            #expect(root.member("a\nb")?.int64 == 3)
            #expect(root.member("ab")?.int64 == 4)
            #expect(root.member("b") == nil)
            #expect(root.member("x") == nil)
        }
    }

    @Test func `last of duplicate keys wins`() throws {
        try withJSON(#"{"a":1,"b":2,"a":{"x":3},"a":4}"#) { root in
            #expect(root.member("a")?.int64 == 4)
            #expect(root.count == 4)
            #expect(root.members.map { String(decoding: $0.key, as: UTF8.self) } == ["a", "b", "a", "a"])
        }
    }

    @Test func `an iteration may end early`() throws {
        try withJSON(#"{"a":[1,2,3],"b":[],"c":0}"#) { root in
            for (_, value) in root.members {
                if value.kind == .array { break }
                Issue.record("the first member is an array")
            }
        }
    }

    @Test func `counts itself when the tape's counter is full`() {
        // [1, {}, null] with the counter at its largest, as simdjson leaves it for 16,777,215 elements and more.
        let full: UInt64 = 0xFF_FFFF << 32
        func word(_ mark: UInt8, _ payload: UInt64) -> UInt64 { UInt64(mark) << 56 | payload }
        let array = [
            word(0x72, 8), word(0x5B, full | 8), word(0x6C, 0), 1, word(0x7B, 6), word(0x7D, 4), word(0x6E, 0),
            word(0x5D, 1),
        ]
        let strings: [UInt8] = [0]
        array.withUnsafeBufferPointer { tape in
            strings.withUnsafeBufferPointer { text in
                guard let tape = tape.baseAddress, let text = text.baseAddress else { return }
                #expect(JSONValue(tape: tape, strings: text, index: 1).count == 3)
            }
        }
    }
}

@Suite struct JSONSerializeTests {
    @Test(arguments: [
        (
            #" { "a" : [ 1 , -2 , 18446744073709551615 ] , "b" : { } , "c":[ ] } "#,
            #"{"a":[1,-2,18446744073709551615],"b":{},"c":[]}"#
        ),
        (
            #"["a\"\\\/\b\f\n\r\t\u0000\u001f\u007f\u00e9 é"]"#,
            #"["a\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7f}éé\"]".replacing("éé", with: "é é")
        ),
        (#"[0.1,1.50,1e2,5e-324,1e300,-0.0,true,false,null]"#, "[0.1,1.5,100.0,5e-324,1e+300,-0.0,true,false,null]"),
        (#"{"a":1,"a":2,"":[[[]]]}"#, #"{"a":1,"a":2,"":[[[]]]}"#),
    ])
    func `writes compact text`(text: String, expected: String) throws {
        try withJSON(text) { #expect(String(decoding: $0.serialized(), as: UTF8.self) == expected) }
    }

    @Test func `writes a sub value`() throws {
        try withJSON(#"{"x":0,"data":{"list":[1,"two"]},"y":1}"#) { root in
            var output = Array("data=".utf8)
            root.member("data")?.serialize(into: &output)
            #expect(String(decoding: output, as: UTF8.self) == #"data={"list":[1,"two"]}"#)
        }
    }

    @Test func `writes the deepest document`() throws {
        let text = String(repeating: #"{"a":["#, count: 512) + String(repeating: "]}", count: 512)
        try withJSON(text, depthLimit: 1024) { #expect(String(decoding: $0.serialized(), as: UTF8.self) == text) }
    }

    @Test func `doubles read back the same`() throws {
        var random = SeededRandom.forTest("doublesReadBackTheSame")
        let parser = JSONParser()
        defer { withExtendedLifetime(parser) {} }
        for _ in 0..<5_000 {
            let number = Double(bitPattern: random.next())
            guard number.isFinite else { continue }
            let output = try parser.parse(Array("[\(number)]".utf8)).root.serialized()
            let again = try #require(try parser.parse(output).root.elements.first { _ in true }?.double)
            #expect(again.bitPattern == number.bitPattern)
        }
    }
}

import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct ValueDecodingTests {
    private func value(
        _ json: String, _ type: AttributeType, dates: RouteConfiguration.DateFormat = .iso8601
    ) throws -> Value? {
        let parser = JSONParser()
        return try Array(json.utf8).withUnsafeBytes { bytes in
            try parser.withValue(of: bytes) { ValueDecoding(dates: dates).value($0, for: type) }
        }
    }

    @Test(
        arguments: [
            ("\"x\"", .string, .text("x")), ("\"\"", .string, .text("")), ("\"\\ud83d\\ude00\"", .string, .text("😀")),
            ("\"https://a.example/\"", .uri, .text("https://a.example/")),
            ("-32768", .integer16, .integer(-32768)), ("2147483647", .integer32, .integer(2_147_483_647)),
            ("9223372036854775807", .integer64, .integer(.max)), ("3.0", .integer64, .integer(3)),
            ("1e3", .integer16, .integer(1000)),
            ("1.5", .double, .double(1.5)), ("2", .double, .double(2)), ("0.1", .float, .double(Double(Float(0.1)))),
            ("true", .boolean, .integer(1)), ("false", .boolean, .integer(0)),
            ("\"2026-01-02T03:04:05.678Z\"", .date, .integer(1_767_323_045_678_000)),
            ("\"2004-07-01\"", .date, .integer(1_088_640_000_000_000)),
            ("\"AAEC\"", .binary, .blob([0, 1, 2])), ("\"\"", .binary, .blob([])),
            ("\"00010203-0405-0607-0809-0A0B0C0D0E0F\"", .uuid, .blob(Array(0...15))),
            ("{\"b\":[1,{\"a\":null}], \"a\":\"é\"}", .transformable, .text("{\"b\":[1,{\"a\":null}],\"a\":\"é\"}")),
            ("\"x\\n\"", .transformable, .text("\"x\\n\"")), ("7", .transformable, .text("7")),
            ("1.5", .transformable, .text("1.5")),
            ("true", .transformable, .text("true")),
            ("18446744073709551615", .transformable, .text("18446744073709551615")),
        ] as [(String, AttributeType, Value)])
    func `stores each type in its form`(json: String, type: AttributeType, stored: Value) throws {
        #expect(try value(json, type) == stored)
    }

    @Test(arguments: AttributeType.allCases) func `null is null in each type`(type: AttributeType) throws {
        #expect(try value("null", type) == .null)
    }

    @Test(arguments: [
        ("12.50", "12.5"), ("\"12.50\"", "12.5"), ("0.1", "0.1"), ("183.05", "183.05"), ("-0.0", "0"), ("100", "100"),
        ("\"1e3\"", "1000"), ("\"12345678901234567890.123456789\"", "12345678901234567890.123456789"),
        ("\"-0.12345678901234567890123456789012345678\"", "-0.12345678901234567890123456789012345678"),
        ("\"+0001.0000000000000000000000000000000000000000\"", "1"),
        ("\"12345678901234567890123456789012345678e3\"", "12345678901234567890123456789012345678000"),
        ("9007199254740993", "9007199254740993"), ("18446744073709551615", "18446744073709551615"), ("\"-7\"", "-7"),
    ])
    func `decimals are exact`(json: String, text: String) throws {
        #expect(try value(json, .decimal) == .text(text))
    }

    @Test(
        arguments: [
            ("1767323045", .seconds), ("1767323045000", .milliseconds), ("1767323045000000", .microseconds),
            ("1767323045.0", .seconds),
        ] as [(String, RouteConfiguration.DateFormat)])
    func `dates come in each unit`(json: String, unit: RouteConfiguration.DateFormat) throws {
        #expect(try value(json, .date, dates: unit) == .integer(1_767_323_045_000_000))
        #expect(try value("\"2026-01-02T03:04:05Z\"", .date, dates: unit) == nil)
        // Beyond the year 9999.
        #expect(try value("9223372036854775807", .date, dates: unit) == nil)
        #expect(ValueDecoding(dates: unit).expectation(.date) == "a number of \(unit.rawValue) since 1970")
    }

    @Test(
        arguments: [
            ("1", .string), ("true", .string), ("{}", .string), ("[]", .string), ("\"a\\u0000\"", .string),
            ("\"a\\u0000\"", .uri),
            ("32768", .integer16), ("-32769", .integer16), ("2147483648", .integer32),
            ("18446744073709551615", .integer64),
            ("1.5", .integer64), ("\"1\"", .integer64), ("true", .integer64), ("1e400000", .integer64),
            ("\"1.5\"", .double), ("1e300", .float), ("false", .double), ("\"twelve\"", .decimal),
            ("\"12 \"", .decimal), ("\"\"", .decimal),
            ("\"1.00000000000000000000000000000000000000000001\"", .decimal),
            ("\"115792089237316195423570985008687907853269984665640564039457584007913129639935\"", .decimal),
            ("\"0x1\"", .decimal), ("true", .decimal), ("1", .boolean), ("0", .boolean), ("\"true\"", .boolean),
            ("1.0", .boolean),
            ("1767323045", .date), ("\"2026-13-01\"", .date), ("\"\"", .date), ("\"2026-01-02T03:04:05\"", .date),
            ("\"0f8fad5b\"", .uuid), ("1", .uuid), ("\"no base64!\"", .binary), ("[0,1]", .binary),
        ] as [(String, AttributeType)])
    func `refuses what does not fit`(json: String, type: AttributeType) throws {
        let stored = try? value(json, type)
        #expect(stored == nil || stored == .some(nil), "\(json) as \(type)")
    }

    @Test(
        arguments: [
            ("12345678901234567890.12", .decimal, "12345678901234567890.12"),
            ("1e20", .decimal, "100000000000000000000"),
            ("99999999999999999999999999999999999999", .decimal, "99999999999999999999999999999999999999"),
            ("9007199254740993.0", .integer64, 9_007_199_254_740_993), ("5.0", .integer16, 5),
            ("12345678901234567.89", .transformable, "12345678901234567.89"),
            ("[1e400]", .transformable, "[1e400]"), ("18446744073709551616", .double, .double(0x1p64)),
            ("5.00000000000000000001", .integer64, nil), ("18446744073709551616", .integer64, nil),
            ("999999999999999999999999999999999999999", .decimal, nil), ("1e400", .decimal, nil),
            ("1e-400", .decimal, nil), ("1e400", .double, nil),
        ] as [(String, AttributeType, Value?)])
    func `a number keeps its digits or does not fit`(json: String, type: AttributeType, expected: Value?) throws {
        #expect(try value(json, type) == expected)
    }

    @Test func `numbers of dates keep each microsecond`() throws {
        #expect(try value("253402300799.999999", .date, dates: .seconds) == .integer(253_402_300_799_999_999))
        #expect(try value("1767323045123456789.0", .date, dates: .nanoseconds) == .integer(1_767_323_045_123_456))
    }

    @Test(arguments: [2_147_483_647, 9_223_372_036_825_200_000, -9_223_372_036_832_400_000] as [Int64])
    func `a number that stands for infinity has no unit`(count: Int64) throws {
        #expect(TimeUnit.likely(for: Double(count)) == nil)
        if count.magnitude > 1 << 32 { #expect(TimeUnit.nanoseconds.microseconds(count) == nil) }
    }

    @Test(
        arguments: [
            (20_455, TimeUnit.days), (1_767_312_000, .seconds), (-1_767_312_000_000, .milliseconds),
            (1_767_312_000_001_000, .microseconds), (1_767_312_000_000_000_000, .nanoseconds),
        ] as [(Double, TimeUnit)])
    func `the size of a count tells its likely unit`(count: Double, unit: TimeUnit) {
        #expect(TimeUnit.likely(for: count) == unit)
    }
}

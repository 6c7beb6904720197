import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01", 0), ("2004-07-01", 1_088_640_000_000_000), ("2004-07-01Z", 1_088_640_000_000_000),
        ("1970-01-01T00:00:00Z", 0),
        ("2024-01-02T03:04:05Z", 1_704_164_645_000_000), ("2024-01-02t03:04:05z", 1_704_164_645_000_000),
        ("2024-01-02 03:04:05Z", 1_704_164_645_000_000), ("2024-01-02T03:04Z", 1_704_164_640_000_000),
        ("2024-01-02T03:04:05.1Z", 1_704_164_645_100_000), ("2024-01-02T03:04:05,123456Z", 1_704_164_645_123_456),
        ("2024-01-02T03:04:05.123456999Z", 1_704_164_645_123_456),
        ("1969-12-31T23:59:59.999999999Z", -1), ("2024-01-02T05:34:05+02:30", 1_704_164_645_000_000),
        ("2024-01-01T22:04:05-0500", 1_704_164_645_000_000), ("2024-01-02T04:04:05+01", 1_704_164_645_000_000),
        ("2024-01-02T03:04:05-00:00", 1_704_164_645_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000_000),
        ("2017-01-01T05:29:60.5+05:30", 1_483_228_800_500_000), ("2000-02-29", 951_782_400_000_000),
        ("0001-01-01", -62_135_596_800_000_000), ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ])
    func `a timestamp is read in each of its forms`(text: String, expected: Int64) {
        #expect(Timestamp.microseconds(text) == expected)
    }

    @Test(arguments: [
        "", "2024", "2024-1-02", "2024-01-2", "2024/01/02", "0000-01-01", "2024-00-01", "2024-13-01", "2024-01-00",
        "2024-01-32", "2024-04-31", "2023-02-29", "2024-02-30", "1900-02-29", "+2024-01-02", "20240102T030405Z",
        "2024-01-02T", "2024-01-02T03", "2024-01-02T24:00:00Z", "2024-01-02T03:60:00Z", "2024-01-02T03:04:61Z",
        "2024-01-02T03:04:60Z", "2016-12-31T23:59:60+01:00", "2024-01-02T03:04:05", "2024-01-02T03:04:05.Z",
        "2024-01-02T03:04:05.1234567890Z", "2024-01-02T03:04:05ZZ", "2024-01-02T03:04:05+1", "2024-01-02T03:04:05+1:00",
        "2024-01-02T03:04:05+24:00", "2024-01-02T03:04:05+01:60", "2024-01-02T03:04:05 Z", "2024-01-02T03:04:05+01:0",
        "2024-01-02X03:04:05Z", " 2024-01-02", "2024-01-02 ", "٢٠٢٤-٠١-٠٢", "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-00:01", "2024-01-02T03-04-05Z",
    ])
    func `a text that is no timestamp is refused`(text: String) {
        #expect(Timestamp.microseconds(text) == nil)
    }

    /// The usual form is read in words; a text that differs in one byte, or in none, is read as other forms are.
    @Test func `the usual form has no meaning of its own`() {
        let form = Array("2024-02-29T03:04:05.678Z".utf8)
        for place in form.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = form
                bytes[place] = byte
                // A further digit makes it another form with the same meaning.
                let other = Array(bytes.dropLast()) + [UInt8(ascii: "0")] + bytes.suffix(1)
                func read(_ bytes: [UInt8]) -> Int64? {
                    bytes.withUnsafeBufferPointer { Timestamp.microseconds(utf8: $0) }
                }
                if place < 20 { #expect(read(bytes) == read(other), "byte \(byte) at \(place)") }
                let isDigit = (0x30...0x39).contains(byte)
                if (20..<23).contains(place) { #expect((read(bytes) != nil) == isDigit) }
            }
        }
        #expect(Timestamp.microseconds("2024-02-29T03:04:05.678Z") == 1_709_175_845_678_000)
        #expect(Timestamp.microseconds("9999-12-31T23:59:59.999Z") == 253_402_300_799_999_000)
        #expect(Timestamp.microseconds("0001-01-01T00:00:00.000Z") == -62_135_596_800_000_000)
        #expect(Timestamp.microseconds("2016-12-31T23:59:60.000Z") == 1_483_228_800_000_000)
    }

    @Test func `takes a time without offset as UTC only when asked`() {
        #expect(Timestamp.microseconds("2024-01-02T03:04:05.5", assumesUTC: true) == 1_704_164_645_500_000)
        #expect(Timestamp.microseconds("2024-01-02T03:04", assumesUTC: true) == 1_704_164_640_000_000)
        #expect(Timestamp.microseconds("2024-01-02T03:04:05+01:00", assumesUTC: true) == 1_704_161_045_000_000)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999999Z"), (500_000, "1970-01-01T00:00:00.500Z"),
        (1_704_164_645_123_450, "2024-01-02T03:04:05.123450Z"), (-62_135_596_800_000_000, "0001-01-01T00:00:00Z"),
        (-62_135_596_800_000_001, "0000-12-31T23:59:59.999999Z"), (253_402_300_800_000_000, "+010000-01-01T00:00:00Z"),
        (Int64.max, "+294247-01-10T04:00:54.775807Z"), (Int64.min, "-290308-12-21T19:59:05.224192Z"),
    ])
    func `a timestamp is written in its canonical form`(instant: Int64, expected: String) {
        #expect(Timestamp.text(instant) == expected)
    }

    @Test func `every day of the calendar goes there and back`() {
        var days = -719_162
        var year = 1
        var month = 1
        var day = 1
        while year <= 2500 {
            let digits = [
                String(year + 10_000).dropFirst(), String(month + 100).dropFirst(), String(day + 100).dropFirst(),
            ]
            let text = digits.joined(separator: "-")
            let instant = Int64(days) * 86_400_000_000
            if Timestamp.microseconds(text) != instant || Timestamp.text(instant) != text + "T00:00:00Z" {
                Issue.record("\(text)")
                return
            }
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
            days += 1
            day += 1
            if day > length { (day, month) = (1, month + 1) }
            if month > 12 { (month, year) = (1, year + 1) }
        }
    }

    @Test func `agrees with Foundation`() throws {
        var random = SeededRandom.forTest("agreesWithFoundation")
        let style = Date.ISO8601FormatStyle()
        for _ in 0..<3_000 {
            // Foundation's calendar is another one before 1583.
            let seconds = Int64.random(in: -12_212_553_600..<253_402_300_800, using: &random)
            let fraction = Int64.random(in: 0..<1_000_000, using: &random)
            let text = Date(timeIntervalSince1970: Double(seconds)).formatted(style)
            #expect(Timestamp.microseconds(text) == seconds * 1_000_000)
            #expect(Timestamp.text(seconds * 1_000_000) == text)
            let written = Timestamp.text(seconds * 1_000_000 + fraction)
            #expect(written.hasPrefix(text.dropLast()))
            #expect(Timestamp.microseconds(written) == seconds * 1_000_000 + fraction)
        }
    }

    @Test func `never crashes on damaged text`() {
        var random = SeededRandom.forTest("TimestampTests.neverCrashesOnDamagedText")
        let seed = Array("2024-01-02T03:04:05.123456+02:30".utf8)
        for _ in 0..<20_000 {
            let bytes = random.mutate(seed)
            let instant = bytes.withUnsafeBufferPointer { Timestamp.microseconds(utf8: $0) }
            if let instant { #expect(Timestamp.microseconds(Timestamp.text(instant)) == instant) }
        }
    }

    @Test(
        arguments: [
            ("30s", 1000 - 30), ("30m", 1000 - 1800), ("1h", 1000 - 3600), ("2d", 1000 - 172_800),
            ("1w", 1000 - 604_800),
            ("0s", 1000), ("2026-03-01", 1_772_323_200), ("2026-03-01T08:00:00Z", 1_772_352_000),
            ("", nil), ("h", nil), ("-1h", nil), ("1.5h", nil), ("1 h", nil), ("1h30m", nil), ("1H", nil), ("10", nil),
            ("99999999d", nil), ("9999999999999999999s", nil), ("9223372036854775807w", nil), ("٣h", nil),
        ] as [(String, Int64?)])
    func `a time, or an age before now`(text: String, seconds: Int64?) {
        let time = Timestamp.microseconds(timeOrAge: text, now: 1_000_000_000)
        #expect(time == seconds.map { $0 * 1_000_000 }, "\(text)")
    }
}

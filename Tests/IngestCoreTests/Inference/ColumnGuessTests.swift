import ObjectGraph
import Testing

@testable import Inference
@testable import IngestCore
@testable import RecordDecoding

/// Types, forms and notes that the values of a column suggest.
@Suite struct ColumnGuessTests {
    /// The guess of a column of JSON, whose numbers and booleans stand without quotes.
    private static func json(_ values: [String], name: String = "value") -> ColumnGuess {
        var profile = EntityProfile(path: "t.jsonl", isTable: false)
        for value in values {
            let parser = JSONParser()
            guard let root = try? parser.parse(Array("{\"\(name)\":\(value)}".utf8)).root else { continue }
            withExtendedLifetime(parser) { profile.add(root) }
        }
        return ColumnGuess(profile.columns[0])
    }

    private static func table(_ values: [String], name: String = "value") -> ColumnGuess {
        var profile = ColumnProfile(name: name)
        for value in values { profile.add(value, ValueShape(text: value)) }
        return ColumnGuess(profile)
    }

    // MARK: Time

    @Test(arguments: [
        "created", "updated_at", "ts", "ts_ms", "modified", "expires", "last_seen", "lastSeen", "exp",
        "current_period_end", "observedTimeUnixNano", "mtime",
    ]) func `names speak of time`(name: String) { #expect(TimeName.isTime(name)) }

    @Test(arguments: ["count", "updates", "population", "status", "attempts", "vendor", "rating"])
    func `other names do not`(name: String) { #expect(!TimeName.isTime(name)) }

    @Test(arguments: [
        ("1767323045", "seconds"), ("1767323045123", "milliseconds"), ("1767323045123456", "microseconds"),
        ("1767323045123456789", "nanoseconds"), ("\"1767323045123456789\"", "nanoseconds"),
        ("1767323045.25", "seconds"), ("\"1767323045.000100\"", "seconds"),
    ]) func `counts from 2001 to 2100 are dates with their unit`(value: String, unit: String) {
        let guess = Self.json([value], name: "ts")
        #expect(guess.type == .date)
        #expect(guess.form == unit)
        #expect(guess.reason.contains(unit))
    }

    @Test func `counts of other years, of several units or without a name of time are numbers`() {
        #expect(Self.json(["1767323045", "12"], name: "ts").type == .integer64)
        #expect(Self.json(["1767323045", "1767323045123"], name: "ts").type == .integer64)
        #expect(Self.json(["1767323045"], name: "serial").type == .integer64)
    }

    // MARK: Numbers as text

    @Test func `texts that are all decimals are decimals`() {
        #expect(Self.json(["\"409.94\"", "\"0.00\""]).type == .decimal)
        #expect(Self.json(["\"409.94\"", "12", "\"7\""]).type == .decimal)
        #expect(Self.json(["\"409.94\"", "\"none\""]).type == .string)
        #expect(Self.json(["\"1.10\""], name: "api_version").type == .string)
        #expect(Self.json(["\"4711\""], name: "order").type == .string, "whole numbers as text are codes")
    }

    @Test func `numbers with a comma stay text, with a remedy`() throws {
        for guess in [Self.table(["1.234,50", "-5,00", "7"]), Self.json(["\"1.234,50\""])] {
            #expect(guess.type == .string)
            let warning = try #require(guess.warning)
            #expect(warning.contains("'1.234,50'") && warning.contains("'jq'"))
        }
        #expect(ValueShape(text: "1,234.50") == .commaNumber)
        #expect(ValueShape(text: "1,2,3") == .text)
    }

    // MARK: Mixed values of JSON

    @Test func `numbers among texts need a form, and numbers among booleans are JSON`() {
        let mixed = Self.json(["1", "\"a\""])
        #expect(mixed.type == .string)
        #expect(mixed.form == "number")
        #expect(Self.json(["true", "\"a\""]).form == "boolean")
        #expect(Self.json(["true", "1", "\"a\""]).type == .transformable)
        #expect(Self.table(["1", "a"]).form == nil, "all fields of a table are texts")
    }

    // MARK: Dates of other forms

    @Test(arguments: [
        (["31.12.2025", "01.02.2026"], "dd.MM.yyyy"), (["01.02.2026"], "dd.MM.yyyy"),
        (["31/12/2025", "1/2/2026"], "dd/MM/yyyy"), (["12/31/2025"], "MM/dd/yyyy"),
        (["2026/01/02"], "yyyy/MM/dd"), (["31.12.2025 23:59"], "dd.MM.yyyy HH:mm"),
        (["31.12.2025 23:59", "1.2.2026 3:04:05.5"], "dd.MM.yyyy HH:mm[:ss[.SSS]]"),
        (["4/15/2023 3:04 PM", "4/16/2023 12:00:01 AM"], "MM/dd/yyyy hh:mm[:ss][ ]a"), (["01-Jan-1995"], "dd-MMM-yyyy"),
        (["31-12-2025 23:59:10"], "dd-MM-yyyy HH:mm:ss"),
    ]) func `a form that fits all dates is written`(values: [String], form: String) {
        let guess = Self.table(values)
        #expect(guess.type == .date)
        #expect(guess.form == form)
        #expect(guess.isLocal == form.contains(":"))
    }

    @Test func `days up to 12 leave two forms, and the note names both`() throws {
        let guess = Self.table(["01/02/2026", "03/04/2026"])
        #expect(guess.type == .string)
        #expect(try #require(guess.warning).contains("dd/MM/yyyy or MM/dd/yyyy"))
    }

    @Test func `comments name no internal form`() {
        for shape in ValueShape.allCases where shape.rawValue.contains(where: \.isUppercase) {
            #expect(!shape.words.contains(shape.rawValue))
        }
        #expect(Self.table(["31.12.2025", "x"]).reason.contains("dates of another form than ISO 8601: 1"))
    }
}

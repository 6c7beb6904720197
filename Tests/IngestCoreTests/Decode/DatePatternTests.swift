import ObjectGraph
import Testing

@testable import IngestCore
@testable import RecordDecoding

@Suite struct DatePatternTests {
    private func text(_ pattern: String, _ zone: String?, _ date: String) throws -> String? {
        try DatePattern(pattern, zone: zone).microseconds(date).map { Timestamp.text($0) }
    }

    @Test(
        arguments: [
            ("yyyy-MM-dd HH:mm:ss", nil, "2026-01-02 03:04:05", "2026-01-02T03:04:05Z"),
            ("yyyy-MM-dd HH:mm:ss", "Europe/Berlin", "2026-01-02 03:04:05", "2026-01-02T02:04:05Z"),
            ("yyyy-MM-dd HH:mm:ss", "Europe/Berlin", "2026-07-02 03:04:05", "2026-07-02T01:04:05Z"),
            // An hour that is left out, and one that comes twice.
            ("yyyy-MM-dd HH:mm", "Europe/Berlin", "2026-03-29 02:30", "2026-03-29T01:30:00Z"),
            ("yyyy-MM-dd HH:mm", "Europe/Berlin", "2026-10-25 02:30", "2026-10-25T00:30:00Z"),
            ("dd.MM.yy", nil, "02.01.26", "2026-01-02T00:00:00Z"),
            ("M/d/yyyy h:mm a", nil, "1/2/2026 12:30 AM", "2026-01-02T00:30:00Z"),
            ("d MMM yyyy", nil, "29 February 2024", "2024-02-29T00:00:00Z"),
            ("yyyyMMdd'T'HHmmss.SSSX", "Europe/Berlin", "20260102T030405.250+0100", "2026-01-02T02:04:05.250Z"),
            ("yyyy-MM-dd HH:mm:ssXXX", nil, "2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"),
            // Parts that may be missing, and a bracket that stands for itself.
            ("yyyy-MM-dd['T'][ ]HH:mm[:ss[.SSS]][XXX]", "Europe/Berlin", "2026-01-02T03:04", "2026-01-02T02:04:00Z"),
            (
                "yyyy-MM-dd['T'][ ]HH:mm[:ss[.SSS]][XXX]", "Europe/Berlin", "2026-01-02 03:04:05.5Z",
                "2026-01-02T03:04:05.500Z"
            ),
            ("yyyy-MM-dd[ HH:mm[:ss[.SSS]]]", nil, "2026-01-02", "2026-01-02T00:00:00Z"),
            ("yyyy-MM-dd[ HH:mm[:ss[.SSS]]]", nil, "2006-02-14 22:04:36.62", "2006-02-14T22:04:36.620Z"),
            ("MM/dd/yyyy[ hh:mm[:ss][ ]a]", nil, "4/15/2023 3:04PM", "2023-04-15T15:04:00Z"),
            ("'['dd/MMM/yyyy:HH:mm:ss Z']'", nil, "[02/Jan/2026:03:04:05 +0100]", "2026-01-02T02:04:05Z"),
        ] as [(String, String?, String, String)])
    func `a date is read as its form says`(pattern: String, zone: String?, date: String, expected: String) throws {
        #expect(try text(pattern, zone, date) == expected)
    }

    @Test(arguments: [
        "2026-13-02", "2026-02-29", "2026-1", "x", "", "2026-01-02 ", "2026-01-021", "26-01-02", "2026-00-01",
    ])
    func `a text of another form is no date`(date: String) throws {
        #expect(try text("yyyy-MM-dd", nil, date) == nil)
    }

    @Test(
        arguments: [
            ("yyyy", nil), ("yyyy-MM", nil), ("yyyy-MM-dd QQ", nil), ("yyyy-MM-dd'T", nil), ("yyyy-MM-dd", "Mars/Base"),
            ("yyyy-MM[-dd]", nil), ("yyyy-MM-dd[ HH:mm", nil), ("yyyy-MM-dd] HH:mm", nil),
        ]
            as [(String, String?)])
    func `a form that means nothing is refused`(pattern: String, zone: String?) {
        #expect(throws: ExpressionError.self) { try DatePattern(pattern, zone: zone) }
    }

    @Test(
        arguments: [
            ("1704200000.000200", "2024-01-02T12:53:20.000200Z"), ("1704200000", "2024-01-02T12:53:20Z"),
            ("-1.5", "1969-12-31T23:59:58.500Z"), ("1704200000.0002009999", "2024-01-02T12:53:20.000200Z"),
            ("1.", nil), ("", nil), (".5", nil), ("1e3", nil), ("99999999999999999999", nil),
        ] as [(String, String?)])
    func `a count as text is an instant`(text: String, expected: String?) {
        var text = text
        let found = text.withUTF8 { TimeUnit.seconds.microseconds(utf8: $0) }
        #expect(found.map { Timestamp.text($0) } == expected)
    }

    // MARK: In routes

    private func decoder(nulls: [String] = [], _ change: (inout RouteConfiguration) -> Void) throws -> TestDecoder {
        var route = RouteConfiguration(entity: "WorkOrder")
        change(&route)
        return try TestDecoder(TestModels.kinds(), format: .json, routes: [route], nullValues: nulls)
    }

    @Test func `a route states the form of dates, and a type that of one`() throws {
        let decoder = try decoder {
            ($0.datePattern, $0.zone, $0.timeField) = ("dd.MM.yyyy HH:mm", "Europe/Berlin", "at")
            $0.typePatterns = ["name": "yyyy/MM/dd"]
        }
        #expect(
            try decoder.shown(
                "{\"id\":\"w1\",\"at\":\"02.01.2026 04:04\",\"happenedAt\":\"02.07.2026 04:04\",\"name\":\"2026/01/02\"}"
            )
                == [
                    "upsert WorkOrder w1 version=2026-01-02T03:04:00Z happenedAt=2026-07-02T02:04:00Z name=2026-01-01T23:00:00Z"
                ])
        let wrong = try #require(
            decoder.failure("{\"id\":\"w1\",\"happenedAt\":\"2026-01-02T03:04:05+01:00 and more\"}"))
        #expect(
            wrong.description.contains(
                "a date of the form dd.MM.yyyy HH:mm, not this text: '2026-01-02T03:04:05+01:0…'"))
    }

    @Test func `a time in a form that the route does not state has a remedy`() throws {
        let silent = try decoder { $0.timeField = "at" }
        let reason = try #require(silent.failure("{\"id\":\"w1\",\"at\":1767323045}")).description
        #expect(reason.contains("The event's time, at, has to be a date such as"))
        #expect(
            reason.contains("not this number: 1767323045. State the form with 'dates' of the route: seconds"),
            "\(reason)")
        let stated = try decoder { ($0.timeField, $0.dates) = ("at", .seconds) }
        #expect(
            try stated.shown("{\"id\":\"w1\",\"at\":1767323045}") == [
                "upsert WorkOrder w1 version=2026-01-02T03:04:05Z"
            ])
        let wrong = try #require(stated.failure("{\"id\":\"w1\",\"at\":\"soon\"}")).description
        #expect(wrong.contains("a number of seconds since 1970") && !wrong.contains("'dates'"), "\(wrong)")
    }

    @Test func `texts stand for null where the topic says so`() throws {
        let decoder = try decoder(nulls: ["NA", ""]) { $0.types = ["small": .text] }
        #expect(
            try decoder.shown(
                "{\"id\":\"w1\",\"name\":\"NA\",\"small\":\"NA\",\"owner\":\"\",\"parts\":\"NA\",\"price\":\"\"}") == [
                    "upsert WorkOrder w1 name=null small=null price=null owner=null parts=[]"
                ])
        #expect(decoder.failure("{\"id\":\"NA\"}")?.code == "decode.identity")
    }

    @Test func `the value of a secret is not shown`() throws {
        let model = try ObjectModel.parse(
            """
            model: m
            entities:
              A:
                identity: id
                attributes:
                  id: { type: string }
                  pin: { type: integer32, optional: true, info: { secret: "true" } }
                  open: { type: integer32, optional: true }
            """)
        let decoder = try TestDecoder(model, format: .json, routes: [RouteConfiguration(entity: "A")])
        #expect(try #require(decoder.failure("{\"id\":\"a\",\"open\":\"1234x\"}")).description.contains("1234x"))
        #expect(!(try #require(decoder.failure("{\"id\":\"a\",\"pin\":\"1234x\"}")).description.contains("1234x")))
    }
}

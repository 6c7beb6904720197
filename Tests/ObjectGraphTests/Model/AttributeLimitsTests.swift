import ObjectGraph
import Testing

@testable import GraphCore
@testable import GraphModel

@Suite struct AttributeLimitsTests {
    private static let limits: [(type: String, limits: [String])] = [
        ("integer64", ["", "min: 3", "max: 9", "min: -2, max: 4", "min: 5, max: 5"]),
        ("integer16", ["min: 3"]),
        ("double", ["min: 2, max: 4.5"]),
        ("decimal", ["min: \"2\", max: \"4.5\""]),
        (
            "date",
            [
                "", "min: \"1970-01-01T00:00:00Z\"", "max: \"9999-12-31T23:59:59Z\"",
                "min: \"1969-12-31T23:59:59Z\", max: \"1970-01-02T00:00:00Z\"",
            ]
        ),
        (
            "string",
            [
                "", "maxLength: 3", "minLength: 2", "minLength: 2, maxLength: 3", "pattern: \"^a\"",
                "maxLength: 3, pattern: b",
            ]
        ),
        ("uri", ["", "maxLength: 3"]), ("binary", ["maxLength: 3"]),
    ]

    private static let values: [Value] = {
        let numbers: [Int64] = [
            .min, .max, Timestamp.range.lowerBound, Timestamp.range.upperBound, 86_400_000_000, -1_000_000,
        ]
        let around = numbers.flatMap { [$0 &- 1, $0, $0 &+ 1] } + Array(-4...10)
        let texts = ["", "a", "ab", "abc", "abcd", "ä", "äöü", "äöüß", "e\u{301}", "2", "4.5", "4.6", "a b", "b<"]
        return [.null] + around.map { .integer($0) } + texts.map { .text($0) }
            + [1.9, 2, 4.5, 4.6, .infinity].map { .double($0) } + [[], [1, 2, 3], [1, 2, 3, 4]].map { .blob($0) }
    }()

    /// The short way round most values says of each what the attribute's own check says.
    @Test func `the quick check of limits agrees with the full one`() throws {
        var failureCount = 0
        for (type, limits) in Self.limits {
            for limit in limits {
                let thing = try Self.thing(type, limit)
                let attribute = try #require(thing.attribute(named: "value"))
                let limits = AttributeLimits(attribute)
                #expect((limits != nil) == attribute.hasLimits)
                for value in Self.values {
                    var expected: [ValidationFailure.Reason] = []
                    attribute.check(value, entity: "Thing") { expected.append($0.reason) }
                    var found: [ValidationFailure.Reason] = []
                    limits?.check(value, of: thing) { found.append($0.reason) }
                    #expect(found == expected, "\(type), \(limit): \(value)")
                    failureCount += expected.count
                }
            }
        }
        #expect(failureCount > 100)
    }

    @Test func `a derived attribute cannot be set`() throws {
        let thing = try Self.thing([
            "name: { type: string, maxLength: 3 }", "upper: { type: string, derived: \"uppercase:(name)\" }",
        ])
        #expect(thing.limits.map(\.slot) == [try #require(thing.attribute(named: "name")).slot])
    }

    private static func thing(_ type: String, _ limit: String) throws -> Entity {
        try thing(["value: { type: \(type)\(limit.isEmpty ? "" : ", " + limit) }"])
    }

    private static func thing(_ attributes: [String]) throws -> Entity {
        let model = try ObjectModel.parse(
            """
            model: things
            entities:
              Thing:
                identity: id
                attributes:
                  id: { type: string }
                  \(attributes.joined(separator: "\n      "))
            """)
        return try #require(model.entity(named: "Thing"))
    }
}

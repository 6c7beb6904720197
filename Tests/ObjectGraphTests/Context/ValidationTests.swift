import ObjectGraph
import Testing

@testable import GraphCore
@testable import GraphModel

@Suite struct ValidationTests {
    private static let yaml = """
        entities:
          Thing:
            identity: id
            attributes:
              id: { type: string }
              name: { type: string, optional: true, minLength: 2, maxLength: 4, pattern: '^[a-z]+$' }
              amount: { type: integer32, optional: true, min: 1, max: 5 }
              price: { type: decimal, optional: true, min: 0.5, max: 10 }
              at: { type: date, optional: true, min: 2020-01-01, max: 2029-12-31T00:00:00Z }
              bytes: { type: binary, optional: true, maxLength: 2 }
              code: { type: string, optional: true, unique: true }
              must: { type: string, default: x }
        """

    @Test(
        arguments: [
            ("name", "a", 1670), ("name", "abcde", 1660), ("name", "a1", 1680), ("amount", 0, 1620),
            ("amount", 6, 1610),
            ("price", "0.49", 1620), ("price", "10.01", 1610), ("at", 1, 1640), ("at", 4_000_000_000_000_000, 1630),
            ("bytes", .blob([1, 2, 3]), 1660), ("must", nil, 1570),
        ] as [(String, Value, Int)])
    func `value beyond a limit has its code`(_ property: String, _ value: Value, _ code: Int) throws {
        let graph = try Graph(yaml: Self.yaml)
        let result = try graph.apply([
            graph.upsert("Thing", "t", [:]), graph.upsert("Thing", "t", [property: .value(value)]),
        ])
        guard case .failed(let failure) = result.outcomes[1] else {
            Issue.record("it was \(result.outcomes[1].word)")
            return
        }
        #expect(failure.code == "validation.\(code)")
        #expect(failure.description.contains("Thing.\(property)"))
    }

    @Test func `bounds are inclusive and characters count`() throws {
        let graph = try Graph(yaml: Self.yaml.replacingPattern())
        let outcomes = try graph.apply(
            graph.upsert("Thing", "a", ["amount": 1, "price": "10"]), graph.upsert("Thing", "b", ["amount": 5]),
            // Four characters of several bytes each.
            graph.upsert("Thing", "c", ["name": "äöü\u{1F469}\u{200D}\u{1F467}"]))
        #expect(outcomes == ["applied", "applied", "applied"])
    }

    @Test func `unique values are unique`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let outcomes = try graph.apply(
            graph.upsert("Thing", "a", ["code": "1"]), graph.upsert("Thing", "b", ["code": "1"]),
            graph.upsert("Thing", "c", ["code": nil]), graph.upsert("Thing", "d", ["code": nil]))
        #expect(outcomes == ["applied", "validation.1551", "applied", "applied"])
        #expect(try graph.apply(graph.upsert("Thing", "b", ["code": "1"])) == ["validation.1551"])
        #expect(
            try graph.apply(graph.delete("Thing", "a"), graph.upsert("Thing", "b", ["code": "1"])) == [
                "applied", "applied",
            ])
    }

    @Test func `exchanging unique values through a third is one chunk`() throws {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply(graph.upsert("Thing", "a", ["code": "1"]), graph.upsert("Thing", "b", ["code": "2"]))
        // The two updates cannot be written one after the other in either order.
        let result = try graph.apply([
            graph.upsert("Thing", "a", ["code": "3"]), graph.upsert("Thing", "b", ["code": "1"]),
            graph.upsert("Thing", "a", ["code": "2"]), graph.upsert("Thing", "c", ["name": "z"]),
            graph.upsert("Thing", "e"),
        ])
        #expect(result.outcomes.map(\.word) == ["applied", "applied", "applied", "validation.1670", "applied"])
        #expect(try graph.rows("SELECT id, code FROM Thing ORDER BY id") == [["a", "2"], ["b", "1"], ["e", nil]])
        #expect(result.token == 2)
        #expect(try graph.history(after: 1) == ["update Thing a code", "update Thing b code", "insert Thing e"])
    }

    @Test func `one event may exchange unique values`() throws {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply(graph.upsert("Thing", "a", ["code": "1"]), graph.upsert("Thing", "b", ["code": "2"]))
        let event = ChangeSet([
            graph.model.upsert("Thing", "a", [("code", "2")]), graph.model.upsert("Thing", "b", [("code", "1")]),
        ])
        #expect(try graph.apply(event) == ["applied"])
        #expect(try graph.column("SELECT code FROM Thing ORDER BY id") == ["2", "1"])
    }

    @Test func `direct exchange of unique values fails event by event`() throws {
        let graph = try Graph(yaml: Self.yaml)
        try graph.apply(graph.upsert("Thing", "a", ["code": "1"]), graph.upsert("Thing", "b", ["code": "2"]))
        let outcomes = try graph.apply(
            graph.upsert("Thing", "a", ["code": "2"]), graph.upsert("Thing", "b", ["code": "1"]))
        #expect(outcomes == ["validation.1551", "validation.1551"])
    }

    @Test func `all failures of an object come at once`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let event = graph.upsert("Thing", "t", ["name": "ABCDE", "amount": 6, "must": nil])
        let result = try graph.apply([event])
        guard case .failed(let failure) = result.outcomes[0] else {
            Issue.record("it was applied")
            return
        }
        #expect(failure.code == "validation.1560")
        #expect(
            failure.details.map { "\($0.code) \($0.entity).\($0.property ?? "")" } == [
                "1660 Thing.name", "1680 Thing.name", "1610 Thing.amount", "1570 Thing.must",
            ])
        #expect(failure.details[0].limit == "may have at most 4 characters, this one has 5")
        #expect(
            failure.description.hasPrefix(
                "4 rules are broken (1560, validation.several): Thing.name may have at most 4 characters"))
        #expect(!failure.description.contains("ABCDE"), "no value leaks")
    }

    @Test func `failures of all objects of an event come at once`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let event = ChangeSet([
            graph.model.upsert("Thing", "a", [("amount", 9)]), graph.model.upsert("Thing", "b", [("amount", 9)]),
        ])
        #expect(try graph.apply(event) == ["validation.1560"])
        #expect(try graph.apply(graph.upsert("Thing", "a", ["amount": 9])) == ["validation.1610"])
    }

    @Test func `details are bounded and counted`() {
        var failures = ValidationFailures()
        for _ in 0..<250 {
            failures.add(
                ValidationFailure(reason: .missingMandatory, entity: "A", property: "b", limit: "is required"))
        }
        #expect(failures.details.count == 100)
        #expect(
            failures.description.hasPrefix(
                "250 rules are broken (1560, validation.several): A.b is required (1570, validation.required); "))
        #expect(failures.description.hasSuffix("and 240 more"))
    }

    @Test(
        arguments: [
            ("https://example.org/a?b=c#d", true), ("a/../b", true), ("", true), ("http://bücher.example/%C3%A9", true),
            ("a b", false), ("50%", false), ("%zz", false), ("<a>", false), ("a\u{0}", false), ("a|b", false),
        ])
    func `uri holds what a reference may hold`(_ text: String, _ isValid: Bool) throws {
        #expect(URIText.isReference(text) == isValid)
        let graph = try Graph(
            yaml: """
                entities:
                  Page:
                    identity: id
                    attributes: { id: { type: string }, link: { type: uri } }
                """)
        #expect(
            try graph.apply(graph.upsert("Page", "p", ["link": .value(.text(text))]))
                == [isValid ? "applied" : "validation.1690"])
    }

    @Test func `date beyond the years is invalid`() throws {
        let graph = try Graph(yaml: Self.yaml)
        let outcomes = try graph.apply([graph.upsert("Thing", "t", ["at": .value(.integer(.min))])]).outcomes
        #expect(outcomes.map(\.word) == ["validation.1560"])
        guard case .failed(let failure) = outcomes[0] else { return }
        #expect(failure.details.map(\.code) == [1650, 1640])
    }
}

extension String {
    fileprivate func replacingPattern() -> String { split(separator: ", pattern: '^[a-z]+$'").joined() }
}

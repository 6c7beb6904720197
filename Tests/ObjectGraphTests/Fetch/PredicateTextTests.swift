import ObjectGraph
import Testing

import struct Foundation.Data
import struct Foundation.Date
import struct Foundation.Decimal
import struct Foundation.UUID

@testable import GraphCore

/// Predicates as text: what is printed reads as what it was, and arguments take their places.
struct PredicateTextTests {
    @Test(arguments: [
        "title = 'a'", "a != nil AND (b < 3 OR NOT (c >= -2.5))", "TRUEPREDICATE OR FALSEPREDICATE",
        "ANY members.name BEGINSWITH[cd] 'x'", "ALL a.b IN {1, 2}", "NONE a.b BETWEEN {'x', 'y'}",
        "SUBQUERY(items, $i, $i.price > 3 AND $i.box = SELF).price.@sum > 3", "a.@count = b.c.@max",
        "-(a + 1) * (b - -2) / 3 > 0", "lowercase(a) LIKE[c] '*x?'", "now() - 86400 < sentAt",
        "CAST('2026-01-02T03:04:05.000006Z', 'NSDate') = a",
        "id = CAST('123e4567-e89b-12d3-a456-426614174000', 'NSUUID')",
        "data = CAST('AAE=', 'NSData')", #"a = 'it\'s \\ \n\t\r'"#, "#in = 1 AND a.#or = 2", "SELF IN {nil, YES, NO}",
        "$x.name = $y", "a MATCHES '[a-z]+'", "a = {}",
    ])
    func `prints what reads the same`(_ text: String) throws {
        let predicate = try FetchPredicate.parse(text)
        #expect(try FetchPredicate.parse(predicate.description) == predicate, "\(predicate)")
    }

    @Test func `combines in code`() throws {
        let work = FetchPredicate("title", .beginsWith, "Work", options: .caseInsensitive)
        let named = FetchPredicate("members.name", .contained, ["Ada", "Grace"], quantifier: .any)
        #expect(
            (work && !named || FetchPredicate("messagesCount", .greater, 3)).description
                == "(title BEGINSWITH[c] 'Work' AND NOT (ANY members.name IN {'Ada', 'Grace'})) OR messagesCount > 3")
        #expect(FetchPredicate.and([]).description == "TRUEPREDICATE")
        #expect(FetchPredicate.or([]).description == "FALSEPREDICATE")
    }

    @Test func `takes typed arguments`() throws {
        let date = Date(timeIntervalSince1970: 1.5)
        let id = try #require(UUID(uuidString: "123E4567-E89B-12D3-A456-426614174000"))
        let arguments: [any PropertyValue] = [
            "chat.title", "a 'quoted' text", 3, 2.5, true, date, id, ["x", "y"], String?.none, Decimal(12), Data([1]),
        ]
        let predicate = try FetchPredicate.parse(
            "%K = %@ AND a = %d AND b = %f AND c = %@ AND d = %@ AND e = %@ AND f IN %@ AND g = %@ AND h = %ld AND i = %@",
            arguments: arguments)
        #expect(
            predicate.description == #"chat.title = 'a \'quoted\' text' AND a = 3 AND b = 2.5 AND c = YES AND "#
                + "d = CAST('1970-01-01T00:00:01.500Z', 'NSDate') AND "
                + "e = CAST('123e4567-e89b-12d3-a456-426614174000', 'NSUUID') AND f IN {'x', 'y'} AND g = nil AND h = 12 "
                + "AND i = CAST('AQ==', 'NSData')")
    }

    @Test(
        arguments: [
            ("a = %@", 0, 5), ("a = %@ AND b = %@", 1, 16), ("a = '%@'", 1, nil), ("a = 1", 1, nil), ("%K = 1", 0, 1),
        ] as [(String, Int, Int?)])
    func `refuses arguments that do not fit`(_ text: String, _ count: Int, _ column: Int?) {
        do throws(FetchPredicateError) {
            _ = try FetchPredicate.parse(text, arguments: Array(repeating: "x", count: count))
            Issue.record("\(text) was read")
        } catch {
            #expect(error.code == .arguments)
            #expect(error.column == column)
        }
    }

    @Test func `substitutes variables but those of subqueries`() throws {
        let predicate = try FetchPredicate.parse(
            "title = $x AND a IN $list AND SUBQUERY(b, $x, $x = $y AND $x.c = 1).@count > 0")
        let substituted = try predicate.substituting(["x": "t", "list": [1, 2], "y": 3])
        #expect(
            substituted.description
                == "title = 't' AND a IN {1, 2} AND SUBQUERY(b, $x, $x = 3 AND $x.c = 1).@count > 0")
    }

    @Test func `an argument is never read as text`() throws {
        let evil = "x' OR TRUEPREDICATE OR 'a' = 'a"
        let predicate = try FetchPredicate.parse("title = %@", arguments: [evil])
        #expect(predicate == FetchPredicate("title", .equal, .text(evil)))
        #expect(try FetchPredicate.parse(predicate.description) == predicate)
    }
}

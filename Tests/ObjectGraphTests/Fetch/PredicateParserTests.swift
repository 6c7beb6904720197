import ObjectGraph
import Testing

@testable import GraphCore

struct PredicateParserTests {
    private func failure(_ text: String) -> FetchPredicateError? {
        do {
            _ = try FetchPredicate.parse(text)
            return nil
        } catch {
            return error
        }
    }

    private func comparison(_ text: String) throws -> FetchPredicate.Comparison {
        guard case .comparison(let comparison) = try FetchPredicate.parse(text) else {
            throw FetchPredicateError(.syntax, "no comparison", at: nil, remedy: "")
        }
        return comparison
    }

    @Test(arguments: [
        ("a = 1", FetchPredicate.Relation.equal), ("a == 1", .equal), ("a != 1", .notEqual), ("a <> 1", .notEqual),
        ("a < 1", .less), ("a <= 1", .lessOrEqual), ("a =< 1", .lessOrEqual), ("a > 1", .greater),
        ("a >= 1", .greaterOrEqual), ("a => 1", .greaterOrEqual), ("a BETWEEN {1, 2}", .between),
        ("a between (1, 2)", .between), ("a IN {1}", .contained), ("a in ()", .contained),
        ("a BEGINSWITH 'x'", .beginsWith), ("a contains 'x'", .contains), ("a ENDSWITH 'x'", .endsWith),
        ("a LIKE 'x'", .like), ("a MATCHES 'x'", .matches),
    ])
    func `reads every relation`(_ text: String, _ relation: FetchPredicate.Relation) throws {
        #expect(try comparison(text).relation == relation)
    }

    @Test func `binds not tightest then and then or`() throws {
        func is1(_ name: String, _ column: Int, _ valueColumn: Int) -> FetchPredicate {
            .comparison(
                FetchPredicate.Comparison(
                    .path(PropertyPath(names: [name], column: column)), .equal,
                    .literal(Literal(.number("1"), column: valueColumn))))
        }
        let predicate = try FetchPredicate.parse("a=1 OR NOT b=1 AND c=1 || !(d=1)")
        #expect(
            predicate
                == .or([is1("a", 1, 3), .and([.not(is1("b", 12, 14)), is1("c", 20, 22)]), .not(is1("d", 29, 31))]))
    }

    @Test func `reads texts with escapes in both quotes`() throws {
        let text = try comparison(#"a = 'it\'s \"\\ \u00e9\n'"#)
        #expect(text.right == .literal(Literal(.text("it's \"\\ é\n"), column: 5)))
        #expect(try comparison(#"a = "it's""#).right == .literal(Literal(.text("it's"), column: 5)))
    }

    @Test(arguments: [
        ("YES", Literal.Content.boolean(true)), ("true", .boolean(true)), ("no", .boolean(false)),
        ("FALSE", .boolean(false)), ("nil", .null), ("NULL", .null), ("-3", .number("-3")), ("+3", .number("3")),
        ("1.5e-3", .number("1.5e-3")),
    ])
    func `reads every value`(_ text: String, _ content: Literal.Content) throws {
        #expect(try comparison("a = \(text)").right == .literal(Literal(content, column: 5)))
    }

    @Test func `reads paths functions quantifiers and options`() throws {
        #expect(try comparison("chat.title = 'x'").left == .path(PropertyPath(names: ["chat", "title"], column: 1)))
        #expect(
            try comparison("members.@count > 2").left
                == .path(PropertyPath(names: ["members"], function: "count", column: 1)))
        #expect(try comparison("ANY members.name = 'x'").quantifier == .any)
        #expect(try comparison("SOME members.name = 'x'").quantifier == .any)
        #expect(try comparison("all members.name = 'x'").quantifier == .all)
        #expect(try comparison("NONE members.name = 'x'").quantifier == FetchPredicate.Quantifier.none)
        #expect(try comparison("a CONTAINS[c] 'x'").options == .caseInsensitive)
        #expect(try comparison("a =[dC] 'x'").options == [.caseInsensitive, .diacriticInsensitive])
        #expect(try comparison("#in = 1").left == .path(PropertyPath(names: ["in"], column: 1)))
        guard case .not = try FetchPredicate.parse("a NOT IN {1}") else {
            Issue.record("NOT IN negates")
            return
        }
    }

    @Test(arguments: [
        ("", 1), ("a", 2), ("a =", 4), ("a = 1 b = 2", 7), ("(a = 1", 7), ("a = 'x", 5), ("a = 1)", 6),
        ("a = $1", 5), ("AND", 1), ("a = 1 AND", 10), ("a IN {1, }", 10), ("a. = 1", 4), ("a ~ 1", 3),
        (#"a = '\q'"#, 6), ("a = - ,", 7), ("ANY a", 6), ("a = 1 + (b = 2)", 16), ("a + (b = 2) + 1 = 3", 13),
        ("(a AND b)", 4),
        ("SUBQUERY(a, x, b = 1).@count > 0", 13), ("SUBQUERY(a, $x, $x.b = 1) > 0", 27), ("a = b.@sum.@count", 12),
        ("a = %x", 5), ("lowercase:title = 'x'", 11), ("a =[c 'x'", 7),
    ])
    func `says where the text is wrong`(_ text: String, _ column: Int) throws {
        let error = try #require(failure(text))
        #expect(error.code == .syntax)
        #expect(error.column == column, "\(text): \(error)")
        #expect(!error.remedy.isEmpty)
    }

    @Test func `refuses what it does not support`() throws {
        #expect(failure("a =[n] 'x'")?.code == .unsupported)
        #expect(failure("soundex(a) = 'x'")?.code == .unsupported)
        #expect(failure("a.@distinctUnionOfObjects = 1")?.code == .unsupported)
        #expect(failure("CAST('x', 'NSThing') = a")?.code == .unsupported)
    }

    @Test func `limits nesting and length`() throws {
        let deep = String(repeating: "(", count: 60) + "a = 1" + String(repeating: ")", count: 60)
        _ = try FetchPredicate.parse(deep)
        #expect(failure(String(repeating: "(", count: 100_000 - 1))?.code == .tooComplex)
        #expect(failure(String(repeating: "NOT ", count: 5000) + "a = 1")?.code == .tooComplex)
        #expect(failure(String(repeating: "x", count: 100_001))?.code == .tooComplex)
    }

    @Test func `shows the place below the text`() throws {
        let error = try #require(failure("a = $1"))
        #expect(error.excerpt(of: "a = $1") == "a = $1\n    ^")
        #expect(error.description.contains("column 5"))
    }

    /// Whatever bytes come, the parser answers.
    @Test func `survives every cut and exchange of a text`() {
        let text = #"NOT (a.b.@count >= -1.5e3 AND ANY c.d LIKE[c] 'x\'*') || e IN {"f", nil} && g BETWEEN {1,2}"#
        let scalars = Array(text.unicodeScalars)
        for index in scalars.indices {
            for replacement in ["", "'", "(", "@", "\\", "é", "\0", "."] {
                var changed = scalars
                changed.replaceSubrange(index...index, with: replacement.unicodeScalars)
                _ = failure(String(String.UnicodeScalarView(changed)))
            }
            _ = failure(String(String.UnicodeScalarView(scalars[..<index])))
        }
        #expect(failure(text) == nil)
    }
}

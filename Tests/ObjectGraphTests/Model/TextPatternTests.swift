import TestSupport
import Testing

@testable import GraphCore
@testable import GraphModel

@Suite struct TextPatternTests {
    @Test(arguments: [
        ("^\\w$", "é", true), ("^a$", "a\u{301}", false), ("^é$", "e\u{301}", true), ("e", "cafe\u{301}s", false),
        ("^.$", "x\u{301}", true), ("^.$", "👨‍👩‍👧", true), ("^.$", "\r\n", false), ("^\\s$", "\r\n", true),
        ("^[a-z]$", "x\u{301}", false), ("^\\p{L}+$", "žluťoučký", true), ("^\\p{Lu}", "Éa", true),
        ("(?i)^é$", "É", true), ("^[à-ü]$", "e\u{301}", true), ("^(?=.*\\d)(?=.*[a-z]).{4,8}$", "abc1é", true),
        ("^(?=.*\\d)(?=.*[a-z]).{4,8}$", "abcdé", false), ("(?<!a)b", "ab", false), ("(?<=é)b", "éb", true),
        ("\\bfür\\b", "Tee für zwei", true), ("\\bfür\\b", "dafür", false), ("(?m)^b$", "a\nb\nc", true),
        ("a$", "a\n", false), ("(?s)a.b", "a\nb", true), ("(?x) a b # c", "ab", true), ("[[:alpha:]]", "é", true),
        ("[a-z--c]", "c", false), ("[\\w&&[^\\d]]", "1", false), ("\\u00e9", "é", true), ("(|a)é", "é", true),
        ("^(a|b)*c{2,3}$", "abbaccc", true), ("^a{0}$", "", true), ("\\Qa.é\\E", "a.é", true), ("a{", "a{", true),
        ("(?i)[^a]", "A", false), ("(?i)\\P{Lu}", "a", false), ("(?i)[\\p{^Lu}]", "A", false),
        ("(?i)[[:^lower:]]", "A", false), ("(?i)[[^a]b]", "A", false), ("(?i)[a-c--b]", "B", false),
        ("(?i)\\P{Lu}", "ẞ", false), ("(?i)^[[[x][b]]c]+$", "BxC", true),
        ("(?i)[^a]", "b", true), ("(?i)[a-c]", "B", true),
    ])
    func `a pattern matches as Unicode's characters do`(_ pattern: String, _ text: String, _ expected: Bool) throws {
        #expect(try TextPattern(pattern).matches(text) == expected)
    }

    @Test(arguments: [
        "(a", "a)", "[a", "[]", "a**", "*a", "a{3,1}", "(a)\\1", "a*+", "(?>a)", "\\p{Nothing}", "\\k<n>",
        "(a{200}){200}", "(?u)a", "[b-a]", "\\y",
    ])
    func `a text that is no pattern of linear time is refused`(_ pattern: String) {
        #expect(throws: PatternFault.self) { try TextPattern(pattern) }
        #expect(RegularExpression(pattern, options: []) == nil)
    }

    @Test(arguments: [
        "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", "(a*)*b", "^(\\.|@|\\.)*$", "(.*)*x", "(?=.*y)z", "(?<=y.*)z",
        "(\\.+)+@\\.+z",
    ])
    func `no text takes a pattern more than linear time`(_ pattern: String) throws {
        let textPattern = try TextPattern(pattern)
        let expression = try #require(RegularExpression(pattern, options: []))
        func text(_ count: Int) -> String {
            "é@" + String(repeating: ".", count: count) + "@" + String(repeating: "a", count: count)
        }
        #expect(problemOfLinearTime(12_500) { !textPattern.matches(text($0)) } == nil)
        #expect(problemOfLinearTime(12_500) { !expression.matches(text($0)) } == nil)
    }

    /// A letter with many marks takes the standard library's comparisons and Foundation's forms quadratic time.
    @Test func `a letter of many marks takes linear time`() throws {
        let pattern = try TextPattern("^[a-zé]$")
        let works: [(String) -> Bool] = [
            { !pattern.matches($0) },
            { FetchPredicate.TextOptions.diacriticInsensitive.folded($0) == "a" },
            { TextTransformation.canonical.apply($0) == "a" },
            { !$0.hasSameBytes(as: "a") },
            { $0.hasBytes(of: "\u{316}\u{301}") && !$0.hasBytes(of: "b") },
            { !TextPatterns.matches($0, like: "*b") },
        ]
        for work in works {
            let problem = problemOfLinearTime(50_000) { work("a" + String(repeating: "\u{301}\u{316}", count: $0)) }
            #expect(problem == nil)
        }
    }

    @Test func `the search for bytes in others takes linear time`() {
        let problem = problemOfLinearTime(50_000) { count in
            let text = String(repeating: "a", count: 2 * count)
            return !text.hasBytes(of: String(repeating: "a", count: count) + "b")
                && ("x" + text + "b").hasBytes(of: "aab") && text.hasBytes(of: "")
        }
        #expect(problem == nil)
        #expect(!"".hasBytes(of: "a"))
    }
}

import TestSupport
import Testing

@testable import GraphModel

@Suite struct TextAutomatonTests {
    @Test(arguments: [
        ("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", "ada.lovelace@example.com", true),
        ("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", "ada@example@com", false),
        ("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", "", false),
        ("^[A-Z]{2}-\\d{4,6}$", "WO-12345", true), ("^[A-Z]{2}-\\d{4,6}$", "WO-1234567", false),
        ("^(open|closed|in progress)$", "in progress", true), ("^(open|closed)$", "reopened", false),
        ("open|closed", "reopened", true), ("^(?:a|b)?c*$", "", true), ("b+", "aab", true), ("^a.c", "abcd", true),
        ("(ab)+$", "xabab", true), ("[\\w.%+-]+$", "a.b%c-", true), ("a{2,}", "bab", false), ("\\$\\^", "a$^", true),
    ])
    func `the automaton accepts the texts that the pattern matches`(_ pattern: String, _ text: String, _ expected: Bool)
        throws
    {
        #expect(try #require(TextAutomaton(pattern)).matches(text) == expected)
        #expect(try Self.matchesRegex(pattern, text) == expected)
    }

    @Test(arguments: [
        "", "^", "^a|b", "a|b$", "(a", "a)", "[a", "[]", "a**", "a+?", "a*+", "a{2", "a{0}", "a{3,1}", "a{,2}", "\\bA",
        "(?i)a", "(?=a)", "\\1", "\\p{L}", "\\x41", "[[a]b]", "[a&&b]", "[\\d-z]", "é", "a{65}", "(a{8}){9}", "a|",
        "a{1000}",
    ])
    func `an expression that is not simple is left to the standard library`(_ pattern: String) {
        #expect(TextAutomaton(pattern) == nil)
    }

    @Test(arguments: ["é", "a\n", "a\u{301}", "a\tb", "\u{7F}", "\r\n", "日"])
    func `a text of other characters is left to the standard library`(_ text: String) throws {
        #expect(try #require(TextAutomaton("a")).matches(text) == nil)
        // By way of it the pattern holds for them as before.
        #expect(try TextPattern("^\\w$").matches("é") && !TextPattern("^a$").matches("a\u{301}"))
    }

    @Test func `random simple expressions match as the standard library says`() throws {
        var random = SeededRandom.forTest("TextAutomatonTests")
        let alphabet = Array("aabbbcc1122__--  ..@@%/,~&#=!<:\\+$^|()]}[{*Zz")
        var (known, matching) = (0, 0)
        for _ in 0..<2000 {
            let pattern = Self.pattern(&random, depth: 0)
            guard let regex = try? Regex(pattern), let automaton = TextAutomaton(pattern) else { continue }
            known += 1
            for _ in 0..<5 {
                let length = random.number(below: 9)
                let text = String((0..<length).map { _ in alphabet[random.number(below: alphabet.count)] })
                let expected = try regex.firstMatch(in: text) != nil
                #expect(automaton.matches(text) == expected, "\(pattern) and \(text)")
                if expected { matching += 1 }
            }
        }
        #expect(known > 100 && matching > 50)
    }

    private static func matchesRegex(_ pattern: String, _ text: String) throws -> Bool {
        try Regex(pattern).firstMatch(in: text) != nil
    }

    private static let atoms = [
        "a", "b", "1", "_", "-", " ", ".", "@", "%", "/", ",", "~", "&", "#", "=", "!", "<", ":", "\\.", "\\-", "\\\\",
        "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\+", "\\$", "\\/", "\\@", "\\^", "[ab]", "[^ab]", "[a-c1]",
        "[^@\\s]", "[\\w.-]", "[^\\d]", "[a-zA-Z0-9._%+-]", "[.]", "[|]", "[(]", "[$]", "[\\]]", "[ a]", "[^-]", "[a-]",
        "[+-]", "[/-]", "[--]", "[a&&b]", "[a~~b]", "[*]", "[\\-a]", "[.-a]", "[{}]", "[!-]", "[#@]", "\\b", "^", "$",
        "[]", "\\n", "\\x41", "\\1", "é", "(?i)a", "(?=a)", "\\p{L}", "[[a]b]", "[:a:]", "[a:]",
    ]
    private static let counts = [
        "", "", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "{0}", "{,2}", "{1,0}", "+?", "*+", "{3",
        "{2,12}", "{01}",
    ]

    private static func pattern(_ random: inout SeededRandom, depth: Int) -> String {
        var text = sequence(&random, depth: depth)
        while random.number(below: 4) == 0 { text += "|" + sequence(&random, depth: depth) }
        if depth > 0 { return text }
        return (random.number(below: 2) == 0 ? "^" : "") + text + (random.number(below: 2) == 0 ? "$" : "")
    }

    private static func sequence(_ random: inout SeededRandom, depth: Int) -> String {
        var text = ""
        for _ in 0...random.number(below: 4) {
            if depth < 2, random.number(below: 5) == 0 {
                text += (random.number(below: 2) == 0 ? "(" : "(?:") + pattern(&random, depth: depth + 1) + ")"
            } else {
                text += atoms[random.number(below: atoms.count)]
            }
            text += counts[random.number(below: counts.count)]
        }
        return text
    }
}

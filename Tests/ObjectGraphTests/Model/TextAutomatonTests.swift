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
        #expect(try #require(try Self.automaton(pattern)).matches(text) == expected)
        #expect(try Self.matchesRegex(pattern, text) == expected)
    }

    @Test(arguments: ["^a|b", "a|b$", "\\bA", "(?=a)", "a{65}", "(a{8}){9}", "a{1000}", "(^a)b"])
    func `an expression that is not simple is left to the program`(_ pattern: String) throws {
        #expect(try Self.automaton(pattern) == nil)
    }

    @Test(arguments: ["é", "a\n", "a\u{301}", "a\tb", "\u{7F}", "\r\n", "日"])
    func `a text of other characters is left to the program`(_ text: String) throws {
        #expect(try #require(try Self.automaton("a")).matches(text) == nil)
    }

    private static func automaton(_ pattern: String) throws -> TextAutomaton? {
        var parser = PatternParser(pattern, .characters, ignoresCase: false)
        return TextAutomaton(try parser.parse())
    }

    @Test func `random simple expressions match as the standard library says`() throws {
        var random = SeededRandom.forTest("TextAutomatonTests")
        let alphabet = Array("aabbbcc1122__--  ..@@%/,~&#=!<:\\+$^|()]}[{*Zz")
        var (known, matching) = (0, 0)
        for _ in 0..<2000 {
            let expression = Self.pattern(&random, depth: 0)
            if expression.ways.total > Self.mostWays { continue }
            let pattern = expression.text
            guard let regex = try? Regex(pattern), let automaton = try? Self.automaton(pattern),
                let program = try? TextPattern(pattern)
            else { continue }
            known += 1
            for _ in 0..<5 {
                let length = random.number(below: Ways.longest)
                let text = String((0..<length).map { _ in alphabet[random.number(below: alphabet.count)] })
                let expected = try regex.firstMatch(in: text) != nil
                #expect(automaton.matches(text) == expected, "\(pattern) and \(text)")
                // A character beyond ASCII at the end, which the pattern may take or not, asks the program.
                let other = try regex.firstMatch(in: text + "é") != nil
                #expect(program.matches(text + "é") == other, "\(pattern) and \(text)é")
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
    private static let zeroWidthAtoms: Set = ["^", "$", "\\b", "(?=a)"]
    /// The texts of counts, with their greatest numbers; the last ones are no counts, or follow one.
    private static let counts: [(text: String, greatest: Int)] = [
        ("", 1), ("", 1), ("", 1), ("", 1), ("*", .max), ("+", .max), ("?", 1), ("{2}", 2), ("{1,3}", 3), ("{0,2}", 2),
        ("{2,}", .max), ("{0}", 1), ("{,2}", 2), ("{1,0}", 1), ("+?", .max), ("*+", .max), ("{3", 1), ("{2,12}", 12),
        ("{01}", 1),
    ]
    /// The standard library tries an expression's ways one after the other, so it would not end with some.
    private static let mostWays = 20_000.0

    private struct Expression {
        var text: String
        var ways: Ways
    }

    private static func pattern(_ random: inout SeededRandom, depth: Int) -> Expression {
        var found = sequence(&random, depth: depth)
        while random.number(below: 4) == 0 {
            let other = sequence(&random, depth: depth)
            found = Expression(text: found.text + "|" + other.text, ways: found.ways.or(other.ways))
        }
        if depth > 0 { return found }
        found.text =
            (random.number(below: 2) == 0 ? "^" : "") + found.text + (random.number(below: 2) == 0 ? "$" : "")
        return found
    }

    private static func sequence(_ random: inout SeededRandom, depth: Int) -> Expression {
        var found = Expression(text: "", ways: .ofLength(0))
        for _ in 0...random.number(below: 4) {
            var part: Expression
            if depth < 2, random.number(below: 5) == 0 {
                part = pattern(&random, depth: depth + 1)
                part.text = (random.number(below: 2) == 0 ? "(" : "(?:") + part.text + ")"
            } else {
                let atom = atoms[random.number(below: atoms.count)]
                part = Expression(text: atom, ways: .ofLength(zeroWidthAtoms.contains(atom) ? 0 : 1))
            }
            let count = counts[random.number(below: counts.count)]
            found.text += part.text + count.text
            found.ways = found.ways.then(part.ways.repeated(count.greatest))
        }
        return found
    }
}

/// In how many ways an expression takes a text of each length, where its characters match everywhere.
private struct Ways {
    /// The length of the longest text, with the letter at its end.
    static let longest = 9
    private var counts: [Double]

    static func ofLength(_ length: Int) -> Ways {
        Ways(counts: (0...longest).map { $0 == length ? 1 : 0 })
    }

    var total: Double { counts.reduce(0, +) }

    func or(_ other: Ways) -> Ways { Ways(counts: zip(counts, other.counts).map { $0 + $1 }) }

    func then(_ other: Ways) -> Ways {
        Ways(
            counts: (0...Self.longest).map { length in
                (0...length).reduce(0) { $0 + counts[$1] * other.counts[length - $1] }
            })
    }

    /// Repeated at most so often. Behind the greatest length only empty matches follow, which no engine repeats for ever.
    func repeated(_ greatest: Int) -> Ways {
        (0..<min(greatest, Self.longest + 1)).reduce(.ofLength(0)) { found, _ in Ways.ofLength(0).or(found.then(self)) }
    }
}

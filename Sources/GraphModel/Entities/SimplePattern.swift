/// A regular expression without references, looks around, options and boundaries.
indirect enum SimplePattern {
    case characters(CharacterSet)
    case sequence([SimplePattern])
    case alternatives([SimplePattern])
    /// A part that stands at least and at most so many times; nil for no upper limit.
    case repeated(SimplePattern, least: Int, most: Int?)

    /// Characters of printable ASCII.
    struct CharacterSet {
        private var bits: (UInt64, UInt64) = (0, 0)

        init(_ bytes: some Sequence<UInt8> = []) { for byte in bytes { insert(byte) } }

        func contains(_ byte: UInt8) -> Bool { (byte < 64 ? bits.0 : bits.1) >> UInt64(byte & 63) & 1 == 1 }

        mutating func insert(_ byte: UInt8) {
            if byte < 64 { bits.0 |= 1 << UInt64(byte) } else { bits.1 |= 1 << UInt64(byte & 63) }
        }

        mutating func formUnion(_ other: CharacterSet) { bits = (bits.0 | other.bits.0, bits.1 | other.bits.1) }

        var inverted: CharacterSet {
            var set = self
            set.bits = (~bits.0, ~bits.1)
            return set
        }
    }

    /// How many characters the expression states once its counts are written out; a great number stands for more.
    var positionCount: Int {
        switch self {
        case .characters: 1
        case .sequence(let parts), .alternatives(let parts):
            parts.reduce(0) { min($0 + $1.positionCount, 1000) }
        case .repeated(let part, let least, let most): min(part.positionCount * max(most ?? least, 1), 1000)
        }
    }
}

/// Reads the simple ones among regular expressions; of all others it returns nil, though `Regex` may know them.
struct SimplePatternParser {
    private var rest: Substring.UTF8View
    private(set) var isAnchoredAtStart = false
    private(set) var isAnchoredAtEnd = false
    private var depth = 0

    private static let digits = SimplePattern.CharacterSet(UInt8(ascii: "0")...UInt8(ascii: "9"))
    private static let words: SimplePattern.CharacterSet = {
        var set = digits
        set.formUnion(.init(UInt8(ascii: "a")...UInt8(ascii: "z")))
        set.formUnion(.init(UInt8(ascii: "A")...UInt8(ascii: "Z")))
        set.insert(UInt8(ascii: "_"))
        return set
    }()

    init(_ source: String) { rest = source[...].utf8 }

    mutating func parse() -> SimplePattern? {
        guard rest.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }), !rest.isEmpty else { return nil }
        isAnchoredAtStart = skip("^")
        if rest.last == UInt8(ascii: "$"), rest.dropLast().last != UInt8(ascii: "\\") {
            isAnchoredAtEnd = true
            rest.removeLast()
        }
        guard let tree = alternatives(), rest.isEmpty else { return nil }
        // An anchor is part of the alternative beside it.
        if case .alternatives = tree, isAnchoredAtStart || isAnchoredAtEnd { return nil }
        return tree
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func alternatives() -> SimplePattern? {
        var parts: [SimplePattern] = []
        repeat {
            guard let part = sequence() else { return nil }
            parts.append(part)
        } while skip("|")
        return parts.count == 1 ? parts[0] : .alternatives(parts)
    }

    private mutating func sequence() -> SimplePattern? {
        var parts: [SimplePattern] = []
        while let byte = rest.first, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
            guard let atom = atom(), let part = counted(atom) else { return nil }
            parts.append(part)
        }
        return parts.isEmpty ? nil : .sequence(parts)
    }

    private mutating func atom() -> SimplePattern? {
        guard let byte = rest.popFirst() else { return nil }
        switch UnicodeScalar(byte) {
        case "(": return group()
        case "[": return characterClass().map { .characters($0) }
        case ".": return .characters(SimplePattern.CharacterSet().inverted)
        case "\\": return escape().map { .characters($0) }
        case "^", "$", "*", "+", "?", "{", "}", "]": return nil
        default: return .characters(.init(CollectionOfOne(byte)))
        }
    }

    private mutating func group() -> SimplePattern? {
        // `(?:` captures nothing; the other groups that begin so are more than groups.
        if skip("?"), !skip(":") { return nil }
        depth += 1
        defer { depth -= 1 }
        guard depth <= 16, let tree = alternatives(), skip(")") else { return nil }
        return tree
    }

    private mutating func escape() -> SimplePattern.CharacterSet? {
        guard let byte = rest.popFirst() else { return nil }
        switch UnicodeScalar(byte) {
        case "d": return Self.digits
        case "D": return Self.digits.inverted
        case "w": return Self.words
        case "W": return Self.words.inverted
        case "s": return .init(CollectionOfOne(0x20))
        case "S": return SimplePattern.CharacterSet(CollectionOfOne(0x20)).inverted
        default: return Self.words.contains(byte) || byte == 0x20 ? nil : .init(CollectionOfOne(byte))
        }
    }

    /// Reads the inside of a class; sets within sets and operations on them are not simple.
    private mutating func characterClass() -> SimplePattern.CharacterSet? {
        let isInverted = skip("^")
        var set = SimplePattern.CharacterSet()
        var isEmpty = true
        while let byte = rest.popFirst() {
            switch UnicodeScalar(byte) {
            case "]": return isEmpty ? nil : isInverted ? set.inverted : set
            case "\\":
                guard let escaped = escape(), rest.first != UInt8(ascii: "-") else { return nil }
                set.formUnion(escaped)
            case "[", "&", "~", "^": return nil
            case "-" where rest.first != UInt8(ascii: "]"): return nil
            default:
                guard let last = rangeEnd(from: byte) else { return nil }
                set.formUnion(.init(byte...last))
            }
            isEmpty = false
        }
        return nil
    }

    /// The last character of a range, or the first itself where it stands alone.
    private mutating func rangeEnd(from first: UInt8) -> UInt8? {
        guard rest.first == UInt8(ascii: "-"), rest.dropFirst().first != UInt8(ascii: "]") else { return first }
        rest.removeFirst()
        guard let last = rest.popFirst(), Self.words.contains(first), Self.words.contains(last), first <= last else {
            return nil
        }
        return last
    }

    private mutating func counted(_ part: SimplePattern) -> SimplePattern? {
        var counted = part
        if skip("*") {
            counted = .repeated(part, least: 0, most: nil)
        } else if skip("+") {
            counted = .repeated(part, least: 1, most: nil)
        } else if skip("?") {
            counted = .repeated(part, least: 0, most: 1)
        } else if skip("{") {
            guard let least = number() else { return nil }
            var most: Int? = least
            if skip(",") { most = rest.first == UInt8(ascii: "}") ? nil : number() ?? -1 }
            guard skip("}"), most.map({ $0 >= max(least, 1) }) ?? true else { return nil }
            counted = .repeated(part, least: least, most: most)
        }
        // One count after another says how it is matched, which makes a difference where it is possessive.
        switch rest.first.map({ UnicodeScalar($0) }) {
        case "*", "+", "?", "{": return nil
        default: return counted
        }
    }

    private mutating func number() -> Int? {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest[digits.endIndex...]
        return digits.count <= 3 ? Int(Substring(digits)) : nil
    }
}

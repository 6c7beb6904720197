/// Reads regular expressions in the syntax that Swift, ICU and PCRE share.
///
/// An expression has to be matched in linear time. So it has no references to what a group matched, and no part that
/// keeps what it once took.
struct PatternParser {
    var text: PatternText
    var position = 0
    private var depth = 0
    /// How many classes are open.
    var nesting = 0
    private(set) var flags = Flags()
    private let unit: PatternText.Unit

    struct Flags {
        var ignoresCase = false
        var dotTakesLineEnds = false
        var anchorsMatchLines = false
        var ignoresSpaces = false
    }

    init(_ source: String, _ unit: PatternText.Unit, ignoresCase: Bool) {
        text = PatternText(source, unit)
        self.unit = unit
        flags.ignoresCase = ignoresCase
    }

    mutating func parse() throws(PatternFault) -> PatternTree {
        let tree = try alternatives()
        if position < text.codes.count { throw PatternFault("It has a ')' without a '('") }
        return tree
    }

    // MARK: Characters

    /// The next code as a character of ASCII, which all syntax is of; nil at the end and for all others.
    var next: Unicode.Scalar? { peek(0) }

    func peek(_ distance: Int) -> Unicode.Scalar? {
        guard position + distance < text.codes.count else { return nil }
        let code = text.codes[position + distance]
        return code < 0x80 ? Unicode.Scalar(code) : nil
    }

    mutating func skip(_ word: String) -> Bool {
        for (distance, scalar) in word.unicodeScalars.enumerated() where peek(distance) != scalar { return false }
        position += word.unicodeScalars.count
        return true
    }

    /// Reads the next code as an ordinary character.
    mutating func literal() throws(PatternFault) -> PatternSet {
        guard position < text.codes.count else { throw PatternFault("It ends too early") }
        defer { position += 1 }
        let code = text.codes[position]
        return text.cluster(code).map { .cluster($0) } ?? .scalar(code)
    }

    /// Returns a set that takes either case, where the pattern ignores cases.
    ///
    /// A set that is inverted ignores them before: `(?i)[^a]` takes neither `a` nor `A`. Source: ICU, `RegexCompile`.
    func folded(_ set: PatternSet) -> PatternSet {
        if !flags.ignoresCase { return set }
        return switch set {
        case .eitherCase, .inverted: set
        case .union(let sets): .union(sets.map { folded($0) })
        default: .eitherCase(set)
        }
    }

    /// Reads the text up to a mark, and skips that.
    mutating func text(upTo end: String) throws(PatternFault) -> String {
        var found = String.UnicodeScalarView()
        while !skip(end) {
            guard position < text.codes.count else { throw PatternFault("It lacks a '\(end)'") }
            found.append(text.scalar(text.codes[position]))
            position += 1
        }
        return String(found)
    }

    // MARK: Structure

    private mutating func alternatives() throws(PatternFault) -> PatternTree {
        depth += 1
        defer { depth -= 1 }
        if depth > 64 { throw PatternFault("It is nested more than 64 deep") }
        var parts = [try sequence()]
        while skip("|") { parts.append(try sequence()) }
        return parts.count == 1 ? parts[0] : .alternatives(parts)
    }

    private mutating func sequence() throws(PatternFault) -> PatternTree {
        var parts: [PatternTree] = []
        while position < text.codes.count, next != "|", next != ")" {
            if flags.ignoresSpaces, skipSpace() { continue }
            if skip("\\Q") {
                for scalar in try text(upTo: "\\E").unicodeScalars { parts.append(.set(folded(.scalar(scalar.value)))) }
                continue
            }
            parts.append(try counted(try atom()))
        }
        return parts.count == 1 ? parts[0] : .sequence(parts)
    }

    private mutating func skipSpace() -> Bool {
        if skip("#") {
            while position < text.codes.count, !text.isLineEnd(text.codes[position]) { position += 1 }
            return true
        }
        guard let next, next.properties.isWhitespace else { return false }
        position += 1
        return true
    }

    private mutating func atom() throws(PatternFault) -> PatternTree {
        switch next {
        case "(": return try group()
        case "[": return .set(try characterClass())
        case "\\": return try escape()
        case ".":
            position += 1
            return .set(.any(lineEnds: flags.dotTakesLineEnds))
        case "^":
            position += 1
            return .place(flags.anchorsMatchLines ? .lineStart : .start)
        case "$":
            position += 1
            return .place(flags.anchorsMatchLines ? .lineEnd : unit == .scalars ? .endBeforeLineEnd : .end)
        case "*", "+", "?": throw PatternFault("It counts nothing with '\(next ?? "*")'")
        default: return .set(folded(try literal()))
        }
    }

    private mutating func group() throws(PatternFault) -> PatternTree {
        position += 1
        let former = flags
        var look: (isAhead: Bool, isNegative: Bool)?
        if skip("?") {
            if skip("#") {
                _ = try text(upTo: ")")
                return .empty
            }
            if skip("=") {
                look = (true, false)
            } else if skip("!") {
                look = (true, true)
            } else if skip("<=") {
                look = (false, false)
            } else if skip("<!") {
                look = (false, true)
            } else if skip("<") || skip("P<") {
                _ = try text(upTo: ">")
            } else if !skip(":"), try options() {
                return .empty
            }
        }
        let tree = try alternatives()
        if !skip(")") { throw PatternFault("It lacks a ')'") }
        flags = former
        return look.map { .look(tree, isAhead: $0.isAhead, isNegative: $0.isNegative) } ?? tree
    }

    /// Reads the options of a group; true where they hold up to the end of the group around them.
    private mutating func options() throws(PatternFault) -> Bool {
        var isOn = true
        while let option = next, option != ")", option != ":" {
            position += 1
            switch option {
            case "-": isOn = false
            case "i": flags.ignoresCase = isOn
            case "s": flags.dotTakesLineEnds = isOn
            case "m": flags.anchorsMatchLines = isOn
            case "x": flags.ignoresSpaces = isOn
            default:
                throw PatternFault("'(?\(option)' is not among (?i), (?s), (?m), (?x), (?:, (?=, (?!, (?<= and (?<!")
            }
        }
        if skip(":") { return false }
        if !skip(")") { throw PatternFault("It lacks a ')'") }
        return true
    }

    // MARK: Counts

    private mutating func counted(_ part: PatternTree) throws(PatternFault) -> PatternTree {
        var counted = part
        if flags.ignoresSpaces { while skipSpace() {} }
        if skip("*") {
            counted = .repeated(part, least: 0, most: nil)
        } else if skip("+") {
            counted = .repeated(part, least: 1, most: nil)
        } else if skip("?") {
            counted = .repeated(part, least: 0, most: 1)
        } else if let bounds = try bounds() {
            counted = .repeated(part, least: bounds.least, most: bounds.most)
        } else {
            return part
        }
        // How much a part takes first makes no difference to whether there is a match; unless it gives nothing back.
        if skip("?") { return counted }
        if next == "+" {
            throw PatternFault(
                "A count such as '*+' keeps what it took, which takes more than linear time. Leave '+' out")
        }
        if next == "*" { throw PatternFault("It counts a count") }
        return counted
    }

    /// Reads `{2}`, `{2,}`, `{2,5}` or `{,5}`; nil where a brace begins none of them and stands for itself.
    private mutating func bounds() throws(PatternFault) -> (least: Int, most: Int?)? {
        let start = position
        guard skip("{") else { return nil }
        let least = try number()
        var most = least
        let isRange = skip(",")
        if isRange { most = try number() }
        guard skip("}"), least != nil || most != nil else {
            position = start
            return nil
        }
        if let most, most < least ?? 0 { throw PatternFault("A count ends below its beginning") }
        return (least ?? 0, most)
    }

    private mutating func number() throws(PatternFault) -> Int? {
        var number: Int?
        while let digit = next, ("0"..."9") ~= digit {
            position += 1
            number = (number ?? 0) * 10 + Int(digit.value - 0x30)
            if let number, number > PatternProgram.maximumLength { throw PatternProgram.tooLong }
        }
        return number
    }
}

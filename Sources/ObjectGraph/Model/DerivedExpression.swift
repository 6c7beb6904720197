/// How a derived attribute's value follows from others: a model's `derived:` text, resolved.
///
/// Two forms: one aggregate over a to-many relationship (`members.@count`, `lines.amount.@sum`), or arithmetic over
/// attributes of the same object (`price * (1 + taxRate)`), derived ones included.
public enum DerivedExpression: Sendable {
    case count(relationship: Int)
    /// `slot` is the destination's attribute.
    case sum(relationship: Int, slot: Int)
    case arithmetic(ArithmeticExpression)

    /// The relationship that an aggregate counts or sums over, or nil.
    var aggregatedRelationship: Int? {
        switch self {
        case .count(let relationship), .sum(let relationship, _): relationship
        case .arithmetic: nil
        }
    }
}

/// Arithmetic over the attributes of one object.
public indirect enum ArithmeticExpression: Sendable {
    case number(String)
    case attribute(slot: Int)
    case negated(ArithmeticExpression)
    case binary(Operator, ArithmeticExpression, ArithmeticExpression)

    /// An operation on two operands; the raw value is its sign in the model file.
    public enum Operator: Character, Sendable {
        case add = "+"
        case subtract = "-"
        case multiply = "*"
        case divide = "/"
    }

    /// The slots that the expression reads.
    var slots: Set<Int> {
        switch self {
        case .number: []
        case .attribute(let slot): [slot]
        case .negated(let operand): operand.slots
        case .binary(_, let left, let right): left.slots.union(right.slots)
        }
    }
}

/// What a `derived:` text says, before names are looked up.
enum DerivedSyntax {
    case aggregate(path: [String], function: String)
    case arithmetic(Node)

    indirect enum Node {
        case number(String)
        case name(String)
        case negated(Node)
        case binary(ArithmeticExpression.Operator, Node, Node)
    }
}

/// Reads the text of a derived attribute by recursive descent; nesting is limited.
struct DerivedExpressionParser {
    struct Failure: Error {
        let message: String
    }

    private static let maximumDepth = 32
    private var rest: Substring
    private var depth = 0

    private init(_ text: String) { rest = text[...] }

    static func parse(_ text: String) throws(Failure) -> DerivedSyntax {
        if let aggregate = try aggregate(text) { return aggregate }
        var parser = DerivedExpressionParser(text)
        let node = try parser.sum()
        parser.skipSpaces()
        guard parser.rest.isEmpty else { throw Failure(message: "'\(parser.rest)' was not expected") }
        return .arithmetic(node)
    }

    private static func aggregate(_ text: String) throws(Failure) -> DerivedSyntax? {
        guard text.contains("@") else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard let last = parts.last, last.hasPrefix("@"), parts.count >= 2,
            parts.dropLast().allSatisfy({ isName($0) })
        else {
            throw Failure(message: "an aggregate ends its key path and stands alone, as in 'members.@count'")
        }
        return .aggregate(path: parts.dropLast(), function: last)
    }

    private static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" else { return false }
        return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    private mutating func skipSpaces() {
        rest = rest.drop { $0.isWhitespace }
    }

    private mutating func next(of operators: [ArithmeticExpression.Operator]) -> ArithmeticExpression.Operator? {
        skipSpaces()
        guard let character = rest.first, let found = ArithmeticExpression.Operator(rawValue: character),
            operators.contains(found)
        else { return nil }
        rest.removeFirst()
        return found
    }

    private mutating func sum() throws(Failure) -> DerivedSyntax.Node {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw Failure(message: "it is nested too deeply") }
        var left = try product()
        while let found = next(of: [.add, .subtract]) { left = .binary(found, left, try product()) }
        return left
    }

    private mutating func product() throws(Failure) -> DerivedSyntax.Node {
        var left = try factor()
        while let found = next(of: [.multiply, .divide]) { left = .binary(found, left, try factor()) }
        return left
    }

    private mutating func factor() throws(Failure) -> DerivedSyntax.Node {
        skipSpaces()
        guard let first = rest.first else { throw Failure(message: "it ends too early") }
        if first == "-" {
            depth += 1
            defer { depth -= 1 }
            guard depth <= Self.maximumDepth else { throw Failure(message: "it is nested too deeply") }
            rest.removeFirst()
            return .negated(try factor())
        }
        if first == "(" {
            rest.removeFirst()
            let inner = try sum()
            skipSpaces()
            guard rest.first == ")" else { throw Failure(message: "a ')' is missing") }
            rest.removeFirst()
            return inner
        }
        let token = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        rest = rest.dropFirst(token.count)
        if Self.isName(token) { return .name(String(token)) }
        guard !token.isEmpty, let number = DecimalText.canonical(String(token)) else {
            throw Failure(message: "'\(token.isEmpty ? String(first) : String(token))' is neither a name nor a number")
        }
        return .number(number)
    }
}

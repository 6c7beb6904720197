import Foundation

/// How a derived attribute's value follows from others: a model's `derived:` text, resolved.
public enum DerivedExpression: Sendable {
    /// How many destinations a to-many relationship has: `members.@count`.
    case count(relationship: Int)
    /// A function of the destinations' values: `lines.amount.@sum`. `slot` is the destination's attribute.
    case aggregate(AggregateFunction, relationship: Int, slot: Int)
    /// An attribute of the object or of one that to-one relationships lead to: `chat.title`.
    case keyPath(DerivedKeyPath)
    /// Arithmetic over attributes of the same object, derived ones included: `price * (1 + taxRate)`.
    case arithmetic(ArithmeticExpression)
    /// The time of the save that changed the object: `now()`.
    case now

    /// The relationship that an aggregate counts or computes over, or nil.
    package var aggregatedRelationship: Int? {
        switch self {
        case .count(let relationship), .aggregate(_, let relationship, _): relationship
        case .keyPath, .arithmetic, .now: nil
        }
    }

    /// Tells whether the value without destinations is zero; otherwise it is null.
    var beginsAtZero: Bool {
        switch self {
        case .count, .aggregate(.sum, _, _): true
        default: false
        }
    }
}

/// The function of an aggregate over the destinations' values without nulls; the raw value is its operator in a model.
public enum AggregateFunction: String, Sendable, CaseIterable {
    case sum = "@sum"
    case minimum = "@min"
    case maximum = "@max"
    case average = "@avg"

    /// Tells whether the first of two values is the more extreme one.
    package func prefers(_ left: Value, to right: Value, _ type: AttributeType) -> Bool {
        self == .minimum
            ? Attribute.comesBefore(left, right, type) : Attribute.comesBefore(right, left, type)
    }
}

/// A way over to-one relationships to an attribute at its end.
public struct DerivedKeyPath: Sendable {
    /// The relationships in order, each by its position in its entity; none where the attribute is the object's own.
    public let relationships: [Int]
    /// The slot of the attribute in the entity at the end.
    public let slot: Int
    /// The transformation of the text, or nil where the value is taken as it is.
    public let transformation: TextTransformation?
}

/// The transformation of a text by a derived one; the raw value is its name in a model, as in `canonical:(title)`.
public enum TextTransformation: String, Sendable, CaseIterable {
    /// Lower case without diacritics: decomposed canonically (NFD), without the non-spacing marks (category Mn), composed
    /// again (NFC). So `Ça Ï` is `ca i`; letters of their own such as `ø` and `ß` stay.
    case canonical
    case uppercase
    case lowercase

    /// Returns the transformed text, by Unicode's full case mappings and no language's own.
    package func apply(_ text: String) -> String {
        switch self {
        case .uppercase: return text.uppercased()
        case .lowercase: return text.lowercased()
        case .canonical:
            // Most texts have nothing to take apart.
            if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.lowercased() }
            return text.withoutMarks.composedInParts.lowercased()
        }
    }

    package func apply(_ value: Value) -> Value {
        if case .text(let text) = value { return .text(apply(text)) }
        return value
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
    package var slots: Set<Int> {
        switch self {
        case .number: []
        case .attribute(let slot): [slot]
        case .negated(let operand): operand.slots
        case .binary(_, let left, let right): left.slots.union(right.slots)
        }
    }
}

/// A `derived:` text, before names are looked up.
package enum DerivedSyntax: Sendable {
    case aggregate(relationship: String, function: String, attribute: String?)
    case keyPath([String], TextTransformation?)
    case now
    case arithmetic(Node)

    package indirect enum Node: ArithmeticNode, Sendable {
        case number(String)
        case name(String)
        case negated(Node)
        case binary(ArithmeticExpression.Operator, Node, Node)
    }
}

/// Reads the text of a derived attribute.
package struct DerivedExpressionParser: ArithmeticParser {
    package var rest: Substring
    package var depth = 0

    private init(_ text: String) { rest = text[...] }

    package static func parse(_ text: String) throws(Failure) -> DerivedSyntax {
        if text.filter({ !$0.isWhitespace }) == "now()" { return .now }
        if let transformed = try transformed(text) { return transformed }
        if let aggregate = try aggregate(text) { return aggregate }
        if let path = keyPath(text) { return .keyPath(path, nil) }
        var parser = DerivedExpressionParser(text)
        return .arithmetic(try parser.whole())
    }

    /// Reads `canonical:(title)`.
    private static func transformed(_ text: String) throws(Failure) -> DerivedSyntax? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let name = text[..<colon].trimmed
        guard let transformation = TextTransformation(rawValue: name) else {
            let known = TextTransformation.allCases.map { "\($0.rawValue):" }.joined(separator: ", ")
            throw Failure(message: "'\(name):' is no function; known are \(known) and now()")
        }
        let argument = text[text.index(after: colon)...].trimmed
        guard argument.hasPrefix("("), argument.hasSuffix(")"),
            let path = keyPath(argument.dropFirst().dropLast().trimmed)
        else { throw Failure(message: "'\(name):' takes one key path in parentheses") }
        return .keyPath(path, transformation)
    }

    private static func keyPath(_ text: String) -> [String]? {
        let parts = text.trimmed.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        return parts.allSatisfy { isName($0) } ? parts : nil
    }

    /// Reads `members.@count`, `lines.amount.@sum` and its other spelling `lines.@sum.amount`.
    private static func aggregate(_ text: String) throws(Failure) -> DerivedSyntax? {
        guard text.contains("@") else { return nil }
        let parts = text.trimmed.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        let operators = parts.filter { $0.hasPrefix("@") }
        guard operators.count == 1, let function = operators.first, let position = parts.firstIndex(of: function),
            position > 0, parts.allSatisfy({ $0 == function || isName($0) })
        else {
            throw Failure(message: "an aggregate is one operator of one key path and stands alone")
        }
        guard function == "@count" || AggregateFunction(rawValue: function) != nil else {
            throw Failure(message: "'\(function)' is no operator; known are @count, @sum, @min, @max, @avg")
        }
        if function == "@count" {
            guard position == parts.count - 1 else {
                throw Failure(message: "an intermediate '@count' is not supported: it ends its key path")
            }
            guard parts.count == 2 else {
                throw Failure(message: "'@count' takes one to-many relationship of the same entity")
            }
            return .aggregate(relationship: parts[0], function: function, attribute: nil)
        }
        guard parts.count == 3 else {
            throw Failure(message: "'\(function)' takes one to-many relationship and one attribute of its destination")
        }
        return .aggregate(relationship: parts[0], function: function, attribute: parts[position == 1 ? 2 : 1])
    }

    private static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.first, first.isLetter || first == "_" else { return false }
        return text.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    package mutating func operand(_ first: Character) throws(Failure) -> DerivedSyntax.Node {
        let token = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        rest = rest.dropFirst(token.count)
        if Self.isName(token) { return .name(String(token)) }
        guard !token.isEmpty, let number = DecimalText.canonical(String(token)) else {
            throw Failure(message: "'\(token.isEmpty ? String(first) : String(token))' is neither a name nor a number")
        }
        return .number(number)
    }
}

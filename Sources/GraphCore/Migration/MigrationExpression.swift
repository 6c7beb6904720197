import Foundation

/// A value that an expression works on, with the type it was stored as.
package struct Operand {
    package let value: Value
    /// The type of the attribute that it came from; nil for what was computed.
    package let type: AttributeType?

    package init(_ value: Value, _ type: AttributeType? = nil) {
        self.value = value
        self.type = type
    }

    package static let null = Operand(.null)

    /// The value as people read it.
    package var text: String {
        if let type { return type.text(of: value) }
        switch value {
        case .null: return ""
        case .integer(let number): return String(number)
        case .double(let number): return "\(number)"
        case .text(let text): return text
        case .blob(let bytes): return Base64Text.text(bytes)
        }
    }

    /// The value as a number, or nil where it is none.
    package var number: Decimal? {
        switch (type, value) {
        case (.date, _), (.boolean, _): nil
        case (nil, .text(let text)), (.string, .text(let text)), (.decimal, .text(let text)): DecimalText.number(text)
        default: value.decimal
        }
    }

    /// Tells whether `+` adds rather than joins texts.
    package var isNumeric: Bool {
        if let type { return type.isNumeric }
        if case .text = value { return false }
        return !value.isNull
    }

    package static func number(_ number: Decimal) -> Operand { Operand(.text(DecimalText.text(number)), .decimal) }

    /// Returns the form in which an attribute of a type keeps the value, or nil where it does not fit.
    package func stored(as wanted: AttributeType) -> Value? {
        if value.isNull { return .null }
        if let type { return ValueConversion(from: type, to: wanted)?.converted(value) }
        switch value {
        case .null: return .null
        case .integer(let number):
            return wanted.value(fromInteger: number) ?? wanted.value(fromText: String(number))
        case .double(let number): return wanted.value(fromDouble: number) ?? wanted.value(fromText: "\(number)")
        case .text(let text): return wanted.value(keepingText: text)
        case .blob: return wanted == .binary ? value : nil
        }
    }
}

/// An expression over the attributes of an old object: `price * 100`, `upper(first) + ' ' + last`,
/// `map(priority, 'low', 1, 'high', 3, 0)`.
package indirect enum MigrationExpression: ArithmeticNode, Sendable {
    case constant(Value)
    case attribute(String)
    case negated(MigrationExpression)
    case binary(ArithmeticExpression.Operator, MigrationExpression, MigrationExpression)
    case call(Function, [MigrationExpression])

    /// The functions that an expression may call.
    package enum Function: String, Sendable, CaseIterable {
        case upper, lower, trim, length, coalesce, concat, replace, substring, round, map, string, number, uuid

        /// How many arguments the function takes.
        var argumentCount: ClosedRange<Int> {
            switch self {
            case .upper, .lower, .trim, .length, .round, .string, .number: 1...1
            case .coalesce, .concat: 1...32
            case .replace: 3...3
            case .substring: 2...3
            case .map: 3...512
            case .uuid: 0...0
            }
        }
    }

    /// The names of the attributes that the expression reads.
    package var names: Set<String> {
        switch self {
        case .constant: []
        case .attribute(let name): [name]
        case .negated(let inner): inner.names
        case .binary(_, let left, let right): left.names.union(right.names)
        case .call(_, let arguments): arguments.reduce(into: []) { $0.formUnion($1.names) }
        }
    }

    /// Computes the expression; null where an operand is null, or no number where one is needed.
    package func value(_ operands: [String: Operand]) -> Operand {
        switch self {
        case .constant(let value): return Operand(value)
        case .attribute(let name): return operands[name] ?? .null
        case .negated(let inner): return inner.value(operands).number.map { .number(-$0) } ?? .null
        case .binary(let operation, let left, let right):
            return Self.combine(operation, left.value(operands), right.value(operands))
        case .call(let function, let arguments):
            return Self.call(function, arguments.map { $0.value(operands) })
        }
    }

    private static func combine(
        _ operation: ArithmeticExpression.Operator, _ left: Operand, _ right: Operand
    ) -> Operand {
        if left.value.isNull || right.value.isNull { return .null }
        if operation == .add, !left.isNumeric || !right.isNumeric { return Operand(.text(left.text + right.text)) }
        guard let left = left.number, let right = right.number else { return .null }
        return operation.computed(left, right).map { .number($0) } ?? .null
    }

    private static func call(_ function: Function, _ arguments: [Operand]) -> Operand {
        if function == .uuid { return Operand(.blob(UUIDText.random()), .uuid) }
        if function == .coalesce { return arguments.first { !$0.value.isNull } ?? .null }
        if function == .concat { return Operand(.text(arguments.map { $0.value.isNull ? "" : $0.text }.joined())) }
        guard let first = arguments.first, !first.value.isNull else { return .null }
        switch function {
        case .upper: return Operand(.text(first.text.uppercased()))
        case .lower: return Operand(.text(first.text.lowercased()))
        case .trim: return Operand(.text(first.text.trimmingCharacters(in: .whitespacesAndNewlines)))
        case .length: return Operand(.integer(Int64(first.text.count)))
        case .string: return Operand(.text(first.text))
        case .number: return first.number.map { .number($0) } ?? .null
        case .replace:
            return Operand(.text(first.text.replacingOccurrences(of: arguments[1].text, with: arguments[2].text)))
        case .substring:
            let start = arguments[1].number.map { NSDecimalNumber(decimal: $0).intValue } ?? 0
            let length = arguments.dropFirst(2).first?.number.map { NSDecimalNumber(decimal: $0).intValue }
            return Operand(.text(String(first.text.dropFirst(max(0, start)).prefix(max(0, length ?? .max)))))
        case .round:
            guard var number = first.number else { return .null }
            var rounded = Decimal()
            NSDecimalRound(&rounded, &number, 0, .bankers)
            return .number(rounded)
        case .map:
            // Pairs of an old and a new value; the single argument at the end is for all other values.
            for index in stride(from: 1, to: arguments.count - 1, by: 2) where arguments[index].text == first.text {
                return arguments[index + 1]
            }
            return arguments.count.isMultiple(of: 2) ? arguments[arguments.count - 1] : .null
        case .coalesce, .concat, .uuid: return .null
        }
    }
}

/// Reads the text of an expression.
struct MigrationExpressionParser: ArithmeticParser {
    var rest: Substring
    var depth = 0

    static func parse(_ text: String) throws(Failure) -> MigrationExpression {
        var parser = MigrationExpressionParser(rest: text[...])
        return try parser.whole()
    }

    mutating func operand(_ first: Character) throws(Failure) -> MigrationExpression {
        if first == "'" || first == "\"" { return .constant(.text(try quoted(first))) }
        let token = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }
        guard !token.isEmpty else { throw Failure(message: "'\(first)' was not expected") }
        rest = rest.dropFirst(token.count)
        if first.isNumber {
            guard let number = DecimalText.canonical(String(token)) else {
                throw Failure(message: "'\(token)' is no number")
            }
            return .constant(Int64(number).map { .integer($0) } ?? .double(Double(number) ?? 0))
        }
        return try named(String(token))
    }

    private mutating func named(_ name: String) throws(Failure) -> MigrationExpression {
        guard take("(") else {
            switch name {
            case "null", "nil": return .constant(.null)
            case "true": return .constant(.integer(1))
            case "false": return .constant(.integer(0))
            default: return .attribute(name)
            }
        }
        guard let function = MigrationExpression.Function(rawValue: name) else {
            let known = MigrationExpression.Function.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(message: "'\(name)' is no function; there are \(known)")
        }
        var arguments: [MigrationExpression] = []
        if !take(")") {
            repeat { arguments.append(try sum()) } while take(",")
            guard take(")") else { throw Failure(message: "a ')' is missing") }
        }
        guard function.argumentCount.contains(arguments.count) else {
            throw Failure(message: "'\(name)' does not take \(arguments.count) arguments")
        }
        return .call(function, arguments)
    }

    /// A doubled quote stands for one.
    private mutating func quoted(_ quote: Character) throws(Failure) -> String {
        rest.removeFirst()
        var text = ""
        while let character = rest.first {
            rest.removeFirst()
            if character != quote {
                text.append(character)
            } else if rest.first == quote {
                text.append(quote)
                rest.removeFirst()
            } else {
                return text
            }
        }
        throw Failure(message: "a text has no end")
    }
}

/// A node of an expression with the four operations of arithmetic.
package protocol ArithmeticNode {
    static func negated(_ operand: Self) -> Self
    static func binary(_ operation: ArithmeticExpression.Operator, _ left: Self, _ right: Self) -> Self
}

/// The reason why a text is no expression.
package struct ArithmeticFailure: Error {
    package let message: String

    package init(message: String) { self.message = message }
}

/// Reads sums and products by recursive descent; nesting is limited. Each language has operands of its own.
package protocol ArithmeticParser {
    associatedtype Node: ArithmeticNode

    /// The text that is still to be read.
    var rest: Substring { get set }
    var depth: Int { get set }

    /// Reads an operand that begins with a character, which is neither a minus nor a parenthesis.
    mutating func operand(_ first: Character) throws(ArithmeticFailure) -> Node
}

extension ArithmeticParser {
    package typealias Failure = ArithmeticFailure

    /// Reads the whole text.
    package mutating func whole() throws(Failure) -> Node {
        let node = try sum()
        skipSpaces()
        guard rest.isEmpty else { throw Failure(message: "'\(rest)' was not expected") }
        return node
    }

    private mutating func skipSpaces() { rest = rest.drop { $0.isWhitespace } }

    /// Passes over a character where it comes next, behind spaces.
    package mutating func take(_ character: Character) -> Bool {
        skipSpaces()
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    package mutating func sum() throws(Failure) -> Node {
        try enter()
        defer { depth -= 1 }
        var left = try product()
        while let found = next(of: [.add, .subtract]) { left = .binary(found, left, try product()) }
        return left
    }

    private mutating func product() throws(Failure) -> Node {
        var left = try factor()
        while let found = next(of: [.multiply, .divide]) { left = .binary(found, left, try factor()) }
        return left
    }

    private mutating func factor() throws(Failure) -> Node {
        skipSpaces()
        guard let first = rest.first else { throw Failure(message: "it ends too early") }
        if take("-") {
            try enter()
            defer { depth -= 1 }
            return .negated(try factor())
        }
        guard take("(") else { return try operand(first) }
        let inner = try sum()
        guard take(")") else { throw Failure(message: "a ')' is missing") }
        return inner
    }

    private mutating func enter() throws(Failure) {
        if depth >= 32 { throw Failure(message: "it is nested too deeply") }
        depth += 1
    }

    private mutating func next(of operators: [ArithmeticExpression.Operator]) -> ArithmeticExpression.Operator? {
        operators.first { take($0.rawValue) }
    }
}

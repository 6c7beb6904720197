import Foundation

/// A Swift value that fills a placeholder or a variable of a predicate's text.
public protocol PredicateArgument: Sendable {
    /// The value as an expression.
    var predicateExpression: Predicate.Expression { get }
}

extension Predicate.Expression: PredicateArgument {
    /// Itself.
    public var predicateExpression: Predicate.Expression { self }
}

extension String: PredicateArgument {
    /// The text; for `%K` it is read as a key path.
    public var predicateExpression: Predicate.Expression { .text(self) }
}

extension Int: PredicateArgument {
    /// The number.
    public var predicateExpression: Predicate.Expression { .number(Int64(self)) }
}

extension Int64: PredicateArgument {
    /// The number.
    public var predicateExpression: Predicate.Expression { .number(self) }
}

extension Double: PredicateArgument {
    /// The number.
    public var predicateExpression: Predicate.Expression { .literal(Literal(.number("\(self)"))) }
}

extension Decimal: PredicateArgument {
    /// The number with all its digits.
    public var predicateExpression: Predicate.Expression { .literal(Literal(.number(DecimalText.text(self)))) }
}

extension Bool: PredicateArgument {
    /// The truth value.
    public var predicateExpression: Predicate.Expression { .boolean(self) }
}

extension Date: PredicateArgument {
    /// The instant, to the microsecond.
    public var predicateExpression: Predicate.Expression {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        let bounds = (-9e18, 9e18)
        return .date(Int64(min(max(microseconds.isNaN ? 0 : microseconds, bounds.0), bounds.1)))
    }
}

extension UUID: PredicateArgument {
    /// The 16 bytes.
    public var predicateExpression: Predicate.Expression {
        .literal(Literal(.uuid(withUnsafeBytes(of: uuid) { [UInt8]($0) })))
    }
}

extension Data: PredicateArgument {
    /// The bytes.
    public var predicateExpression: Predicate.Expression { .literal(Literal(.binary([UInt8](self)))) }
}

extension Array: PredicateArgument where Element: PredicateArgument {
    /// The list of the elements, for `IN` and `BETWEEN`.
    public var predicateExpression: Predicate.Expression { .list(map(\.predicateExpression)) }
}

extension Optional: PredicateArgument where Wrapped: PredicateArgument {
    /// The value, or nil.
    public var predicateExpression: Predicate.Expression { self?.predicateExpression ?? .null }
}

extension Predicate.Expression: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// Makes a text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// Makes a whole number.
    public init(integerLiteral number: Int64) { self = .number(number) }
    /// Makes a number.
    public init(floatLiteral number: Double) { self = number.predicateExpression }
    /// Makes a truth value.
    public init(booleanLiteral flag: Bool) { self = .boolean(flag) }
    /// Makes a list.
    public init(arrayLiteral elements: Predicate.Expression...) { self = .list(elements) }
}

extension Predicate {
    /// Returns the predicate with values in the place of `$variables`; those that are not named stay.
    ///
    /// - Throws: ``PredicateError`` with code `predicate.too_complex` where the tree is nested too deeply.
    public func substituting(_ values: [String: any PredicateArgument]) throws(PredicateError) -> Predicate {
        if values.isEmpty { return self }
        return try VariableSubstitution(values: values.mapValues(\.predicateExpression)).replaced(self, depth: 0)
    }
}

/// Puts values in the place of variables. The variables of subqueries stay, whatever values are named.
struct VariableSubstitution {
    var values: [String: Predicate.Expression]

    func replaced(_ predicate: Predicate, depth: Int) throws(PredicateError) -> Predicate {
        try PredicateChecker.checkDepth(depth)
        switch predicate {
        case .constant: return predicate
        case .and(let parts): return .and(try replaced(parts, depth))
        case .or(let parts): return .or(try replaced(parts, depth))
        case .not(let inner): return .not(try replaced(inner, depth: depth + 1))
        case .comparison(var comparison):
            comparison.left = try replaced(comparison.left, depth: depth + 1)
            comparison.right = try replaced(comparison.right, depth: depth + 1)
            return .comparison(comparison)
        }
    }

    private func replaced(_ parts: [Predicate], _ depth: Int) throws(PredicateError) -> [Predicate] {
        var replaced: [Predicate] = []
        for part in parts { replaced.append(try self.replaced(part, depth: depth + 1)) }
        return replaced
    }

    func replaced(_ expression: Predicate.Expression, depth: Int) throws(PredicateError) -> Predicate.Expression {
        try PredicateChecker.checkDepth(depth)
        switch expression {
        case .literal: return expression
        case .path(let path):
            guard path.isVariable, let root = path.root, let value = values[root] else { return expression }
            return value
        case .list(let parts): return .list(try replaced(parts, depth))
        case .negated(let operand): return .negated(try replaced(operand, depth: depth + 1))
        case .arithmetic(let left, let operation, let right):
            return .arithmetic(
                try replaced(left, depth: depth + 1), operation, try replaced(right, depth: depth + 1))
        case .function(var call):
            call.arguments = try replaced(call.arguments, depth)
            return .function(call)
        case .subquery(var subquery):
            var inner = self
            inner.values[subquery.variable] = nil
            subquery.predicate = try inner.replaced(subquery.predicate, depth: depth + 1)
            return .subquery(subquery)
        }
    }

    private func replaced(
        _ parts: [Predicate.Expression], _ depth: Int
    ) throws(PredicateError) -> [Predicate.Expression] {
        var replaced: [Predicate.Expression] = []
        for part in parts { replaced.append(try self.replaced(part, depth: depth + 1)) }
        return replaced
    }
}

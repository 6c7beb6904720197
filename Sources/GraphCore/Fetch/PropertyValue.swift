import Foundation

/// A Swift value for a property or a predicate. The whole API uses this one conversion.
///
/// `String`, whole numbers of any width, `Double`, `Float`, `Bool`, `Decimal`, `Date`, `UUID`, `URL`, `Data`, `[UInt8]`,
/// and optionals and arrays of these conform. So do ``Value``, ``StoredValue``, ``ManagedObject`` and ``TypedObject``.
/// A text takes the type of the property: `"2026-01-02"` for a date.
public protocol PropertyValue {
    /// The value as an expression, whose type decides which properties accept it.
    var predicateExpression: FetchPredicate.Expression { get }
}

extension FetchPredicate.Expression: PropertyValue {
    /// Itself.
    public var predicateExpression: FetchPredicate.Expression { self }
}

extension FetchPredicate.Expression {
    /// The kind of a value, without the value itself, for errors.
    package var kind: String {
        guard case .literal(let literal) = self else { return "no single value" }
        return switch literal.content {
        case .null, .stored(.null): "nil"
        case .boolean: "a truth value"
        case .number, .stored(.integer), .stored(.double): "a number"
        case .text, .stored(.text): "a text"
        case .date: "a date"
        case .uuid: "a UUID"
        case .binary, .stored(.blob): "bytes"
        }
    }
}

extension Value: PropertyValue {
    /// The value in stored form.
    public var predicateExpression: FetchPredicate.Expression { .literal(Literal(.stored(self))) }
}

/// The cases of ``Value``, where a ``PropertyValue`` is expected: `try chat.set("title", .null)`.
public struct StoredValue: PropertyValue {
    /// The value in stored form.
    public let predicateExpression: FetchPredicate.Expression

    fileprivate init(_ value: Value) { predicateExpression = value.predicateExpression }
}

extension PropertyValue where Self == StoredValue {
    /// No value.
    public static var null: StoredValue { StoredValue(.null) }
    /// A whole number; of a boolean 0 or 1, of a date its microseconds since 1970 UTC.
    public static func integer(_ number: Int64) -> StoredValue { StoredValue(.integer(number)) }
    /// A number.
    public static func double(_ number: Double) -> StoredValue { StoredValue(.double(number)) }
    /// A text, which takes the property's type.
    public static func text(_ text: String) -> StoredValue { StoredValue(.text(text)) }
    /// Bytes.
    public static func blob(_ bytes: [UInt8]) -> StoredValue { StoredValue(.blob(bytes)) }
}

extension AttributeValue {
    /// The stored form with the Swift type.
    public var predicateExpression: FetchPredicate.Expression {
        .literal(Literal(Literal.Content(storedValue, Self.attributeTypes.first ?? .string)))
    }
}

extension UInt8: PropertyValue {
    /// The number.
    public var predicateExpression: FetchPredicate.Expression { .number(Int64(self)) }
}

extension Array: PropertyValue where Element: PropertyValue {
    /// The list of the elements, for `IN`, `BETWEEN` and to-many relationships; of `[UInt8]`, the bytes.
    public var predicateExpression: FetchPredicate.Expression {
        if let bytes = self as? [UInt8] { return .literal(Literal(.binary(bytes))) }
        return .list(map(\.predicateExpression))
    }
}

extension Optional: PropertyValue where Wrapped: PropertyValue {
    /// The value, or nil.
    public var predicateExpression: FetchPredicate.Expression { self?.predicateExpression ?? .null }
}

extension FetchPredicate.Expression: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// Makes a text.
    public init(stringLiteral text: String) { self = .text(text) }
    /// Makes a whole number.
    public init(integerLiteral number: Int64) { self = .number(number) }
    /// Makes a number.
    public init(floatLiteral number: Double) { self = number.predicateExpression }
    /// Makes a Boolean.
    public init(booleanLiteral flag: Bool) { self = .boolean(flag) }
    /// Makes a list.
    public init(arrayLiteral elements: FetchPredicate.Expression...) { self = .list(elements) }
}

extension FetchPredicate {
    /// Returns the predicate with values instead of `$variables`; other variables stay.
    ///
    /// - Throws: ``FetchPredicateError`` with code `predicate.too_complex` if the tree is nested too deeply.
    public func substituting(_ values: [String: (any PropertyValue)?]) throws(FetchPredicateError) -> FetchPredicate {
        if values.isEmpty { return self }
        return try VariableSubstitution(values: values.mapValues { $0?.predicateExpression ?? .null }).replaced(
            self, depth: 0)
    }
}

/// Replaces variables by values. The variables of subqueries always stay.
struct VariableSubstitution {
    var values: [String: FetchPredicate.Expression]

    func replaced(_ predicate: FetchPredicate, depth: Int) throws(FetchPredicateError) -> FetchPredicate {
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

    private func replaced(_ parts: [FetchPredicate], _ depth: Int) throws(FetchPredicateError) -> [FetchPredicate] {
        var replaced: [FetchPredicate] = []
        for part in parts { replaced.append(try self.replaced(part, depth: depth + 1)) }
        return replaced
    }

    func replaced(_ expression: FetchPredicate.Expression, depth: Int) throws(FetchPredicateError)
        -> FetchPredicate.Expression
    {
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
        _ parts: [FetchPredicate.Expression], _ depth: Int
    ) throws(FetchPredicateError) -> [FetchPredicate.Expression] {
        var replaced: [FetchPredicate.Expression] = []
        for part in parts { replaced.append(try self.replaced(part, depth: depth + 1)) }
        return replaced
    }
}

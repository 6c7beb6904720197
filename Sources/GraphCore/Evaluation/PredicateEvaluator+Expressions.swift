import Foundation

extension PredicateEvaluator {
    /// Returns an expression's value; for an object, its primary key.
    package func value(_ expression: TypedExpression, _ scopes: Scopes) throws -> Value {
        switch expression.node {
        case .value(let value): return value
        case .now: return .integer(now)
        case .path(let path): return try value(path, scopes)
        case .aggregate(let aggregate): return try value(aggregate, scopes)
        case .overRows(let function, let operand): return try value(function, operand)
        case .text(let function, let operand): return function.apply(try value(operand, scopes))
        case .negated(let operand):
            let inner = try value(operand, scopes)
            if operand.type.isDecimal { return Self.computed(.subtract, .integer(0), inner) }
            return Self.difference(.integer(0), inner)
        case .arithmetic(let left, let operation, let right):
            let (first, second) = (try value(left, scopes), try value(right, scopes))
            if expression.type.isDecimal { return Self.computed(operation, first, second) }
            if left.type.isDate { return Self.shifted(first, operation, second, isDifference: right.type.isDate) }
            return Self.result(first, operation, second)
        }
    }

    private func value(_ path: ResolvedPath, _ scopes: Scopes) throws -> Value {
        guard let object = try object(path.steps, from: scopes[path.scope]) else { return .null }
        switch path.end {
        case .attribute(let attribute): return objects.value(attribute.slot, of: object)
        case .destination(let relationship): return objects.reference(relationship, of: object)
        case .object: return .integer(objects.primaryKey(of: object))
        }
    }

    // MARK: Aggregates

    private func value(_ aggregate: CheckedAggregate, _ scopes: Scopes) throws -> Value {
        var result = CollectionResult(aggregate.function, of: aggregate.operand?.type)
        try forEachMember(of: aggregate.collection, scopes) { member in
            if let filter = aggregate.filter, try !isTrue(filter, member) { return true }
            result.add(try aggregate.operand.map { try value($0, member) })
            return true
        }
        return result.value
    }

    /// The value of a function over the objects of a group.
    private func value(_ function: CollectionFunction, _ operand: TypedExpression?) throws -> Value {
        var result = CollectionResult(function, of: operand?.type)
        for object in group { result.add(try operand.map { try value($0, [0: object]) }) }
        return result.value
    }

    // MARK: Arithmetic

    private static func computed(
        _ operation: FetchPredicate.ArithmeticOperator, _ left: Value, _ right: Value
    ) -> Value {
        guard let left = left.decimal, let right = right.decimal,
            let result = operation.arithmetic.computed(left, right)
        else {
            return .null
        }
        return .text(DecimalText.text(result))
    }

    /// Whole numbers stay whole unless they leave 64 bits. Division works on real numbers; division by zero is null.
    private static func result(
        _ left: Value, _ operation: FetchPredicate.ArithmeticOperator, _ right: Value
    ) -> Value {
        guard let first = left.number, let second = right.number else { return .null }
        if operation == .divide { return second == 0 ? .null : real(first / second) }
        if case .integer(let left) = left, case .integer(let right) = right,
            let whole = whole(left, operation, right)
        {
            return .integer(whole)
        }
        switch operation {
        case .add: return real(first + second)
        case .subtract: return real(first - second)
        default: return real(first * second)
        }
    }

    private static func whole(
        _ left: Int64, _ operation: FetchPredicate.ArithmeticOperator, _ right: Int64
    ) -> Int64? {
        let (result, overflow) =
            switch operation {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            default: left.multipliedReportingOverflow(by: right)
            }
        return overflow ? nil : result
    }

    private static func difference(_ left: Value, _ right: Value) -> Value { result(left, .subtract, right) }

    /// A result that is not a number is a missing value.
    private static func real(_ number: Double) -> Value { number.isNaN ? .null : .double(number) }

    /// A date plus or minus seconds, or the seconds between two dates.
    private static func shifted(
        _ date: Value, _ operation: FetchPredicate.ArithmeticOperator, _ other: Value, isDifference: Bool
    ) -> Value {
        if isDifference { return result(difference(date, other), .divide, .double(1_000_000)) }
        guard let seconds = other.number else { return .null }
        let microseconds = (seconds * 1_000_000).rounded()
        let bounded: Int64 =
            microseconds >= 0x1p63 ? .max : microseconds < -0x1p63 ? .min : Int64(exactly: microseconds) ?? 0
        return result(date, operation, .integer(bounded))
    }
}

extension FetchPredicate.ArithmeticOperator {
    /// The same operator in the expressions of derived attributes.
    package var arithmetic: ArithmeticExpression.Operator {
        switch self {
        case .add: .add
        case .subtract: .subtract
        case .multiply: .multiply
        case .divide: .divide
        }
    }
}

/// The value of a function over objects, in the making.
private struct CollectionResult {
    private let function: CollectionFunction
    private let type: ExpressionType?
    private var count: Int64 = 0
    /// The sum or average; the sum of no values is 0.
    private var total: RunningAggregate?
    private var best = Value.null

    /// - Parameter type: the type of the objects' values; nil where the objects themselves are counted.
    init(_ function: CollectionFunction, of type: ExpressionType?) {
        self.function = function
        self.type = type
        guard let type else { return }
        let isDecimal = type.isDecimal
        let source: AttributeType = isDecimal ? .decimal : PredicateChecker.isWhole(type) ? .integer64 : .double
        switch function {
        case .sum: total = .sum(RunningSum(for: source))
        case .average: total = .average(RunningAverage(of: source, for: isDecimal ? .decimal : .double))
        case .count, .min, .max: break
        }
    }

    /// Adds the value of an object; a missing one adds nothing.
    mutating func add(_ value: Value?) {
        guard let value, let type else { return count += 1 }
        if value.isNull { return }
        count += 1
        switch function {
        case .count: break
        case .sum, .average: total?.add(value)
        case .min, .max:
            let order = ValueOrder.compare(value, best, asDecimals: type.isDecimal)
            if best.isNull || (function == .min ? order < 0 : order > 0) { best = value }
        }
    }

    var value: Value {
        if type == nil { return .integer(count) }
        switch function {
        case .count: return .integer(count)
        case .sum, .average: return total?.value ?? .null
        case .min, .max: return best
        }
    }
}

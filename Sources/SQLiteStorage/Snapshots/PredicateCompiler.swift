import StoreSQL

/// Writes checked predicates and expressions as SQL. Values are bound, never written into the text.
///
/// Parameters are numbered, so that the parts of a statement may be written in any order.
struct PredicateCompiler: SQLConditions {
    let model: ObjectModel
    /// The value of `now()`, in microseconds since 1970 UTC.
    let now: Int64
    private(set) var bindings: [Value] = []
    /// Tells whether `now()` is among the values.
    private(set) var readsTime = false
    var scopes: SQLScopes
    private let firstParameter: Int

    /// Makes a compiler of statements whose first parameters belong to another text.
    init(model: ObjectModel, now: Int64, firstParameter: Int = 1) {
        self.model = model
        scopes = SQLScopes(model)
        self.now = now
        self.firstParameter = firstParameter
    }

    // MARK: Scopes

    static let tooManyTables = FetchPredicateError(
        .tooComplex, "The request leads over too many relationships", at: nil, remedy: "Split it into several requests")

    /// Begins a scope of objects with a table of its own.
    mutating func open(_ scope: Int, entity: Int) throws(FetchPredicateError) {
        if !scopes.open(scope, entity: entity) { throw Self.tooManyTables }
    }

    /// Returns the alias of the table at the end of to-one steps, joining the tables on the way.
    mutating func alias(_ steps: [Relationship], _ number: Int) throws(FetchPredicateError) -> String {
        try Self.given(scopes.alias(steps, number))
    }

    mutating func parameter(_ value: Value) -> String {
        bindings.append(value)
        return "?\(firstParameter + bindings.count - 1)"
    }

    mutating func parameters(_ values: [Value]) -> String {
        var list: [String] = []
        for value in values { list.append(parameter(value)) }
        return list.joined(separator: ",")
    }

    /// Returns the condition that the rows of a scope are of its entity or its sub-entities; nil where all are.
    func kind(_ scope: Int) -> String? {
        let entity = scopes.entity(scope)
        return entity.parentIndex == nil ? nil : model.kindCondition(entity, alias: scopes.alias(scope) + ".")
    }

    /// The aggregate of an expression as SQL; sums of nothing are 0.
    private mutating func selection(
        _ function: CollectionFunction, _ operand: TypedExpression?
    ) throws(FetchPredicateError) -> String {
        guard let operand else { return "count(*)" }
        let inner = try expression(operand)
        switch function {
        case .count: return "count(\(inner))"
        case .sum:
            let kind = operand.type.isDecimal ? 2 : PredicateChecker.isWhole(operand.type) ? 0 : 1
            let nothing = ["0", "0.0", "'0'"][kind]
            return "coalesce(objectgraph_sum(\(inner), \(kind)), \(nothing))"
        case .average: return operand.type.isDecimal ? "objectgraph_average(\(inner))" : "avg(\(inner))"
        case .min, .max: return "\(function.rawValue)(\(try ordered(operand)))"
        }
    }

    // MARK: Expressions

    /// Returns an expression: a value of its type; of an object, its primary key.
    mutating func expression(_ expression: TypedExpression) throws(FetchPredicateError) -> String {
        switch expression.node {
        case .value(let value): return parameter(value)
        case .now:
            readsTime = true
            return parameter(.integer(now))
        case .path(let path): return try Self.given(scopes.column(path))
        case .aggregate(let aggregate):
            return try subquery(aggregate) { compiler, function, operand throws(FetchPredicateError) in
                try compiler.selection(function, operand)
            }
        case .overRows(let function, let operand): return try selection(function, operand)
        case .text(let function, let operand):
            return "objectgraph_\(function.rawValue)(\(try self.expression(operand)))"
        case .negated(let operand):
            let inner = try self.expression(operand)
            return operand.type.isDecimal ? "objectgraph_decimal_arithmetic('-', 0, \(inner))" : "(-\(inner))"
        case .arithmetic(let left, let operation, let right):
            return try arithmetic(left, operation, right, result: expression.type)
        }
    }

    /// As ``expression(_:)``, for telling which comes first.
    mutating func ordered(_ expression: TypedExpression) throws(FetchPredicateError) -> String {
        let text = try self.expression(expression)
        return expression.type.isDecimal ? "\(text) COLLATE \(DecimalCollation.name)" : text
    }

    private mutating func arithmetic(
        _ left: TypedExpression, _ operation: FetchPredicate.ArithmeticOperator, _ right: TypedExpression,
        result: ExpressionType
    ) throws(FetchPredicateError) -> String {
        let first = try expression(left)
        let second = try expression(right)
        if result.isDecimal {
            return "objectgraph_decimal_arithmetic('\(operation.rawValue)', \(first), \(second))"
        }
        if left.type.isDate {
            if right.type.isDate { return "((\(first) - \(second)) / 1000000.0)" }
            return "(\(first) \(operation.rawValue) CAST(round(\(second) * 1000000.0) AS INTEGER))"
        }
        // Division works on real numbers, as in derived attributes; by zero it gives null.
        if operation == .divide { return "(CAST(\(first) AS REAL) / \(second))" }
        return "(\(first) \(operation.rawValue) \(second))"
    }
}

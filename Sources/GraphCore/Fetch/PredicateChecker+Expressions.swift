extension PredicateChecker {
    /// Returns an expression with its type.
    ///
    /// - Parameter type: the type for literals; nil for a literal's own type.
    package mutating func check(
        _ expression: FetchPredicate.Expression, expecting type: ExpressionType? = nil, depth: Int = 0
    ) throws(FetchPredicateError) -> TypedExpression {
        try Self.checkDepth(depth)
        switch expression {
        case .literal(let literal): return try value(literal, expecting: type)
        case .path(let path): return try resolve(path)
        case .list:
            throw FetchPredicateError(
                .syntax, "A list stands where one value was expected", at: expression.column,
                remedy: "Lists go behind IN and BETWEEN")
        case .negated(let operand):
            let checked = try number(operand, depth: depth + 1)
            return TypedExpression(node: .negated(checked), type: checked.type)
        case .arithmetic(let left, let operation, let right):
            return try arithmetic(left, operation, right, depth: depth + 1)
        case .function(let call): return try function(call, depth: depth + 1)
        case .subquery(let subquery): return try check(subquery, depth: depth + 1)
        }
    }

    // MARK: Arithmetic

    private mutating func number(
        _ expression: FetchPredicate.Expression, depth: Int
    ) throws(FetchPredicateError) -> TypedExpression {
        let checked = try check(expression, depth: depth)
        guard checked.type.isNumeric else { throw noNumber(expression, checked.type) }
        return checked
    }

    private func noNumber(_ expression: FetchPredicate.Expression, _ type: ExpressionType) -> FetchPredicateError {
        FetchPredicateError(
            .type, "Arithmetic needs numbers, this is \(described(type))", at: expression.column,
            remedy: "Compute with numbers; to a date seconds may be added")
    }

    private mutating func arithmetic(
        _ left: FetchPredicate.Expression, _ operation: FetchPredicate.ArithmeticOperator,
        _ right: FetchPredicate.Expression,
        depth: Int
    ) throws(FetchPredicateError) -> TypedExpression {
        // A numeric literal beside a decimal is a decimal.
        var first: TypedExpression
        var second: TypedExpression
        if left.isLiteral, !right.isLiteral {
            second = try check(right, depth: depth)
            first = try check(left, expecting: second.type.isDecimal ? second.type : nil, depth: depth)
        } else {
            first = try check(left, depth: depth)
            second = try check(right, expecting: first.type.isDecimal ? first.type : nil, depth: depth)
        }
        let node = CheckedExpression.arithmetic(first, operation, second)
        if first.type.isDate, operation == .add || operation == .subtract {
            if second.type.isDate, operation == .subtract {
                return TypedExpression(node: node, type: .value(.double))
            }
            guard second.type.isNumeric, !second.type.isDecimal else { throw noNumber(right, second.type) }
            return TypedExpression(node: node, type: .value(.date))
        }
        guard first.type.isNumeric else { throw noNumber(left, first.type) }
        guard second.type.isNumeric else { throw noNumber(right, second.type) }
        return TypedExpression(node: node, type: .value(Self.result(first.type, operation, second.type)))
    }

    private static func result(
        _ left: ExpressionType, _ operation: FetchPredicate.ArithmeticOperator, _ right: ExpressionType
    ) -> AttributeType {
        if left.isDecimal || right.isDecimal { return .decimal }
        return operation != .divide && isWhole(left) && isWhole(right) ? .integer64 : .double
    }

    package static func isWhole(_ type: ExpressionType) -> Bool {
        if case .value(let type) = type { return type.integerRange != nil }
        return false
    }

    // MARK: Functions

    private mutating func function(_ call: FetchPredicate.FunctionCall, depth: Int) throws(FetchPredicateError)
        -> TypedExpression
    {
        if let function = TextTransformation(rawValue: call.name) {
            let operand = try onlyArgument(call)
            let checked = try check(operand, depth: depth)
            guard Self.isText(checked.type) else {
                throw FetchPredicateError(
                    .type, "\(call.name) takes a text, this is \(described(checked.type))", at: operand.column,
                    remedy: "Name a property of type string")
            }
            return TypedExpression(node: .text(function, checked), type: .value(.string))
        }
        if call.name == "now" {
            guard call.arguments.isEmpty else { throw wrongArguments(call, "no argument") }
            return TypedExpression(node: .now, type: .value(.date))
        }
        if let function = CollectionFunction(rawValue: call.name) {
            return try aggregate(function, call, depth: depth)
        }
        throw FetchPredicateError(
            .unsupported, "The function '\(call.name)' is not supported", at: call.column,
            remedy: "Known are: lowercase, uppercase, canonical, now, count, sum, min, max, average")
    }

    private func onlyArgument(_ call: FetchPredicate.FunctionCall) throws(FetchPredicateError)
        -> FetchPredicate.Expression
    {
        guard call.arguments.count == 1, let argument = call.arguments.first else {
            throw wrongArguments(call, "one argument")
        }
        return argument
    }

    private func wrongArguments(_ call: FetchPredicate.FunctionCall, _ wanted: String) -> FetchPredicateError {
        FetchPredicateError(
            .syntax, "\(call.name) takes \(wanted)", at: call.column, remedy: "Write as in lowercase:(title) or now()")
    }

    /// A function over the rows; in a condition on objects, over the destinations of its path.
    private mutating func aggregate(
        _ function: CollectionFunction, _ call: FetchPredicate.FunctionCall, depth: Int
    ) throws(FetchPredicateError) -> TypedExpression {
        guard allowsRowAggregates else {
            guard case .path(var path) = try onlyArgument(call), path.function == nil else {
                throw FetchPredicateError(
                    .unsupported, "\(call.name) needs a to-many path here", at: call.column,
                    remedy: "Write as in items.price.@sum; over all rows it goes into properties and having")
            }
            path.function = function.rawValue
            return try resolve(path)
        }
        if function == .count, call.arguments.isEmpty {
            return TypedExpression(node: .overRows(.count, nil), type: .value(.integer64))
        }
        let argument = try onlyArgument(call)
        allowsRowAggregates = false
        defer { allowsRowAggregates = true }
        let operand = try check(argument, depth: depth)
        let type = try resultType(function, operand.type, name: call.name, column: argument.column)
        if function == .count, case .path(let path) = operand.node, case .object = path.end, path.steps.isEmpty {
            return TypedExpression(node: .overRows(.count, nil), type: type)
        }
        return TypedExpression(node: .overRows(function, operand), type: type)
    }

    func resultType(
        _ function: CollectionFunction, _ operand: ExpressionType, name: String, column: Int?
    ) throws(FetchPredicateError) -> ExpressionType {
        switch function {
        case .count: return .value(.integer64)
        case .sum, .average:
            guard operand.isNumeric else {
                throw FetchPredicateError(
                    .type, "\(name) takes numbers, this is \(described(operand))", at: column,
                    remedy: "Use count, min or max")
            }
            if operand.isDecimal { return operand }
            return .value(function == .sum && Self.isWhole(operand) ? .integer64 : .double)
        case .min, .max:
            guard Self.hasOrder(operand) else {
                throw FetchPredicateError(
                    .type, "\(name) needs values that have an order, and this is \(described(operand))", at: column,
                    remedy: "Use count")
            }
            return operand
        }
    }

    // MARK: Subqueries

    private mutating func check(_ subquery: FetchPredicate.Subquery, depth: Int) throws(FetchPredicateError)
        -> TypedExpression
    {
        let collection = try collection(subquery.collection)
        let outer = variables
        let outerCapture = capture
        capture = nil
        variables[subquery.variable] = Element(
            scope: collection.element, entity: collection.relationship.destinationIndex)
        let filter = try check(subquery.predicate, depth: depth)
        variables = outer
        let expression = try aggregate(
            subquery.aggregate, subquery.aggregate.names[...], collection, filter: filter)
        capture = outerCapture
        return expression
    }
}

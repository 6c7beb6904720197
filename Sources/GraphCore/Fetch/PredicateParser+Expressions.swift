extension PredicateParser {
    /// The functions of one value that a condition may use.
    static let functions: Set = ["lowercase", "uppercase", "canonical"]
    /// The functions over all objects of a request or group, by every name they may have.
    static let aggregates = [
        "count": "count", "sum": "sum", "min": "min", "max": "max", "average": "avg", "avg": "avg",
    ]
    /// The maximum number of terms in a sum, and of factors in a product.
    private static let maximumTermCount = 64

    // MARK: Arithmetic

    mutating func sum() throws(FetchPredicateError) -> Node {
        var left = try product()
        var count = 0
        while let operation = sign("+", "-") {
            let right = try product()
            left = try combined(left, operation, right, &count)
        }
        return left
    }

    private mutating func product() throws(FetchPredicateError) -> Node {
        var left = try factor()
        var count = 0
        while let operation = sign("*", "/") {
            let right = try factor()
            left = try combined(left, operation, right, &count)
        }
        return left
    }

    private mutating func sign(_ first: String, _ second: String) -> FetchPredicate.ArithmeticOperator? {
        guard case .symbol(let symbol) = current.content, symbol == first || symbol == second else { return nil }
        advance()
        return FetchPredicate.ArithmeticOperator(rawValue: symbol)
    }

    private func combined(
        _ left: Node, _ operation: FetchPredicate.ArithmeticOperator, _ right: Node, _ count: inout Int
    ) throws(FetchPredicateError) -> Node {
        count += 1
        if count > Self.maximumTermCount {
            throw FetchPredicateError(
                .tooComplex, "There are more than \(Self.maximumTermCount) operations in a row", at: current.column,
                remedy: "Compute a part of the expression before, in a derived attribute or in the program")
        }
        return .expression(.arithmetic(try expression(left, "a number"), operation, try expression(right, "a number")))
    }

    private mutating func factor() throws(FetchPredicateError) -> Node {
        guard isSymbol("-", "+") else { return try primary() }
        let isNegative = isSymbol("-")
        let column = current.column
        advance()
        if case .number(let number) = current.content {
            advance()
            return .expression(.literal(Literal(.number(isNegative ? "-" + number : number), column: column)))
        }
        try enter()
        defer { leave() }
        let node = try factor()
        let operand = try expression(node, "a number")
        return .expression(isNegative ? .negated(operand) : operand)
    }

    // MARK: Operands

    private mutating func primary() throws(FetchPredicateError) -> Node {
        if isSymbol("(") { return try parenthesis() }
        if take(symbol: "{") { return .expression(.list(try list(until: "}"))) }
        if take(keyword: "TRUEPREDICATE") { return .condition(.constant(true)) }
        if take(keyword: "FALSEPREDICATE") { return .condition(.constant(false)) }
        if let literal = literal() { return .expression(.literal(literal)) }
        if isKeyword("SUBQUERY"), next.content == .symbol("(") { return .expression(try subquery()) }
        if isKeyword("CAST"), next.content == .symbol("(") { return .expression(.literal(try cast())) }
        if let call = try call() { return .expression(.function(call)) }
        if case .placeholder(let kind) = current.content, kind != "K" { return .expression(try value()) }
        guard let path = try path() else { throw unexpected("a property") }
        return .expression(.path(path))
    }

    /// Reads a condition or an expression in parentheses, or a list of several.
    private mutating func parenthesis() throws(FetchPredicateError) -> Node {
        advance()
        if take(symbol: ")") { return .expression(.list([])) }
        let first = try disjunction()
        guard isSymbol(",") else {
            try expect(symbol: ")")
            return first
        }
        var parts = [try expression(first, "a value")]
        while take(symbol: ",") { parts.append(try expression("a value")) }
        try expect(symbol: ")")
        return .expression(.list(parts))
    }

    private mutating func list(until end: String) throws(FetchPredicateError) -> [FetchPredicate.Expression] {
        var parts: [FetchPredicate.Expression] = []
        if take(symbol: end) { return parts }
        try enter()
        defer { leave() }
        repeat { parts.append(try expression("a value")) } while take(symbol: ",")
        try expect(symbol: end)
        return parts
    }

    private mutating func literal() -> Literal? {
        let column = current.column
        if take(keyword: "NIL", "NULL") { return Literal(.null, column: column) }
        if take(keyword: "YES", "TRUE") { return Literal(.boolean(true), column: column) }
        if take(keyword: "NO", "FALSE") { return Literal(.boolean(false), column: column) }
        switch current.content {
        case .text(let text):
            advance()
            return Literal(.text(text), column: column)
        case .number(let number):
            advance()
            return Literal(.number(number), column: column)
        default: return nil
        }
    }

    /// Reads a value's argument, with the placeholder's place.
    private mutating func value() throws(FetchPredicateError) -> FetchPredicate.Expression {
        let column = current.column
        let argument = try argument()
        guard case .literal(var literal) = argument else { return argument }
        literal.column = column
        return .literal(literal)
    }

    /// Reads `CAST(text or number, "TYPE")`.
    private mutating func cast() throws(FetchPredicateError) -> Literal {
        let column = current.column
        advance()
        try enter()
        defer { leave() }
        try expect(symbol: "(")
        let node = try sum()
        try expect(symbol: ",")
        guard case .text(let type) = current.content else { throw unexpected("a type in quotes, such as 'NSDate'") }
        let typeColumn = current.column
        advance()
        try expect(symbol: ")")
        guard case .literal(let literal) = try expression(node, "a value") else {
            throw FetchPredicateError(
                .unsupported, "CAST takes a value as written", at: column,
                remedy: "Write as in CAST('12.5', 'NSNumber')")
        }
        guard let cast = CastLiteral.content(literal.content, type) else {
            guard CastLiteral.types.contains(type) else {
                throw FetchPredicateError(
                    .unsupported, "CAST knows no type '\(type)'", at: typeColumn,
                    remedy: "Known are: \(CastLiteral.types.joined(separator: ", "))")
            }
            throw FetchPredicateError(
                .type, "The value is no \(type)", at: literal.column ?? column,
                remedy: "Write as in CAST('2026-01-02T03:04:05Z', 'NSDate')")
        }
        return Literal(cast, column: column)
    }

    /// Reads `name(…)` or `name:(…)`, or returns nil if the text has no function here.
    private mutating func call() throws(FetchPredicateError) -> FetchPredicate.FunctionCall? {
        guard case .name(let name) = current.content, next.content == .symbol("(") || next.content == .symbol(":")
        else {
            return nil
        }
        let column = current.column
        let lowercased = name.lowercased()
        guard Self.functions.contains(lowercased) || lowercased == "now" || Self.aggregates[lowercased] != nil else {
            if Self.isKeyword(name) { return nil }
            throw FetchPredicateError(
                .unsupported, "The function '\(name)' is not supported", at: column,
                remedy: "Known are: lowercase, uppercase, canonical, now, count, sum, min, max, average")
        }
        advance()
        _ = take(symbol: ":")
        try expect(symbol: "(")
        let arguments = try list(until: ")")
        return FetchPredicate.FunctionCall(Self.aggregates[lowercased] ?? lowercased, arguments, column: column)
    }

    /// Reads `SUBQUERY(collection, $variable, condition).@count`.
    private mutating func subquery() throws(FetchPredicateError) -> FetchPredicate.Expression {
        let column = current.column
        advance()
        try enter()
        defer { leave() }
        try expect(symbol: "(")
        guard var collection = try path(), collection.function == nil else {
            throw unexpected("a to-many relationship")
        }
        try expect(symbol: ",")
        guard case .variable(let variable) = current.content else { throw unexpected("a variable such as $x") }
        advance()
        try expect(symbol: ",")
        let node = try disjunction()
        let predicate = try condition(node)
        try expect(symbol: ")")
        guard take(symbol: "."), let aggregate = try path(isTail: true), aggregate.function != nil else {
            throw unexpected(".@count behind SUBQUERY(…)")
        }
        collection.column = column
        return .subquery(FetchPredicate.Subquery(collection, variable, predicate, aggregate: aggregate))
    }

    // MARK: Key paths

    /// Reads a key path, which may begin with the aggregate at the end of a subquery.
    private mutating func path(isTail: Bool = false) throws(FetchPredicateError) -> PropertyPath? {
        var path = PropertyPath(names: [], column: current.column)
        if isTail {
            guard try step(&path, isTail: true) else { return nil }
        } else if case .variable(let name) = current.content {
            path.root = name
            advance()
        } else if take(keyword: "SELF") {
            // The object itself.
        } else {
            if case .name(let name) = current.content, Self.isKeyword(name) { return nil }
            guard try step(&path) else { return nil }
        }
        while take(symbol: ".") {
            if path.names.count > Self.maximumDepth { throw unexpected("a shorter path") }
            guard try step(&path, isTail: isTail) else { throw unexpected("a property") }
        }
        return path
    }

    /// Reads one part of a path, or returns false if there is none.
    private mutating func step(_ path: inout PropertyPath, isTail: Bool = false) throws(FetchPredicateError) -> Bool {
        switch current.content {
        case .name(let name), .escapedName(let name):
            path.names.append(name)
            advance()
        case .placeholder("K"):
            let column = current.column
            guard case .literal(let literal) = try argument(), case .text(let text) = literal.content else {
                throw FetchPredicateError(
                    .arguments, "The argument of %K is no text", at: column, remedy: "Give the key path as text")
            }
            let inner = PropertyPath(text)
            path.names += inner.names
            if path.root == nil, path.names.count == inner.names.count { path.root = inner.root }
            if let function = inner.function { try set(function, &path) }
        case .function(let function) where !path.names.isEmpty || path.root != nil || isTail:
            try set(function, &path)
            advance()
        default: return false
        }
        return true
    }

    private func set(_ function: String, _ path: inout PropertyPath) throws(FetchPredicateError) {
        if path.function != nil { throw unexpected("only one aggregate in a path") }
        guard let name = Self.aggregates[function] else {
            throw FetchPredicateError(
                .unsupported, "'@\(function)' is not supported", at: current.column,
                remedy: "Use @count, @sum, @min, @max or @avg")
        }
        path.function = name
    }
}

/// The literal that `CAST` makes of a value.
enum CastLiteral {
    static let types = ["NSDate", "NSNumber", "NSDecimalNumber", "NSString", "NSUUID", "NSData", "NSURL"]
    /// From 1970 to 2001 UTC, where Core Data's dates begin.
    private static let referenceSeconds = 978_307_200.0

    static func content(_ content: Literal.Content, _ type: String) -> Literal.Content? {
        switch (type, content) {
        case (_, .null): return .null
        case ("NSDate", .text(let text)): return Timestamp.microseconds(text, assumesUTC: true).map { .date($0) }
        case ("NSDate", .number(let number)):
            guard let seconds = Double(number), abs(seconds) < 9e12 else { return nil }
            return .date(Int64(((seconds + referenceSeconds) * 1_000_000).rounded()))
        case ("NSNumber", .text(let text)), ("NSDecimalNumber", .text(let text)):
            return DecimalText.canonical(text).map { .number($0) }
        case ("NSNumber", .number), ("NSDecimalNumber", .number), ("NSString", .text), ("NSURL", .text): return content
        case ("NSNumber", .boolean): return content
        case ("NSString", .number(let number)): return .text(number)
        case ("NSUUID", .text(let text)): return UUIDText.bytes(text).map { .uuid($0) }
        case ("NSData", .text(let text)): return Base64Text.bytes(text).map { .binary($0) }
        default: return nil
        }
    }
}

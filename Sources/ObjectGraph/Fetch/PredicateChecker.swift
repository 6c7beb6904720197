/// Checks a predicate against a model: resolves its paths and brings its values into stored form.
struct PredicateChecker {
    /// How many comparisons a predicate may have; SQLite limits the depth of expressions.
    static let maximumComparisonCount = 400
    /// How many values a predicate may have; SQLite limits the number of parameters.
    static let maximumValueCount = 10_000

    let model: ObjectModel
    private var comparisonCount = 0
    private var valueCount = 0

    init(model: ObjectModel) { self.model = model }

    private var resolver: PathResolver { PathResolver(model: model) }

    /// Returns the checked form.
    ///
    /// - Throws: ``PredicateError``.
    static func check(
        _ predicate: Predicate, entity: Entity, model: ObjectModel
    ) throws(PredicateError) -> CheckedPredicate {
        var checker = PredicateChecker(model: model)
        return try checker.check(predicate, entity.index, depth: 0)
    }

    private mutating func check(
        _ predicate: Predicate, _ entity: Int, depth: Int
    ) throws(PredicateError) -> CheckedPredicate {
        // A parsed text is at most so deep; a tree made by code may be deeper.
        if depth > 3 * PredicateParser.maximumDepth { throw tooComplex("is nested too deeply") }
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(try check(parts, entity, depth: depth + 1))
        case .or(let parts): return .or(try check(parts, entity, depth: depth + 1))
        case .not(let inner): return .not(try check(inner, entity, depth: depth + 1))
        case .comparison(let comparison): return try check(comparison, entity)
        }
    }

    private mutating func check(
        _ parts: [Predicate], _ entity: Int, depth: Int
    ) throws(PredicateError) -> [CheckedPredicate] {
        var checked: [CheckedPredicate] = []
        for part in parts { checked.append(try check(part, entity, depth: depth)) }
        return checked
    }

    private func tooComplex(_ what: String) -> PredicateError {
        PredicateError(.tooComplex, "The condition \(what)", at: nil, remedy: "Split it up")
    }

    // MARK: Comparisons

    private mutating func check(
        _ comparison: Predicate.Comparison, _ entity: Int
    ) throws(PredicateError) -> CheckedPredicate {
        comparisonCount += 1
        if comparisonCount > Self.maximumComparisonCount {
            throw tooComplex("has more than \(Self.maximumComparisonCount) comparisons")
        }
        let comparison = try turned(comparison)
        guard case .path(let path) = comparison.left else {
            throw PredicateError(
                .syntax, "A comparison needs a property", at: comparison.left.column,
                remedy: "Name one, as in title = 'a'; texts need quotes, names have none")
        }
        let resolution = try resolver.resolve(path, from: entity)
        guard let quantifier = comparison.quantifier else {
            return .comparison(try check(comparison, left: try resolver.resolveSingle(path, from: entity), entity))
        }
        guard case .many(let prefix, let relationship, let rest) = resolution else {
            throw PredicateError(
                .type, "'\(path.text)' has one value, \(quantifier.rawValue.uppercased()) needs many", at: path.column,
                remedy: "Remove \(quantifier.rawValue.uppercased()), or name a to-many relationship")
        }
        let destination = relationship.destinationIndex
        let inner = try resolver.resolveSingle(rest, from: destination)
        if case .path(let right) = comparison.right { throw pathOnRight(right) }
        return .quantified(
            quantifier, prefix: prefix, over: relationship, try check(comparison, left: inner, destination))
    }

    /// Turns a comparison whose property stands on the right, as in `3 < seq`.
    private func turned(_ comparison: Predicate.Comparison) throws(PredicateError) -> Predicate.Comparison {
        guard case .path = comparison.right, case .literal = comparison.left else { return comparison }
        let opposite: [Predicate.Relation: Predicate.Relation] = [
            .equal: .equal, .notEqual: .notEqual, .less: .greater, .lessOrEqual: .greaterOrEqual, .greater: .less,
            .greaterOrEqual: .lessOrEqual,
        ]
        guard let relation = opposite[comparison.relation] else {
            throw PredicateError(
                .unsupported, "\(comparison.relation.rawValue) needs its property on the left",
                at: comparison.left.column, remedy: "Exchange the sides")
        }
        var turned = comparison
        turned.relation = relation
        (turned.left, turned.right) = (comparison.right, comparison.left)
        return turned
    }

    private func pathOnRight(_ path: PropertyPath) -> PredicateError {
        PredicateError(
            .unsupported, "'\(path.text)' stands where a value was expected", at: path.column,
            remedy: "Put texts in quotes; behind ANY, ALL and NONE only values compare")
    }

    private mutating func check(
        _ comparison: Predicate.Comparison, left: ResolvedPath, _ entity: Int
    ) throws(PredicateError) -> CheckedComparison {
        try checkRelation(comparison, left)
        let right: CheckedComparison.Right
        switch comparison.right {
        case .path(let path):
            right = .path(try other(path, comparison, left, entity))
        case .literal(let literal):
            if comparison.relation == .between || comparison.relation == .contained {
                let example = comparison.relation == .between ? "BETWEEN {1, 9}" : "IN {'a', 'b'}"
                throw PredicateError(
                    .syntax, "\(comparison.relation.rawValue) needs a list", at: literal.column,
                    remedy: "Write as in \(example)")
            }
            right = .values([try value(literal, comparison, left)])
        case .list(let literals):
            right = .values(try values(literals, comparison, left))
        }
        return CheckedComparison(
            left: left, relation: comparison.relation, right: right, isCaseInsensitive: comparison.isCaseInsensitive)
    }

    private func checkRelation(_ comparison: Predicate.Comparison, _ left: ResolvedPath) throws(PredicateError) {
        let type = left.type(in: model)
        let isText = (type == .string || type == .uri || type == .transformable) && !left.isObject
        if !isText, comparison.relation.isTextual || comparison.isCaseInsensitive {
            let what = comparison.relation.isTextual ? comparison.relation.rawValue : "[c]"
            throw typeError("\(what) compares texts", comparison.left, left)
        }
        switch comparison.relation {
        case .less, .lessOrEqual, .greater, .greaterOrEqual, .between:
            guard !left.isObject, type != .boolean, type != .binary else {
                throw typeError("\(comparison.relation.rawValue) compares what has an order", comparison.left, left)
            }
        default: break
        }
    }

    private func typeError(_ rule: String, _ operand: Predicate.Operand, _ left: ResolvedPath) -> PredicateError {
        let what = left.isObject ? "an object" : "of type \(left.type(in: model).rawValue)"
        return PredicateError(.type, "\(rule), this is \(what)", at: operand.column, remedy: "Use =, != or IN")
    }

    // MARK: The right side

    private func other(
        _ path: PropertyPath, _ comparison: Predicate.Comparison, _ left: ResolvedPath, _ entity: Int
    ) throws(PredicateError) -> ResolvedPath {
        guard comparison.relation != .between, comparison.relation != .contained, comparison.relation != .like else {
            throw pathOnRight(path)
        }
        let right = try resolver.resolveSingle(path, from: entity)
        let (here, there) = (left.type(in: model), right.type(in: model))
        let compares = here == there || Self.areNumbers(here, there)
        guard left.objectEntity == right.objectEntity, compares else {
            throw PredicateError(
                .type, "The two sides are of types that do not compare", at: path.column,
                remedy: "Compare properties of the same type; put texts in quotes")
        }
        return right
    }

    /// Tells whether both are numbers that the store keeps as such; decimals are kept as texts.
    private static func areNumbers(_ left: AttributeType, _ right: AttributeType) -> Bool {
        left.isNumeric && right.isNumeric && left != .decimal && right != .decimal
    }

    private mutating func values(
        _ literals: [Literal], _ comparison: Predicate.Comparison, _ left: ResolvedPath
    ) throws(PredicateError) -> [Value] {
        switch comparison.relation {
        case .between where literals.count == 2, .contained: break
        case .between:
            throw PredicateError(
                .syntax, "BETWEEN needs two values", at: comparison.right.column ?? comparison.left.column,
                remedy: "Write as in BETWEEN {1, 9}")
        default:
            throw PredicateError(
                .syntax, "\(comparison.relation.rawValue) takes no list", at: comparison.right.column,
                remedy: "Use IN for one of several values")
        }
        var values: [Value] = []
        for literal in literals { values.append(try value(literal, comparison, left)) }
        return values
    }

    private mutating func value(
        _ literal: Literal, _ comparison: Predicate.Comparison, _ left: ResolvedPath
    ) throws(PredicateError) -> Value {
        valueCount += 1
        if valueCount > Self.maximumValueCount { throw tooComplex("has more than \(Self.maximumValueCount) values") }
        let type = left.type(in: model)
        if let value = LiteralConversion.value(literal.content, as: type) {
            if value.isNull { try checkNull(literal, comparison) }
            return value
        }
        throw PredicateError(
            .type, "The value is no \(type.rawValue)", at: literal.column, remedy: Self.remedy(literal, type))
    }

    private func checkNull(_ literal: Literal, _ comparison: Predicate.Comparison) throws(PredicateError) {
        switch comparison.relation {
        case .equal, .notEqual, .contained: return
        default:
            throw PredicateError(
                .type, "nil has no order and no text", at: literal.column, remedy: "Compare it with =, != or IN")
        }
    }

    private static func remedy(_ literal: Literal, _ type: AttributeType) -> String {
        if case .number(let number) = literal.content, type == .string || type == .uri {
            return "Put it in quotes: '\(number)'"
        }
        return "Write \(type.expectation)" + (type == .date || type == .uuid || type == .binary ? " in quotes" : "")
    }
}

/// Brings a value as written into the stored form of a type.
enum LiteralConversion {
    /// Returns the stored form, or nil where the type has none.
    static func value(_ content: Literal.Content, as type: AttributeType) -> Value? {
        switch content {
        case .null: return .null
        case .text(let text): return type.value(fromText: text)
        case .boolean(let flag): return type == .boolean ? .integer(flag ? 1 : 0) : nil
        case .number(let text):
            if type == .boolean { return text == "0" || text == "1" ? .integer(text == "1" ? 1 : 0) : nil }
            guard type.isNumeric else { return nil }
            // A whole number compares with a fraction, and with one that its type has no room for.
            return type.value(fromText: text) ?? (type == .decimal ? nil : number(text))
        }
    }

    private static func number(_ text: String) -> Value? {
        if let whole = Int64(text) { return .integer(whole) }
        return Double(text).flatMap { $0.isFinite ? .double($0) : nil }
    }
}

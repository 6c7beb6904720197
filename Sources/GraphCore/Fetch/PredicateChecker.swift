/// Checks predicates and expressions against a model: resolves their paths and brings their values into stored form.
///
/// One checker serves all texts of a request, so that its limits hold for the request as a whole.
package struct PredicateChecker {
    /// The maximum number of comparisons in a request.
    static let maximumComparisonCount = 400
    /// The maximum number of values in a request; storages limit the number of parameters.
    static let maximumValueCount = 10_000
    /// The maximum depth of a tree. Code can build deeper trees than the parser does.
    package static let maximumDepth = 200

    /// The object of a variable.
    package struct Element {
        package let scope: Int
        package let entity: Int
    }

    package let model: ObjectModel
    /// The position of the entity of the fetched objects.
    package let entity: Int
    /// The expressions of named properties, which conditions on groups and orders may use.
    package var names: [String: TypedExpression] = [:]
    /// Tells whether functions over all rows are allowed.
    var allowsRowAggregates = false
    package var variables: [String: Element] = [:]
    /// Receives the to-many relationship on the left side of a quantified comparison; nil outside of one.
    var capture: Capture?
    private var comparisonCount = 0
    private var valueCount = 0
    private var scopeCount = 1

    /// The to-many relationship of a quantified comparison.
    struct Capture {
        var collection: CheckedCollection?
    }

    init(model: ObjectModel, entity: Int) {
        self.model = model
        self.entity = entity
    }

    /// Returns the checked form.
    package static func check(
        _ predicate: FetchPredicate, entity: Entity, model: ObjectModel
    ) throws(FetchPredicateError) -> CheckedPredicate {
        var checker = PredicateChecker(model: model, entity: entity.index)
        return try checker.check(predicate)
    }

    static func checkDepth(_ depth: Int) throws(FetchPredicateError) {
        if depth > maximumDepth { throw tooComplex("is nested too deeply") }
    }

    package static func tooComplex(_ what: String) -> FetchPredicateError {
        FetchPredicateError(.tooComplex, "The condition \(what)", at: nil, remedy: "Split it into several conditions")
    }

    mutating func newScope() -> Int {
        scopeCount += 1
        return scopeCount - 1
    }

    // MARK: Conditions

    package mutating func check(_ predicate: FetchPredicate, depth: Int = 0) throws(FetchPredicateError)
        -> CheckedPredicate
    {
        try Self.checkDepth(depth)
        switch predicate {
        case .constant(let value): return .constant(value)
        case .and(let parts): return .and(try check(parts, depth: depth + 1))
        case .or(let parts): return .or(try check(parts, depth: depth + 1))
        case .not(let inner): return .not(try check(inner, depth: depth + 1))
        case .comparison(let comparison): return try check(comparison, depth: depth + 1)
        }
    }

    private mutating func check(_ parts: [FetchPredicate], depth: Int) throws(FetchPredicateError) -> [CheckedPredicate]
    {
        var checked: [CheckedPredicate] = []
        for part in parts { checked.append(try check(part, depth: depth)) }
        return checked
    }

    // MARK: Comparisons

    private mutating func check(
        _ comparison: FetchPredicate.Comparison, depth: Int
    ) throws(FetchPredicateError) -> CheckedPredicate {
        comparisonCount += 1
        if comparisonCount > Self.maximumComparisonCount {
            throw Self.tooComplex("has more than \(Self.maximumComparisonCount) comparisons")
        }
        let comparison = try turned(spelledOut(comparison))
        guard let quantifier = comparison.quantifier else {
            return .comparison(try check(sides: comparison, left: nil, depth: depth))
        }
        if comparison.left.isLiteral { throw needsProperty(comparison.left) }
        let outer = capture
        capture = Capture()
        let left = try check(comparison.left, depth: depth)
        let collection = capture?.collection
        capture = outer
        guard let collection else {
            let word = quantifier.rawValue.uppercased()
            throw FetchPredicateError(
                .type, "'\(comparison.left)' has one value, \(word) needs many", at: comparison.left.column,
                remedy: "Remove \(word), or name a to-many relationship")
        }
        let inner = CheckedPredicate.comparison(try check(sides: comparison, left: left, depth: depth))
        switch quantifier {
        case .any: return .exists(collection, inner)
        case .all: return .not(.exists(collection, .not(inner)))
        case .none: return .not(.exists(collection, inner))
        }
    }

    /// Rewrites a search in a collection: `x IN members.name` and `members CONTAINS x` become `ANY … = x`.
    private func spelledOut(_ comparison: FetchPredicate.Comparison) throws(FetchPredicateError)
        -> FetchPredicate.Comparison
    {
        guard comparison.quantifier == nil else { return comparison }
        var spelledOut = comparison
        spelledOut.relation = .equal
        spelledOut.quantifier = .any
        if comparison.relation == .contained, case .path(let path) = comparison.right, try leadsToMany(path) {
            (spelledOut.left, spelledOut.right) = (comparison.right, comparison.left)
            return spelledOut
        }
        if comparison.relation == .contains, case .path(let path) = comparison.left, try leadsToMany(path) {
            return spelledOut
        }
        return comparison
    }

    /// Exchanges the sides of a comparison with its property on the right, as in `3 < seq`.
    private func turned(_ comparison: FetchPredicate.Comparison) -> FetchPredicate.Comparison {
        guard comparison.left.isLiteral, !comparison.right.isLiteral, let relation = comparison.relation.turned else {
            return comparison
        }
        var turned = comparison
        turned.relation = relation
        (turned.left, turned.right) = (comparison.right, comparison.left)
        return turned
    }

    private func needsProperty(_ expression: FetchPredicate.Expression) -> FetchPredicateError {
        FetchPredicateError(
            .syntax, "A comparison needs a property", at: expression.column,
            remedy: "Name one, as in title = 'a'; texts need quotes, names have none")
    }

    private mutating func check(
        sides comparison: FetchPredicate.Comparison, left known: TypedExpression?, depth: Int
    ) throws(FetchPredicateError) -> CheckedComparison {
        let left: TypedExpression
        if let known {
            left = known
        } else if comparison.left.isLiteral {
            // A search for a property's value in a literal, as in `'a, b' CONTAINS title`.
            if comparison.right.isLiteral { throw needsProperty(comparison.left) }
            left = try check(comparison.left, expecting: .value(.string), depth: depth)
        } else {
            left = try check(comparison.left, depth: depth)
        }
        try checkRelation(comparison, left.type)
        return CheckedComparison(
            left: left, relation: comparison.relation,
            right: try right(comparison, left.type, depth: depth), options: comparison.options)
    }

    private func checkRelation(
        _ comparison: FetchPredicate.Comparison, _ type: ExpressionType
    ) throws(FetchPredicateError) {
        let relation = comparison.relation
        if !Self.isText(type), relation.isTextual || !comparison.options.isEmpty {
            let what = relation.isTextual ? relation.rawValue : comparison.options.description
            throw typeError("\(what) compares texts", comparison.left, type)
        }
        if relation.isOrdering, !Self.hasOrder(type) {
            throw typeError("\(relation.rawValue) compares what has an order", comparison.left, type)
        }
    }

    private func typeError(_ rule: String, _ side: FetchPredicate.Expression, _ type: ExpressionType)
        -> FetchPredicateError
    {
        FetchPredicateError(
            .type, "\(rule), this is \(described(type))", at: side.column, remedy: "Use =, != or IN")
    }

    func described(_ type: ExpressionType) -> String {
        switch type {
        case .value(let type): "of type \(type.rawValue)"
        case .object(let entity): "an object of \(model.entities[entity].name)"
        }
    }

    static func isText(_ type: ExpressionType) -> Bool {
        type == .value(.string) || type == .value(.uri) || type == .value(.transformable)
    }

    static func hasOrder(_ type: ExpressionType) -> Bool {
        !type.isObject && type != .value(.boolean) && type != .value(.binary)
    }

    // MARK: The right side

    private mutating func right(
        _ comparison: FetchPredicate.Comparison, _ type: ExpressionType, depth: Int
    ) throws(FetchPredicateError) -> CheckedComparison.Right {
        let relation = comparison.relation
        guard case .list(let parts) = comparison.right else {
            if relation == .between || relation == .contained {
                let example = relation == .between ? "BETWEEN {1, 9}" : "IN {'a', 'b'}"
                throw FetchPredicateError(
                    .syntax, "\(relation.rawValue) needs a list", at: comparison.right.column,
                    remedy: "Write as in \(example)")
            }
            let right = try side(comparison.right, comparison, type, depth: depth)
            if relation == .like || relation == .matches { try checkPattern(right, comparison) }
            return .one(right)
        }
        switch relation {
        case .between where parts.count == 2, .contained: break
        case .between:
            throw FetchPredicateError(
                .syntax, "BETWEEN needs two values", at: comparison.right.column ?? comparison.left.column,
                remedy: "Write as in BETWEEN {1, 9}")
        default:
            throw FetchPredicateError(
                .syntax, "\(relation.rawValue) takes no list", at: comparison.right.column,
                remedy: "Use IN for one of several values")
        }
        var checked: [TypedExpression] = []
        for part in Self.flattened(parts) { checked.append(try side(part, comparison, type, depth: depth)) }
        return .many(checked)
    }

    /// Merges a list from an argument or variable into the list around it.
    private static func flattened(_ parts: [FetchPredicate.Expression]) -> [FetchPredicate.Expression] {
        parts.flatMap { part in
            if case .list(let inner) = part { inner } else { [part] }
        }
    }

    private mutating func side(
        _ expression: FetchPredicate.Expression, _ comparison: FetchPredicate.Comparison, _ type: ExpressionType,
        depth: Int
    ) throws(FetchPredicateError) -> TypedExpression {
        let checked = try check(expression, expecting: type, depth: depth)
        if let value = checked.value {
            if value.isNull { try checkNull(expression, comparison) }
            return checked
        }
        guard comparable(type, checked.type) else {
            throw FetchPredicateError(
                .type,
                "The two sides do not compare: the left is \(described(type)), the right is "
                    + described(checked.type), at: expression.column,
                remedy: "Compare properties of the same type; put texts in quotes")
        }
        return checked
    }

    private func comparable(_ left: ExpressionType, _ right: ExpressionType) -> Bool {
        if case .object(let first) = left, case .object(let second) = right {
            // Objects of one hierarchy share a table, and so the range of keys.
            return model.entities[first].rootIndex == model.entities[second].rootIndex
        }
        return left == right || left.isNumeric && right.isNumeric || Self.isText(left) && Self.isText(right)
    }

    private func checkNull(
        _ expression: FetchPredicate.Expression, _ comparison: FetchPredicate.Comparison
    ) throws(FetchPredicateError) {
        switch comparison.relation {
        case .equal, .notEqual, .contained: return
        default:
            throw FetchPredicateError(
                .type, "nil has no order and no text", at: expression.column, remedy: "Compare it with =, != or IN")
        }
    }

    private func checkPattern(
        _ right: TypedExpression, _ comparison: FetchPredicate.Comparison
    ) throws(FetchPredicateError) {
        guard let pattern = right.value?.text else {
            throw FetchPredicateError(
                .unsupported, "\(comparison.relation.rawValue) takes a pattern as written", at: comparison.right.column,
                remedy: "Put the pattern in quotes")
        }
        if pattern.utf8.count > TextPatterns.maximumPatternBytes {
            throw FetchPredicateError(
                .tooComplex, "The pattern is longer than \(TextPatterns.maximumPatternBytes) bytes",
                at: comparison.right.column, remedy: "Shorten the pattern")
        }
        if comparison.relation == .matches, RegularExpression(pattern, options: comparison.options) == nil {
            throw FetchPredicateError(
                .syntax, "The pattern is no regular expression", at: comparison.right.column,
                remedy: "Write one that ICU reads; a backslash in quotes is \\\\")
        }
    }

    // MARK: Values

    /// Returns a literal in the stored form of a type, or of its own type if none is expected.
    package mutating func value(
        _ literal: Literal, expecting type: ExpressionType?
    ) throws(FetchPredicateError) -> TypedExpression {
        valueCount += 1
        if valueCount > Self.maximumValueCount {
            throw Self.tooComplex("has more than \(Self.maximumValueCount) values")
        }
        guard let type else {
            if let natural = LiteralConversion.natural(literal.content) { return natural }
            throw FetchPredicateError(
                .type, "The value is none to compute with", at: literal.column, remedy: "Write a number or a text")
        }
        let wanted = type.attributeType(in: model)
        if let value = LiteralConversion.value(literal.content, as: wanted) {
            return TypedExpression(node: .value(value), type: type)
        }
        throw FetchPredicateError(
            .type, "The value is no \(wanted.rawValue)", at: literal.column, remedy: Self.remedy(literal, wanted))
    }

    private static func remedy(_ literal: Literal, _ type: AttributeType) -> String {
        if case .number(let number) = literal.content, type == .string || type == .uri {
            return "Put it in quotes: '\(number)'"
        }
        return "Write \(type.expectation)" + (type == .date || type == .uuid || type == .binary ? " in quotes" : "")
    }
}

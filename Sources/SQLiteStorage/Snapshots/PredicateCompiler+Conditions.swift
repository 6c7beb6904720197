import StoreSQL

extension PredicateCompiler {
    // MARK: Comparisons

    mutating func condition(_ comparison: CheckedComparison) throws(FetchPredicateError) -> String {
        let (left, options) = (comparison.left, comparison.options)
        switch comparison.right {
        case .many(let right):
            if let same = partOfIndex(comparison) { return same }
            if comparison.relation == .contained { return try contained(left, right, options) }
            let decimal = ([left] + right).first { $0.type.isDecimal }
            var bounds: [String] = []
            for bound in right { bounds.append(try side(bound, beside: decimal ?? left, options)) }
            return "\(try orderedSide(left, beside: right, options)) BETWEEN \(bounds.joined(separator: " AND "))"
        case .one(let right):
            switch comparison.relation {
            case .equal: return try equal(left, right, options)
            case .notEqual: return try notEqual(left, right, options)
            case .beginsWith, .contains, .endsWith, .like, .matches:
                return try textual(comparison.relation, left, right, options)
            default:
                let first = try orderedSide(left, beside: [right], options)
                return "\(first) \(comparison.relation.rawValue) \(try side(right, beside: left, options))"
            }
        }
    }

    /// A side of a comparison: folded where the options say so, a decimal where the other side is one.
    private mutating func side(
        _ expression: TypedExpression, beside other: TypedExpression, _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        if !options.isEmpty {
            if let text = expression.value?.text { return parameter(.text(options.folded(text))) }
            return "objectgraph_fold(\(try self.expression(expression)), \(options.rawValue))"
        }
        let text = try self.expression(expression)
        let isMixed = other.type.isDecimal && !expression.type.isDecimal && expression.type.isNumeric
        return isMixed ? "objectgraph_decimal(\(text))" : text
    }

    private mutating func orderedSide(
        _ left: TypedExpression, beside right: [TypedExpression], _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        let decimal = ([left] + right).first { $0.type.isDecimal }
        let text = try side(left, beside: decimal ?? left, options)
        return decimal == nil ? text : "\(text) COLLATE \(DecimalCollation.name)"
    }

    // MARK: Equality

    private mutating func equal(
        _ left: TypedExpression, _ right: TypedExpression, _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        if let value = right.value {
            if left.type.isObject { return try isOneOf(left, [value]) }
            if value.isNull { return "\(try expression(left)) IS NULL" }
        }
        if options.isEmpty, let text = right.value?.text, let sameCase = try inASCII(left, [text]) {
            return "(\(sameCase) AND \(try side(left, beside: right, options)) = \(parameter(.text(text))))"
        }
        let first = try side(left, beside: right, options)
        let second = try side(right, beside: left, options)
        // '=' lets SQLite turn an outer join into an inner one and begin with an index of the far side. Two missing values
        // are equal, which only IS knows.
        return isNeverNull(right) ? "\(first) = \(second)" : "\(first) IS \(second)"
    }

    private func isNeverNull(_ expression: TypedExpression) -> Bool {
        switch expression.node {
        case .value(let value): !value.isNull
        case .now: true
        default: false
        }
    }

    private mutating func notEqual(
        _ left: TypedExpression, _ right: TypedExpression, _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        if right.value?.isNull == true { return "\(try expression(left)) IS NOT NULL" }
        if left.type.isObject, let value = right.value { return "(\(try isOneOf(left, [value])) IS NOT TRUE)" }
        return "\(try side(left, beside: right, options)) IS NOT \(try side(right, beside: left, options))"
    }

    private mutating func contained(
        _ left: TypedExpression, _ right: [TypedExpression], _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        let values = right.compactMap(\.value)
        var terms: [String] = []
        if !values.isEmpty {
            terms.append(
                left.type.isObject ? try isOneOf(left, values) : try isOneOf(left, values, options))
        }
        for expression in right where expression.value == nil { terms.append(try equal(left, expression, options)) }
        return terms.isEmpty ? "0" : "(\(terms.joined(separator: " OR ")))"
    }

    private mutating func isOneOf(
        _ left: TypedExpression, _ values: [Value], _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        let subject = try side(left, beside: left, options)
        let present = values.filter { !$0.isNull }
        let folded = present.map { value in value.text.map { .text(options.folded($0)) } ?? value }
        var list = "\(subject) IN (\(parameters(folded)))"
        if options.isEmpty, let sameCase = try inASCII(left, present.compactMap(\.text)) {
            list = "(\(sameCase) AND \(list))"
        }
        return present.count == values.count ? list : "(\(list) OR \(subject) IS NULL)"
    }

    /// Compares an object with identities.
    private mutating func isOneOf(_ left: TypedExpression, _ identities: [Value]) throws(FetchPredicateError) -> String
    {
        let subject = try expression(left)
        guard case .object(let index) = left.type else { return "0" }
        let entity = model.entities[index]
        let present = identities.filter { !$0.isNull }
        var terms: [String] = []
        if !present.isEmpty {
            let table = SQLText.quoted(entity.tableName)
            let identity = SQLText.quoted(entity.identity.columnName)
            terms.append("\(subject) IN (SELECT pk FROM \(table) WHERE \(identity) IN (\(parameters(present))))")
        }
        if present.count < identities.count { terms.append("\(subject) IS NULL") }
        return terms.isEmpty ? "0" : "(\(terms.joined(separator: " OR ")))"
    }

    // MARK: Texts

    private mutating func textual(
        _ relation: FetchPredicate.Relation, _ left: TypedExpression, _ right: TypedExpression,
        _ options: FetchPredicate.TextOptions
    ) throws(FetchPredicateError) -> String {
        if relation == .matches {
            let subject = try expression(left)
            return "objectgraph_matches(\(subject), \(try expression(right)), \(options.rawValue))"
        }
        let subject = try side(left, beside: left, options)
        if relation == .like {
            let pattern = options.folded(right.value?.text ?? "")
            let isLike = "objectgraph_like(\(subject), \(parameter(.text(pattern))))"
            let prefix = options.isEmpty ? TextPatterns.prefix(like: pattern) : ""
            return prefix.isEmpty ? isLike : "(\(begins(subject, with: prefix)) AND \(isLike))"
        }
        if relation == .beginsWith, options.isEmpty, let prefix = right.value?.text {
            let range = begins(subject, with: prefix)
            return try inASCII(left, [prefix], isPrefix: true).map { "(\($0) AND \(range))" } ?? range
        }
        let part = try side(right, beside: right, options)
        switch relation {
        case .beginsWith: return "substr(\(subject), 1, length(\(part))) = \(part)"
        case .contains: return "objectgraph_contains(\(subject), \(part))"
        default:
            return
                "(\(subject) IS NOT NULL AND (length(\(part)) = 0 OR substr(\(subject), -length(\(part))) = \(part)))"
        }
    }

    /// A range, so that an index serves.
    mutating func begins(_ subject: String, with prefix: String) -> String {
        let lower = "\(subject) >= \(parameter(.text(prefix)))"
        guard let end = TextPatterns.end(ofPrefix: prefix) else { return lower }
        return "(\(lower) AND \(subject) < \(parameter(.text(end))))"
    }
}

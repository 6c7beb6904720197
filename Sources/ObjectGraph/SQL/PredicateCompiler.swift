/// Writes a checked fetch request as SQL. Values are bound, never written into the text.
///
/// Paths over to-one relationships become outer joins, one for each distinct path; a comparison of the objects of a
/// to-many relationship becomes an EXISTS of its own scope. Parameters stand in the order of `bindings`.
struct PredicateCompiler {
    /// SQLite joins at most 64 tables.
    static let maximumJoinCount = 48

    /// The tables that a query, or a query inside it, reads.
    struct Scope {
        let alias: String
        let entity: Int
        fileprivate var aliases: [String: String] = [:]
        private(set) var joins = ""

        init(alias: String, entity: Int) {
            self.alias = alias
            self.entity = entity
        }

        fileprivate mutating func add(_ join: String, key: String, alias: String) {
            joins += join
            aliases[key] = alias
        }
    }

    let model: ObjectModel
    private(set) var bindings: [Value] = []
    /// Tells whether the text uses the collation of decimals.
    private(set) var usesDecimals = false
    private var aliasCount = 0

    init(model: ObjectModel) { self.model = model }

    private mutating func newAlias() throws(PredicateError) -> String {
        aliasCount += 1
        if aliasCount > 10 * Self.maximumJoinCount { throw Self.tooManyJoins }
        return "t\(aliasCount)"
    }

    private static let tooManyJoins = PredicateError(
        .tooComplex, "The request leads over too many relationships", at: nil, remedy: "Split it up")

    mutating func scope(_ entity: Int) throws(PredicateError) -> Scope { Scope(alias: try newAlias(), entity: entity) }

    func from(_ scope: Scope) -> String {
        "\(SQLText.quoted(model.entities[scope.entity].name)) \(scope.alias)\(scope.joins)"
    }

    private mutating func parameter(_ value: Value) -> String {
        bindings.append(value)
        return "?"
    }

    private mutating func parameters(_ values: [Value]) -> String {
        bindings += values
        return SQLText.parameters(values.count)
    }

    // MARK: Paths

    /// Returns the alias of the table at the end of to-one steps, joining the tables on the way.
    mutating func alias(_ steps: [Relationship], _ scope: inout Scope) throws(PredicateError) -> String {
        var alias = scope.alias
        for step in steps {
            let key = "\(alias).\(step.name)"
            if let known = scope.aliases[key] {
                alias = known
                continue
            }
            if scope.aliases.count >= Self.maximumJoinCount { throw Self.tooManyJoins }
            let joined = try newAlias()
            let table = SQLText.quoted(model.entities[step.destinationIndex].name)
            scope.add(
                " LEFT JOIN \(table) \(joined) ON \(joined).pk = \(alias).\(SQLText.quoted(step.name))", key: key,
                alias: joined)
            alias = joined
        }
        return alias
    }

    /// Returns the expression of a path's end: a column's value, a primary key, or a count.
    mutating func expression(_ path: ResolvedPath, _ scope: inout Scope) throws(PredicateError) -> String {
        let alias = try alias(path.steps, &scope)
        switch path.end {
        case .attribute(let attribute): return "\(alias).\(SQLText.quoted(attribute.name))"
        case .destination(let relationship): return "\(alias).\(SQLText.quoted(relationship.name))"
        case .object: return "\(alias).pk"
        case .count(let relationship): return "(SELECT count(*) FROM \(links(relationship, from: alias)))"
        }
    }

    /// As ``expression(_:_:)``, for comparing which comes first.
    mutating func ordered(_ path: ResolvedPath, _ scope: inout Scope) throws(PredicateError) -> String {
        let expression = try expression(path, &scope)
        guard path.type(in: model) == .decimal, !path.isObject else { return expression }
        usesDecimals = true
        return "\(expression) COLLATE \(DecimalCollation.name)"
    }

    /// The rows that link an object to its destinations, as the end of a FROM clause with its WHERE.
    private func links(_ relationship: Relationship, from alias: String) -> String {
        switch relationship.storage {
        case .join(let index, let isOwner):
            let table = SQLText.quoted(model.joinTables[index].name)
            return "\(table) l WHERE l.\(isOwner ? "owner" : "destination") = \(alias).pk"
        case .column(let slot), .inverseColumn(let slot):
            let destination = model.entities[relationship.destinationIndex]
            let column = SQLText.quoted(destination.columnNames[slot])
            return "\(SQLText.quoted(destination.name)) l WHERE l.\(column) = \(alias).pk"
        }
    }

    // MARK: Conditions

    mutating func condition(_ predicate: CheckedPredicate, _ scope: inout Scope) throws(PredicateError) -> String {
        switch predicate {
        case .constant(let value): return value ? "1" : "0"
        case .and(let parts): return try combined(parts, "AND", empty: "1", &scope)
        case .or(let parts): return try combined(parts, "OR", empty: "0", &scope)
        // An unknown comparison is false, so its opposite is true.
        case .not(let inner): return "((\(try condition(inner, &scope))) IS NOT TRUE)"
        case .comparison(let comparison): return try condition(comparison, &scope)
        case .quantified(let quantifier, let prefix, let relationship, let comparison):
            return try quantified(quantifier, prefix, relationship, comparison, &scope)
        }
    }

    private mutating func combined(
        _ parts: [CheckedPredicate], _ word: String, empty: String, _ scope: inout Scope
    ) throws(PredicateError) -> String {
        var texts: [String] = []
        for part in parts { texts.append(try condition(part, &scope)) }
        return texts.isEmpty ? empty : "(\(texts.joined(separator: " \(word) ")))"
    }

    private mutating func quantified(
        _ quantifier: Predicate.Quantifier, _ prefix: [Relationship], _ relationship: Relationship,
        _ comparison: CheckedComparison, _ scope: inout Scope
    ) throws(PredicateError) -> String {
        let owner = try alias(prefix, &scope)
        var inner = try self.scope(relationship.destinationIndex)
        var condition = try condition(comparison, &inner)
        if quantifier == .all { condition = "(\(condition)) IS NOT TRUE" }
        let link: String
        switch relationship.storage {
        case .join(let index, let isOwner):
            let table = SQLText.quoted(model.joinTables[index].name)
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            link = "\(inner.alias).pk IN (SELECT \(far) FROM \(table) WHERE \(near) = \(owner).pk)"
        case .column(let slot), .inverseColumn(let slot):
            let column = model.entities[relationship.destinationIndex].columnNames[slot]
            link = "\(inner.alias).\(SQLText.quoted(column)) = \(owner).pk"
        }
        let exists = "EXISTS (SELECT 1 FROM \(from(inner)) WHERE \(link) AND (\(condition)))"
        return quantifier == .any ? exists : "NOT \(exists)"
    }

    // MARK: Comparisons

    private mutating func condition(
        _ comparison: CheckedComparison, _ scope: inout Scope
    ) throws(PredicateError) -> String {
        switch comparison.right {
        case .path(let right): return try condition(comparison, right, &scope)
        case .values(let values):
            if comparison.left.isObject { return try objects(comparison, values, &scope) }
            return try condition(comparison, values, &scope)
        }
    }

    private mutating func condition(
        _ comparison: CheckedComparison, _ values: [Value], _ scope: inout Scope
    ) throws(PredicateError) -> String {
        let fold = comparison.isCaseInsensitive
        let value = values.first.map { fold ? Self.lowercased($0) : $0 } ?? .null
        switch comparison.relation {
        case .equal:
            let subject = try subject(comparison, &scope)
            // '=' lets SQLite turn an outer join into an inner one and begin with an index of the far side.
            return value.isNull ? "\(subject) IS NULL" : "\(subject) = \(parameter(value))"
        case .notEqual: return "\(try subject(comparison, &scope)) IS NOT \(parameter(value))"
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            let left = fold ? try subject(comparison, &scope) : try ordered(comparison.left, &scope)
            return "\(left) \(comparison.relation.rawValue) \(parameter(value))"
        case .between:
            let left = fold ? try subject(comparison, &scope) : try ordered(comparison.left, &scope)
            let bounds = values.map { parameter(fold ? Self.lowercased($0) : $0) }
            return "\(left) BETWEEN \(bounds.joined(separator: " AND "))"
        case .contained:
            return contained(try subject(comparison, &scope), values.map { fold ? Self.lowercased($0) : $0 })
        case .beginsWith, .contains, .endsWith, .like:
            return textual(comparison.relation, try subject(comparison, &scope), value)
        }
    }

    /// The left side, in lower case where case does not count.
    private mutating func subject(
        _ comparison: CheckedComparison, _ scope: inout Scope
    ) throws(PredicateError) -> String {
        let expression = try expression(comparison.left, &scope)
        return comparison.isCaseInsensitive ? Self.lowercased(expression) : expression
    }

    /// GRDB's function knows all letters; SQLite's own knows those of ASCII.
    private static func lowercased(_ expression: String) -> String { "swiftLowercaseString(\(expression))" }

    private static func lowercased(_ value: Value) -> Value { value.text.map { .text($0.lowercased()) } ?? value }

    private mutating func contained(_ subject: String, _ values: [Value]) -> String {
        let present = values.filter { !$0.isNull }
        let list = "\(subject) IN (\(parameters(present)))"
        return present.count == values.count ? list : "(\(list) OR \(subject) IS NULL)"
    }

    private mutating func textual(_ relation: Predicate.Relation, _ subject: String, _ value: Value) -> String {
        let text = value.text ?? ""
        switch relation {
        case .beginsWith:
            // A range, so that an index serves.
            let lower = "\(subject) >= \(parameter(value))"
            guard let end = TextPatterns.end(ofPrefix: text) else { return lower }
            return "(\(lower) AND \(subject) < \(parameter(.text(end))))"
        case .contains: return "instr(\(subject), \(parameter(value))) > 0"
        case .endsWith:
            if text.isEmpty { return "\(subject) IS NOT NULL" }
            return "substr(\(subject), -length(\(parameter(value)))) = \(parameter(value))"
        default: return "\(subject) GLOB \(parameter(.text(TextPatterns.glob(like: text))))"
        }
    }

    /// Compares objects by identity.
    private mutating func objects(
        _ comparison: CheckedComparison, _ values: [Value], _ scope: inout Scope
    ) throws(PredicateError) -> String {
        let subject = try expression(comparison.left, &scope)
        let entity = model.entities[comparison.left.objectEntity ?? comparison.left.owner]
        let identity = SQLText.quoted(entity.identity.name)
        let present = values.filter { !$0.isNull }
        var terms: [String] = []
        if !present.isEmpty {
            terms.append(
                "\(subject) IN (SELECT pk FROM \(SQLText.quoted(entity.name)) WHERE \(identity) IN (\(parameters(present))))"
            )
        }
        if present.count < values.count { terms.append("\(subject) IS NULL") }
        let equal = terms.isEmpty ? "0" : "(\(terms.joined(separator: " OR ")))"
        return comparison.relation == .notEqual ? "(\(equal) IS NOT TRUE)" : equal
    }

    private mutating func condition(
        _ comparison: CheckedComparison, _ right: ResolvedPath, _ scope: inout Scope
    ) throws(PredicateError) -> String {
        var left = try ordered(comparison.left, &scope)
        var right = try expression(right, &scope)
        if comparison.isCaseInsensitive {
            left = Self.lowercased(try expression(comparison.left, &scope))
            right = Self.lowercased(right)
        }
        switch comparison.relation {
        case .equal: return "\(left) IS \(right)"
        case .notEqual: return "\(left) IS NOT \(right)"
        case .beginsWith: return "substr(\(left), 1, length(\(right))) = \(right)"
        case .contains: return "instr(\(left), \(right)) > 0"
        case .endsWith: return "(length(\(right)) = 0 OR substr(\(left), -length(\(right))) = \(right))"
        default: return "\(left) \(comparison.relation.rawValue) \(right)"
        }
    }
}

import StoreSQL

/// Compiles the conditions that PostgreSQL judges exactly as the graph's evaluator does.
///
/// These compare attributes, to-one relationships, and aggregates of whole numbers, also along paths and in collections.
/// Everything else stays to the evaluator, over rows that the compiled part leaves.
struct PostgresConditions: SQLConditions {
    /// The server does not judge this as the evaluator does.
    struct Unjudged: Error {}

    static let tooManyTables = Unjudged()

    let model: ObjectModel
    let tables: [PostgresTable]
    /// The value of `now()`, in microseconds since 1970 UTC.
    let now: Int64
    /// The values of the parameters, and the conditions so far.
    var query = PostgresQuery()
    var scopes: SQLScopes
    /// The keys of the groups, where the rows of a request are groups.
    var groupKeys: Set<String>?

    /// The conditions of a request; its objects are the rows of the table `t`.
    init(_ request: CheckedFetchRequest, _ tables: [PostgresTable]) {
        model = request.model
        self.tables = tables
        now = request.time
        scopes = SQLScopes(request.model)
        _ = scopes.open(0, entity: request.entity.index, alias: "t")
        if !request.includesPlaceholders { query.add("NOT t._placeholder") }
        let isWhole = request.entity.parentIndex == nil && request.includesSubentities
        if request.entity.sharesTable, !isWhole {
            query.add("t._entity IN (\(SQLText.literals(request.entities.map(\.name))))")
        }
    }

    /// Adds the condition that a predicate is true, or a part of it that leaves more rows.
    ///
    /// - Returns: whether the whole predicate was compiled.
    mutating func add(_ predicate: CheckedPredicate?) -> Bool {
        guard let predicate else { return true }
        guard let condition = superset(predicate) else { return false }
        query.add(condition.sql)
        return condition.isExact
    }

    /// Returns a condition that is true wherever the predicate is. Returns nil where only a condition that takes all
    /// rows is known.
    private mutating func superset(_ predicate: CheckedPredicate) -> (sql: String, isExact: Bool)? {
        // Tables and parameters of what cannot be compiled are not kept.
        var copy = self
        if let text = try? copy.condition(predicate) {
            self = copy
            return (text, true)
        }
        guard case .and(let parts) = predicate else { return nil }
        let texts = parts.compactMap { superset($0)?.sql }
        return texts.isEmpty ? nil : ("(\(texts.joined(separator: " AND ")))", false)
    }

    // MARK: Comparisons

    mutating func condition(_ comparison: CheckedComparison) throws(Unjudged) -> String {
        if !comparison.options.isEmpty { throw Unjudged() }
        let left = comparison.left
        switch comparison.right {
        case .one(let right):
            switch comparison.relation {
            case .equal: return try equal(left, right)
            case .notEqual: return "((\(try equal(left, right))) IS NOT TRUE)"
            case .less, .lessOrEqual, .greater, .greaterOrEqual:
                return try sides([left, right]).joined(separator: " \(comparison.relation.rawValue) ")
            case .beginsWith, .contains, .endsWith, .like: return try textual(comparison.relation, left, right)
            default: throw Unjudged()
            }
        case .many(let right) where comparison.relation == .between:
            let sides = try sides([left] + right)
            if sides.count != 3 { throw Unjudged() }
            return "\(sides[0]) BETWEEN \(sides[1]) AND \(sides[2])"
        case .many(let right): return try isOneOf(left, right)
        }
    }

    private mutating func equal(_ left: TypedExpression, _ right: TypedExpression) throws(Unjudged) -> String {
        if right.value != nil { return try isOneOf(left, [right]) }
        if left.type.isObject {
            if !right.type.isObject { throw Unjudged() }
            return "\(try expression(left).sql) IS NOT DISTINCT FROM \(try expression(right).sql)"
        }
        return try sides([left, right]).joined(separator: " IS NOT DISTINCT FROM ")
    }

    /// Compares with several values, of which missing ones equal a missing value.
    private mutating func isOneOf(_ left: TypedExpression, _ right: [TypedExpression]) throws(Unjudged) -> String {
        let subject = try expression(left)
        var terms: [String] = []
        var present: [Value] = []
        for other in right {
            guard let value = other.value else {
                terms.append(try equal(left, other))
                continue
            }
            if value.isNull {
                terms.append("\(subject.sql) IS NULL")
            } else if left.type.isObject || subject.kind.literalKind(of: other) == subject.kind {
                present.append(value)
            } else {
                terms.append(try sides([left, other]).joined(separator: " = "))
            }
        }
        if !present.isEmpty {
            let list = try left.type.isObject ? identities(present, left.type) : query.parameter(present, subject.kind)
            terms.append("\(subject.sql) = ANY(\(list))")
        }
        return terms.isEmpty ? "false" : "(\(terms.joined(separator: " OR ")))"
    }

    /// The keys of the objects with these identities, as `ANY` takes them.
    private mutating func identities(_ values: [Value], _ type: ExpressionType) throws(Unjudged) -> String {
        guard case .object(let index) = type else { throw Unjudged() }
        let (entity, table) = (model.entities[index], tables[index])
        let kind = table.kinds[entity.identitySlot]
        if !values.allSatisfy({ kind.holds($0) }) { throw Unjudged() }
        let list = query.parameter(values, kind)
        return "SELECT d.pk FROM \(table.name) d WHERE d.\(table.columns[entity.identitySlot]) = ANY(\(list))"
    }

    /// Returns expressions that compare there as their values do.
    private mutating func sides(_ all: [TypedExpression]) throws(Unjudged) -> [String] {
        var compiled: [Compiled?] = []
        for side in all {
            if side.value == nil, side.type.isObject { throw Unjudged() }
            compiled.append(side.value == nil ? try expression(side) : nil)
        }
        guard let first = compiled.lazy.compactMap({ $0 }).first else { throw Unjudged() }
        var texts: [String] = []
        for (side, known) in zip(all, compiled) {
            if let known {
                if !known.kind.compares(with: first.kind) { throw Unjudged() }
                texts.append(known.sql)
            } else if let value = side.value {
                guard let kind = first.kind.literalKind(of: side) else { throw Unjudged() }
                texts.append(value.isNull ? "NULL::\(kind.declaration)" : query.parameter(value, kind))
            }
        }
        return texts
    }

    // MARK: Texts

    private mutating func textual(
        _ relation: FetchPredicate.Relation, _ left: TypedExpression, _ right: TypedExpression
    ) throws(Unjudged) -> String {
        if relation == .like {
            guard let pattern = right.value?.text, ColumnKind.text.holds(.text(pattern)) else { throw Unjudged() }
            let subject = try expression(left)
            if subject.kind != .text { throw Unjudged() }
            return "\(subject.sql) LIKE \(query.parameter(.text(TextPatterns.serverPattern(like: pattern)), .text))"
        }
        if try expression(left).kind != .text { throw Unjudged() }
        let sides = try sides([left, right])
        return switch relation {
        case .beginsWith: "starts_with(\(sides[0]), \(sides[1]))"
        case .contains: "strpos(\(sides[0]), \(sides[1])) > 0"
        default: "right(\(sides[0]), length(\(sides[1]))) = \(sides[1])"
        }
    }
}

extension TextPatterns {
    /// Returns a pattern of NSPredicate in the server's own language.
    fileprivate static func serverPattern(like pattern: String) -> String {
        parts(pattern).map { part in
            switch part {
            case .any: "%"
            case .one: "_"
            case .scalar(let scalar): ["%", "_", "\\"].contains(scalar) ? "\\\(scalar)" : String(scalar)
            }
        }.joined()
    }
}

// MARK: - Values

extension ColumnKind {
    /// Tells whether a value has the form of the column's own, so that comparing the two there is comparing values.
    func holds(_ value: Value) -> Bool {
        switch (self, value) {
        case (.text, .text(let text)): !text.utf8.contains(0)
        case (.numeric, .text), (.bytea, .blob), (.smallint, .integer), (.integer, .integer), (.bigint, .integer): true
        case (.double, .double(let number)): !number.isNaN
        case (.boolean, .integer(let number)): number == 0 || number == 1
        case (.uuid, .blob(let bytes)): bytes.count == 16
        // Four thousand years around 1970, far inside of what the type holds.
        case (.timestamp, .integer(let time)): abs(time / 1_000_000) < 126_000_000_000
        default: false
        }
    }
}

extension ColumnKind {
    private var isWhole: Bool { self == .smallint || self == .integer || self == .bigint }

    /// Whether a column of this kind compares there with one of another kind as their values do.
    func compares(with other: ColumnKind) -> Bool {
        if self == other || (isWhole || self == .numeric) && (other.isWhole || other == .numeric) { return true }
        // A double has the whole numbers of 32 bits.
        func isExact(_ kind: ColumnKind) -> Bool { [.smallint, .integer, .double].contains(kind) }
        return isExact(self) && isExact(other)
    }

    /// The kind of a parameter for a literal beside a column of this kind, or nil where they do not compare there.
    func literalKind(of literal: TypedExpression) -> ColumnKind? {
        guard let value = literal.value else { return nil }
        if value.isNull { return self }
        switch (self, value) {
        case (.double, .integer(let number)): return (-(1 << 53)...1 << 53).contains(number) ? .double : nil
        case (.smallint, .double), (.integer, .double): return ColumnKind.double.holds(value) ? .double : nil
        default: break
        }
        let kind: ColumnKind
        if literal.type.isDecimal {
            kind = .numeric
        } else if self == .numeric, case .integer = value {
            kind = .bigint
        } else {
            kind = self
        }
        return kind.holds(value) && compares(with: kind) ? kind : nil
    }
}

extension PostgresQuery {
    /// Adds a value of a column's form, and returns its parameter.
    mutating func parameter(_ value: Value, _ kind: ColumnKind) -> String {
        kind.stored(
            parameter(kind.parameterType) { statement throws(StoreError) in try statement.bind(value, as: kind) })
    }

    /// Adds values of a column's form, for `ANY`, and returns their parameter.
    mutating func parameter(_ values: [Value], _ kind: ColumnKind) -> String {
        let list = parameter("\(kind.parameterType)[]") { statement throws(StoreError) in
            try statement.bind(values, as: kind)
        }
        return kind == .numeric ? "\(list)::numeric[]" : list
    }
}

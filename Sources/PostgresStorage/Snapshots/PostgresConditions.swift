/// Compiles the conditions that PostgreSQL judges exactly as the graph's evaluator does.
///
/// These compare attributes, to-one relationships, and aggregates of whole numbers, also along paths and in collections.
/// Everything else stays to the evaluator, over rows that the compiled part leaves.
///
/// Paths over to-one relationships become outer joins, one for each distinct path of a scope. A condition on the objects
/// of a to-many relationship becomes an EXISTS, and an aggregate of them a subquery. Each has a scope of its own.
struct PostgresConditions {
    let model: ObjectModel
    let tables: [PostgresTable]
    /// The value of `now()`, in microseconds since 1970 UTC.
    let now: Int64
    /// The values of the parameters, and the conditions so far.
    var query = PostgresQuery()
    /// The tables of the fetched objects and of each collection's objects.
    var scopes: [Int: Scope] = [:]
    var aliasCount = 0
    /// The keys of the groups, where the rows of a request are groups.
    var groupKeys: Set<String>?

    /// The conditions of a request; its objects are the rows of the table `t`.
    init(_ request: CheckedFetchRequest, _ tables: [PostgresTable]) {
        model = request.model
        self.tables = tables
        now = request.time
        scopes[0] = Scope(alias: "t", entity: request.entity.index)
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

    /// Returns a condition that is true wherever the predicate is, or nil where none but that of all rows is known.
    private mutating func superset(_ predicate: CheckedPredicate) -> (sql: String, isExact: Bool)? {
        if let text = attempt({ $0.condition(predicate) }) { return (text, true) }
        guard case .and(let parts) = predicate else { return nil }
        let texts = parts.compactMap { superset($0)?.sql }
        return texts.isEmpty ? nil : ("(\(texts.joined(separator: " AND ")))", false)
    }

    /// Compiles something, and takes everything back where it cannot be compiled.
    mutating func attempt<Result>(_ body: (inout PostgresConditions) -> Result?) -> Result? {
        var copy = self
        guard let result = body(&copy) else { return nil }
        self = copy
        return result
    }

    // MARK: Predicates

    /// Returns a condition, or nil where a part of it cannot be compiled. It may be unknown where it is false.
    mutating func condition(_ predicate: CheckedPredicate) -> String? {
        switch predicate {
        case .constant(let value): return value ? "true" : "false"
        case .and(let parts): return joined(parts, " AND ", empty: "true")
        case .or(let parts): return joined(parts, " OR ", empty: "false")
        case .not(let inner): return condition(inner).map { "((\($0)) IS NOT TRUE)" }
        case .comparison(let comparison): return condition(comparison)
        case .exists(let collection, let inner):
            open(collection)
            guard let condition = condition(inner), let rows = rows(of: collection) else { return nil }
            return "EXISTS (SELECT 1 FROM \(rows.from) WHERE \(rows.link) AND (\(condition)))"
        }
    }

    private mutating func joined(_ parts: [CheckedPredicate], _ word: String, empty: String) -> String? {
        var texts: [String] = []
        for part in parts {
            guard let text = condition(part) else { return nil }
            texts.append(text)
        }
        return texts.isEmpty ? empty : "(\(texts.joined(separator: word)))"
    }

    // MARK: Comparisons

    private mutating func condition(_ comparison: CheckedComparison) -> String? {
        guard comparison.options.isEmpty else { return nil }
        let left = comparison.left
        switch comparison.right {
        case .one(let right):
            switch comparison.relation {
            case .equal: return equal(left, right)
            case .notEqual: return equal(left, right).map { "((\($0)) IS NOT TRUE)" }
            case .less, .lessOrEqual, .greater, .greaterOrEqual:
                guard let sides = sides([left, right]) else { return nil }
                return "\(sides[0]) \(comparison.relation.rawValue) \(sides[1])"
            case .beginsWith, .contains, .endsWith, .like: return textual(comparison.relation, left, right)
            default: return nil
            }
        case .many(let right) where comparison.relation == .between:
            guard right.count == 2, let sides = sides([left] + right) else { return nil }
            return "\(sides[0]) BETWEEN \(sides[1]) AND \(sides[2])"
        case .many(let right): return isOneOf(left, right)
        }
    }

    private mutating func equal(_ left: TypedExpression, _ right: TypedExpression) -> String? {
        if right.value != nil { return isOneOf(left, [right]) }
        if left.type.isObject {
            guard right.type.isObject, let first = expression(left), let second = expression(right) else { return nil }
            return "\(first.sql) IS NOT DISTINCT FROM \(second.sql)"
        }
        return sides([left, right]).map { "\($0[0]) IS NOT DISTINCT FROM \($0[1])" }
    }

    /// Compares with several values, of which missing ones equal a missing value.
    private mutating func isOneOf(_ left: TypedExpression, _ right: [TypedExpression]) -> String? {
        guard let subject = expression(left) else { return nil }
        var terms: [String] = []
        var present: [Value] = []
        for other in right {
            if other.value?.isNull == true {
                terms.append("\(subject.sql) IS NULL")
            } else if let value = other.value, !left.type.isObject, subject.kind.literalKind(of: other) == subject.kind
            {
                present.append(value)
            } else if let value = other.value, left.type.isObject {
                present.append(value)
            } else {
                guard
                    let term = other.value == nil ? equal(left, other) : sides([left, other])?.joined(separator: " = ")
                else { return nil }
                terms.append(term)
            }
        }
        if !present.isEmpty {
            guard
                let list = left.type.isObject ? identities(present, left.type) : query.parameter(present, subject.kind)
            else { return nil }
            terms.append("\(subject.sql) = ANY(\(list))")
        }
        return terms.isEmpty ? "false" : "(\(terms.joined(separator: " OR ")))"
    }

    /// The keys of the objects with these identities, as `ANY` takes them.
    private mutating func identities(_ values: [Value], _ type: ExpressionType) -> String? {
        guard case .object(let index) = type else { return nil }
        let (entity, table) = (model.entities[index], tables[index])
        let kind = table.kinds[entity.identitySlot]
        guard values.allSatisfy({ kind.holds($0) }) else { return nil }
        let list = query.parameter(values, kind)
        return "SELECT d.pk FROM \(table.name) d WHERE d.\(table.columns[entity.identitySlot]) = ANY(\(list))"
    }

    /// Returns expressions that compare there as their values do, or nil.
    private mutating func sides(_ all: [TypedExpression]) -> [String]? {
        var compiled: [Compiled?] = []
        for side in all {
            guard side.value == nil else {
                compiled.append(nil)
                continue
            }
            guard !side.type.isObject, let text = expression(side) else { return nil }
            compiled.append(text)
        }
        guard let first = compiled.lazy.compactMap({ $0 }).first else { return nil }
        var texts: [String] = []
        for (side, known) in zip(all, compiled) {
            if let known {
                guard known.kind.compares(with: first.kind) else { return nil }
                texts.append(known.sql)
            } else if let value = side.value {
                guard let kind = first.kind.literalKind(of: side) else { return nil }
                texts.append(value.isNull ? "NULL::\(kind.declaration)" : query.parameter(value, kind))
            }
        }
        return texts
    }

    // MARK: Texts

    private mutating func textual(
        _ relation: FetchPredicate.Relation, _ left: TypedExpression, _ right: TypedExpression
    ) -> String? {
        if relation == .like {
            guard let pattern = right.value?.text, ColumnKind.text.holds(.text(pattern)),
                let subject = expression(left),
                subject.kind == .text
            else { return nil }
            return "\(subject.sql) LIKE \(query.parameter(.text(TextPatterns.serverPattern(like: pattern)), .text))"
        }
        guard expression(left)?.kind == .text, let sides = sides([left, right]) else { return nil }
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
    /// Takes a value of a column's form.
    mutating func parameter(_ value: Value, _ kind: ColumnKind) -> String {
        kind.stored(
            parameter(kind.parameterType) { statement throws(StoreError) in try statement.bind(value, as: kind) })
    }

    /// Takes values of a column's form, for `ANY`.
    mutating func parameter(_ values: [Value], _ kind: ColumnKind) -> String {
        let list = parameter("\(kind.parameterType)[]") { statement throws(StoreError) in
            try statement.bind(values, as: kind)
        }
        return kind == .numeric ? "\(list)::numeric[]" : list
    }
}

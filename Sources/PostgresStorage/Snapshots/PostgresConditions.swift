/// Compiles the conditions that PostgreSQL judges exactly as the graph's evaluator does. They compare an object's own
/// attributes, and its to-one relationships, with values.
///
/// Everything else stays to the evaluator, over rows that the compiled part leaves.
struct PostgresConditions {
    let model: ObjectModel
    let table: PostgresTable

    /// Returns the whole condition, or nil where a part of it cannot be compiled. It may be unknown where it is false.
    func exact(_ predicate: CheckedPredicate, _ query: inout PostgresQuery) -> String? {
        switch predicate {
        case .constant(let value): return value ? "true" : "false"
        case .and(let parts): return joined(parts, " AND ", empty: "true", &query)
        case .or(let parts): return joined(parts, " OR ", empty: "false", &query)
        case .not(let inner): return exact(inner, &query).map { "((\($0)) IS NOT TRUE)" }
        case .comparison(let comparison): return condition(comparison, &query)
        case .exists: return nil
        }
    }

    private func joined(
        _ parts: [CheckedPredicate], _ word: String, empty: String, _ query: inout PostgresQuery
    ) -> String? {
        var texts: [String] = []
        for part in parts {
            guard let text = exact(part, &query) else { return nil }
            texts.append(text)
        }
        return texts.isEmpty ? empty : "(\(texts.joined(separator: word)))"
    }

    /// Returns a condition that is true wherever the predicate is, or nil where none but that of all rows is known.
    func superset(_ predicate: CheckedPredicate, _ query: inout PostgresQuery) -> String? {
        var attempt = query
        if let text = exact(predicate, &attempt) {
            query = attempt
            return text
        }
        guard case .and(let parts) = predicate else { return nil }
        let texts = parts.compactMap { superset($0, &query) }
        return texts.isEmpty ? nil : "(\(texts.joined(separator: " AND ")))"
    }

    // MARK: Comparisons

    private func condition(_ comparison: CheckedComparison, _ query: inout PostgresQuery) -> String? {
        guard comparison.options.isEmpty, case .path(let path) = comparison.left.node, path.scope == 0,
            path.steps.isEmpty
        else { return nil }
        switch path.end {
        case .attribute(let attribute):
            return condition(comparison, column: attribute.slot, isDecimal: attribute.type == .decimal, &query)
        case .destination(let relationship):
            guard let slot = relationship.slot else { return nil }
            return condition(comparison, relationship, "t.\(table.columns[slot])", &query)
        case .object: return nil
        }
    }

    /// The literals on the right, or nil where something else is there.
    private func literals(_ comparison: CheckedComparison) -> [TypedExpression]? {
        let all: [TypedExpression] =
            switch comparison.right {
            case .one(let expression): [expression]
            case .many(let expressions): expressions
            }
        return all.allSatisfy { $0.value != nil } ? all : nil
    }

    private func condition(
        _ comparison: CheckedComparison, column slot: Int, isDecimal: Bool, _ query: inout PostgresQuery
    ) -> String? {
        let (column, kind) = ("t.\(table.columns[slot])", table.kinds[slot])
        guard let right = literals(comparison), right.allSatisfy({ $0.type.isDecimal == isDecimal }) else { return nil }
        let values = right.compactMap(\.value)
        guard values.allSatisfy({ $0.isNull || kind.holds($0) }), let first = values.first else { return nil }
        func operated(_ relation: String) -> String {
            first.isNull ? "false" : "\(column) \(relation) \(query.parameter(first, kind))"
        }
        switch comparison.relation {
        case .equal: return first.isNull ? "\(column) IS NULL" : operated("=")
        case .notEqual: return first.isNull ? "\(column) IS NOT NULL" : operated("IS DISTINCT FROM")
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return operated(comparison.relation.rawValue)
        case .between:
            guard values.count == 2 else { return nil }
            if values[0].isNull || values[1].isNull { return "false" }
            let bounds = values.map { query.parameter($0, kind) }
            return "\(column) BETWEEN \(bounds[0]) AND \(bounds[1])"
        case .contained: return isOneOf(column, kind, values, &query)
        case .beginsWith, .contains, .endsWith:
            guard kind == .text else { return nil }
            return first.isNull ? "false" : textual(comparison.relation, column, query.parameter(first, kind))
        case .like, .matches: return nil
        }
    }

    private func isOneOf(
        _ column: String, _ kind: ColumnKind, _ values: [Value], _ query: inout PostgresQuery
    ) -> String {
        let present = values.filter { !$0.isNull }
        let parameter = query.parameter(present, kind)
        let list = "\(column) = ANY(\(parameter))"
        return present.count == values.count ? list : "(\(list) OR \(column) IS NULL)"
    }

    private func textual(_ relation: FetchPredicate.Relation, _ column: String, _ part: String) -> String {
        switch relation {
        case .beginsWith: "starts_with(\(column), \(part))"
        case .contains: "strpos(\(column), \(part)) > 0"
        default: "right(\(column), length(\(part))) = \(part)"
        }
    }

    /// Compares a to-one relationship with the identities of destinations.
    private func condition(
        _ comparison: CheckedComparison, _ relationship: Relationship, _ column: String, _ query: inout PostgresQuery
    ) -> String? {
        let destination = model.entities[relationship.destinationIndex]
        let other = PostgresTable(model.entities[destination.rootIndex], model)
        let kind = other.kinds[destination.identitySlot]
        guard let right = literals(comparison) else { return nil }
        let values = right.compactMap(\.value)
        guard values.allSatisfy({ $0.isNull || kind.holds($0) }) else { return nil }
        switch comparison.relation {
        case .equal, .contained, .notEqual: break
        default: return nil
        }
        let present = values.filter { !$0.isNull }
        var terms: [String] = present.count < values.count ? ["\(column) IS NULL"] : []
        if !present.isEmpty {
            let list = query.parameter(present, kind)
            terms.append(
                """
                \(column) IN (SELECT d.pk FROM \(other.name) d \
                WHERE d.\(other.columns[destination.identitySlot]) = ANY(\(list)))
                """)
        }
        let isOne = terms.isEmpty ? "false" : "(\(terms.joined(separator: " OR ")))"
        return comparison.relation == .notEqual ? "(\(isOne) IS NOT TRUE)" : isOne
    }
}

// MARK: - Order

/// The order of a request that PostgreSQL sorts by exactly as ``FetchPosition`` does.
struct PostgresOrder {
    private struct Key {
        let column: String
        let kind: ColumnKind
        let isDescending: Bool
    }

    private let keys: [Key]

    /// Returns nil where a key of the order is no attribute of the object itself.
    init?(_ sort: [CheckedSort], _ table: PostgresTable) {
        var keys: [Key] = []
        for key in sort {
            guard key.options.isEmpty, case .path(let path) = key.expression.node, path.scope == 0, path.steps.isEmpty,
                case .attribute(let attribute) = path.end, table.kinds[attribute.slot] != .anyValue
            else { return nil }
            keys.append(
                Key(
                    column: "t.\(table.columns[attribute.slot])", kind: table.kinds[attribute.slot],
                    isDescending: key.isDescending))
        }
        self.keys = keys
    }

    private var isDescending: Bool { keys.last?.isDescending ?? false }

    /// The terms behind ORDER BY. Missing values come before all others.
    var sql: String {
        let terms = keys.map { "\($0.column) \($0.isDescending ? "DESC NULLS LAST" : "ASC NULLS FIRST")" }
        return (terms + ["t.pk \(isDescending ? "DESC" : "ASC")"]).joined(separator: ", ")
    }

    /// Adds the condition that rows come behind a place; false where the place is of another order.
    func add(after place: FetchPosition, to query: inout PostgresQuery) -> Bool {
        guard place.values.count == keys.count,
            zip(keys, place.values).allSatisfy({ $1.isNull || $0.kind.holds($1) })
        else { return false }
        var alternatives: [String] = []
        var equal: [String] = []
        for (key, value) in zip(keys, place.values) {
            if value.isNull {
                if !key.isDescending { alternatives.append((equal + ["\(key.column) IS NOT NULL"]).conjunction) }
                equal.append("\(key.column) IS NULL")
                continue
            }
            let parameter = query.parameter(value, key.kind)
            let later =
                key.isDescending
                ? "(\(key.column) < \(parameter) OR \(key.column) IS NULL)" : "\(key.column) > \(parameter)"
            alternatives.append((equal + [later]).conjunction)
            equal.append("\(key.column) = \(parameter)")
        }
        alternatives.append((equal + ["t.pk \(isDescending ? "<" : ">") \(query.parameter(place.pk))"]).conjunction)
        query.add("(\(alternatives.joined(separator: " OR ")))")
        return true
    }
}

extension [String] {
    fileprivate var conjunction: String { "(\(joined(separator: " AND ")))" }
}

extension ColumnKind {
    /// Tells whether a value has the form of the column's own, so that comparing the two there is comparing values.
    fileprivate func holds(_ value: Value) -> Bool {
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

extension PostgresQuery {
    /// Takes a value of a column's form.
    fileprivate mutating func parameter(_ value: Value, _ kind: ColumnKind) -> String {
        kind.stored(
            parameter(kind.parameterType) { statement throws(StoreError) in try statement.bind(value, as: kind) })
    }

    /// Takes values of a column's form, for `ANY`.
    fileprivate mutating func parameter(_ values: [Value], _ kind: ColumnKind) -> String {
        let list = parameter("\(kind.parameterType)[]") { statement throws(StoreError) in
            try statement.bind(values, as: kind)
        }
        return kind == .numeric ? "\(list)::numeric[]" : list
    }
}

/// The order of a request that PostgreSQL sorts by exactly as ``FetchPosition`` does.
struct PostgresOrder {
    private struct Key {
        let column: String
        let kind: ColumnKind
        let isDescending: Bool
    }

    private let keys: [Key]
    /// The expression that decides between equal rows.
    private let end: String

    /// Returns nil where the server does not order by a key as the graph does.
    init?(_ sort: [CheckedSort], _ conditions: inout PostgresConditions, end: String = "t.pk") {
        var keys: [Key] = []
        for key in sort {
            guard key.options.isEmpty, !key.expression.type.isObject,
                let compiled = try? conditions.expression(key.expression)
            else { return nil }
            keys.append(Key(column: compiled.sql, kind: compiled.kind, isDescending: key.isDescending))
        }
        self.keys = keys
        self.end = end
    }

    private var isDescending: Bool { keys.last?.isDescending ?? false }

    /// The terms behind ORDER BY. Missing values come before all others.
    var sql: String {
        let terms = keys.map { "\($0.column) \($0.isDescending ? "DESC NULLS LAST" : "ASC NULLS FIRST")" }
        return (terms + ["\(end) \(isDescending ? "DESC" : "ASC")"]).joined(separator: ", ")
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

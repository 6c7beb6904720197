import StoreSQL

/// Writes the condition of a partial index as SQL.
///
/// A schema cannot bind values, so they are written as literals. The plain `sqlite3` program has to be able to write
/// the store, so the condition uses SQLite's own operators only. Each comparison has the same text as in
/// ``PredicateCompiler``, so that SQLite sees when the index serves.
extension IndexCondition {
    /// The condition on the rows of the entity's table.
    var sql: String {
        func joined(_ parts: [IndexCondition], _ word: String) -> String {
            "(\(parts.map(\.sql).joined(separator: " \(word) ")))"
        }
        switch self {
        case .and(let parts): return joined(parts, "AND")
        case .or(let parts): return joined(parts, "OR")
        case .not(let inner): return "((\(inner.sql)) IS NOT TRUE)"
        case .comparison(let comparison): return comparison.sql()
        }
    }
}

extension IndexComparison {
    /// Returns the comparison; the name of its column stands behind `prefix`.
    func sql(prefix: String = "") -> String {
        let column = prefix + SQLText.quoted(column)
        let literals = values.map(Self.literal)
        let first = literals.first ?? "NULL"
        switch relation {
        case .equal: return first == "NULL" ? "\(column) IS NULL" : "\(column) = \(first)"
        case .notEqual: return first == "NULL" ? "\(column) IS NOT NULL" : "\(column) IS NOT \(first)"
        case .between: return "\(column) BETWEEN \(literals.joined(separator: " AND "))"
        case .contained: return "\(column) IN (\(literals.joined(separator: ",")))"
        default: return "\(column) \(relation.rawValue) \(first)"
        }
    }

    private static func literal(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .double(let number): "\(number)"
        case .text(let text): SQLText.literal(text)
        case .blob(let bytes):
            "x'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
        }
    }
}

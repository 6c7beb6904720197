/// Writes the condition of a partial index as SQL.
///
/// A schema cannot bind values, so they are written as literals; and a store has to stay writable with the plain
/// `sqlite3` program, so nothing but SQLite's own operators is used. Comparisons with constants, nil tests, AND, OR and
/// NOT are taken; the text of each is that of ``PredicateCompiler``, so that SQLite sees when the index serves.
enum IndexPredicate {
    /// Returns the SQL of a condition on the rows of an entity's table.
    ///
    /// - Throws: ``FetchPredicateError`` where the condition is wrong or cannot be kept in a schema.
    static func sql(_ text: String, entity: Entity, model: ObjectModel) throws(FetchPredicateError) -> String {
        let predicate = try FetchPredicate.parse(text)
        return try condition(try PredicateChecker.check(predicate, entity: entity, model: model))
    }

    /// Returns what keeps a condition out of a schema, or nil.
    static func problem(_ text: String, entity: Entity, model: ObjectModel) -> (message: String, remedy: String)? {
        do {
            _ = try sql(text, entity: entity, model: model)
            return nil
        } catch {
            return (error.message, error.remedy)
        }
    }

    /// Returns the comparisons of a condition, each as its SQL; none where the condition is wrong.
    static func comparisons(_ text: String, entity: Entity, model: ObjectModel) -> Set<String> {
        guard let predicate = try? FetchPredicate.parse(text),
            let checked = try? PredicateChecker.check(predicate, entity: entity, model: model)
        else { return [] }
        return comparisons(checked)
    }

    private static func comparisons(_ predicate: CheckedPredicate) -> Set<String> {
        switch predicate {
        case .and(let parts), .or(let parts): Set(parts.flatMap(comparisons))
        case .not(let inner): comparisons(inner)
        case .comparison(let comparison): Set([try? condition(comparison)].compactMap(\.self))
        default: []
        }
    }

    private static func condition(_ predicate: CheckedPredicate) throws(FetchPredicateError) -> String {
        switch predicate {
        case .and(let parts): return try combined(parts, "AND")
        case .or(let parts): return try combined(parts, "OR")
        case .not(let inner): return "((\(try condition(inner))) IS NOT TRUE)"
        case .comparison(let comparison): return try condition(comparison)
        default: throw refused("It says something that is no comparison of the object's own properties")
        }
    }

    private static func combined(_ parts: [CheckedPredicate], _ word: String) throws(FetchPredicateError) -> String {
        var texts: [String] = []
        for part in parts { texts.append(try condition(part)) }
        guard !texts.isEmpty else { throw refused("It is empty") }
        return "(\(texts.joined(separator: " \(word) ")))"
    }

    /// Returns the SQL of a comparison; the name of its column stands behind `prefix`.
    ///
    /// - Throws: ``FetchPredicateError`` where it cannot be kept in a schema.
    static func condition(
        _ comparison: CheckedComparison, prefix: String = ""
    ) throws(FetchPredicateError) -> String {
        guard case .path(let path) = comparison.left.node, path.steps.isEmpty, comparison.options.isEmpty,
            let values = values(comparison.right)
        else { throw refused("It compares more than a property of the object with constants") }
        let column: String
        switch path.end {
        case .attribute(let attribute):
            if attribute.type == .decimal, comparison.relation != .equal, comparison.relation != .notEqual {
                throw refused("Decimals are kept as texts, whose order is another")
            }
            column = prefix + SQLText.quoted(attribute.columnName)
        case .destination(let relationship) where values.allSatisfy(\.isNull):
            column = prefix + SQLText.quoted(relationship.columnName)
        default: throw refused("It compares something that is no attribute")
        }
        let literals = values.map(literal)
        let first = literals.first ?? "NULL"
        switch comparison.relation {
        case .equal: return first == "NULL" ? "\(column) IS NULL" : "\(column) = \(first)"
        case .notEqual: return first == "NULL" ? "\(column) IS NOT NULL" : "\(column) IS NOT \(first)"
        case .less, .lessOrEqual, .greater, .greaterOrEqual: return "\(column) \(comparison.relation.rawValue) \(first)"
        case .between: return "\(column) BETWEEN \(literals.joined(separator: " AND "))"
        case .contained where !literals.contains("NULL"): return "\(column) IN (\(literals.joined(separator: ",")))"
        default: throw refused("It uses \(comparison.relation.rawValue)")
        }
    }

    /// The constants of a right side, or nil where it has to be computed.
    private static func values(_ right: CheckedComparison.Right) -> [Value]? {
        let expressions =
            switch right {
            case .one(let expression): [expression]
            case .many(let expressions): expressions
            }
        let values = expressions.compactMap(\.value)
        return values.count == expressions.count ? values : nil
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

    private static func refused(_ message: String) -> FetchPredicateError {
        FetchPredicateError(
            .unsupported, message, at: nil,
            remedy:
                "Compare attributes with constants by =, !=, <, <=, >, >=, BETWEEN or IN, or with nil; join with AND, "
                + "OR, NOT")
    }
}

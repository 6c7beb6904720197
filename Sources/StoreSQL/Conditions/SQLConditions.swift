/// Writes checked predicates as SQL. An engine brings its comparisons and expressions.
///
/// A condition on the objects of a to-many relationship becomes an EXISTS, and an aggregate of them a subquery.
package protocol SQLConditions {
    /// Why the engine does not judge a part of a request.
    associatedtype Failure: Error

    /// The failure of a request that leads over too many relationships.
    static var tooManyTables: Failure { get }

    /// The tables of the fetched objects and of each collection's objects.
    var scopes: SQLScopes { get set }

    mutating func condition(_ comparison: CheckedComparison) throws(Failure) -> String
}

extension SQLConditions {
    /// Returns a condition, which may be unknown to SQL where it is false.
    package mutating func condition(_ predicate: CheckedPredicate) throws(Failure) -> String {
        switch predicate {
        case .constant(let value): return value ? "true" : "false"
        case .and(let parts): return try combined(parts[...], "AND", empty: "true")
        case .or(let parts): return try combined(parts[...], "OR", empty: "false")
        // An unknown comparison is false, so its opposite is true.
        case .not(let inner): return "((\(try condition(inner))) IS NOT TRUE)"
        case .comparison(let comparison): return try condition(comparison)
        case .exists(let collection, let inner):
            if !scopes.open(collection) { throw Self.tooManyTables }
            let condition = try condition(inner)
            let rows = try Self.given(scopes.rows(of: collection))
            return "EXISTS (SELECT 1 FROM \(rows.from) WHERE \(rows.link) AND (\(condition)))"
        }
    }

    /// Tells whether conditions may stand in one row, as in a partial index: SQLite then sees that they are the same.
    private static func isRow(_ parts: ArraySlice<CheckedPredicate>) -> Bool {
        let areComparisons = parts.allSatisfy { if case .comparison = $0 { true } else { false } }
        return parts.count <= (areComparisons ? 16 : 4)
    }

    /// Combines many by halves: SQLite limits the depth of expressions, and a row of hundreds would be that deep.
    private mutating func combined(
        _ parts: ArraySlice<CheckedPredicate>, _ word: String, empty: String
    ) throws(Failure) -> String {
        guard let first = parts.first else { return empty }
        if parts.count == 1 { return try condition(first) }
        if Self.isRow(parts) {
            var texts: [String] = []
            for part in parts { texts.append(try condition(part)) }
            return "(\(texts.joined(separator: " \(word) ")))"
        }
        let middle = parts.startIndex + parts.count / 2
        let left = try combined(parts[..<middle], word, empty: empty)
        return "(\(left) \(word) \(try combined(parts[middle...], word, empty: empty)))"
    }

    /// Returns a result of the scopes.
    ///
    /// - Throws: the failure of a request that leads over too many relationships, where the scopes gave no result.
    package static func given<Result>(_ result: Result?) throws(Failure) -> Result {
        guard let result else { throw Self.tooManyTables }
        return result
    }

    /// Returns an aggregate of the objects of a collection as a subquery.
    ///
    /// - Parameter selection: returns the aggregate over rows.
    package mutating func subquery(
        _ aggregate: CheckedAggregate,
        _ selection: (inout Self, CollectionFunction, TypedExpression?) throws(Failure) -> String
    ) throws(Failure) -> String {
        let collection = aggregate.collection
        if aggregate.function == .count, aggregate.filter == nil { return try Self.given(scopes.count(collection)) }
        if !scopes.open(collection) { throw Self.tooManyTables }
        let filter: String = if let filter = aggregate.filter { " AND (\(try condition(filter)))" } else { "" }
        let value = try selection(&self, aggregate.function, aggregate.operand)
        let rows = try Self.given(scopes.rows(of: collection))
        return "(SELECT \(value) FROM \(rows.from) WHERE \(rows.link)\(filter))"
    }
}

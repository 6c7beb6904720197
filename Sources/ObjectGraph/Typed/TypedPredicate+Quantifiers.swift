import GraphCore

// Conditions on the destinations of a to-many relationship.
extension TypedPredicate {
    /// True if the condition is true of at least one destination.
    public static func any<Destination: TypedObject>(
        _ path: KeyPath<Root, [Destination]>, _ condition: TypedPredicate<Destination>
    ) -> TypedPredicate { quantified(.any, path, condition) }

    /// True if the condition is true of all destinations, or if there are none.
    public static func all<Destination: TypedObject>(
        _ path: KeyPath<Root, [Destination]>, _ condition: TypedPredicate<Destination>
    ) -> TypedPredicate { quantified(.all, path, condition) }

    /// True if the condition is true of no destination, or if there are none.
    public static func none<Destination: TypedObject>(
        _ path: KeyPath<Root, [Destination]>, _ condition: TypedPredicate<Destination>
    ) -> TypedPredicate { quantified(.none, path, condition) }

    private static func quantified<Destination: TypedObject>(
        _ quantifier: FetchPredicate.Quantifier, _ path: KeyPath<Root, [Destination]>,
        _ condition: TypedPredicate<Destination>
    ) -> TypedPredicate {
        TypedPredicate { () throws(FetchPredicateError) in
            let collection = try KeyPathProbe.path(path, of: Root.self)
            let inner = try condition.predicate
            if let comparison = inner.comparison(behind: collection, quantifier) { return .comparison(comparison) }
            // Each level of nesting has its own variable.
            let variable = "item\(inner.subqueryDepth + 1)"
            let wanted = (quantifier == .all ? .not(inner) : inner).rooted(in: variable)
            return .comparison(
                FetchPredicate.Comparison(
                    .subquery(FetchPredicate.Subquery(collection, variable, wanted)),
                    quantifier == .any ? .greater : .equal, .number(0)))
        }
    }
}

extension FetchPredicate {
    /// Returns the comparison with the collection's path before its own, if a quantifier can express it.
    fileprivate func comparison(behind collection: PropertyPath, _ quantifier: Quantifier) -> Comparison? {
        guard case .comparison(var comparison) = self, comparison.quantifier == nil, comparison.right.isLiteral,
            case .path(let path) = comparison.left, path.root == nil, path.function == nil
        else { return nil }
        comparison.left = .path(PropertyPath(names: collection.names + path.names))
        comparison.quantifier = quantifier
        return comparison
    }

    /// The depth of nested subqueries.
    fileprivate var subqueryDepth: Int {
        switch self {
        case .constant: 0
        case .and(let parts), .or(let parts): parts.map(\.subqueryDepth).max() ?? 0
        case .not(let inner): inner.subqueryDepth
        case .comparison(let comparison): max(comparison.left.subqueryDepth, comparison.right.subqueryDepth)
        }
    }

    /// Returns the predicate with a variable instead of the object at the beginning of all paths.
    fileprivate func rooted(in variable: String) -> FetchPredicate {
        switch self {
        case .constant: return self
        case .and(let parts): return .and(parts.map { $0.rooted(in: variable) })
        case .or(let parts): return .or(parts.map { $0.rooted(in: variable) })
        case .not(let inner): return .not(inner.rooted(in: variable))
        case .comparison(var comparison):
            comparison.left = comparison.left.rooted(in: variable)
            comparison.right = comparison.right.rooted(in: variable)
            return .comparison(comparison)
        }
    }
}

extension FetchPredicate.Expression {
    fileprivate var subqueryDepth: Int {
        switch self {
        case .literal, .path: 0
        case .list(let parts): parts.map(\.subqueryDepth).max() ?? 0
        case .negated(let operand): operand.subqueryDepth
        case .arithmetic(let left, _, let right): max(left.subqueryDepth, right.subqueryDepth)
        case .function(let call): call.arguments.map(\.subqueryDepth).max() ?? 0
        case .subquery(let subquery): subquery.predicate.subqueryDepth + 1
        }
    }

    fileprivate func rooted(in variable: String) -> FetchPredicate.Expression {
        switch self {
        case .literal: return self
        case .path(let path): return .path(path.rooted(in: variable))
        case .list(let parts): return .list(parts.map { $0.rooted(in: variable) })
        case .negated(let operand): return .negated(operand.rooted(in: variable))
        case .arithmetic(let left, let operation, let right):
            return .arithmetic(left.rooted(in: variable), operation, right.rooted(in: variable))
        case .function(var call):
            call.arguments = call.arguments.map { $0.rooted(in: variable) }
            return .function(call)
        case .subquery(var subquery):
            subquery.collection = subquery.collection.rooted(in: variable)
            subquery.predicate = subquery.predicate.rooted(in: variable)
            return .subquery(subquery)
        }
    }
}

extension PropertyPath {
    fileprivate func rooted(in variable: String) -> PropertyPath {
        var path = self
        if path.root == nil { path.root = variable }
        return path
    }
}

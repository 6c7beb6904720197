extension PostgresConditions {
    /// An expression as SQL, with the kind of its values. Objects are primary keys.
    struct Compiled {
        let sql: String
        let kind: ColumnKind
    }

    private mutating func path(_ path: ResolvedPath) throws(Unjudged) -> Compiled {
        let column = try Self.given(scopes.column(path))
        if case .attribute(let attribute) = path.end {
            return Compiled(sql: column, kind: tables[path.owner].kinds[attribute.slot])
        }
        return Compiled(sql: column, kind: .bigint)
    }

    // MARK: Collections

    private mutating func aggregate(_ aggregate: CheckedAggregate) throws(Unjudged) -> Compiled {
        var kind = ColumnKind.bigint
        let sql = try subquery(aggregate) { conditions, function, operand throws(Unjudged) in
            let selection = try conditions.selection(function, operand)
            kind = selection.kind
            return selection.sql
        }
        return Compiled(sql: sql, kind: kind)
    }

    /// Returns an aggregate over rows. Doubles add up in an order that nobody states, and decimals to 38 digits, so these
    /// sums stay to the evaluator.
    private mutating func selection(
        _ function: CollectionFunction, _ operand: TypedExpression?
    ) throws(Unjudged) -> Compiled {
        guard let operand else { return Compiled(sql: "count(*)", kind: .bigint) }
        let inner = try expression(operand)
        let sum = "sum(\(inner.sql)::numeric)"
        switch function {
        case .count: return Compiled(sql: "count(\(inner.sql))", kind: .bigint)
        case .sum where PredicateChecker.isWhole(operand.type):
            let bounded = "greatest(least(coalesce(\(sum), 0), \(Int64.max)), \(Int64.min))::int8"
            return Compiled(sql: bounded, kind: .bigint)
        case .average where PredicateChecker.isWhole(operand.type):
            return Compiled(sql: "(\(sum)::float8 / nullif(count(\(inner.sql)), 0)::float8)", kind: .double)
        case .min, .max:
            // The server has no least Boolean, UUID or bytes.
            if [ColumnKind.boolean, .uuid, .bytea].contains(inner.kind) { throw Unjudged() }
            return Compiled(sql: "\(function.rawValue)(\(inner.sql))", kind: inner.kind)
        case .sum, .average: throw Unjudged()
        }
    }

    // MARK: Expressions

    /// Returns SQL that gives the same values as the graph.
    mutating func expression(_ expression: TypedExpression) throws(Unjudged) -> Compiled {
        switch expression.node {
        case .now:
            let value = Value.integer(now)
            if !ColumnKind.timestamp.holds(value) { throw Unjudged() }
            return Compiled(sql: query.parameter(value, .timestamp), kind: .timestamp)
        case .path(let path):
            let compiled = try self.path(path)
            // Of a group, the server knows nothing but its keys.
            if groupKeys?.contains(compiled.sql) == false { throw Unjudged() }
            return compiled
        case .aggregate(let aggregate) where groupKeys == nil: return try self.aggregate(aggregate)
        case .overRows(let function, let operand):
            guard let keys = groupKeys else { throw Unjudged() }
            groupKeys = nil
            defer { groupKeys = keys }
            return try selection(function, operand)
        case .aggregate, .value, .text, .negated, .arithmetic: throw Unjudged()
        }
    }
}

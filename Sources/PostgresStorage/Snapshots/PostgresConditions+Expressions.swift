extension PostgresConditions {
    /// The tables that a query, or a query inside it, reads.
    struct Scope {
        let alias: String
        let entity: Int
        /// The aliases of the joined tables, by the path that leads to them.
        var aliases: [String: String] = [:]
        var joins = ""
    }

    /// An expression as SQL, with the kind of its values. Those of objects are primary keys.
    struct Compiled {
        let sql: String
        let kind: ColumnKind
    }

    /// With so many joined tables the evaluator takes over.
    private static let maximumJoinCount = 48

    private mutating func newAlias() -> String {
        aliasCount += 1
        return "t\(aliasCount)"
    }

    /// The tables of a scope as they stand behind FROM; call it after all that reads them.
    func from(_ scope: Int) -> String {
        guard let scope = scopes[scope] else { return "" }
        return "\(tables[scope.entity].name) \(scope.alias)\(scope.joins)"
    }

    // MARK: Paths

    /// Returns the alias of the table at the end of to-one steps, joining the tables on the way.
    private mutating func alias(_ steps: [Relationship], _ number: Int) -> String? {
        guard var scope = scopes[number] else { return nil }
        var (alias, entity) = (scope.alias, scope.entity)
        for step in steps {
            guard let slot = step.slot else { return nil }
            let key = "\(alias).\(step.name)"
            if let known = scope.aliases[key] {
                alias = known
            } else {
                if scope.aliases.count >= Self.maximumJoinCount { return nil }
                let joined = newAlias()
                let column = "\(alias).\(tables[entity].columns[slot])"
                scope.joins += " LEFT JOIN \(tables[step.destinationIndex].name) \(joined) ON \(joined).pk = \(column)"
                scope.aliases[key] = joined
                alias = joined
            }
            entity = step.destinationIndex
        }
        scopes[number] = scope
        return alias
    }

    private mutating func path(_ path: ResolvedPath) -> Compiled? {
        guard let alias = alias(path.steps, path.scope) else { return nil }
        let table = tables[path.owner]
        switch path.end {
        case .attribute(let attribute):
            return Compiled(sql: "\(alias).\(table.columns[attribute.slot])", kind: table.kinds[attribute.slot])
        case .destination(let relationship):
            return relationship.slot.map { Compiled(sql: "\(alias).\(table.columns[$0])", kind: .bigint) }
        case .object: return Compiled(sql: "\(alias).pk", kind: .bigint)
        }
    }

    // MARK: Collections

    /// Begins the scope of a collection's objects.
    mutating func open(_ collection: CheckedCollection) {
        scopes[collection.element] = Scope(alias: newAlias(), entity: collection.relationship.destinationIndex)
    }

    /// Returns the rows of a collection's objects as FROM and WHERE of a query; call it after all that reads them.
    mutating func rows(of collection: CheckedCollection) -> (from: String, link: String)? {
        guard let owner = alias(collection.steps, collection.scope), let scope = scopes[collection.element] else {
            return nil
        }
        let (alias, objects) = (scope.alias, from(collection.element))
        switch collection.relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let links = "\(model.joinTables[index].quotedName) \(alias)j"
            return (
                "\(objects) JOIN \(links) ON \(alias).pk = \(alias)j.\(far)", "\(alias)j.\(near) = \(owner).pk"
            )
        case .column(let slot), .inverseColumn(let slot):
            let column = tables[collection.relationship.destinationIndex].columns[slot]
            return (objects, "\(alias).\(column) = \(owner).pk")
        }
    }

    private mutating func aggregate(_ aggregate: CheckedAggregate) -> Compiled? {
        open(aggregate.collection)
        var condition = ""
        if let filter = aggregate.filter {
            guard let text = self.condition(filter) else { return nil }
            condition = " AND (\(text))"
        }
        guard let selection = selection(aggregate.function, aggregate.operand),
            let rows = rows(of: aggregate.collection)
        else { return nil }
        return Compiled(
            sql: "(SELECT \(selection.sql) FROM \(rows.from) WHERE \(rows.link)\(condition))", kind: selection.kind)
    }

    /// Returns an aggregate over rows. Doubles add up in an order that nobody states, and decimals to 38 digits, so these
    /// sums stay to the evaluator.
    private mutating func selection(_ function: CollectionFunction, _ operand: TypedExpression?) -> Compiled? {
        guard let operand else { return Compiled(sql: "count(*)", kind: .bigint) }
        guard let inner = expression(operand) else { return nil }
        let sum = "sum(\(inner.sql)::numeric)"
        switch function {
        case .count: return Compiled(sql: "count(\(inner.sql))", kind: .bigint)
        case .sum:
            guard PredicateChecker.isWhole(operand.type) else { return nil }
            let bounded = "greatest(least(coalesce(\(sum), 0), \(Int64.max)), \(Int64.min))::int8"
            return Compiled(sql: bounded, kind: .bigint)
        case .average:
            guard PredicateChecker.isWhole(operand.type) else { return nil }
            return Compiled(sql: "(\(sum)::float8 / nullif(count(\(inner.sql)), 0)::float8)", kind: .double)
        case .min, .max:
            // The server has no least Boolean, UUID or bytes.
            let hasLeast = ![ColumnKind.boolean, .uuid, .bytea].contains(inner.kind)
            return hasLeast ? Compiled(sql: "\(function.rawValue)(\(inner.sql))", kind: inner.kind) : nil
        }
    }

    // MARK: Expressions

    /// Returns an expression whose values are those of the graph, or nil.
    mutating func expression(_ expression: TypedExpression) -> Compiled? {
        switch expression.node {
        case .now:
            let value = Value.integer(now)
            guard ColumnKind.timestamp.holds(value) else { return nil }
            return Compiled(sql: query.parameter(value, .timestamp), kind: .timestamp)
        case .path(let path):
            // Of a group, the server knows nothing but its keys.
            guard let compiled = self.path(path), groupKeys?.contains(compiled.sql) ?? true else { return nil }
            return compiled
        case .aggregate(let aggregate): return groupKeys == nil ? self.aggregate(aggregate) : nil
        case .overRows(let function, let operand):
            guard let keys = groupKeys else { return nil }
            groupKeys = nil
            defer { groupKeys = keys }
            return selection(function, operand)
        case .value, .text, .negated, .arithmetic: return nil
        }
    }
}

/// Writes checked predicates and expressions as SQL. Values are bound, never written into the text.
///
/// Parameters are numbered, so that the parts of a statement may be written in any order. Paths over to-one
/// relationships become outer joins, one for each distinct path of a scope. A condition on the objects of a to-many
/// relationship becomes an EXISTS, and an aggregate of them a subquery. Each has a scope of its own.
struct PredicateCompiler {
    /// SQLite joins at most 64 tables.
    static let maximumJoinCount = 48
    /// How many tables a statement may read.
    private static let maximumTableCount = 480

    /// The tables that a query, or a query inside it, reads.
    struct Scope {
        let alias: String
        let entity: Int
        fileprivate var aliases: [String: String] = [:]
        fileprivate(set) var joins = ""
    }

    let model: ObjectModel
    /// The value of `now()`, in microseconds since 1970 UTC.
    let now: Int64
    private(set) var bindings: [Value] = []
    /// Tells whether `now()` is among the values.
    private(set) var readsTime = false
    /// The entities of the aliases, for explaining a plan.
    private(set) var tables: [String: String] = [:]
    private var scopes: [Int: Scope] = [:]
    private var aliasCount = 0
    private let firstParameter: Int

    /// Makes a compiler of statements whose first parameters belong to another text.
    init(model: ObjectModel, now: Int64, firstParameter: Int = 1) {
        self.model = model
        self.now = now
        self.firstParameter = firstParameter
    }

    // MARK: Scopes

    private static let tooManyTables = FetchPredicateError(
        .tooComplex, "The request leads over too many relationships", at: nil, remedy: "Split it into several requests")

    private mutating func newAlias(_ entity: Int) throws(FetchPredicateError) -> String {
        aliasCount += 1
        if aliasCount > Self.maximumTableCount { throw Self.tooManyTables }
        let alias = "t\(aliasCount)"
        tables[alias] = model.entities[entity].name
        return alias
    }

    /// Begins a scope of objects with a table of its own.
    mutating func open(_ scope: Int, entity: Int) throws(FetchPredicateError) {
        scopes[scope] = Scope(alias: try newAlias(entity), entity: entity)
    }

    func scope(_ scope: Int) -> Scope { scopes[scope] ?? Scope(alias: "t0", entity: 0) }

    /// Returns the tables of a scope as they stand behind FROM.
    func from(_ scope: Int) -> String {
        let scope = self.scope(scope)
        return "\(SQLText.quoted(model.entities[scope.entity].tableName)) \(scope.alias)\(scope.joins)"
    }

    mutating func parameter(_ value: Value) -> String {
        bindings.append(value)
        return "?\(firstParameter + bindings.count - 1)"
    }

    mutating func parameters(_ values: [Value]) -> String {
        var list: [String] = []
        for value in values { list.append(parameter(value)) }
        return list.joined(separator: ",")
    }

    /// Returns the condition that the rows of a scope are of its entity or its sub-entities; nil where all are.
    func kind(_ number: Int) -> String? {
        let scope = self.scope(number)
        let entity = model.entities[scope.entity]
        return entity.parentIndex == nil ? nil : model.kindCondition(entity, alias: scope.alias + ".")
    }

    // MARK: Paths

    /// Returns the alias of the table at the end of to-one steps, joining the tables on the way.
    mutating func alias(_ steps: [Relationship], _ number: Int) throws(FetchPredicateError) -> String {
        var scope = self.scope(number)
        var alias = scope.alias
        for step in steps {
            let key = "\(alias).\(step.name)"
            if let known = scope.aliases[key] {
                alias = known
                continue
            }
            if scope.aliases.count >= Self.maximumJoinCount { throw Self.tooManyTables }
            let joined = try newAlias(step.destinationIndex)
            let table = SQLText.quoted(model.entities[step.destinationIndex].tableName)
            scope.joins += " LEFT JOIN \(table) \(joined) ON \(joined).pk = \(alias).\(SQLText.quoted(step.columnName))"
            scope.aliases[key] = joined
            alias = joined
        }
        scopes[number] = scope
        return alias
    }

    private mutating func path(_ path: ResolvedPath) throws(FetchPredicateError) -> String {
        let alias = try alias(path.steps, path.scope)
        switch path.end {
        case .attribute(let attribute): return "\(alias).\(SQLText.quoted(attribute.columnName))"
        case .destination(let relationship): return "\(alias).\(SQLText.quoted(relationship.columnName))"
        case .object: return "\(alias).pk"
        }
    }

    // MARK: Collections

    /// Returns the rows of a collection's objects as FROM and WHERE of a query; call it after all that reads them.
    private mutating func objects(_ collection: CheckedCollection) throws(FetchPredicateError) -> (
        from: String, link: String
    ) {
        let owner = try alias(collection.steps, collection.scope)
        let from = from(collection.element)
        let alias = scope(collection.element).alias
        switch collection.relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let table = model.joinTables[index].quotedName
            let scope = self.scope(collection.element)
            let objects = SQLText.quoted(model.entities[scope.entity].tableName)
            return (
                "\(table) \(alias)j JOIN \(objects) \(alias) ON \(alias).pk = \(alias)j.\(far)\(scope.joins)",
                "\(alias)j.\(near) = \(owner).pk"
            )
        case .column(let slot), .inverseColumn(let slot):
            let column = model.entities[collection.relationship.destinationIndex].columnNames[slot]
            return (from, "\(alias).\(SQLText.quoted(column)) = \(owner).pk")
        }
    }

    /// Returns a condition that is true where one object of a collection at least meets a predicate.
    mutating func exists(
        _ collection: CheckedCollection, _ predicate: CheckedPredicate
    ) throws(FetchPredicateError) -> String {
        try open(collection.element, entity: collection.relationship.destinationIndex)
        let condition = try condition(predicate)
        let rows = try objects(collection)
        return "EXISTS (SELECT 1 FROM \(rows.from) WHERE \(rows.link) AND (\(condition)))"
    }

    private mutating func aggregate(_ aggregate: CheckedAggregate) throws(FetchPredicateError) -> String {
        let collection = aggregate.collection
        if aggregate.function == .count, aggregate.filter == nil { return try count(collection) }
        try open(collection.element, entity: collection.relationship.destinationIndex)
        let filter: String? = if let filter = aggregate.filter { try condition(filter) } else { nil }
        let selection = try selection(aggregate.function, aggregate.operand)
        let rows = try objects(collection)
        let condition = filter.map { " AND (\($0))" } ?? ""
        return "(SELECT \(selection) FROM \(rows.from) WHERE \(rows.link)\(condition))"
    }

    /// The number of a collection's objects; the rows that hold the links suffice.
    private mutating func count(_ collection: CheckedCollection) throws(FetchPredicateError) -> String {
        let owner = try alias(collection.steps, collection.scope)
        switch collection.relationship.storage {
        case .join(let index, let isOwner):
            let table = model.joinTables[index].quotedName
            let near = isOwner ? "owner" : "destination"
            return "(SELECT count(*) FROM \(table) l WHERE l.\(near) = \(owner).pk)"
        case .column(let slot), .inverseColumn(let slot):
            let destination = model.entities[collection.relationship.destinationIndex]
            let column = SQLText.quoted(destination.columnNames[slot])
            return "(SELECT count(*) FROM \(SQLText.quoted(destination.tableName)) l WHERE l.\(column) = \(owner).pk)"
        }
    }

    /// The aggregate of an expression as SQL; sums of nothing are 0.
    private mutating func selection(
        _ function: CollectionFunction, _ operand: TypedExpression?
    ) throws(FetchPredicateError) -> String {
        guard let operand else { return "count(*)" }
        let inner = try expression(operand)
        switch function {
        case .count: return "count(\(inner))"
        case .sum:
            let kind = operand.type.isDecimal ? 2 : PredicateChecker.isWhole(operand.type) ? 0 : 1
            let nothing = ["0", "0.0", "'0'"][kind]
            return "coalesce(objectgraph_sum(\(inner), \(kind)), \(nothing))"
        case .average: return operand.type.isDecimal ? "objectgraph_average(\(inner))" : "avg(\(inner))"
        case .min, .max: return "\(function.rawValue)(\(try ordered(operand)))"
        }
    }

    // MARK: Expressions

    /// Returns an expression: a value of its type; of an object, its primary key.
    mutating func expression(_ expression: TypedExpression) throws(FetchPredicateError) -> String {
        switch expression.node {
        case .value(let value): return parameter(value)
        case .now:
            readsTime = true
            return parameter(.integer(now))
        case .path(let path): return try self.path(path)
        case .aggregate(let aggregate): return try self.aggregate(aggregate)
        case .overRows(let function, let operand): return try selection(function, operand)
        case .text(let function, let operand):
            return "objectgraph_\(function.rawValue)(\(try self.expression(operand)))"
        case .negated(let operand):
            let inner = try self.expression(operand)
            return operand.type.isDecimal ? "objectgraph_decimal_arithmetic('-', 0, \(inner))" : "(-\(inner))"
        case .arithmetic(let left, let operation, let right):
            return try arithmetic(left, operation, right, result: expression.type)
        }
    }

    /// As ``expression(_:)``, for telling which comes first.
    mutating func ordered(_ expression: TypedExpression) throws(FetchPredicateError) -> String {
        let text = try self.expression(expression)
        return expression.type.isDecimal ? "\(text) COLLATE \(DecimalCollation.name)" : text
    }

    private mutating func arithmetic(
        _ left: TypedExpression, _ operation: FetchPredicate.ArithmeticOperator, _ right: TypedExpression,
        result: ExpressionType
    ) throws(FetchPredicateError) -> String {
        let first = try expression(left)
        let second = try expression(right)
        if result.isDecimal {
            return "objectgraph_decimal_arithmetic('\(operation.rawValue)', \(first), \(second))"
        }
        if left.type.isDate {
            if right.type.isDate { return "((\(first) - \(second)) / 1000000.0)" }
            return "(\(first) \(operation.rawValue) CAST(round(\(second) * 1000000.0) AS INTEGER))"
        }
        // Division is that of real numbers, as in derived attributes; by zero it gives null.
        if operation == .divide { return "(CAST(\(first) AS REAL) / \(second))" }
        return "(\(first) \(operation.rawValue) \(second))"
    }
}

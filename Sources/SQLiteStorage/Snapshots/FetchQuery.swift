import StoreSQL

/// The SQL of a checked fetch request, and how its rows are read.
struct FetchQuery {
    /// The kind of a query's result.
    enum Output {
        /// Columns `pk`, `_placeholder`, `_entity` where the table has it, the shape's single values; then, for a page,
        /// the values that order it.
        case objects(withOrder: Bool)
        /// The shape's values.
        case rows
        /// Primary keys.
        case keys
        /// The number of objects or rows, limit and offset aside.
        case count
    }

    let sql: String
    let bindings: [Value]
    /// Tells whether `now()` is among the bindings.
    let readsTime: Bool
    /// The entities of the aliases.
    let tables: [String: String]
    /// For each to-many property a query of the destinations' identities, given a primary key.
    let listStatements: [String]
    private let shape: FetchShape
    private let model: ObjectModel
    private let orderCount: Int

    /// Writes the query of a request.
    ///
    /// - Parameters:
    ///   - now: what `now()` is, in microseconds since 1970 UTC.
    ///   - onlyMissing: only objects whose first sort value is missing: a descending order ends with them.
    init(
        _ request: CheckedFetchRequest, output: Output = .objects(withOrder: false), now: Int64,
        onlyMissing: Bool = false
    ) throws(FetchPredicateError) {
        var builder = FetchQueryBuilder(request, now: now)
        let sql = try builder.statement(output, onlyMissing: onlyMissing)
        let orderCount = if case .objects(withOrder: true) = output { request.sort.count } else { 0 }
        self.init(request, sql, builder, orderCount: orderCount)
    }

    /// Writes the query of the objects with `count` primary keys, in no order.
    init(
        objectsOf request: CheckedFetchRequest, count: Int, now: Int64
    ) throws(FetchPredicateError) {
        var builder = FetchQueryBuilder(request, now: now)
        let sql = try builder.statement(keyCount: count)
        self.init(request, sql, builder, orderCount: 0)
    }

    private init(_ request: CheckedFetchRequest, _ sql: String, _ builder: FetchQueryBuilder, orderCount: Int) {
        self.sql = sql
        (bindings, readsTime) = (builder.compiler.bindings, builder.compiler.readsTime)
        (tables, listStatements) = (builder.compiler.scopes.tables, builder.lists)
        (shape, model) = (request.shape, request.model)
        self.orderCount = orderCount
    }

    /// The query of the identities that a to-many relationship leads to: in their order where they have one, else
    /// sorted.
    static func identities(_ relationship: Relationship, _ model: ObjectModel) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let rows = DestinationRows(relationship, in: SQLText.quoted(destination.tableName), model)
        return """
            SELECT d.\(SQLText.quoted(destination.identity.columnName)) FROM \(rows.from) WHERE \(rows.owner) = ? \
            ORDER BY \(rows.place ?? "1")
            """
    }

    // MARK: Reading

    func object(_ row: PreparedStatement, _ lists: [PreparedStatement]) throws(StoreError) -> FetchedObject {
        let pk = row.integer(0)
        var entity = shape.entity
        let sharesTable = entity.sharesTable
        if sharesTable, let own = model.entity(named: row.text(2)) { entity = own }
        return FetchedObject(
            shape: shape, entity: entity, pk: pk, isPlaceholder: row.integer(1) != 0,
            contents: try contents(row, firstColumn: sharesTable ? 3 : 2, lists, pk))
    }

    func row(_ row: PreparedStatement) throws(StoreError) -> FetchedRow {
        FetchedRow(shape: shape, contents: try contents(row, firstColumn: 0, [], 0))
    }

    private func contents(
        _ row: PreparedStatement, firstColumn: Int, _ lists: [PreparedStatement], _ pk: Int64
    ) throws(StoreError) -> [FetchedContent] {
        var contents: [FetchedContent] = []
        contents.reserveCapacity(shape.areLists.count)
        var (column, list) = (firstColumn, 0)
        for isList in shape.areLists {
            if isList {
                contents.append(.list(try Self.values(lists[list], pk)))
                list += 1
            } else {
                contents.append(.value(row.value(column)))
                column += 1
            }
        }
        return contents
    }

    /// The values that the current row is sorted by.
    func order(_ row: PreparedStatement) -> [Value] {
        let count = row.columnCount
        return (count - orderCount..<count).map { row.value($0) }
    }

    static func values(_ statement: PreparedStatement, _ pk: Int64) throws(StoreError) -> [Value] {
        statement.bind(1, pk)
        var values: [Value] = []
        while try statement.step() { values.append(statement.value(0)) }
        return values
    }
}

/// Puts the parts of a fetch request's SQL together.
private struct FetchQueryBuilder {
    let request: CheckedFetchRequest
    var compiler: PredicateCompiler
    var lists: [String] = []

    init(_ request: CheckedFetchRequest, now: Int64) {
        self.request = request
        compiler = PredicateCompiler(model: request.model, now: now)
    }

    private var root: String { compiler.scopes.alias(0) }

    private var objectColumns: [String] {
        ["\(root).pk", "\(root)._placeholder"] + (request.entity.sharesTable ? ["\(root)._entity"] : [])
    }

    mutating func statement(_ output: FetchQuery.Output, onlyMissing: Bool) throws(FetchPredicateError) -> String {
        try compiler.open(0, entity: request.entity.index)
        switch output {
        case .count: return try countStatement()
        case .rows: return try rowsStatement()
        case .objects(let withOrder):
            var columns = objectColumns + (try columns())
            let order = try order()
            if withOrder { columns += order.map(\.text) }
            return try select(columns, order, onlyMissing: onlyMissing)
        case .keys: return try select(["\(root).pk"], try order(), onlyMissing: onlyMissing)
        }
    }

    mutating func statement(keyCount: Int) throws(FetchPredicateError) -> String {
        try compiler.open(0, entity: request.entity.index)
        let columns = objectColumns + (try columns())
        let list = SQLText.parameters(keyCount)
        return "SELECT \(columns.joined(separator: ", ")) FROM \(compiler.scopes.from(0)) WHERE \(root).pk IN (\(list))"
    }

    private mutating func select(
        _ columns: [String], _ order: [OrderTerm], onlyMissing: Bool
    ) throws(FetchPredicateError) -> String {
        var terms = try conditions()
        if onlyMissing, let first = order.first {
            terms.append("\(first.text) IS NULL")
        } else if let after = request.after {
            terms.append(position(order, after))
        }
        // The key goes the way of the last sort key, so that an index on it serves both.
        let isDescending = order.last?.isDescending ?? false
        let keys = order.map(\.ordering) + ["\(root).pk\(isDescending ? " DESC" : "")"]
        return """
            SELECT \(columns.joined(separator: ", ")) FROM \(compiler.scopes.from(0)) WHERE \(joined(terms)) \
            ORDER BY \(keys.joined(separator: ", "))\(limit())
            """
    }

    private mutating func limit() -> String {
        if request.limit == nil, request.offset == 0 { return "" }
        let limit = compiler.parameter(.integer(request.limit.map { Int64($0) } ?? -1))
        return " LIMIT \(limit) OFFSET \(compiler.parameter(.integer(Int64(request.offset))))"
    }

    // MARK: Parts

    private mutating func columns() throws(FetchPredicateError) -> [String] {
        var columns: [String] = []
        let count = request.shape.columns.count { if case .toOne = $0.source { true } else { false } }
        let joins = count <= Self.maximumJoinedDestinations
        for column in request.shape.columns {
            switch column.source {
            case .attribute(let attribute): columns.append("\(root).\(SQLText.quoted(attribute.columnName))")
            case .toOne(let relationship):
                columns.append(try identity(relationship, joins: joins))
            case .toMany(let relationship): lists.append(FetchQuery.identities(relationship, request.model))
            case .expression(let expression):
                columns.append(try compiler.expression(expression.identified(in: request.model)))
            }
        }
        return columns
    }

    /// Above so many to-one relationships the identities are subqueries: conditions and orders need the joins, of which
    /// SQLite has 64 at most.
    private static let maximumJoinedDestinations = 16

    /// Returns the identity of a relationship's destination.
    private mutating func identity(
        _ relationship: Relationship, joins: Bool
    ) throws(FetchPredicateError) -> String {
        let destination = request.model.entities[relationship.destinationIndex]
        let identity = SQLText.quoted(destination.identity.columnName)
        if joins { return "\(try compiler.alias([relationship], 0)).\(identity)" }
        let table = SQLText.quoted(destination.tableName)
        return "(SELECT d.\(identity) FROM \(table) d WHERE d.pk = \(root).\(SQLText.quoted(relationship.columnName)))"
    }

    private mutating func conditions() throws(FetchPredicateError) -> [String] {
        var terms: [String] = []
        if !request.includesSubentities, request.entity.sharesTable {
            terms.append("\(root)._entity = \(SQLText.literal(request.entity.name))")
        } else if let kind = compiler.kind(0) {
            terms.append(kind)
        }
        if let predicate = request.predicate { terms.append("(\(try compiler.condition(predicate)))") }
        if !request.includesPlaceholders { terms.append("\(root)._placeholder = 0") }
        return terms
    }

    private func joined(_ terms: [String]) -> String { terms.isEmpty ? "1" : terms.joined(separator: " AND ") }

    /// A key of the order in SQL.
    private struct OrderTerm {
        let text: String
        let isDecimal: Bool
        let isDescending: Bool

        var ordered: String { isDecimal ? "\(text) COLLATE \(DecimalCollation.name)" : text }
        var ordering: String { ordered + (isDescending ? " DESC" : "") }
    }

    private mutating func order() throws(FetchPredicateError) -> [OrderTerm] {
        var order: [OrderTerm] = []
        for key in request.sort {
            var text = try compiler.expression(key.expression)
            if !key.options.isEmpty { text = "objectgraph_fold(\(text), \(key.options.rawValue))" }
            order.append(
                OrderTerm(text: text, isDecimal: key.expression.type.isDecimal, isDescending: key.isDescending))
        }
        return order
    }

    // MARK: Cursors

    /// The condition that a row comes after a cursor. Missing values come first, or last in a descending order.
    private mutating func position(_ order: [OrderTerm], _ cursor: FetchCursor) -> String {
        let isDescending = order.last?.isDescending ?? false
        var condition = "\(root).pk \(isDescending ? "<" : ">") \(compiler.parameter(.integer(cursor.pk)))"
        for (term, value) in zip(order, cursor.values).reversed() {
            guard !value.isNull else {
                let isSame = "(\(term.text) IS NULL AND \(condition))"
                condition = term.isDescending ? isSame : "(\(term.text) IS NOT NULL OR \(isSame))"
                continue
            }
            let parameter = compiler.parameter(value)
            let missing = term.isDescending ? " OR \(term.text) IS NULL" : ""
            condition = """
                (\(term.ordered) \(term.isDescending ? "<" : ">") \(parameter)\(missing) \
                OR (\(term.text) = \(parameter) AND \(condition)))
                """
        }
        // A bound of the first key by itself, where an index can begin. In a descending order the missing values come
        // last; a second query reads them.
        guard let first = order.first, let value = cursor.values.first, !value.isNull else { return condition }
        let bound = "\(first.ordered) \(first.isDescending ? "<=" : ">=") \(compiler.parameter(value))"
        return "\(bound) AND \(condition)"
    }

    // MARK: Rows

    private mutating func rowsStatement() throws(FetchPredicateError) -> String {
        let columns = try columns()
        let order = try order()
        return "\(try rowsSelection(columns))\(ordering(order))\(limit())"
    }

    private func ordering(_ order: [OrderTerm]) -> String {
        var keys = order.map(\.ordering)
        if !request.isOfRows {
            keys.append("\(root).pk\(order.last?.isDescending == true ? " DESC" : "")")
        }
        return keys.isEmpty ? "" : " ORDER BY \(keys.joined(separator: ", "))"
    }

    private mutating func rowsSelection(_ columns: [String]) throws(FetchPredicateError) -> String {
        let terms = try conditions()
        var groups: [String] = []
        for group in request.groupBy { groups.append(try compiler.expression(group)) }
        let having: String? = if let having = request.having { try compiler.condition(having) } else { nil }
        var sql = "SELECT \(request.isDistinct ? "DISTINCT " : "")\(columns.joined(separator: ", "))"
        sql += " FROM \(compiler.scopes.from(0)) WHERE \(joined(terms))"
        if !groups.isEmpty {
            sql += " GROUP BY \(groups.joined(separator: ", "))"
        }
        if let having { sql += " HAVING \(having)" }
        return sql
    }

    private mutating func countStatement() throws(FetchPredicateError) -> String {
        guard request.isOfRows else {
            let terms = try conditions()
            return "SELECT count(*) FROM \(compiler.scopes.from(0)) WHERE \(joined(terms))"
        }
        return "SELECT count(*) FROM (\(try rowsSelection(try columns())))"
    }
}

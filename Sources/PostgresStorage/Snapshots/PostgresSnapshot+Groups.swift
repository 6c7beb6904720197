// Requests whose rows are groups, aggregates, or values without repeats.
extension PostgresSnapshot {
    func groupedRows(_ request: CheckedFetchRequest, limit: Int?) throws -> [[FetchedContent]]? {
        guard let (selection, kinds) = selection(ofGroups: request, limit: limit) else { return nil }
        return try all(selection.query, selection.sql) { row in
            kinds.indices.map { .value(row.value($0, kinds[$0])) }
        }
    }

    func groupedRowCount(_ request: CheckedFetchRequest) throws -> Int? {
        guard let ((query, sql), _) = selection(ofGroups: request, limit: nil) else { return nil }
        return Int(try integer(query, "SELECT count(*) FROM (\(sql)) AS q"))
    }

    /// Returns nil where the evaluator has to make the rows.
    func selection(ofGroups request: CheckedFetchRequest, limit: Int?) -> (Selection, kinds: [ColumnKind])? {
        if request.isDistinct, request.isGrouped { return nil }
        var conditions = PostgresConditions(request, tables)
        guard conditions.add(request.predicate), let groups = try? PostgresGroups(request, &conditions) else {
            return nil
        }
        let from = conditions.scopes.from(0)
        var query = conditions.query
        let page = limit.map { " LIMIT \(query.parameter(Int64($0)))" } ?? ""
        let sql = "SELECT \(groups.selection) FROM \(from) WHERE \(query.condition) \(groups.end)\(page)"
        return ((query, sql), groups.kinds)
    }
}

/// The columns and groups of a request, where the server makes them exactly as the evaluator does.
struct PostgresGroups {
    private var keys: [String] = []
    private var columns: [String] = []
    private(set) var kinds: [ColumnKind] = []
    private let having: String?
    private let order: String

    /// - Throws: ``PostgresConditions/Unjudged`` where the evaluator has to make the groups.
    init(_ request: CheckedFetchRequest, _ conditions: inout PostgresConditions) throws(PostgresConditions.Unjudged) {
        let expressions = request.shape.columns.map { Self.expression($0, of: request) }
        for key in request.isGrouped ? request.groupBy : expressions.compactMap({ $0 }) {
            keys.append(try conditions.expression(key).sql)
        }
        for (column, key) in zip(request.shape.columns, expressions) {
            // The identity of a destination follows from its key.
            guard case .toOne(let relationship) = column.source, request.isGrouped, let key else { continue }
            let path = ResolvedPath(
                scope: 0, origin: request.entity.index, steps: [], to: relationship, in: request.model)
            let reference = TypedExpression(node: .path(path), type: path.type)
            if try !keys.contains(conditions.expression(reference).sql) { throw PostgresConditions.Unjudged() }
            keys.append(try conditions.expression(key).sql)
        }
        conditions.groupKeys = Set(keys)
        for expression in expressions {
            let compiled = try conditions.expression(try PostgresConditions.given(expression))
            columns.append(compiled.kind.selected(compiled.sql))
            kinds.append(compiled.kind)
        }
        having = if let predicate = request.having { try conditions.condition(predicate) } else { nil }
        order = try PostgresConditions.given(PostgresOrder(request.sort, &conditions, end: "min(t.pk)")).sql
    }

    /// The values of a column; nil of a list.
    private static func expression(_ column: FetchShape.Column, of request: CheckedFetchRequest) -> TypedExpression? {
        let (steps, end): ([Relationship], ResolvedPath.End)
        switch column.source {
        case .expression(let expression): return expression.identified(in: request.model)
        case .toMany: return nil
        case .attribute(let attribute): (steps, end) = ([], .attribute(attribute))
        case .toOne(let relationship):
            (steps, end) = ([relationship], .attribute(request.model.entities[relationship.destinationIndex].identity))
        }
        let path = ResolvedPath(scope: 0, origin: request.entity.index, steps: steps, end: end)
        return TypedExpression(node: .path(path), type: .value(column.type))
    }

    var selection: String { columns.joined(separator: ", ") }

    /// The clauses behind WHERE. A group without objects has a row only where the whole request is one group.
    var end: String {
        let grouping = keys.isEmpty ? "" : "GROUP BY \(keys.joined(separator: ", ")) "
        return grouping + (having.map { "HAVING \($0) " } ?? "") + "ORDER BY \(order)"
    }
}

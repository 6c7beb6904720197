// Objects and rows of fetch requests.
extension PostgresSnapshot {
    private static let batchSize: Int64 = 1000

    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Void) throws {
        let table = tables[request.entity.index]
        var last = Int64.min
        while true {
            var query = PostgresQuery()
            query.add("t.pk >", last)
            addKind(request, to: &query)
            let conditions = PostgresConditions(model: model, table: table)
            if let predicate = request.predicate, let condition = conditions.superset(predicate, &query) {
                query.add(condition)
            }
            let limit = query.parameter(Self.batchSize)
            let rows = try all(
                query,
                """
                SELECT \(table.selection("t")) FROM \(table.name) t WHERE \(query.condition) ORDER BY t.pk LIMIT \(limit)
                """
            ) { table.row($0) }
            guard let end = rows.last?.pk else { return }
            last = end
            try body(rows)
        }
    }

    func page(
        _ request: CheckedFetchRequest, after place: FetchPosition?, offset: Int, limit: Int
    ) throws -> [StoredRow]? {
        let table = tables[request.entity.index]
        guard let order = PostgresOrder(request.sort, table), var query = exactQuery(request) else { return nil }
        if let place, !order.add(after: place, to: &query) { return nil }
        let page = (query.parameter(Int64(limit)), query.parameter(Int64(offset)))
        return try all(
            query,
            """
            SELECT \(table.selection("t")) FROM \(table.name) t WHERE \(query.condition) \
            ORDER BY \(order.sql) LIMIT \(page.0) OFFSET \(page.1)
            """
        ) { table.row($0) }
    }

    func exactCount(_ request: CheckedFetchRequest) throws -> Int? {
        guard let query = exactQuery(request) else { return nil }
        let table = tables[request.entity.index]
        return Int(try integer(query, "SELECT count(*) FROM \(table.name) t WHERE \(query.condition)"))
    }

    /// The conditions of a request, or nil where the evaluator has to judge them.
    private func exactQuery(_ request: CheckedFetchRequest) -> PostgresQuery? {
        var query = PostgresQuery()
        addKind(request, to: &query)
        guard let predicate = request.predicate else { return query }
        let conditions = PostgresConditions(model: model, table: tables[request.entity.index])
        guard let condition = conditions.exact(predicate, &query) else { return nil }
        query.add(condition)
        return query
    }

    /// Adds the conditions on entities and placeholders.
    private func addKind(_ request: CheckedFetchRequest, to query: inout PostgresQuery) {
        if !request.includesPlaceholders { query.add("NOT t._placeholder") }
        let isWhole = request.entity.parentIndex == nil && request.includesSubentities
        if request.entity.sharesTable, !isWhole {
            query.add("t._entity IN (\(PostgresText.literals(request.entities.map(\.name))))")
        }
    }
}

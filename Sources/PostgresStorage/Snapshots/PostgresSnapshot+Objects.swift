// Objects and rows of fetch requests.
extension PostgresSnapshot {
    private static let batchSize: Int64 = 1000

    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Void) throws {
        let table = tables[request.entity.index]
        var last = Int64.min
        while true {
            var conditions = PostgresConditions(request, tables)
            conditions.query.add("t.pk >", last)
            _ = conditions.add(request.predicate)
            let from = conditions.from(0)
            var query = conditions.query
            let limit = query.parameter(Self.batchSize)
            let rows = try all(
                query,
                """
                SELECT \(table.selection("t")) FROM \(from) WHERE \(query.condition) ORDER BY t.pk LIMIT \(limit)
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
        var conditions = PostgresConditions(request, tables)
        guard conditions.add(request.predicate), let order = PostgresOrder(request.sort, &conditions) else {
            return nil
        }
        let from = conditions.from(0)
        var query = conditions.query
        if let place, !order.add(after: place, to: &query) { return nil }
        let page = (query.parameter(Int64(limit)), query.parameter(Int64(offset)))
        return try all(
            query,
            """
            SELECT \(table.selection("t")) FROM \(from) WHERE \(query.condition) \
            ORDER BY \(order.sql) LIMIT \(page.0) OFFSET \(page.1)
            """
        ) { table.row($0) }
    }

    func exactCount(_ request: CheckedFetchRequest) throws -> Int? {
        var conditions = PostgresConditions(request, tables)
        guard conditions.add(request.predicate) else { return nil }
        let query = conditions.query
        return Int(try integer(query, "SELECT count(*) FROM \(conditions.from(0)) WHERE \(query.condition)"))
    }
}

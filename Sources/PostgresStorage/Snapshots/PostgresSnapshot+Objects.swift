// Objects of fetch requests, and their number.
extension PostgresSnapshot {
    /// A query, and its statement.
    typealias Selection = (query: PostgresQuery, sql: String)

    private static let batchSize: Int64 = 1000

    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Bool) throws {
        let table = tables[request.entity.index]
        var last = Int64.min
        while true {
            let (query, sql) = selection(ofCandidates: request, after: last)
            let rows = try all(query, sql) { table.row($0) }
            guard let end = rows.last?.pk else { return }
            last = end
            if try !body(rows) { return }
        }
    }

    func selection(ofCandidates request: CheckedFetchRequest, after last: Int64) -> Selection {
        var conditions = PostgresConditions(request, tables)
        conditions.query.add("t.pk >", last)
        _ = conditions.add(request.predicate)
        let from = conditions.scopes.from(0)
        var query = conditions.query
        let limit = query.parameter(Self.batchSize)
        let selection = tables[request.entity.index].selection("t")
        return (query, "SELECT \(selection) FROM \(from) WHERE \(query.condition) ORDER BY t.pk LIMIT \(limit)")
    }

    func page(
        _ request: CheckedFetchRequest, after place: FetchPosition?, offset: Int, limit: Int
    ) throws -> [StoredRow]? {
        let table = tables[request.entity.index]
        guard let (query, sql) = selection(ofPage: request, after: place, offset: offset, limit: limit) else {
            return nil
        }
        return try all(query, sql) { table.row($0) }
    }

    /// Returns nil where the server does not judge or order the objects exactly.
    func selection(
        ofPage request: CheckedFetchRequest, after place: FetchPosition?, offset: Int, limit: Int
    ) -> Selection? {
        var conditions = PostgresConditions(request, tables)
        guard conditions.add(request.predicate), let order = PostgresOrder(request.sort, &conditions) else {
            return nil
        }
        let from = conditions.scopes.from(0)
        var query = conditions.query
        if let place, !order.add(after: place, to: &query) { return nil }
        let page = (query.parameter(Int64(limit)), query.parameter(Int64(offset)))
        return (
            query,
            """
            SELECT \(tables[request.entity.index].selection("t")) FROM \(from) WHERE \(query.condition) \
            ORDER BY \(order.sql) LIMIT \(page.0) OFFSET \(page.1)
            """
        )
    }

    func exactCount(_ request: CheckedFetchRequest) throws -> Int? {
        guard let (query, sql) = selection(ofCount: request) else { return nil }
        return Int(try integer(query, sql))
    }

    /// Returns nil where the server does not judge the objects exactly.
    func selection(ofCount request: CheckedFetchRequest) -> Selection? {
        var conditions = PostgresConditions(request, tables)
        guard conditions.add(request.predicate) else { return nil }
        let query = conditions.query
        return (query, "SELECT count(*) FROM \(conditions.scopes.from(0)) WHERE \(query.condition)")
    }
}

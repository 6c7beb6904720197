// The server's plan of a request.
extension PostgresSnapshot: RequestExplainer {
    func explain(_ request: CheckedFetchRequest, counting: Bool) throws -> FetchExplanation {
        let exact = exactSelection(request, counting: counting)
        let (query, sql) = exact ?? selection(ofCandidates: request, after: .min)
        var statement = try query.statement(sql)
        statement.sql = "EXPLAIN (COSTS OFF) " + sql
        let lines = try run(statement).rows.map { $0.text(0) }
        let steps = lines.map { $0.drop { " ->".contains($0) } }
        return FetchExplanation(
            sql: sql, valueCount: statement.places.count,
            steps: lines + (exact == nil ? ["then condition, order and groups in memory, over these rows"] : []),
            usesIndex: steps.first { $0.hasSuffix(" t") }.map { !$0.contains("Seq Scan") } ?? false,
            sorts: steps.contains("Sort") || steps.contains("Incremental Sort") || exact == nil && !request.sort.isEmpty
        )
    }

    /// The statement of a request that the server carries out by itself.
    private func exactSelection(_ request: CheckedFetchRequest, counting: Bool) -> Selection? {
        if request.isOfRows { return selection(ofGroups: request, limit: request.limit)?.0 }
        if counting { return selection(ofCount: request) }
        return selection(
            ofPage: request, after: request.after?.position, offset: request.offset, limit: request.limit ?? .max)
    }
}

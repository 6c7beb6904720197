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

    /// Adds the conditions on entities and placeholders.
    private func addKind(_ request: CheckedFetchRequest, to query: inout PostgresQuery) {
        if !request.includesPlaceholders { query.add("NOT t._placeholder") }
        let isWhole = request.entity.parentIndex == nil && request.includesSubentities
        if request.entity.sharesTable, !isWhole {
            query.add("t._entity IN (\(PostgresText.literals(request.entities.map(\.name))))")
        }
    }

    func objects(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        try EvaluatedFetch(self, request).objects()
    }

    func objects(
        _ request: CheckedFetchRequest, withOrder: Bool, each: (FetchedObject, [Value]) throws -> Bool
    ) throws {
        try EvaluatedFetch(self, request).forEachObject(withOrder: withOrder, each)
    }

    func batches(_ request: CheckedFetchRequest, size: Int) throws -> any ObjectBatches {
        FetchedBatchesInMemory(try objects(request), size: size)
    }

    func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] { try EvaluatedFetch(self, request).rows() }

    func count(_ request: CheckedFetchRequest) throws -> Int { try EvaluatedFetch(self, request).count() }
}

// Objects and rows of fetch requests.
extension MemorySnapshot: RowSource {
    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Void) throws {
        try body(rows(request.entity.index).all)
    }

    func prepare(_ rows: ArraySlice<StoredRow>) {}

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

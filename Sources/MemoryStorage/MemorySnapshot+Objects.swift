// Objects and rows of fetch requests.
extension MemorySnapshot: RowSource {
    func candidates(_ request: CheckedFetchRequest, body: ([StoredRow]) throws -> Bool) throws {
        _ = try body(rows(request.entity.index).all)
    }

    func prepare(_ rows: ArraySlice<StoredRow>) {}
}

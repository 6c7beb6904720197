extension WriterConnection {
    /// Makes the change that is appended next without an id get `id`, though ids before it may have been purged or
    /// stand for ranges: a row of no meaning takes the id before it.
    ///
    /// - Returns: the id of that row, to be removed after the others are appended; nil where none was needed.
    func markLastChange(before id: Int64, token: Int64) throws(StoreError) -> Int64? {
        if id <= 1 { return nil }
        let last = try statement("SELECT max(id) FROM _history_change")
        defer { last.reset() }
        if try last.step(), !last.isNull(0), last.integer(0) == id - 1 { return nil }
        try appendChange(
            id: id - 1, token: token, entity: "", pk: 0, identity: .null, kind: .update, properties: nil,
            tombstone: nil)
        return id - 1
    }

    /// Removes a row that ``markLastChange(before:token:)`` made.
    func removeChange(id: Int64) throws(StoreError) {
        let statement = try statement("DELETE FROM _history_change WHERE id = ?")
        statement.bind(1, id)
        try statement.run()
    }
}

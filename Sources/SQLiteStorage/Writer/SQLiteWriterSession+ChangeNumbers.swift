extension SQLiteWriterSession {
    /// Lets the next change that is appended without an id get `id`, even if ids before it were purged or stand for ranges. A
    /// row of no meaning takes the id before it.
    ///
    /// - Returns: the id of that row, to be removed after the others are appended; nil where none was needed.
    func markLastChange(before id: Int64, token: Int64) throws(StoreError) -> Int64? {
        if id <= 1 { return nil }
        let last = try statement("SELECT max(id) FROM _history_change")
        defer { last.reset() }
        if try last.step(), !last.isNull(0), last.integer(0) == id - 1 { return nil }
        try run(
            "INSERT INTO _history_change (id, token, entity, object, change) VALUES (?, ?, '', 0, ?)",
            id - 1, token, ChangeKind.update.rawValue)
        return id - 1
    }

    /// Removes a row that ``markLastChange(before:token:)`` made.
    func removeChange(id: Int64) throws(StoreError) {
        try run("DELETE FROM _history_change WHERE id = ?", id)
    }
}

extension HistoryWriter {
    /// Appends ranges for sorted primary keys, however many.
    func append(
        keys: [Int64], entity: Entity, kind: ChangeKind, properties: String?, to store: SQLiteWriterSession
    ) throws(StoreError) {
        for range in HistoryRange.ranges(of: keys, kind: kind, properties: properties) {
            try append(range, entity: entity, to: store)
        }
    }

    /// Appends a range of changes.
    func append(_ range: HistoryRange, entity: Entity, to store: SQLiteWriterSession) throws(StoreError) {
        try store.appendRange(range, id: nextChange, token: try openToken(), entity: entity.name)
        noteAppended(range.count)
    }
}

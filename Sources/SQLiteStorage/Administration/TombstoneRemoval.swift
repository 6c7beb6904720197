extension WriterConnection {
    func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int
    ) throws(StoreError) -> TombstonePurgeResult {
        try TombstoneRemoval(store: self).removeBatch(savedBefore: time, from: sweep, limit: limit)
    }
}

/// Removes tombstones on the writing connection.
private struct TombstoneRemoval {
    let store: WriterConnection

    /// Looks at the next `limit` tombstones of a sweep and removes those that were saved before a time.
    func removeBatch(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int
    ) throws(StoreError) -> TombstonePurgeResult {
        let end = try end(of: sweep, limit: limit)
        let (condition, values) = Self.window(from: sweep, to: end)
        let examined = try store.integer("SELECT count(*) FROM _tombstone WHERE \(condition)") { statement in
            for (index, value) in values.enumerated() { statement.bind(index + 1, value) }
        }
        let removal = try store.statement("DELETE FROM _tombstone WHERE \(condition) AND saved < ?")
        for (index, value) in values.enumerated() { removal.bind(index + 1, value) }
        removal.bind(values.count + 1, time)
        try removal.run()
        return TombstonePurgeResult(
            examinedCount: Int(examined ?? 0), removedCount: Int(store.changedRowCount), next: end)
    }

    /// The last tombstone of a batch that others follow, or nil where the batch reaches the end.
    private func end(of sweep: TombstoneSweep, limit: Int) throws(StoreError) -> TombstoneSweep? {
        let (condition, values) = Self.window(from: sweep, to: nil)
        let statement = try store.statement(
            "SELECT entity, identity FROM _tombstone WHERE \(condition) ORDER BY entity, identity LIMIT 2 OFFSET ?")
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(index + 1, value) }
        statement.bind(values.count + 1, max(1, limit) - 1)
        guard try statement.step() else { return nil }
        var end = TombstoneSweep()
        end.entity = statement.text(0)
        end.identity = statement.value(1)
        return try statement.step() ? end : nil
    }

    private static func window(from start: TombstoneSweep, to end: TombstoneSweep?) -> (String, [Value]) {
        var conditions: [String] = []
        var values: [Value] = []
        if let entity = start.entity {
            conditions.append("(entity, identity) > (?, ?)")
            values += [.text(entity), start.identity]
        }
        if let entity = end?.entity {
            conditions.append("(entity, identity) <= (?, ?)")
            values += [.text(entity), end?.identity ?? .null]
        }
        return (conditions.isEmpty ? "1" : conditions.joined(separator: " AND "), values)
    }
}

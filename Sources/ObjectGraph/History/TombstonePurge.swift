/// A place in the sweep over all tombstones; nil values are the beginning.
public struct TombstoneSweep: Sendable, Equatable {
    var entity: String?
    var identity: Value = .null

    /// Makes a sweep that begins with the first tombstone.
    public init() {}
}

/// The result of one batch of a purge of tombstones.
public struct TombstonePurgeResult: Sendable, Equatable {
    /// The number of examined tombstones.
    public let examinedCount: Int
    /// The number of removed tombstones.
    public let removedCount: Int
    /// The place where the next batch begins, or nil at the end of the sweep.
    public let next: TombstoneSweep?
}

extension WriterContext {
    /// Examines one batch of tombstones, the next `limit` of them, and removes those that were saved before a time.
    ///
    /// A tombstone keeps late events about a deleted object without effect. After its removal a late event counts as any
    /// other: an upsert makes the object again, and a reference makes a placeholder. So keep tombstones for longer than
    /// an event can be late: longer than topics retain records, and than files are replayed.
    ///
    /// - Parameters:
    ///   - time: microseconds since 1970 UTC, by the clock of the save that wrote the tombstone.
    ///   - sweep: the place to begin; ``TombstonePurgeResult/next`` of the previous batch.
    ///   - limit: the number of tombstones to examine.
    /// - Throws: ``StoreError``.
    public func purgeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep = TombstoneSweep(), limit: Int = 10_000
    ) throws(StoreError) -> TombstonePurgeResult {
        try commit()
        return try write("purge tombstones") { store in
            let end = try Self.end(of: sweep, limit: limit, store)
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
    }

    /// The last tombstone of a batch, or nil if no tombstone follows it.
    private static func end(
        of sweep: TombstoneSweep, limit: Int, _ store: WriterConnection
    ) throws(StoreError) -> TombstoneSweep? {
        let (condition, values) = window(from: sweep, to: nil)
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

/// A place in the sweep over all tombstones; nil values are the beginning.
public struct TombstoneSweep: Sendable, Equatable {
    package var entity: String?
    package var identity: Value = .null

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

    package init(examinedCount: Int, removedCount: Int, next: TombstoneSweep?) {
        self.examinedCount = examinedCount
        self.removedCount = removedCount
        self.next = next
    }
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
        return try change("purge tombstones") { session in
            try session.removeTombstones(savedBefore: time, from: sweep, limit: limit)
        }
    }
}

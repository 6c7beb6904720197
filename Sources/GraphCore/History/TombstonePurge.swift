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
    /// The number of removed tombstones; for a mere count, the number of found ones.
    public let removedCount: Int
    /// The place where the next batch begins, or nil at the end of the sweep.
    public let next: TombstoneSweep?

    package init(examinedCount: Int, removedCount: Int, next: TombstoneSweep?) {
        self.examinedCount = examinedCount
        self.removedCount = removedCount
        self.next = next
    }
}

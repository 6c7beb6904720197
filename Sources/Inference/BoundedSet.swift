/// The hashes of distinct values, up to a bound.
package struct BoundedSet: Sendable {
    /// The hashes that are kept.
    package private(set) var hashes: Set<UInt64> = []
    /// Whether there were more distinct values than the bound.
    package private(set) var isBeyondLimit = false
    /// Whether a value came twice.
    private(set) var hasRepeats = false

    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Adds a value, and tells whether it is new and kept.
    @discardableResult mutating func insert(_ hash: UInt64) -> Bool {
        if hashes.contains(hash) {
            hasRepeats = true
            return false
        }
        guard hashes.count < limit else {
            isBeyondLimit = true
            return false
        }
        hashes.insert(hash)
        return true
    }
}

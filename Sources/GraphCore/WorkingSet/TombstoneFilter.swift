/// Tells which identities may have a tombstone, so that a chunk asks the table for few of the identities that it names.
///
/// A Bloom filter with two bits for each tombstone: it errs for one identity in a hundred, and then the table decides. It
/// never misses a tombstone, because the claim makes its session the only writer. Tombstones that go leave their bits.
package struct TombstoneFilter {
    private enum State {
        /// The table has not been read since the store was claimed.
        case unread
        case read(Bits)
        /// There are more tombstones than the filter may hold: each identity is asked for.
        case tooMany
    }

    /// The number of tombstones up to which the filter is kept: a megabyte, and a tenth of a second to read them.
    package static let maximumCount = 250_000

    private var state = State.unread
    /// Whether it was read in the open transaction, which may have removed tombstones before.
    private var isProvisional = false

    package init() {}

    /// Forgets all: another process may have written the store.
    package mutating func discard() { state = .unread }

    /// Begins a filter for so many tombstones, which are inserted next; for too many it stays without them.
    package mutating func begin(count: Int) {
        isProvisional = true
        state = count > Self.maximumCount ? .tooMany : .read(Bits(capacity: 2 * count))
    }

    /// The open transaction is committed.
    package mutating func keep() { isProvisional = false }

    /// The open transaction is undone, or a part of it. So are its removals, which a filter that was read in it misses.
    package mutating func undo() {
        if isProvisional { discard() }
    }

    /// Notes a tombstone that is there or is written.
    package mutating func insert(_ identity: Value, of entity: Entity) {
        guard case .read(var bits) = state else { return }
        // The bits are this copy's own while it changes.
        state = .unread
        bits.insert(identity._rawHashValue(seed: entity.rootIndex))
        // A filter that has filled is read again, with more room.
        if !bits.isFull { state = .read(bits) }
    }

    /// Tells whether tombstones have to be noted.
    package var isRead: Bool {
        if case .read = state { return true }
        return false
    }

    /// Tells whether the tombstones have to be read first.
    package var isUnread: Bool {
        if case .unread = state { return true }
        return false
    }

    /// Returns the identities that may have a tombstone, of the given ones.
    package func candidates(_ identities: [PackedValue], of entity: Entity) -> [PackedValue] {
        guard case .read(let bits) = state else { return identities }
        return identities.filter { bits.mayContain($0.hash(seed: entity.rootIndex)) }
    }

    /// Tells whether an identity may have a tombstone.
    package func mayContain(_ identity: Value, of entity: Entity) -> Bool {
        guard case .read(let bits) = state else { return true }
        return bits.mayContain(identity._rawHashValue(seed: entity.rootIndex))
    }

    /// Two bits for each value among sixteen times as many.
    private struct Bits {
        private var words: [UInt64]
        private let mask: UInt64
        private var room: Int

        init(capacity: Int) {
            let capacity = max(1024, capacity)
            var wordCount = 1
            while wordCount * 4 < capacity { wordCount *= 2 }
            words = Array(repeating: 0, count: wordCount)
            mask = UInt64(wordCount * 64 - 1)
            room = capacity
        }

        var isFull: Bool { room <= 0 }

        private func places(_ hash: Int) -> (UInt64, UInt64) {
            let hash = UInt64(truncatingIfNeeded: hash)
            return (hash & mask, hash >> 32 & mask)
        }

        mutating func insert(_ hash: Int) {
            let (first, second) = places(hash)
            words[Int(first >> 6)] |= 1 << (first & 63)
            words[Int(second >> 6)] |= 1 << (second & 63)
            room -= 1
        }

        func mayContain(_ hash: Int) -> Bool {
            let (first, second) = places(hash)
            return words[Int(first >> 6)] & 1 << (first & 63) != 0 && words[Int(second >> 6)] & 1 << (second & 63) != 0
        }
    }
}

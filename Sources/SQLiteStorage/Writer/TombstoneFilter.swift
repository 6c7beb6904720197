/// Tells which identities may have a tombstone, so that a chunk asks the table for few of the identities that it names.
///
/// A Bloom filter with two bits for each tombstone: it errs for one identity in a hundred, and then the table decides. It
/// never misses a tombstone, because the lease makes its connection the only writer. Tombstones that go leave their bits.
struct TombstoneFilter {
    private enum State {
        /// The table has not been read since the store was claimed.
        case unread
        case read(Bits)
        /// There are more tombstones than the filter may hold: each identity is asked for.
        case tooMany
    }

    /// The number of tombstones up to which the filter is kept: a megabyte, and a tenth of a second to read them.
    static let maximumCount = 250_000

    private var state = State.unread

    /// Forgets all: another process may have written the store.
    mutating func discard() { state = .unread }

    /// Notes a tombstone that is written.
    mutating func insert(_ identity: Value, of entity: Entity) {
        guard case .read(var bits) = state else { return }
        // The bits are this copy's own while it changes.
        state = .unread
        bits.insert(identity, root: entity.rootIndex)
        // A filter that has filled is read again, with more room.
        if !bits.isFull { state = .read(bits) }
    }

    /// Tells whether tombstones have to be noted.
    var isRead: Bool {
        if case .read = state { return true }
        return false
    }

    /// Returns those of some identities that may have a tombstone.
    mutating func candidates(
        _ identities: [Value], of entity: Entity, in store: WriterConnection
    ) throws(StoreError) -> [Value] {
        if case .unread = state { state = try Self.read(store) }
        guard case .read(let bits) = state else { return identities }
        return identities.filter { bits.mayContain($0, root: entity.rootIndex) }
    }

    private static func read(_ store: WriterConnection) throws(StoreError) -> State {
        let count = try store.integer("SELECT count(*) FROM (SELECT 1 FROM _tombstone LIMIT ?)") {
            $0.bind(1, maximumCount + 1)
        }
        guard let count, count <= maximumCount else { return .tooMany }
        var bits = Bits(capacity: 2 * Int(count))
        let statement = try store.statement("SELECT identity FROM _tombstone WHERE entity = ?")
        for root in store.model.rootEntities {
            statement.bind(1, root.rootName)
            while try statement.step() { bits.insert(statement.value(0), root: root.index) }
        }
        return .read(bits)
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

        private func places(_ value: Value, _ root: Int) -> (UInt64, UInt64) {
            let hash = UInt64(truncatingIfNeeded: value._rawHashValue(seed: root))
            return (hash & mask, hash >> 32 & mask)
        }

        mutating func insert(_ value: Value, root: Int) {
            let (first, second) = places(value, root)
            words[Int(first >> 6)] |= 1 << (first & 63)
            words[Int(second >> 6)] |= 1 << (second & 63)
            room -= 1
        }

        func mayContain(_ value: Value, root: Int) -> Bool {
            let (first, second) = places(value, root)
            return words[Int(first >> 6)] & 1 << (first & 63) != 0 && words[Int(second >> 6)] & 1 << (second & 63) != 0
        }
    }
}

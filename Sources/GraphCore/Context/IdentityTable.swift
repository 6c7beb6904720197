/// The identities of one hierarchy that a registry knows, each with its object where there is one.
///
/// Every event looks its identities up several times. The standard library's table compares keys, each in memory of its own;
/// this one compares hashes first. An identity without an object has its place too, so a chunk needs no second table.
final class IdentityTable {
    private struct Entry {
        let hash: Int
        let identity: Value
        var object: ContextObject?
    }

    private var entries: UnsafeMutablePointer<Entry>
    private var capacity = 16
    private var count = 0
    /// The position of an entry plus one, at the place of its hash or behind; 0 where there is none. Half of them are free.
    private var buckets: UnsafeMutablePointer<Int32>
    private var mask = 31
    /// The number of entries that were handed out by ``takeNamed()``.
    private var takenCount = 0

    init() {
        entries = .allocate(capacity: capacity)
        buckets = .allocate(capacity: mask + 1)
        buckets.initialize(repeating: 0, count: mask + 1)
    }

    deinit {
        entries.deinitialize(count: count)
        entries.deallocate()
        buckets.deallocate()
    }

    /// The object of an identity, or nil.
    subscript(identity: Value) -> ContextObject? {
        get { find(identity, identity._rawHashValue(seed: 0)).map { entries[$0].object } ?? nil }
        set {
            let hash = identity._rawHashValue(seed: 0)
            if let known = find(identity, hash) {
                entries[known].object = newValue
            } else if let newValue {
                append(Entry(hash: hash, identity: identity, object: newValue))
            }
        }
    }

    /// Notes an identity that an event names.
    func name(_ identity: Value) {
        let hash = identity._rawHashValue(seed: 0)
        if find(identity, hash) == nil { append(Entry(hash: hash, identity: identity, object: nil)) }
    }

    /// Returns the identities that were named since the last call and have no object, in the order of their naming.
    func takeNamed() -> [Value] {
        var named: [Value] = []
        named.reserveCapacity(count - takenCount)
        for index in takenCount..<count where entries[index].object == nil { named.append(entries[index].identity) }
        takenCount = count
        return named
    }

    /// Makes room for a number of further identities.
    func reserveCapacity(_ further: Int) {
        while capacity < count + further { grow() }
    }

    /// Forgets all identities. Room that was hardly used is given back.
    func removeAll() {
        entries.deinitialize(count: count)
        if capacity > 64, count * 16 < capacity {
            entries.deallocate()
            buckets.deallocate()
            (capacity, mask) = (16, 31)
            entries = .allocate(capacity: capacity)
            buckets = .allocate(capacity: mask + 1)
        }
        buckets.initialize(repeating: 0, count: mask + 1)
        (count, takenCount) = (0, 0)
    }

    private func find(_ identity: borrowing Value, _ hash: Int) -> Int? {
        var bucket = hash & mask
        while true {
            let index = Int(buckets[bucket]) - 1
            if index < 0 { return nil }
            if entries[index].hash == hash, entries[index].identity == identity { return index }
            bucket = (bucket + 1) & mask
        }
    }

    private func append(_ entry: Entry) {
        if count == capacity { grow() }
        (entries + count).initialize(to: entry)
        count += 1
        enter(count - 1)
    }

    private func enter(_ index: Int) {
        var bucket = entries[index].hash & mask
        while buckets[bucket] != 0 { bucket = (bucket + 1) & mask }
        buckets[bucket] = Int32(index + 1)
    }

    private func grow() {
        let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: entries, count: count)
        entries.deallocate()
        buckets.deallocate()
        entries = larger
        capacity *= 2
        mask = capacity * 2 - 1
        buckets = .allocate(capacity: mask + 1)
        buckets.initialize(repeating: 0, count: mask + 1)
        for index in 0..<count { enter(index) }
    }
}

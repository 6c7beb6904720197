/// The identities of one hierarchy that a registry knows, each with its object where there is one.
///
/// Every event looks its identities up several times. The standard library's table compares keys, each in memory of its own;
/// this one compares hashes first. An identity without an object has its place too, so a chunk needs no second table.
final class IdentityTable {
    private struct Entry {
        let hash: Int
        let identity: Value
        var object: ContextObject?
        /// Tells whether ``takeNamed()`` will hand the identity out.
        var isNamed = false
        /// Tells whether ``takeNamed()`` has handed it out.
        var wasNamed = false
    }

    private var entries: UnsafeMutablePointer<Entry>
    private var capacity = 16
    private var count = 0
    /// The position of an entry plus one, at the place of its hash or behind; 0 where there is none. Half of them are free.
    private var buckets: UnsafeMutablePointer<Int32>
    private var mask = 31
    /// The positions of the named entries, in the order of their naming.
    private var named: [Int32] = []

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

    /// Notes an identity whose object is wanted.
    func name(_ identity: Value) {
        let hash = identity._rawHashValue(seed: 0)
        let index: Int
        if let known = find(identity, hash) {
            if entries[known].isNamed || entries[known].object != nil { return }
            index = known
        } else {
            index = count
            append(Entry(hash: hash, identity: identity, object: nil))
        }
        entries[index].isNamed = true
        named.append(Int32(index))
    }

    /// Returns the identities that were named since the last call and have no object, in the order of their naming.
    func takeNamed() -> [Value] {
        var identities: [Value] = []
        identities.reserveCapacity(named.count)
        for index in named.lazy.map({ Int($0) }) {
            entries[index].isNamed = false
            if entries[index].object != nil { continue }
            entries[index].wasNamed = true
            identities.append(entries[index].identity)
        }
        named.removeAll(keepingCapacity: true)
        return identities
    }

    /// Tells whether the store was asked for an identity by its name, and so for its tombstone.
    func wasNamed(_ identity: Value) -> Bool {
        find(identity, identity._rawHashValue(seed: 0)).map { entries[$0].wasNamed } ?? false
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
        count = 0
        named.removeAll(keepingCapacity: true)
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

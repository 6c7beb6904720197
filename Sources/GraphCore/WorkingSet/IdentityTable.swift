/// The identities of one hierarchy that a registry knows, each with its object and its tombstone where there are some.
///
/// Every event looks its identities up once, and then finds them by their places. The standard library's table compares
/// keys, each in memory of its own; this one compares hashes first.
package final class IdentityTable {
    private struct Entry {
        let hash: Int
        let identity: PackedValue
        var object: ContextObject?
        /// The position of the tombstone plus one; 0 where none is known.
        var tombstone: Int32 = 0
        /// The entry that was named next; -1 behind the last one.
        var nextNamed: Int32 = -1
        /// Tells whether ``takeNamed()`` will hand the identity out.
        var isNamed = false
        /// Tells whether ``takeNamed()`` has handed it out.
        var wasNamed = false
    }

    /// The memory of the identities.
    private let arena = ValueArena()
    private var entries: UnsafeMutablePointer<Entry>
    private var capacity = 16
    private var count = 0
    /// The position of an entry plus one, at the place of its hash or behind; 0 where there is none. Half of them are free.
    private var buckets: UnsafeMutablePointer<Int32>
    private var mask = 31
    /// The entries that were named first and last since the last call of ``takeNamed()``; -1 without one.
    private var firstNamed: Int32 = -1
    private var lastNamed: Int32 = -1
    private var namedCount = 0
    private var tombstones: [(place: Int, entry: ObjectRegistry.TombstoneEntry)] = []
    /// Tells whether the tombstone of any identity was known.
    package private(set) var hasTombstones = false

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

    // MARK: Places

    /// Returns the place of an identity, which it keeps until ``removeAll()``; one that is not known gets one.
    func place(of identity: PackedValue) -> Int {
        let hash = identity.hash()
        if let known = find(hash, { $0 == identity }) { return known }
        append(Entry(hash: hash, identity: arena.copy(identity), object: nil))
        return count - 1
    }

    private func place(of identity: Value) -> Int {
        if let known = find(identity) { return known }
        append(Entry(hash: identity._rawHashValue(seed: 0), identity: arena.pack(identity), object: nil))
        return count - 1
    }

    /// The object of the identity at a place, or nil.
    func object(at place: Int) -> ContextObject? { entries[place].object }

    func setObject(_ object: ContextObject?, at place: Int) { entries[place].object = object }

    /// The object of an identity, or nil.
    subscript(identity: PackedValue) -> ContextObject? {
        find(identity.hash()) { $0 == identity }.map { entries[$0].object } ?? nil
    }

    func setObject(_ object: ContextObject, of identity: PackedValue) {
        setObject(object, at: place(of: identity))
    }

    /// The object of an identity, or nil.
    package subscript(identity: Value) -> ContextObject? {
        get { find(identity).map { entries[$0].object } ?? nil }
        set {
            if let place = newValue == nil ? find(identity) : place(of: identity) { setObject(newValue, at: place) }
        }
    }

    // MARK: Tombstones

    /// The tombstone of the identity at a place, or nil.
    func tombstone(at place: Int) -> ObjectRegistry.TombstoneEntry? {
        let position = Int(entries[place].tombstone)
        return position == 0 ? nil : tombstones[position - 1].entry
    }

    /// The tombstone that is known of an identity, or nil.
    package func tombstone(of identity: Value) -> ObjectRegistry.TombstoneEntry? {
        if !hasTombstones { return nil }
        return find(identity).flatMap { tombstone(at: $0) }
    }

    package func setTombstone(_ tombstone: ObjectRegistry.TombstoneEntry?, of identity: Value) {
        guard let tombstone else {
            if let known = find(identity) { entries[known].tombstone = 0 }
            return
        }
        let place = place(of: identity)
        let position = Int(entries[place].tombstone)
        if position > 0 {
            tombstones[position - 1].entry = tombstone
        } else {
            tombstones.append((place, tombstone))
            hasTombstones = true
            entries[place].tombstone = Int32(tombstones.count)
        }
    }

    /// Calls `body` with each tombstone that is known, in the order in which they became known.
    func forEachTombstone(_ body: (Value, ObjectRegistry.TombstoneEntry) -> Void) {
        for (position, (place, tombstone)) in tombstones.enumerated() where entries[place].tombstone == position + 1 {
            body(entries[place].identity.value, tombstone)
        }
    }

    // MARK: Names

    /// Notes an identity whose object is wanted, and returns its place.
    @discardableResult
    func name(_ identity: PackedValue) -> Int { name(at: place(of: identity)) }

    func name(_ identity: Value) { _ = name(at: place(of: identity)) }

    private func name(at place: Int) -> Int {
        if entries[place].isNamed || entries[place].object != nil { return place }
        entries[place].isNamed = true
        entries[place].nextNamed = -1
        if lastNamed < 0 { firstNamed = Int32(place) } else { entries[Int(lastNamed)].nextNamed = Int32(place) }
        lastNamed = Int32(place)
        namedCount += 1
        return place
    }

    /// Returns the identities that were named since the last call and have no object, in the order of their naming. They
    /// are valid until ``removeAll()``.
    func takeNamed() -> [PackedValue] {
        var identities: [PackedValue] = []
        identities.reserveCapacity(namedCount)
        var index = Int(firstNamed)
        while index >= 0 {
            entries[index].isNamed = false
            if entries[index].object == nil {
                entries[index].wasNamed = true
                identities.append(entries[index].identity)
            }
            index = Int(entries[index].nextNamed)
        }
        (firstNamed, lastNamed, namedCount) = (-1, -1, 0)
        return identities
    }

    /// Tells whether the store was asked for an identity by its name, and so for its tombstone.
    func wasNamed(_ identity: Value) -> Bool {
        find(identity).map { entries[$0].wasNamed } ?? false
    }

    /// Makes room for a number of further identities.
    func reserveCapacity(_ further: Int) {
        while capacity < count + further { grow() }
    }

    /// Forgets all objects. Identities keep their tombstones.
    func forgetObjects() {
        for index in 0..<count {
            entries[index].object = nil
            entries[index].isNamed = false
            entries[index].wasNamed = false
        }
        (firstNamed, lastNamed, namedCount) = (-1, -1, 0)
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
        arena.reset()
        (firstNamed, lastNamed, namedCount) = (-1, -1, 0)
        tombstones.removeAll(keepingCapacity: true)
        hasTombstones = false
    }

    private func find(_ identity: Value) -> Int? { find(identity._rawHashValue(seed: 0)) { $0 == identity } }

    @inline(__always)
    private func find(_ hash: Int, _ isWanted: (PackedValue) -> Bool) -> Int? {
        var bucket = hash & mask
        while true {
            let index = Int(buckets[bucket]) - 1
            if index < 0 { return nil }
            if entries[index].hash == hash, isWanted(entries[index].identity) { return index }
            bucket = (bucket + 1) & mask
        }
    }

    private func append(_ entry: consuming Entry) {
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

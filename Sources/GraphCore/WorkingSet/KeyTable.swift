/// The objects of one hierarchy that a registry knows, by their primary keys.
///
/// The standard library's table hashes a key against collisions that somebody chose; the store gives these keys out.
package final class KeyTable {
    private struct Place {
        var key: Int64
        var object: ContextObject?
    }

    /// No object has this key: the store counts up from 1, and editing contexts count down from -1.
    private static let free = Int64.min

    private var places: UnsafeMutablePointer<Place>
    private var mask = 31
    /// The number of places that are taken, also by keys whose objects were removed.
    private var count = 0

    init() { places = Self.makePlaces(mask + 1) }

    deinit {
        places.deinitialize(count: mask + 1)
        places.deallocate()
    }

    private static func makePlaces(_ count: Int) -> UnsafeMutablePointer<Place> {
        let places = UnsafeMutablePointer<Place>.allocate(capacity: count)
        places.initialize(repeating: Place(key: free), count: count)
        return places
    }

    /// The object of a key, or nil.
    package subscript(key: Int64) -> ContextObject? {
        get { places[place(of: key)].object }
        set {
            let place = place(of: key)
            if places[place].key != key {
                if newValue == nil { return }
                places[place].key = key
                count += 1
            }
            places[place].object = newValue
            if count * 4 > (mask + 1) * 3 { grow(to: (mask + 1) * 2) }
        }
    }

    /// The objects, in no order.
    package var values: [ContextObject] { (0...mask).compactMap { places[$0].object } }

    /// Makes room for a number of further objects.
    func reserveCapacity(_ further: Int) {
        var size = mask + 1
        while (count + further) * 4 > size * 3 { size *= 2 }
        if size > mask + 1 { grow(to: size) }
    }

    /// Forgets all objects. Room that was hardly used is given back.
    func removeAll() {
        if count == 0, mask == 31 { return }
        places.deinitialize(count: mask + 1)
        if count * 16 < mask {
            places.deallocate()
            mask = 31
            places = Self.makePlaces(mask + 1)
        } else {
            places.initialize(repeating: Place(key: Self.free), count: mask + 1)
        }
        count = 0
    }

    /// Returns the place of a key, or the free one that it would take.
    private func place(of key: Int64) -> Int {
        // The product's high bits depend on all bits of the key, so keys that follow each other spread.
        var place = Int(truncatingIfNeeded: (UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        while places[place].key != key, places[place].key != Self.free { place = (place + 1) & mask }
        return place
    }

    private func grow(to size: Int) {
        let (former, formerCount) = (places, mask + 1)
        places = Self.makePlaces(size)
        (mask, count) = (size - 1, 0)
        for index in 0..<formerCount where former[index].object != nil {
            // Moved, not copied: the places without an object need no end.
            (places + place(of: former[index].key)).moveUpdate(from: former + index, count: 1)
            count += 1
        }
        former.deallocate()
    }
}

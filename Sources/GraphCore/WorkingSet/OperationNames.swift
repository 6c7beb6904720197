/// The places of the identities that a chunk's operations name, so that each is looked up once.
///
/// An operation's own comes first, then those of its relationships, in their order.
final class OperationNames {
    private var places: UnsafeMutablePointer<Int32>
    private var capacity = 64
    private var count = 0
    /// Where the places of each operation begin.
    private var starts: UnsafeMutablePointer<Int32>
    private var startCapacity = 64
    private var operationCount = 0

    init() {
        places = .allocate(capacity: capacity)
        starts = .allocate(capacity: startCapacity)
    }

    deinit {
        places.deallocate()
        starts.deallocate()
    }

    /// Begins the next operation, whose places are appended next.
    func beginOperation() {
        if operationCount == startCapacity {
            starts = Self.grown(starts, startCapacity)
            startCapacity *= 2
        }
        starts[operationCount] = Int32(count)
        operationCount += 1
    }

    func append(_ place: Int) {
        if count == capacity {
            places = Self.grown(places, capacity)
            capacity *= 2
        }
        places[count] = Int32(place)
        count += 1
    }

    /// The places of an operation, given by its number in the chunk.
    subscript(operation: Int) -> UnsafePointer<Int32> { UnsafePointer(places + Int(starts[operation])) }

    /// Forgets all. Room that was hardly used is given back.
    func removeAll() {
        if capacity > 64, count * 16 < capacity {
            places.deallocate()
            starts.deallocate()
            (capacity, startCapacity) = (64, 64)
            places = .allocate(capacity: capacity)
            starts = .allocate(capacity: startCapacity)
        }
        (count, operationCount) = (0, 0)
    }

    private static func grown(
        _ list: UnsafeMutablePointer<Int32>, _ capacity: Int
    ) -> UnsafeMutablePointer<Int32> {
        let larger = UnsafeMutablePointer<Int32>.allocate(capacity: capacity * 2)
        larger.moveInitialize(from: list, count: capacity)
        list.deallocate()
        return larger
    }
}

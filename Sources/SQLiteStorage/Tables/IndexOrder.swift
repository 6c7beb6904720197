/// The order in which an index holds some values: in it, a long list touches each page of the index once.
///
/// A chunk with random identities touches more pages than the cache holds. In the order of the events SQLite would read
/// most of them several times, and write them to the log as often.
struct IndexOrder {
    /// The positions of the values in this order, or nil where they stand in it or have none here.
    private var positions: [Int]?

    /// Makes the order of so many values, where all are texts or all are whole numbers.
    init(_ count: Int, _ value: (Int) -> PackedValue) {
        guard count > 1, let isText = value(0).isText else { return }
        var places: [Place] = []
        places.reserveCapacity(count)
        var isSorted = true
        for position in 0..<count {
            let each = value(position)
            if each.isText != isText { return }
            let place = Place(each.beginning, position)
            if isSorted, let last = places.last { isSorted = !Self.isAscending(place, last, value) }
            places.append(place)
        }
        if isSorted { return }
        places.sort { Self.isAscending($0, $1, value) }
        positions = places.map(\.position)
    }

    /// The position of the value that comes at a place of the order.
    subscript(place: Int) -> Int { positions?[place] ?? place }

    /// Returns values in the order of their index, where all are texts or all are whole numbers.
    static func sorted(_ values: [PackedValue]) -> [PackedValue] {
        let order = IndexOrder(values.count) { values[$0] }
        return order.positions.map { $0.map { values[$0] } } ?? values
    }

    /// A value's beginning: few comparisons look at the values themselves.
    private struct Place {
        let beginning: IndexBeginning
        let position: Int

        init(_ beginning: IndexBeginning, _ position: Int) {
            (self.beginning, self.position) = (beginning, position)
        }
    }

    private static func isAscending(_ left: Place, _ right: Place, _ value: (Int) -> PackedValue) -> Bool {
        if left.beginning.high != right.beginning.high { return left.beginning.high < right.beginning.high }
        if left.beginning.low != right.beginning.low { return left.beginning.low < right.beginning.low }
        return value(left.position).isBefore(value(right.position)) ?? false
    }
}

/// A text's first 16 bytes, or a whole number, as two numbers that have the order of the index.
private struct IndexBeginning {
    let high: UInt64
    let low: UInt64

    init(_ number: Int64) { (high, low) = (UInt64(bitPattern: number) ^ 1 << 63, 0) }

    init(_ bytes: UnsafeRawBufferPointer) {
        var beginning: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &beginning) { $0.copyBytes(from: bytes.prefix(16)) }
        (high, low) = (beginning.0.bigEndian, beginning.1.bigEndian)
    }
}

extension PackedValue {
    /// Whether the value is a text, or a whole number; nil for others.
    fileprivate var isText: Bool? {
        switch content {
        case .text: true
        case .integer: false
        case .null, .double, .blob: nil
        }
    }

    fileprivate var beginning: IndexBeginning {
        switch content {
        case .text(let bytes): IndexBeginning(bytes)
        case .integer(let number): IndexBeginning(number)
        case .null, .double, .blob: IndexBeginning(0)
        }
    }
}

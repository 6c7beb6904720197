/// The order in which an index holds some values: in it, a long list touches each page of the index once.
///
/// A chunk with random identities touches more pages than the cache holds. In the order of the events SQLite would read
/// most of them several times, and write them to the log as often.
struct IndexOrder {
    /// The positions of the values in this order, or nil where they stand in it or have none here.
    private var positions: [Int]?

    /// Makes the order of so many values, where all are texts or all are whole numbers.
    init(_ count: Int, _ value: (Int) -> Value) {
        guard count > 1, let isText = Self.isText(value(0)) else { return }
        var places: [Place] = []
        places.reserveCapacity(count)
        var isSorted = true
        for position in 0..<count {
            let each = value(position)
            if Self.isText(each) != isText { return }
            let place = Place(each, position)
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
    static func sorted(_ values: [Value]) -> [Value] {
        let order = IndexOrder(values.count) { values[$0] }
        return order.positions.map { $0.map { values[$0] } } ?? values
    }

    /// A value's first bytes, or the whole number: few comparisons look at the texts themselves.
    private struct Place {
        var high: UInt64 = 0
        var low: UInt64 = 0
        let position: Int

        init(_ value: Value, _ position: Int) {
            self.position = position
            switch value {
            case .text(var text):
                var beginning: (UInt64, UInt64) = (0, 0)
                text.withUTF8 { bytes in
                    withUnsafeMutableBytes(of: &beginning) { $0.copyBytes(from: bytes.prefix(16)) }
                }
                (high, low) = (beginning.0.bigEndian, beginning.1.bigEndian)
            case .integer(let number): high = UInt64(bitPattern: number) ^ 1 << 63
            case .null, .double, .blob: break
            }
        }
    }

    private static func isText(_ value: Value) -> Bool? {
        switch value {
        case .text: true
        case .integer: false
        case .null, .double, .blob: nil
        }
    }

    private static func isAscending(_ left: Place, _ right: Place, _ value: (Int) -> Value) -> Bool {
        if left.high != right.high { return left.high < right.high }
        if left.low != right.low { return left.low < right.low }
        guard case .text(let first) = value(left.position), case .text(let second) = value(right.position) else {
            return false
        }
        return Value.order(first, second) < 0
    }
}

/// The order of values that every storage keeps: missing values, numbers, texts by their UTF-8 bytes, bytes.
package enum ValueOrder {
    /// Returns a number below 0, 0 or above 0 if the left value is before, equal to or after the right one.
    ///
    /// - Parameter asDecimals: whether texts are decimals in canonical form.
    package static func compare(_ left: Value, _ right: Value, asDecimals: Bool = false) -> Int {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): return sign(left, right)
        case (.double(let left), .double(let right)): return sign(left, right)
        case (.integer(let left), .double(let right)): return compare(left, right)
        case (.double(let left), .integer(let right)): return -compare(right, left)
        case (.text(let left), .text(let right)):
            return asDecimals ? decimals(left, right) : bytes(left.utf8, right.utf8)
        case (.blob(let left), .blob(let right)): return bytes(left, right)
        default: return sign(rank(left), rank(right))
        }
    }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .integer, .double: 1
        case .text: 2
        case .blob: 3
        }
    }

    private static func sign<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
        left < right ? -1 : left > right ? 1 : 0
    }

    /// Compares exactly, even if a double cannot represent the whole number. NaN comes before all numbers.
    private static func compare(_ whole: Int64, _ number: Double) -> Int {
        if number >= 0x1p63 { return -1 }
        guard number >= -0x1p63 else { return 1 }
        let truncated = Int64(number)
        if whole != truncated { return sign(whole, truncated) }
        return sign(Double(truncated), number)
    }

    private static func bytes(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
        var (first, second) = (left.makeIterator(), right.makeIterator())
        while true {
            switch (first.next(), second.next()) {
            case (let left?, let right?): if left != right { return sign(left, right) }
            case (nil, nil): return 0
            case (nil, _): return -1
            case (_, nil): return 1
            }
        }
    }

    private static func decimals(_ left: String, _ right: String) -> Int {
        Array(left.utf8).withUnsafeBytes { left in
            Array(right.utf8).withUnsafeBytes { Int(DecimalCollation.compare(left, $0)) }
        }
    }
}

/// The order of decimals in their canonical text, exact at any number of digits.
package enum DecimalCollation {
    package static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        let minus = UInt8(ascii: "-")
        switch (left.first == minus, right.first == minus) {
        case (false, false): return magnitude(left[...], right[...])
        case (true, true): return magnitude(right.dropFirst(), left.dropFirst())
        case (true, false): return -1
        case (false, true): return 1
        }
    }

    private static func magnitude(
        _ left: Slice<UnsafeRawBufferPointer>, _ right: Slice<UnsafeRawBufferPointer>
    ) -> Int32 {
        let point = UInt8(ascii: ".")
        let leftWhole = left.prefix { $0 != point }.count
        let rightWhole = right.prefix { $0 != point }.count
        if leftWhole != rightWhole { return leftWhole < rightWhole ? -1 : 1 }
        if left.lexicographicallyPrecedes(right) { return -1 }
        return right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}

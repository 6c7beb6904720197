/// A decimal number of any length: the digits that a text states, and the place of the point.
package struct DecimalDigits: Sendable, Equatable {
    /// The digits as ASCII, without zeros at either end; none for zero.
    private var digits: [UInt8] = []
    /// The number of digits before the point; below zero there are zeros behind it.
    private var magnitude = 0
    private var isNegative = false

    private static let zero = UInt8(ascii: "0")
    /// Greater than any text is long.
    private static let greatestExponent = 1 << 48

    /// Reads a number as JSON has them; nil where the text is none.
    ///
    /// A plus and zeros may stand before it, and one side of the point may have no digit.
    package init?(_ text: some Collection<UInt8>) {
        var rest = text[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        var count = 0
        var point: Int?
        while let byte = rest.first, Self.isDigit(byte) || byte == UInt8(ascii: ".") && point == nil {
            rest.removeFirst()
            if byte == UInt8(ascii: ".") {
                point = count
                continue
            }
            count += 1
            if byte != Self.zero || !digits.isEmpty { digits.append(byte) } else { magnitude -= 1 }
        }
        guard count > 0, let exponent = Self.exponent(rest) else { return nil }
        magnitude += (point ?? count) + exponent
        while digits.last == Self.zero { digits.removeLast() }
        self.isNegative = isNegative && !digits.isEmpty
        if digits.isEmpty { magnitude = 0 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= zero && byte <= UInt8(ascii: "9") }

    /// Reads an exponent, or its absence; nil where something else stands there.
    private static func exponent(_ text: some Collection<UInt8>) -> Int? {
        guard let mark = text.first else { return 0 }
        guard mark | 0x20 == UInt8(ascii: "e") else { return nil }
        var rest = text.dropFirst()
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest = rest.dropFirst() }
        guard !rest.isEmpty, rest.allSatisfy(isDigit) else { return nil }
        let exponent = rest.reduce(0) { min($0 * 10 + Int($1 - zero), greatestExponent) }
        return isNegative ? -exponent : exponent
    }

    /// The number, where it is a whole one of 64 bits with a sign.
    package var wholeNumber: Int64? {
        if digits.isEmpty { return 0 }
        guard digits.count <= magnitude, magnitude <= 19 else { return nil }
        let padded = digits + [UInt8](repeating: Self.zero, count: magnitude - digits.count)
        return Int64((isNegative ? "-" : "") + String(decoding: padded, as: UTF8.self))
    }

    /// The number with the other sign.
    package var negated: Self {
        var number = self
        number.isNegative = !isNegative && !digits.isEmpty
        return number
    }

    /// Tells whether this number is less than another.
    package static func < (left: Self, right: Self) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        let (smaller, greater) = left.isNegative ? (right, left) : (left, right)
        return smaller.isCloserToZero(than: greater)
    }

    private func isCloserToZero(than other: Self) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
        if magnitude != other.magnitude { return magnitude < other.magnitude }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}

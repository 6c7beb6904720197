/// A sum of decimals in the making that never rounds before its end, so that the order of the terms does not matter.
///
/// The result has up to 38 significant digits, as decimals have; a longer one is rounded to 38, halves to the even
/// digit. A result beyond the greatest decimal stays at that bound.
package struct ExactDecimalSum: Sendable {
    /// The digits of a block: as many as a 64-bit number holds with room for a sign.
    private static let width = 18
    private static let base: Int128 = 1_000_000_000_000_000_000
    /// The digits before the point that the greatest decimal has.
    private static let maximumWholeDigits = 165
    private static let maximumDigits = 38

    /// `blocks[i]` counts units of ten to the power of `18 * (i + lowest)`; wide enough for any number of terms.
    private var blocks: [Int128] = []
    private var lowest = 0

    package init() {}

    /// Tells whether nothing was added up but zero.
    package var isZero: Bool { digits().significant.isEmpty }

    /// Adds a canonical decimal text as often as `factor` says; what is no number counts as zero.
    package mutating func add(_ text: String, times factor: Int64 = 1) {
        var text = text
        text.withUTF8 { bytes in
            var bytes = bytes[...]
            var factor = Int128(factor)
            if bytes.first == UInt8(ascii: "-") {
                factor = -factor
                bytes = bytes.dropFirst()
            }
            let point = bytes.firstIndex(of: UInt8(ascii: "."))
            add(whole: bytes[..<(point ?? bytes.endIndex)], factor)
            if let point { add(fraction: bytes[(point + 1)...], factor) }
        }
    }

    package mutating func add(_ number: Int64, times factor: Int64) {
        // In parts below the base of a block.
        let product = Int128(number) * Int128(factor)
        add(product % Self.base, at: 0)
        add(product / Self.base, at: 1)
    }

    package mutating func add(_ other: ExactDecimalSum) {
        for (index, block) in other.blocks.enumerated() { add(block, at: index + other.lowest) }
    }

    private mutating func add(whole bytes: Slice<UnsafeBufferPointer<UInt8>>, _ factor: Int128) {
        var end = bytes.endIndex
        var index = 0
        while end > bytes.startIndex {
            let start = max(bytes.startIndex, end - Self.width)
            add(Self.number(bytes[start..<end]) * factor, at: index)
            end = start
            index += 1
        }
    }

    private mutating func add(fraction bytes: Slice<UnsafeBufferPointer<UInt8>>, _ factor: Int128) {
        var start = bytes.startIndex
        var index = -1
        while start < bytes.endIndex {
            let end = min(bytes.endIndex, start + Self.width)
            var number = Self.number(bytes[start..<end])
            for _ in (end - start)..<Self.width { number *= 10 }
            add(number * factor, at: index)
            start = end
            index -= 1
        }
    }

    private static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int128 {
        var number: Int64 = 0
        for byte in bytes where byte >= 0x30 && byte <= 0x39 { number = number * 10 + Int64(byte - 0x30) }
        return Int128(number)
    }

    private mutating func add(_ number: Int128, at index: Int) {
        if number == 0 { return }
        if blocks.isEmpty { lowest = index }
        while index < lowest {
            blocks.insert(0, at: 0)
            lowest -= 1
        }
        while index - lowest >= blocks.count { blocks.append(0) }
        blocks[index - lowest] += number
    }

    // MARK: The result

    /// The digits without zeros at either end; `exponent` belongs to the last digit.
    fileprivate struct Digits {
        var significant: [UInt8] = []
        var exponent = 0
        var isNegative = false
    }

    fileprivate func digits() -> Digits {
        var result = Digits()
        var carried = Self.carried(blocks)
        if let top = carried.last, top < 0 {
            result.isNegative = true
            carried = Self.carried(blocks.map { -$0 })
        }
        for block in carried.reversed() {
            let text = String(block)
            result.significant += Array(repeating: 0x30, count: Self.width - text.utf8.count) + Array(text.utf8)
        }
        result.exponent = lowest * Self.width
        result.trim()
        return result
    }

    /// Brings all blocks but the last below the base and above zero; the last has the sign of the whole.
    private static func carried(_ blocks: [Int128]) -> [Int128] {
        var carried = blocks
        var index = 0
        while index < carried.count {
            var quotient = carried[index] / base
            if carried[index] % base < 0 { quotient -= 1 }
            let isLast = index == carried.count - 1
            // A last block that is only negative, not too large, carries the sign.
            if isLast, carried[index] < 0, carried[index] > -base { break }
            if quotient != 0 {
                carried[index] -= quotient * base
                if isLast { carried.append(0) }
                carried[index + 1] += quotient
            }
            index += 1
        }
        return carried
    }

    /// Tells whether ``text`` is the sum itself and cannot be a rounded one.
    package var isExact: Bool {
        let digits = digits()
        return digits.significant.count < Self.maximumDigits && digits.fits
    }

    /// The sum as a canonical decimal text.
    package var text: String {
        var digits = digits()
        digits.round(to: Self.maximumDigits)
        if !digits.fits {
            digits.significant = Array(repeating: 0x39, count: Self.maximumDigits)
            digits.exponent = Self.maximumWholeDigits - Self.maximumDigits
        }
        return digits.text
    }
}

extension ExactDecimalSum.Digits {
    fileprivate var fits: Bool { significant.count + exponent <= 165 }

    fileprivate mutating func trim() {
        while significant.last == 0x30 {
            significant.removeLast()
            exponent += 1
        }
        significant = Array(significant.drop { $0 == 0x30 })
    }

    /// Rounds halves to the even digit.
    fileprivate mutating func round(to count: Int) {
        guard significant.count > count else { return }
        let rest = significant[count...]
        let isHalf = rest.first == 0x35 && rest.dropFirst().allSatisfy { $0 == 0x30 }
        let roundsUp = isHalf ? significant[count - 1] % 2 == 1 : (rest.first ?? 0) >= 0x35
        exponent += rest.count
        significant.removeLast(rest.count)
        if roundsUp {
            var index = count - 1
            while index >= 0, significant[index] == 0x39 {
                significant[index] = 0x30
                index -= 1
            }
            if index >= 0 {
                significant[index] += 1
            } else {
                significant.insert(0x31, at: 0)
            }
        }
        trim()
    }

    fileprivate var text: String {
        if significant.isEmpty { return "0" }
        var bytes = significant
        if exponent >= 0 {
            bytes += Array(repeating: 0x30, count: exponent)
        } else if bytes.count > -exponent {
            bytes.insert(UInt8(ascii: "."), at: bytes.count + exponent)
        } else {
            bytes = Array("0.".utf8) + Array(repeating: 0x30, count: -exponent - bytes.count) + bytes
        }
        return (isNegative ? "-" : "") + String(decoding: bytes, as: UTF8.self)
    }
}

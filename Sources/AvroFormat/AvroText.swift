/// The texts of logical types.
package enum AvroText {
    static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    static func uuid(_ bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        for (position, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(position) { text.append(0x2D) }
            text += [hexDigit(byte >> 4), hexDigit(byte & 15)]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Months, days and milliseconds: four bytes each, the lowest first.
    static func duration(_ bytes: ArraySlice<UInt8>) -> String {
        func number(_ index: Int) -> Int64 {
            bytes.dropFirst(4 * index).prefix(4).reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        let milliseconds = number(2)
        return "P\(number(0))M\(number(1))DT\(milliseconds / 1_000).\(padded(milliseconds % 1_000, 3))S"
    }

    /// A number in two's complement, the highest byte first; no bytes stand for zero.
    package static func decimal(_ bytes: ArraySlice<UInt8>, scale: Int) -> String {
        let isNegative = (bytes.first ?? 0) >= 0x80
        var magnitude = isNegative ? bytes.map { ~$0 } : Array(bytes)
        var digits: [UInt8] = []
        while magnitude.contains(where: { $0 != 0 }) {
            var rest = 0
            for position in magnitude.indices {
                rest = rest << 8 | Int(magnitude[position])
                magnitude[position] = UInt8(rest / 10)
                rest %= 10
            }
            digits.append(UInt8(rest))
        }
        if isNegative { addOne(&digits) }
        while digits.count <= scale { digits.append(0) }
        var text = digits.map { $0 + 0x30 }
        if scale > 0 { text.insert(0x2E, at: scale) }
        if isNegative { text.append(0x2D) }
        return String(decoding: text.reversed(), as: UTF8.self)
    }

    /// A number without the zeros at the end of its fraction, whatever its scale.
    package static func shortDecimal(_ bytes: ArraySlice<UInt8>, scale: Int) -> String {
        let digits = decimal(bytes, scale: max(scale, 0))
        if scale <= 0 { return digits == "0" ? digits : digits + String(repeating: "0", count: -scale) }
        let end = digits.utf8.lastIndex { $0 != 0x30 } ?? digits.startIndex
        return String(digits[...end].hasSuffix(".") ? digits[..<end] : digits[...end])
    }

    /// The work on a decimal grows with the square of its bytes.
    package static let largestDecimalBytes = 128
    package static let largestScale = 300

    private static func addOne(_ digits: inout [UInt8]) {
        var position = 0
        while position < digits.count, digits[position] == 9 {
            digits[position] = 0
            position += 1
        }
        if position == digits.count { digits.append(1) } else { digits[position] += 1 }
    }

    /// The date of a day since 1970-01-01 in the proleptic Gregorian calendar.
    static func date(days: Int64) -> String {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return "\(year < 0 ? "-" : "")\(padded(abs(year), 4))-\(padded(month, 2))-\(padded(day, 2))"
    }

    /// A time of day; beyond a day or below zero, where Avro has none and databases have some, as ``clock(_:digits:)``.
    static func time(_ value: Int64, digits: Int) -> String {
        let unit = scale(digits)
        guard (0..<86_400 * unit).contains(value) else { return clock(value, digits: digits) }
        return "\(hours(value / unit)).\(padded(value % unit, digits))"
    }

    /// A time as databases have it, such as `-838:59:59`: with no fraction, milliseconds or microseconds, as it has them.
    package static func clock(_ value: Int64, digits: Int) -> String {
        let unit = scale(digits)
        let (seconds, fraction) = value.magnitude.quotientAndRemainder(dividingBy: UInt64(unit))
        // More digits than six are cut.
        let microseconds = Int64(
            digits > 6 ? fraction / UInt64(scale(digits - 6)) : fraction * UInt64(scale(6 - digits)))
        let isNegative = value < 0 && (seconds > 0 || microseconds > 0)
        let text = (isNegative ? "-" : "") + hours(Int64(seconds))
        if microseconds == 0 { return text }
        return text
            + (microseconds % 1_000 == 0 ? ".\(padded(microseconds / 1_000, 3))" : ".\(padded(microseconds, 6))")
    }

    private static func hours(_ seconds: Int64) -> String {
        "\(padded(seconds / 3_600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
    }

    static func timestamp(_ value: Int64, digits: Int) -> String {
        let day = 86_400 * scale(digits)
        var rest = value % day
        var days = value / day
        if rest < 0 {
            rest += day
            days -= 1
        }
        return "\(date(days: days))T\(time(rest, digits: digits))"
    }

    private static func scale(_ digits: Int) -> Int64 { (0..<digits).reduce(1) { unit, _ in unit * 10 } }

    package static func padded(_ value: Int64, _ width: Int) -> String {
        let text = value.description
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

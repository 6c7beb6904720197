/// Reads and writes instants as text; an instant is a count of microseconds since 1970-01-01T00:00:00Z.
///
/// Days follow the proleptic Gregorian calendar, and no day has a leap second.
public enum Timestamp {
    /// Reads an RFC 3339 / ISO 8601 date or date with time.
    ///
    /// - a date: `2004-07-01` or `2004-07-01Z`, alone for midnight UTC
    /// - `T`, `t` or a space, then `hh:mm` or `hh:mm:ss`
    /// - after the seconds a point or comma with 1 to 9 digits, cut (not rounded) to microseconds
    /// - `Z`, `z`, `±hh:mm`, `±hhmm` or `±hh`
    ///
    /// A leap second, 23:59:60 UTC, is the first second of the next day. Years 0001 to 9999, counted in UTC.
    ///
    /// - Parameters:
    ///   - bytes: the whole text, UTF-8, without white space around it.
    ///   - assumesUTC: whether a time without an offset is accepted, as UTC. A date alone always is.
    /// - Returns: microseconds since 1970 UTC, or nil where the text is no such instant.
    public static func microseconds(utf8 bytes: UnsafeBufferPointer<UInt8>, assumesUTC: Bool = false) -> Int64? {
        guard bytes.count >= 10, let base = bytes.baseAddress else { return nil }
        if bytes.count == 24, let instant = commonForm(base) { return instant }
        guard let days = days(base) else { return nil }
        let isDate = bytes.count == 10 || bytes.count == 11 && base[10] | 0x20 == UInt8(ascii: "z")
        if isDate { return days * microsecondsPerDay }
        var reader = TimeReader(base: base, position: 10, end: bytes.count)
        guard let time = reader.readTime(), let offset = reader.readOffset(assumesUTC: assumesUTC) else { return nil }
        let seconds = days * 86_400 + time.seconds - offset
        if time.isLeapSecond && floorRemainder(seconds, 86_400) != 0 { return nil }
        guard seconds >= firstSecond, seconds <= lastSecond else { return nil }
        return seconds * 1_000_000 + time.microseconds
    }

    /// Reads an instant from a string; see `microseconds(utf8:assumesUTC:)`.
    public static func microseconds(_ text: String, assumesUTC: Bool = false) -> Int64? {
        var text = text
        return text.withUTF8 { microseconds(utf8: $0, assumesUTC: assumesUTC) }
    }

    /// Reads an instant, or an age before `now`: a whole number with the unit `s`, `m`, `h`, `d` or `w`.
    ///
    /// - Parameter now: microseconds since 1970 UTC.
    /// - Returns: microseconds since 1970 UTC, or nil where the text is neither, or an age is from before the year 1.
    package static func microseconds(timeOrAge text: String, now: Int64) -> Int64? {
        let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ seconds[$0] }) else { return microseconds(text) }
        let digits = text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let count = Int64(digits)
        else { return nil }
        let (age, isTooLong) = count.multipliedReportingOverflow(by: unit * 1_000_000)
        return !isTooLong && range.contains(now - age) ? now - age : nil
    }

    /// Tells whether the instant of a text is the time that it states, without a leap second and a part of a microsecond.
    static func keepsTime(of text: String) -> Bool {
        let time = text.utf8.dropFirst(11)
        if time.dropFirst(6).starts(with: "60".utf8) { return false }
        guard let point = time.firstIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") }) else {
            return true
        }
        let fraction = time[point...].dropFirst().prefix { (0x30...0x39).contains($0) }
        return fraction.dropFirst(6).allSatisfy { $0 == UInt8(ascii: "0") }
    }

    static let microsecondsPerDay: Int64 = 86_400_000_000
    /// Days from 0001-01-01 to 1970-01-01.
    static let daysBefore1970: Int64 = 719_162
    private static let firstSecond: Int64 = -daysBefore1970 * 86_400
    private static let lastSecond: Int64 = 253_402_300_799

    /// Tells whether a stored date lies in the years that texts can state.
    static func isInRange(_ value: Value) -> Bool {
        guard case .integer(let time) = value else { return false }
        return range.contains(time)
    }

    /// The stored dates that texts can state.
    package static let range = firstSecond * 1_000_000...(lastSecond + 1) * 1_000_000 - 1

    /// Days before a month's first in a year without a 29 February.
    static func daysBefore(month: Int) -> Int {
        // (367 * month - 362) / 12 counts months of 30 and 31 days as if February had 30.
        (367 * month - 362) / 12 - (month > 2 ? 2 : 0)
    }

    static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func floorRemainder(_ value: Int64, _ divisor: Int64) -> Int64 {
        let remainder = value % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }

    /// Reads the form that most programs write, `2004-07-01T12:30:00.250Z`, in three words; nil for any other.
    private static func commonForm(_ base: UnsafePointer<UInt8>) -> Int64? {
        // Each byte less the one of a form of zeros: a digit's number, and zero for the other marks.
        func digits(_ offset: Int, _ zeros: UInt64, marks: UInt64) -> UInt64? {
            let word = UnsafeRawPointer(base).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let digits = UInt64(littleEndian: word) ^ zeros
            let others = (digits | (digits &+ 0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 | (digits & marks)
            return others == 0 ? digits : nil
        }
        // "0000-00-", "00T00:00" and ":00.000Z", whose first byte is the lowest.
        guard let date = digits(0, 0x2D30_302D_3030_3030, marks: 0xFF00_00FF_0000_0000),
            let minutes = digits(8, 0x3030_3A30_3054_3030, marks: 0x0000_FF00_00FF_0000),
            let rest = digits(16, 0x5A30_3030_2E30_303A, marks: 0xFF00_0000_FF00_00FF)
        else { return nil }
        // Two digits that stand side by side as one number, at the place of the first.
        func pair(_ word: UInt64, _ byte: UInt64) -> Int {
            Int(truncatingIfNeeded: (word &* 10 &+ word >> 8) >> (8 * byte) & 0xFF)
        }
        let (hour, minute, second) = (pair(minutes, 3), pair(minutes, 6), pair(rest, 1))
        guard hour < 24, minute < 60, second < 60,
            let days = days(year: pair(date, 0) * 100 + pair(date, 2), month: pair(date, 5), day: pair(minutes, 0))
        else { return nil }
        let milliseconds = pair(rest, 4) * 10 + Int(rest >> 48 & 0xFF)
        return days * microsecondsPerDay + Int64((hour * 3600 + minute * 60 + second) * 1000 + milliseconds) * 1000
    }

    private static func days(_ base: UnsafePointer<UInt8>) -> Int64? {
        guard base[4] == 0x2D, base[7] == 0x2D, let century = twoDigits(base), let yearOfCentury = twoDigits(base + 2),
            let month = twoDigits(base + 5), let day = twoDigits(base + 8)
        else { return nil }
        return days(year: century * 100 + yearOfCentury, month: month, day: day)
    }

    /// Returns the days from 1970-01-01 to a date, or nil where there is no such date.
    package static func days(year: Int, month: Int, day: Int) -> Int64? {
        guard year >= 1, month >= 1, month <= 12, day >= 1, day <= lastDay(of: month, year) else { return nil }
        let past = year - 1
        let daysBeforeYear = 365 * past + past / 4 - past / 100 + past / 400
        let daysInYear = daysBefore(month: month) + (month > 2 && isLeap(year) ? 1 : 0) + day - 1
        return Int64(daysBeforeYear + daysInYear) - daysBefore1970
    }

    private static func lastDay(of month: Int, _ year: Int) -> Int {
        if month == 2 { return isLeap(year) ? 29 : 28 }
        return 30 + (month + month >> 3) & 1
    }

    fileprivate static func twoDigits(_ base: UnsafePointer<UInt8>) -> Int? {
        let tens = base[0] &- 0x30
        let ones = base[1] &- 0x30
        guard tens < 10, ones < 10 else { return nil }
        return Int(tens) * 10 + Int(ones)
    }
}

/// Reads the part of an instant that follows the date.
private struct TimeReader {
    let base: UnsafePointer<UInt8>
    var position: Int
    let end: Int

    struct Time {
        var seconds: Int64
        var microseconds: Int64
        var isLeapSecond: Bool
    }

    mutating func readTime() -> Time? {
        guard end >= 16, base[13] == 0x3A else { return nil }
        guard base[10] == 0x54 || base[10] == 0x74 || base[10] == 0x20 else { return nil }
        guard let hour = Timestamp.twoDigits(base + 11), let minute = Timestamp.twoDigits(base + 14), hour < 24,
            minute < 60
        else { return nil }
        position = 16
        var second = 0
        var microseconds: Int64 = 0
        if position < end, base[16] == 0x3A {
            guard end >= 19, let read = Timestamp.twoDigits(base + 17), read <= 60 else { return nil }
            second = read
            position = 19
            guard let fraction = readFraction() else { return nil }
            microseconds = fraction
        }
        return Time(
            seconds: Int64(hour * 3600 + minute * 60 + second), microseconds: microseconds, isLeapSecond: second == 60)
    }

    /// Microseconds; digits beyond the sixth are cut.
    private mutating func readFraction() -> Int64? {
        guard position < end, base[position] == 0x2E || base[position] == 0x2C else { return 0 }
        position += 1
        let first = position
        var value: Int64 = 0
        while position < end, base[position] &- 0x30 < 10 {
            if position - first < 6 { value = value * 10 + Int64(base[position] - 0x30) }
            position += 1
        }
        let digits = position - first
        guard digits >= 1, digits <= 9 else { return nil }
        for _ in min(digits, 6)..<6 { value *= 10 }
        return value
    }

    /// Seconds east of UTC; nil where it is malformed or does not end the text.
    mutating func readOffset(assumesUTC: Bool) -> Int64? {
        let rest = end - position
        if rest == 0 { return assumesUTC ? 0 : nil }
        let sign = base[position]
        if rest == 1 { return sign == 0x5A || sign == 0x7A ? 0 : nil }
        guard sign == 0x2B || sign == 0x2D, rest >= 3, let hours = Timestamp.twoDigits(base + position + 1) else {
            return nil
        }
        var minutes: Int? = 0
        switch rest {
        case 3: break
        case 5: minutes = Timestamp.twoDigits(base + position + 3)
        case 6: minutes = base[position + 3] == 0x3A ? Timestamp.twoDigits(base + position + 4) : nil
        default: return nil
        }
        guard hours < 24, let minutes, minutes < 60 else { return nil }
        let seconds = Int64(hours * 3600 + minutes * 60)
        return sign == 0x2D ? -seconds : seconds
    }
}

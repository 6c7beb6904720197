extension Timestamp {
    /// Appends an instant as ISO 8601 in UTC: `2024-01-02T03:04:05Z`, with 3 or 6 digits of fraction where it has one.
    ///
    /// Years outside 0000 to 9999 are written as ISO 8601's expanded years, with a sign and six digits.
    public static func append(_ microseconds: Int64, to output: inout [UInt8]) {
        let fraction = floorRemainder(microseconds, 1_000_000)
        // Dividing first keeps the smallest Int64 from overflowing.
        appendSeconds(microseconds / 1_000_000 - (microseconds % 1_000_000 < 0 ? 1 : 0), to: &output)
        appendFraction(Int(fraction), to: &output)
        output.append(0x5A)
    }

    /// Returns an instant as ISO 8601 in UTC; see `append(_:to:)`.
    public static func text(_ microseconds: Int64) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(32)
        append(microseconds, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Returns an instant as ISO 8601 in UTC, always with 3 digits of fraction.
    package static func text(milliseconds: Int64) -> String {
        var output: [UInt8] = []
        appendSeconds(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0), to: &output)
        output.append(0x2E)
        appendDigits(Int(floorRemainder(milliseconds, 1000)), 3, to: &output)
        output.append(0x5A)
        return String(decoding: output, as: UTF8.self)
    }

    private static func appendSeconds(_ seconds: Int64, to output: inout [UInt8]) {
        let timeOfDay = Int(floorRemainder(seconds, 86_400))
        appendDate(seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0), to: &output)
        output.append(0x54)
        appendDigits(timeOfDay / 3600, 2, to: &output)
        output.append(0x3A)
        appendDigits(timeOfDay / 60 % 60, 2, to: &output)
        output.append(0x3A)
        appendDigits(timeOfDay % 60, 2, to: &output)
    }

    private static func appendFraction(_ microseconds: Int, to output: inout [UInt8]) {
        guard microseconds != 0 else { return }
        output.append(0x2E)
        if microseconds % 1000 == 0 {
            appendDigits(microseconds / 1000, 3, to: &output)
        } else {
            appendDigits(microseconds, 6, to: &output)
        }
    }

    private static func appendDate(_ daysSince1970: Int64, to output: inout [UInt8]) {
        let days = daysSince1970 + daysBefore1970
        // Cycles of 400, 100, 4 and 1 years; the last century of four and the last year of four are a day longer.
        var rest = Int(floorRemainder(days, 146_097))
        let cycles = Int((days - Int64(rest)) / 146_097)
        let centuries = min(rest / 36_524, 3)
        rest -= centuries * 36_524
        let fours = rest / 1461
        rest -= fours * 1461
        let years = min(rest / 365, 3)
        rest -= years * 365
        let year = cycles * 400 + centuries * 100 + fours * 4 + years + 1
        let (month, day) = monthAndDay(dayOfYear: rest, isLeap: isLeap(year))
        if year < 0 || year > 9999 {
            output.append(year < 0 ? 0x2D : 0x2B)
            appendDigits(abs(year), 6, to: &output)
        } else {
            appendDigits(year, 4, to: &output)
        }
        output.append(0x2D)
        appendDigits(month, 2, to: &output)
        output.append(0x2D)
        appendDigits(day, 2, to: &output)
    }

    private static func monthAndDay(dayOfYear: Int, isLeap: Bool) -> (month: Int, day: Int) {
        // The estimate is never too small and at most one month too large.
        var month = min(dayOfYear / 29 + 1, 12)
        var first = daysBefore(month: month) + (month > 2 && isLeap ? 1 : 0)
        while first > dayOfYear {
            month -= 1
            first = daysBefore(month: month) + (month > 2 && isLeap ? 1 : 0)
        }
        return (month, dayOfYear - first + 1)
    }

    private static func appendDigits(_ value: Int, _ count: Int, to output: inout [UInt8]) {
        if count > 2 { appendDigits(value / 100, count - 2, to: &output) }
        if count > 1 { output.append(0x30 + UInt8(truncatingIfNeeded: value / 10 % 10)) }
        output.append(0x30 + UInt8(truncatingIfNeeded: value % 10))
    }
}

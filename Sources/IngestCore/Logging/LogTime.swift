#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Is a time of day in UTC, to the millisecond.
public struct LogTime: Sendable, Equatable, CustomStringConvertible {
    /// Milliseconds since 1970 UTC.
    public let milliseconds: Int64

    /// Creates a time.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Reads the system's clock.
    public static let current: @Sendable () -> LogTime = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Writes the time as `2026-01-02T03:04:05.678Z`.
    public var description: String {
        let day = (milliseconds >= 0 ? milliseconds : milliseconds - 86_399_999) / 86_400_000
        let rest = milliseconds - day * 86_400_000
        let (year, month, date) = Self.civil(daysSince1970: day)
        return "\(Self.padded(year, 4))-\(Self.padded(month, 2))-\(Self.padded(date, 2))"
            + "T\(Self.padded(rest / 3_600_000, 2)):\(Self.padded(rest / 60_000 % 60, 2)):"
            + "\(Self.padded(rest / 1_000 % 60, 2)).\(Self.padded(rest % 1_000, 3))Z"
    }

    /// Turns a day number into a date of the Gregorian calendar, by eras of 400 years that begin in March.
    private static func civil(daysSince1970: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

import AvroFormat
import ObjectGraph

/// The units in which systems count the time since 1970 UTC, or since midnight.
enum TimeUnit: Sendable {
    case days, seconds, milliseconds, microseconds, nanoseconds

    /// Returns a count since 1970 as microseconds, cut downwards, or nil outside of the years 1 to 9999.
    ///
    /// There the unit is another one, and such a time would make every later event stale.
    func microseconds(_ count: Int64) -> Int64? {
        unchecked(count).flatMap { Timestamp.range.contains($0) ? $0 : nil }
    }

    private func unchecked(_ count: Int64) -> Int64? {
        let factor: Int64
        switch self {
        case .days: factor = 86_400_000_000
        case .seconds: factor = 1_000_000
        case .milliseconds: factor = 1000
        case .microseconds: return count
        case .nanoseconds: return count / 1000 - (count % 1000 < 0 ? 1 : 0)
        }
        let (product, overflows) = count.multipliedReportingOverflow(by: factor)
        return overflows ? nil : product
    }

    /// Returns the unit in which a count is a time of this age: below 100,000 it is one of days, below 10^11 of seconds.
    static func likely(for count: Double) -> TimeUnit {
        switch abs(count) {
        case ..<1e5: .days
        case ..<1e11: .seconds
        case ..<1e14: .milliseconds
        case ..<1e17: .microseconds
        default: .nanoseconds
        }
    }

    /// Returns a time of day as `hh:mm:ss` with as many digits of fraction as it has, or nil where it is none.
    func timeOfDay(_ count: Int64) -> String? {
        // 24:00:00 is a time of day to some databases.
        guard let microseconds = microseconds(count), (0...86_400_000_000).contains(microseconds) else { return nil }
        let seconds = microseconds / 1_000_000
        let fraction = microseconds % 1_000_000
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60]
        let time = parts.map { AvroText.padded($0, 2) }.joined(separator: ":")
        if fraction == 0 { return time }
        return time + "." + (fraction % 1000 == 0 ? AvroText.padded(fraction / 1000, 3) : AvroText.padded(fraction, 6))
    }
}

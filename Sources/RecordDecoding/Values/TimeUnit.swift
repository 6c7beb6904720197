import AvroFormat
import GraphCore

/// The units in which systems count the time since 1970 UTC, or since midnight.
package enum TimeUnit: Sendable {
    case days, seconds, milliseconds, microseconds, nanoseconds

    /// Returns a count since 1970 as microseconds, cut downwards, or nil outside of the years 1 to 9999.
    ///
    /// There the unit is another one, and such a time would make every later event stale.
    package func microseconds(_ count: Int64) -> Int64? {
        unchecked(count).flatMap { Timestamp.range.contains($0) ? $0 : nil }
    }

    private func unchecked(_ count: Int64) -> Int64? {
        let factor: Int64
        switch self {
        case .days: factor = 86_400_000_000
        case .seconds: factor = 1_000_000
        case .milliseconds: factor = 1000
        case .microseconds: return count
        case .nanoseconds:
            // Numbers as great as PostgreSQL's infinity, or as 64 bits have, stand for no time.
            if count.magnitude >= Self.infinity { return nil }
            return count / 1000 - (count % 1000 < 0 ? 1 : 0)
        }
        let (product, overflows) = count.multipliedReportingOverflow(by: factor)
        return overflows ? nil : product
    }

    /// PostgreSQL's `infinity` as Debezium writes it, in any unit.
    private static let infinity: UInt64 = 9_223_372_036_825_200_000

    /// Returns the unit in which a count is a time of this age: below 100,000 it is one of days, below 10^11 of seconds. It
    /// is nil for the greatest numbers of 32 and 64 bits, which stand for no time.
    static func likely(for count: Double) -> TimeUnit? {
        switch abs(count) {
        case 2_147_483_647, 2_147_483_648, Double(infinity)...: nil
        case ..<1e5: .days
        case ..<1e11: .seconds
        case ..<1e14: .milliseconds
        case ..<1e17: .microseconds
        default: .nanoseconds
        }
    }

    /// Returns a time of day as `hh:mm:ss` with as many digits of fraction as it has. Databases have times beyond a day
    /// and below zero: `-838:59:59`. It is nil for units that count no times of day.
    func timeOfDay(_ count: Int64) -> String? {
        switch self {
        case .days: nil
        case .seconds: AvroText.clock(count, digits: 0)
        case .milliseconds: AvroText.clock(count, digits: 3)
        case .microseconds: AvroText.clock(count, digits: 6)
        case .nanoseconds: AvroText.clock(count, digits: 9)
        }
    }
}

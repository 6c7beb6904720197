import Foundation

/// The offsets of a time zone from UTC, tabled once from 1900 to 2100, so that no event asks a calendar.
final class ZoneOffsets: Sendable {
    private struct Period {
        /// The first second since 1970 UTC.
        let start: Int64
        let offset: Int64
    }

    private let periods: [Period]

    private static let firstSecond: Int64 = -2_208_988_800
    private static let lastSecond: Int64 = 4_102_444_800
    private static let stepSeconds: Int64 = 7 * 86_400

    /// Makes the table of a zone; nil where no zone has the name.
    init?(_ name: String) {
        guard let zone = TimeZone(identifier: name) else { return nil }
        func offset(_ second: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(second))))
        }
        var periods = [Period(start: .min, offset: offset(Self.firstSecond))]
        var known = periods[0].offset
        for second in stride(from: Self.firstSecond, through: Self.lastSecond, by: Int(Self.stepSeconds)) {
            let found = offset(second)
            if found == known { continue }
            var (low, high) = (second - Self.stepSeconds, second)
            while high - low > 1 {
                let middle = low + (high - low) / 2
                if offset(middle) == known { low = middle } else { high = middle }
            }
            periods.append(Period(start: high, offset: found))
            known = found
        }
        self.periods = periods
    }

    private func offset(at second: Int64) -> Int64 {
        var (low, high) = (0, periods.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if periods[middle].start <= second { low = middle } else { high = middle }
        }
        return periods[low].offset
    }

    /// Returns the instant of a date on the wall, in seconds since 1970 UTC.
    ///
    /// Of the two instants of an hour that comes twice it is the earlier. In an hour that is left out it is as far after
    /// the change as the date is after its beginning.
    func instant(local: Int64) -> Int64 {
        let before = offset(at: local - 86_400)
        let after = offset(at: local + 86_400)
        if offset(at: local - before) == before { return local - before }
        if offset(at: local - after) == after { return local - after }
        return local - before
    }
}

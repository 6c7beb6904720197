import Glibc
import GraphCore

/// Is a time of day in UTC, to the millisecond.
package struct LogTime: Sendable, Equatable, CustomStringConvertible {
    /// Milliseconds since 1970 UTC.
    package let milliseconds: Int64

    /// Reads the system's clock.
    package static let current: @Sendable () -> LogTime = {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// Writes the time as `2026-01-02T03:04:05.678Z`.
    package var description: String { Timestamp.text(milliseconds: milliseconds) }
}

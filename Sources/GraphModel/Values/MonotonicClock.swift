import Glibc

/// A clock that neither jumps nor runs while the machine sleeps.
package enum MonotonicClock {
    private static let origin = now()

    // `SuspendingClock` reads the same clock. Its durations have 128 bits, whose division takes longer than all else.
    private static func now() -> (seconds: Int, nanoseconds: Int) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return (time.tv_sec, time.tv_nsec)
    }

    /// Reads the clock: seconds since its first use.
    package static let seconds: @Sendable () -> Double = {
        // The origin is made at the first use: read it before the clock, or the first time would be negative.
        let start = origin
        let time = now()
        return Double(time.seconds - start.seconds) + Double(time.nanoseconds - start.nanoseconds) / 1e9
    }
}

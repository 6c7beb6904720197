import GraphCore

/// The time by which the worker's loops decide: the system's, or one that a test moves.
package struct WorkerClock: Sendable {
    /// Returns the seconds of a clock that neither jumps nor runs while the machine sleeps.
    package var seconds: @Sendable () -> Double
    /// Returns the time of the calendar, in microseconds since 1970 UTC.
    package var microseconds: @Sendable () -> Int64
    /// Returns a number from 0 to 1, by which the waits of several workers differ.
    package var jitter: @Sendable () -> Double

    /// Makes a clock.
    package init(
        seconds: @escaping @Sendable () -> Double, microseconds: @escaping @Sendable () -> Int64,
        jitter: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        (self.seconds, self.microseconds, self.jitter) = (seconds, microseconds, jitter)
    }

    /// The clocks of the system.
    package static let system = WorkerClock(seconds: MonotonicClock.seconds, microseconds: WriterContext.systemTime)
}

import Synchronization

@testable import IngestCore

/// A clock that a test moves. Each wait by it lasts its whole step.
final class ManualClock: Sendable {
    private let time: Mutex<(seconds: Double, microseconds: Int64)>

    /// Makes a clock that begins in November 2026.
    init(seconds: Double = 0, microseconds: Int64 = 1_795_000_000_000_000) { time = Mutex((seconds, microseconds)) }

    /// The seconds since the clock was made.
    var seconds: Double { time.withLock { $0.seconds } }

    /// The calendar's time, in microseconds since 1970 UTC.
    var microseconds: Int64 { time.withLock { $0.microseconds } }

    /// Sets both clocks, as a person or a daemon does to the calendar's.
    func set(seconds: Double, microseconds: Int64) { time.withLock { $0 = (seconds, microseconds) } }

    /// Lets time pass.
    func pass(seconds: Double) {
        time.withLock { time in
            time.seconds += seconds
            time.microseconds += Int64(seconds * 1_000_000)
        }
    }

    /// The clock as the worker takes it.
    var clock: WorkerClock {
        WorkerClock(seconds: { self.seconds }, microseconds: { self.microseconds }, jitter: { 1 })
    }
}

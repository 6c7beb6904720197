/// Decides how long to wait before the next try: doubled each time up to a limit, with jitter.
package struct Backoff: Sendable {
    private let firstSeconds: Double
    private let maximumSeconds: Double
    private var failures = 0

    /// Makes a back-off whose first step is `firstSeconds` and whose longest is `maximumSeconds`.
    package init(firstSeconds: Double = 0.1, maximumSeconds: Double = 5) {
        self.firstSeconds = firstSeconds
        self.maximumSeconds = maximumSeconds
    }

    /// Notes a failure and returns the seconds to wait.
    ///
    /// - Parameter jitter: a random number from 0 to 1; the wait lies between half and all of its step.
    package mutating func failed(jitter: Double = .random(in: 0...1)) -> Double {
        let step = min(maximumSeconds, firstSeconds * Double(1 << min(failures, 20)))
        failures += 1
        return step * (0.5 + 0.5 * jitter)
    }

    /// Notes a success, after which waits begin short again.
    package mutating func succeeded() { failures = 0 }

    /// The number of failures since the last success.
    package var failureCount: Int { failures }
}

/// Decides when something that recurs is due. Times are in seconds of one monotonic clock.
package struct Recurrence: Sendable {
    private let everySeconds: Double
    private var last: Double?

    /// Makes a recurrence that is due every so many seconds, the first time at once.
    package init(everySeconds: Double) { self.everySeconds = everySeconds }

    /// Tells whether it is due, and if so takes it for done. The first call is due.
    package mutating func isDue(at time: Double) -> Bool {
        if let last, time - last < everySeconds { return false }
        last = time
        return true
    }
}

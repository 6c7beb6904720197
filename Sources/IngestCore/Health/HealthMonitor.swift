import Synchronization

/// Shares a ``HealthState`` between the parts of the worker; safe from any thread.
package final class HealthMonitor: Sendable {
    private let state: Mutex<HealthState>
    private let now: @Sendable () -> Double
    private let redactor: SecretRedactor

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - rules: What the health depends on.
    ///   - secretValues: Texts that no reason may show.
    ///   - now: The clock: monotonic seconds from any origin.
    package init(
        rules: HealthRules = HealthRules(), secretValues: [String] = [],
        now: @escaping @Sendable () -> Double = HealthMonitor.monotonicSeconds
    ) {
        redactor = SecretRedactor(secretValues)
        self.now = now
        state = Mutex(HealthState(rules: rules, at: now()))
    }

    /// Tells an event.
    package func report(_ event: HealthEvent) {
        let time = now()
        state.withLock { $0.apply(event, at: time) }
    }

    /// Says whether the loop goes round.
    package func liveness() -> [HealthCheck] {
        let time = now()
        return state.withLock { $0.liveness(at: time) }
    }

    /// Says whether the worker does its work now.
    package func readiness() -> [HealthCheck] {
        let time = now()
        return state.withLock { $0.readiness(at: time) }.map { check in
            guard let reason = check.reason else { return check }
            return HealthCheck(check.name, failure: redactor.redacted(reason))
        }
    }

    /// The work on the store that the worker waits for, and how far it is.
    package func work() -> StoreWork? {
        let time = now()
        return state.withLock { $0.work(at: time) }
    }

    /// Shows each check of readiness as a gauge, `ingest_check_failed`.
    package func register(in registry: MetricsRegistry) {
        registry.computed("ingest_check_failed", "1 while a check of /readyz fails, else 0.", label: "check") {
            [self] in
            readiness().map { ($0.name, $0.isOK ? 0 : 1) }
        }
    }

    /// Lists the partitions that are not read, with their reasons.
    package func partitionFaults() -> [HealthState.PartitionFault] {
        let time = now()
        var faults = state.withLock { $0.partitionFaults(at: time) }
        for index in faults.indices { faults[index].reason = redactor.redacted(faults[index].reason) }
        return faults
    }

    private static let origin = SuspendingClock.now

    /// Reads a clock that neither jumps nor runs while the machine sleeps.
    package static let monotonicSeconds: @Sendable () -> Double = {
        // The origin is made at the first use: read it before the clock, or the first time would be negative.
        let start = origin
        let (seconds, attoseconds) = (SuspendingClock.now - start).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}

import GraphModel
import Synchronization

/// Shares a ``HealthState`` between the parts of the worker; safe from any thread.
package final class HealthMonitor: Sendable {
    private let state: Mutex<HealthState>
    private let now: @Sendable () -> Double
    private let redactor: SecretRedactor
    private let storeFault = Mutex<(@Sendable () -> String?)?>(nil)

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - rules: What the health depends on.
    ///   - secretValues: Texts that no reason may show.
    ///   - now: The clock: monotonic seconds from any origin.
    package init(
        rules: HealthRules = HealthRules(), secretValues: [String] = [],
        now: @escaping @Sendable () -> Double = MonotonicClock.seconds
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

    /// Lets each answer about the readiness look at the store itself: the worker may be busy, and notice later.
    ///
    /// - Parameter fault: returns the store's fault, or nil for a sound store.
    package func watchStore(_ fault: @escaping @Sendable () -> String?) { storeFault.withLock { $0 = fault } }

    /// Says whether the loop goes round.
    package func liveness() -> [HealthCheck] {
        let time = now()
        return state.withLock { $0.liveness(at: time) }
    }

    /// Says whether the worker does its work now.
    package func readiness() -> [HealthCheck] {
        let time = now()
        let fault = storeFault.withLock(\.self)?()
        return state.withLock { $0.readiness(at: time) }.map { check in
            if check.name == "store", check.isOK, let fault { return HealthCheck(check.name, failure: fault) }
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
        registry.add(Self.failedChecks { [self] in readiness() })
    }

    /// Makes the metric that shows checks of readiness.
    package static func failedChecks(_ checks: @escaping @Sendable () -> [HealthCheck]) -> some Metric {
        ComputedMetric("ingest_check_failed", "1 while a check of /readyz fails, else 0.", label: "check") {
            checks().map { ($0.name, $0.isOK ? 0 : 1) }
        }
    }

    /// Lists the partitions that are not read, with their reasons.
    package func partitionFaults() -> [HealthState.PartitionFault] {
        let time = now()
        var faults = state.withLock { $0.partitionFaults(at: time) }
        for index in faults.indices { faults[index].reason = redactor.redacted(faults[index].reason) }
        return faults
    }
}

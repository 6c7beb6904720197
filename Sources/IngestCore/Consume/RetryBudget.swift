import GraphCore

/// Decides when trying again has lasted too long: a health check has failed for longer than the budget, without a
/// success between.
///
/// Only what is tried again counts: the store, the broker, and the deliveries of notifications and dead letters. Every
/// time is in seconds of one monotonic clock.
package struct RetryBudget: Sendable {
    /// A health check failed for longer than the budget.
    package struct Spent: CodedError, Equatable {
        /// The name of the health check.
        package let check: String
        /// Why it failed the last time.
        package let reason: String
        /// How long it has failed, in whole seconds.
        package let seconds: Int

        package var code: String { "retries.spent" }
        /// The next start tries again.
        package var isRetriable: Bool { true }

        package var message: String { "\(check) has failed for \(counted(seconds, "second")): \(reason)" }
        package var remedy: String { "Nothing is lost: start again, or raise errors.retryTimeoutSeconds" }
    }

    private static let limited: Set = ["store", "decoding", "broker", "publisher", "deadLetters"]

    private let limitSeconds: Double?
    private var failingSince: [String: Double] = [:]

    /// Makes a budget; 0 seconds make one that is never spent.
    package init(limitSeconds: Int) { self.limitSeconds = limitSeconds > 0 ? Double(limitSeconds) : nil }

    /// Notes the present checks, and returns the first check that has failed for too long, or nil.
    package mutating func spent(on checks: [HealthCheck], at time: Double) -> Spent? {
        guard let limitSeconds else { return nil }
        // A check that is not among them has nothing to report.
        for name in Self.limited where !checks.contains(where: { $0.name == name }) { failingSince[name] = nil }
        for check in checks where Self.limited.contains(check.name) {
            guard let reason = check.reason else {
                failingSince[check.name] = nil
                continue
            }
            let since = failingSince[check.name] ?? time
            failingSince[check.name] = since
            if time - since >= limitSeconds {
                return Spent(check: check.name, reason: reason, seconds: Int(time - since))
            }
        }
        return nil
    }
}

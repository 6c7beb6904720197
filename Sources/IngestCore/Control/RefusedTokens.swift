import GraphCore

/// Folds administrative requests without the operator's token into few audit entries, however many there are.
///
/// The first refusal makes an entry at once. Later ones wait for the end of the interval, and make one entry together.
struct RefusedTokens {
    /// The addresses that an entry names.
    static let maximumAddresses = 8
    /// The time between two entries, in seconds of one monotonic clock.
    static let intervalSeconds = 60.0

    private var counts: [String: Int] = [:]
    private var total = 0
    private var firstTime: Int64 = 0
    private var nextEntry = -Double.infinity

    /// Notes a request that was refused for its token.
    ///
    /// - Parameters:
    ///   - address: the client's.
    ///   - time: microseconds since 1970 UTC.
    mutating func note(_ address: String, at time: Int64) {
        if total == 0 { firstTime = time }
        total += 1
        if counts[address] != nil || counts.count < Self.maximumAddresses { counts[address, default: 0] += 1 }
    }

    /// Whether an entry is due.
    func isDue(at now: Double) -> Bool { total > 0 && now >= nextEntry }

    /// Removes and returns the audit entry that is due, or nil.
    mutating func take(at now: Double) -> AuditEntry? {
        guard isDue(at: now) else { return nil }
        let addresses = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let named = addresses.map { "\(JSONText.string($0.key)):\($0.value)" }.joined(separator: ",")
        let rest = total - addresses.reduce(0) { $0 + $1.value }
        let actor = "unknown at \(addresses.map(\.key).joined(separator: ", "))\(rest > 0 ? " and others" : "")"
        var entry = AuditEntry(time: firstTime, actor: actor, action: "http.unauthorized", request: "{\(named)}")
        let requests = counted(total, "request")
        entry.result = AuditEntry.outcome(
            .failed, at: firstTime, code: "http.unauthorized", message: "\(requests) without the operator's token")
        (counts, total, nextEntry) = ([:], 0, now + Self.intervalSeconds)
        return entry
    }
}

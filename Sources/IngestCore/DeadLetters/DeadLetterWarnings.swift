/// Decides which dead letters are logged one by one, and when the others are logged as counts.
///
/// The first of each code in each partition gets a warning of its own. The log reports the others as counts by code, at
/// most every ten seconds.
struct DeadLetterWarnings: Sendable {
    /// The time between two summaries in seconds.
    static let everySeconds = 10.0
    /// The places that are remembered; beyond them records are counted only.
    static let maximumPlaces = 1_000

    private struct Place: Hashable {
        let code: String
        let topic: String
        let partition: Int32
    }

    private var known: Set<Place> = []
    private var counts: [String: Int] = [:]
    private var countedSince = 0.0

    /// Notes a dead letter, and tells whether it gets a warning of its own.
    ///
    /// - Parameter time: a monotonic clock in seconds.
    mutating func note(_ code: String, topic: String, partition: Int32, at time: Double) -> Bool {
        if known.count < Self.maximumPlaces,
            known.insert(Place(code: code, topic: topic, partition: partition)).inserted
        {
            return true
        }
        if counts.isEmpty { countedSince = time }
        counts[DeadLetterCodes.bounded(code, counts), default: 0] += 1
        return false
    }

    /// Returns the counts by code where a summary is due, else nil.
    mutating func tick(at time: Double) -> [String: Int]? {
        counts.isEmpty || time - countedSince < Self.everySeconds ? nil : flush()
    }

    /// Returns the counts by code that the log does not have yet, or nil where there are none.
    mutating func flush() -> [String: Int]? {
        if counts.isEmpty { return nil }
        defer { counts.removeAll() }
        return counts
    }
}

/// Counts dead letters by code, with an example of each.
package struct DeadLetterCodes: Sendable {
    /// How many there are of a code, and the first of them.
    package struct Tally: Sendable {
        /// The number of dead letters.
        package fileprivate(set) var count = 0
        /// Where the first one stood.
        package let place: String
        /// The first letter's reason, with the remedy.
        package let reason: String
    }

    /// Validators of an embedding program may give a code of its own to each record.
    private static let maximumCodes = 100
    private var tallies: [String: Tally] = [:]

    /// The tallies, the greatest count first.
    package var sorted: [(code: String, tally: Tally)] {
        tallies.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { ($0.key, $0.value) }
    }

    mutating func note(_ code: String, place: String, reason: String) {
        tallies[Self.bounded(code, tallies), default: Tally(place: place, reason: reason)].count += 1
    }

    /// Returns the key to count a code under: its own, or `other` where there are too many.
    static func bounded<Value>(_ code: String, _ counts: [String: Value]) -> String {
        counts.count < maximumCodes || counts[code] != nil ? code : "other"
    }
}

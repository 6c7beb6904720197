import GraphCore
import Synchronization

/// Decides when to count something again whose counting takes time: at most a fiftieth of the time goes into it.
struct CountingSchedule: Sendable {
    /// The shortest time between two counts.
    private static let minimumSeconds = 10.0
    private var next = -Double.infinity

    /// Tells whether to count now.
    func isDue(at time: Double) -> Bool { time >= next }

    /// Notes a count that has ended.
    mutating func counted(from start: Double, to end: Double) {
        next = end + max(Self.minimumSeconds, (end - start) * 50)
    }
}

/// Counts the dead letters of the store by code, for the metric of that name.
package final class DeadLetterCensus: Sendable {
    /// The codes that have a series of their own; the others share one.
    static let maximumCodes = 20

    private let store: Store
    private let gauge: GaugeSnapshot
    private let now: @Sendable () -> Double
    /// The longest time of a count: one that takes longer is not known.
    private static let limitSeconds = 60.0
    private let schedule = Mutex(CountingSchedule())

    package init(
        _ store: Store, _ gauge: GaugeSnapshot,
        now: @escaping @Sendable () -> Double = MonotonicClock.seconds
    ) {
        self.store = store
        self.gauge = gauge
        self.now = now
    }

    /// Counts again where it is time to. The count ends once the task is cancelled.
    package func refresh() async {
        let start = now()
        guard schedule.withLock({ $0.isDue(at: start) }) else { return }
        // While the store cannot be read, the count is not known.
        let groups = try? await store.reading(withinSeconds: Self.limitSeconds) {
            try $0.deadLetterGroups(byEntity: false)
        }
        gauge.replace(Self.byCode(groups?.map { ($0.code, $0.count) } ?? []))
        schedule.withLock { $0.counted(from: start, to: now()) }
    }

    /// Adds groups up by code, the greatest count first; those beyond the limit are `other`.
    package static func byCode(_ groups: [(code: String, count: Int)]) -> [(value: String, number: Double)] {
        let sums = Dictionary(groups, uniquingKeysWith: +)
        let sorted = sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let rest = sorted.dropFirst(maximumCodes).reduce(0) { $0 + $1.value }
        let own = sorted.prefix(maximumCodes).map { (value: $0.key, number: Double($0.value)) }
        return rest > 0 ? own + [(value: "other", number: Double(rest))] : own
    }
}

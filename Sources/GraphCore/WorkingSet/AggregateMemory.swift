/// The sums and the numbers of values from which the only writer of a store last computed aggregates.
///
/// An average cannot be added to; its sum and its number of values can. They follow from the rows, so no store keeps
/// them. The writer reads them when it first changes an owner's average, and keeps the sums of the latest owners. Only
/// chunks change them. The writer forgets them when work is undone, and when rows are changed inside the store.
package final class AggregateMemory {
    /// The owners in each of two generations; about 6 MB together.
    package static let generationLimit = 16_384

    private let limit: Int
    private var recent: [AggregateKey: RunningAggregate] = [:]
    private var former: [AggregateKey: RunningAggregate] = [:]

    init(limit: Int = generationLimit) { self.limit = limit }

    /// The aggregate of an owner; setting it makes the owner one of the latest.
    subscript(key: AggregateKey) -> RunningAggregate? {
        get { recent[key] ?? former[key] }
        set {
            recent[key] = newValue
            if newValue == nil { former[key] = nil }
            guard recent.count >= limit else { return }
            (former, recent) = (recent, [:])
        }
    }

    var count: Int { recent.count + former.count }

    package func removeAll() {
        recent.removeAll()
        former.removeAll()
    }
}

/// The values that a chunk brings to, and takes from, the aggregate of one owner.
struct RunningChange {
    let aggregate: DerivedPlan.Aggregate
    private var terms: [(key: Int64, value: Value, factor: Int64)] = []
    /// Whether all terms belong to new objects, whose rows come behind all others. An object that a save inserts again has
    /// its former key. So the last bit of a sum of doubles may differ from a recomputation.
    private(set) var onlyAppends = true

    init(_ aggregate: DerivedPlan.Aggregate) { self.aggregate = aggregate }

    /// Tells whether the aggregate after the change follows from the one before.
    var canBeAdded: Bool { aggregate.upkeep == .running(isExact: true) || onlyAppends }

    mutating func add(_ value: Value, times factor: Int64, of member: ContextObject) {
        onlyAppends = onlyAppends && member.isNew && factor > 0
        terms.append((member.pk, value, factor))
    }

    /// Adds the terms in the order of their objects, as the rows would be added up.
    func add(to running: inout RunningAggregate) {
        for term in terms.sorted(by: { $0.key < $1.key }) { running.add(term.value, times: term.factor) }
    }
}

/// An aggregate of an owner, by the topmost entity of the owner's hierarchy.
struct AggregateKey: KeyHashable {
    let entity: Int
    let pk: Int64
    let slot: Int

    var keyHash: KeyHash { KeyHash(pk, Int64(entity), Int64(slot)) }
}

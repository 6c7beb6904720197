import KafkaClient

/// Decides which partitions stand still: the broker has more of them than was read, and nothing comes.
///
/// A client can forget to fetch a partition that it was assigned; nothing else would tell. Behind the last record there
/// may be offsets without any (markers of transactions, what compaction took), so the end that the client itself has
/// come to counts as read. Times are in seconds of one monotonic clock.
struct FetchWatch: Sendable {
    /// What to do about a partition.
    enum Action: Sendable, Equatable {
        /// The broker has this many offsets more than was read; nothing has come since it was found.
        case tell(TopicPartition, behind: Int64)
        /// It has stood still for long enough: the client has to fetch it anew.
        case fetchAnew(TopicPartition, behind: Int64)
        /// What was told is over.
        case over(TopicPartition)
    }

    private struct State {
        /// The offset that follows the last one of the partition, where the client has come to its end.
        var end: Int64?
        /// Since when it is known to be behind without a sign of life.
        var behindSince: Double?
        var patience = FetchWatch.patienceSeconds
    }

    /// How long a partition may stand still before it is fetched anew. Each time without success the wait doubles.
    static let patienceSeconds = 5.0
    /// The longest wait. It is longer than the client waits for any answer: one that is only slow comes in the end.
    static let longestPatienceSeconds = 160.0

    private var states: [TopicPartition: State] = [:]
    private var over: [TopicPartition] = []

    /// Takes a partition that is read from now on, or from elsewhere; neither is a sign of life.
    mutating func begin(_ partition: TopicPartition) { states[partition, default: State()].end = nil }

    /// Takes a partition that is not read any more.
    mutating func end(_ partition: TopicPartition) {
        hear(partition)
        states[partition] = nil
    }

    /// Takes a record.
    mutating func hear(_ partition: TopicPartition) {
        if states[partition]?.behindSince == nil { return }
        states[partition]?.behindSince = nil
        over.append(partition)
    }

    /// Takes the client's word that it has come to a partition's end.
    mutating func reachEnd(_ partition: TopicPartition, offset: Int64) {
        hear(partition)
        if states[partition] == nil { return }
        states[partition]?.end = offset
        // Only now it is known that fetching works: records may be so large that each takes long.
        states[partition]?.patience = Self.patienceSeconds
    }

    /// Whether a partition is behind and has given no sign of life since.
    var isSuspicious: Bool { states.values.contains { $0.behindSince != nil } }

    /// Takes it that other partitions' records are in the way: silence means nothing then.
    mutating func excuseAll() {
        for partition in states.keys { hear(partition) }
    }

    /// Returns up to where a partition was read.
    func reached(_ partition: TopicPartition, next: Int64?) -> Int64 { max(next ?? 0, states[partition]?.end ?? 0) }

    /// Compares what the broker has with what was read.
    ///
    /// - Parameters:
    ///   - ends: the offsets that follow the partitions' last ones, as of a moment ago.
    ///   - next: the next offset wanted of a partition; nil in it where nothing is known, nil itself where the partition
    ///     is not being read, so that nothing can be expected of it.
    mutating func update(
        ends: [TopicPartition: Int64], at time: Double, next: (TopicPartition) -> Int64??
    ) -> [Action] {
        var actions: [Action] = []
        for (partition, state) in states {
            guard let next = next(partition), let end = ends[partition] else {
                hear(partition)
                continue
            }
            let behind = end - reached(partition, next: next)
            if behind <= 0 {
                hear(partition)
            } else if let since = state.behindSince {
                if time - since < state.patience { continue }
                states[partition]?.behindSince = time
                states[partition]?.patience = min(state.patience * 2, Self.longestPatienceSeconds)
                actions.append(.fetchAnew(partition, behind: behind))
            } else {
                states[partition]?.behindSince = time
                actions.append(.tell(partition, behind: behind))
            }
        }
        defer { over = [] }
        return over.map { .over($0) } + actions
    }
}

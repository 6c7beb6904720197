import KafkaClient

/// Decides which partitions stand still: the broker has more of them than was read, and nothing comes.
///
/// Behind the last record there may be offsets without any (markers of transactions, what compaction took), so the end
/// that the client itself has come to counts as read. Times are in seconds of one monotonic clock.
struct FetchWatch: Sendable {
    /// What to do about a partition.
    enum Action: Sendable, Equatable {
        /// The broker's end is so many offsets further than what was read, and nothing has come since it was found.
        case tell(TopicPartition, behind: Int64)
        /// It has stood still for so long that the client has to fetch it anew.
        case fetchAnew(TopicPartition, behind: Int64)
        /// What was told is over.
        case over(TopicPartition)
    }

    private struct State {
        /// The offset that follows the last one of the partition, where the client has come to its end.
        var end: Int64?
        /// Since when it is known to be behind without a sign of life, and how many polls brought none since.
        var silence: (since: Double, polls: Int)?
        var isTold = false
        var patience: Double
    }

    /// How long a partition may stand still before it is told, beside what the broker may wait for more records.
    static let tellingSeconds = 2.0
    /// How long it may stand still before it is fetched anew, beside the same. Each time without success the wait
    /// doubles, for an answer that only takes long has to come in the end.
    static let patienceSeconds = 5.0
    /// The polls without a sign of life that have to lie in that time: where the worker does not poll, silence means
    /// nothing.
    static let leastPolls = 10

    private let brokerWaitSeconds: Double
    private var states: [TopicPartition: State] = [:]
    private var over: [TopicPartition] = []

    /// Makes a watch of no partition.
    ///
    /// - Parameter brokerWaitSeconds: how long the broker may keep records back for more of them (`fetch.wait.max.ms`).
    init(brokerWaitSeconds: Double = 0.5) { self.brokerWaitSeconds = brokerWaitSeconds }

    /// Takes a partition that is read from now on, or from elsewhere; neither is a sign of life.
    mutating func begin(_ partition: TopicPartition) {
        states[partition, default: State(patience: Self.patienceSeconds)].end = nil
    }

    /// Takes a partition that is not read any more.
    mutating func end(_ partition: TopicPartition) {
        hear(partition)
        states[partition] = nil
    }

    /// Takes a record.
    mutating func hear(_ partition: TopicPartition) {
        guard let state = states[partition], state.silence != nil else { return }
        if state.isTold { over.append(partition) }
        states[partition]?.silence = nil
        states[partition]?.isTold = false
    }

    /// Takes the client's word that it has come to a partition's end.
    mutating func reachEnd(_ partition: TopicPartition, offset: Int64) {
        hear(partition)
        states[partition]?.end = offset
        // Only now it is known that fetching works: records may be so large that each takes long.
        states[partition]?.patience = Self.patienceSeconds
    }

    /// Whether a partition is behind and has given no sign of life since.
    var isSuspicious: Bool { states.values.contains { $0.silence != nil } }

    /// Takes a poll; the signs of life in it are taken after.
    ///
    /// - Parameter isFull: whether more may wait in the client's queue, before what is missed: then silence means nothing.
    mutating func polled(isFull: Bool) {
        for (partition, state) in states where state.silence != nil {
            if isFull { hear(partition) } else { states[partition]?.silence?.polls += 1 }
        }
    }

    /// Returns up to where a partition was read.
    func reached(_ partition: TopicPartition, next: Int64?) -> Int64 { max(next ?? 0, states[partition]?.end ?? 0) }

    /// Compares what the broker has with what was read.
    ///
    /// - Parameters:
    ///   - ends: the offsets that follow the partitions' last ones, as of a moment ago; of one that is absent nothing new
    ///     is known.
    ///   - next: the next offsets wanted of the partitions that are being read, 0 where nothing is known; of one that is
    ///     absent nothing can be expected.
    mutating func update(
        ends: [TopicPartition: Int64], next: [TopicPartition: Int64], at time: Double
    ) -> [Action] {
        var actions: [Action] = []
        for (partition, state) in states {
            guard let next = next[partition] else {
                hear(partition)
                continue
            }
            guard let end = ends[partition] else { continue }
            let behind = end - reached(partition, next: next)
            if behind <= 0 {
                hear(partition)
            } else if let silence = state.silence {
                if silence.polls < Self.leastPolls { continue }
                let seconds = time - silence.since - brokerWaitSeconds
                if seconds >= state.patience {
                    states[partition]?.silence = (time, 0)
                    states[partition]?.patience *= 2
                    actions.append(.fetchAnew(partition, behind: behind))
                } else if !state.isTold, seconds >= Self.tellingSeconds {
                    states[partition]?.isTold = true
                    actions.append(.tell(partition, behind: behind))
                }
            } else {
                states[partition]?.silence = (time, 0)
            }
        }
        defer { over = [] }
        return over.map { .over($0) } + actions
    }
}

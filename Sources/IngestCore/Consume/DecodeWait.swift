import KafkaClient

/// Decides when the partitions are read again of which a record could not be decoded, though it is not at fault.
///
/// Times are in seconds of one monotonic clock.
struct DecodeWait: Sendable {
    /// The partitions that wait.
    private(set) var waiting: Set<TopicPartition> = []
    /// The partitions that are read again, and have not shown a record yet.
    private(set) var retried: Set<TopicPartition> = []
    private var dueSeconds = 0.0
    private var backoff: Backoff

    /// Makes a wait that grows with each failure.
    init(backoff: Backoff = Backoff(firstSeconds: 0.25, maximumSeconds: 10)) { self.backoff = backoff }

    /// Whether every partition is read.
    var isOver: Bool { waiting.isEmpty && retried.isEmpty }

    /// Notes a record that could not be decoded. Partitions that fail while others wait are tried together with them.
    ///
    /// - Parameter jitter: a random number from 0 to 1, see ``Backoff``.
    mutating func failed(_ partition: TopicPartition, at seconds: Double, jitter: Double = .random(in: 0...1)) {
        retried.remove(partition)
        if waiting.isEmpty { dueSeconds = seconds + backoff.failed(jitter: jitter) }
        waiting.insert(partition)
    }

    /// Returns the partitions to read again now, in order.
    mutating func due(at seconds: Double) -> [TopicPartition] {
        guard !waiting.isEmpty, seconds >= dueSeconds else { return [] }
        let due = waiting.sorted()
        retried.formUnion(waiting)
        waiting = []
        return due
    }

    /// Notes that a partition's record was decoded, or that the partition shows no more records. Tells whether the
    /// partition waited.
    mutating func ended(_ partition: TopicPartition) -> Bool {
        if isOver { return false }
        let isWaiting = waiting.remove(partition) != nil
        let isRetried = retried.remove(partition) != nil
        if isOver { backoff.succeeded() }
        return isWaiting || isRetried
    }
}

import IngestCore
import KafkaClient

/// The cluster: topics with their logs, the consumer group, and the time for which it is silent.
struct SimulatedBroker {
    static let input = "events"
    /// A second topic of which each store reads one partition, and one that every store reads whole.
    static let second = "orders"
    static let broadcast = "members"
    static let output = "changes"
    static let failed = "failed"

    let inputs: [TopicPartition]
    var logs: [TopicPartition: SimulatedLog] = [:]
    var group: SimulatedGroup
    /// Until when nobody gets an answer.
    private(set) var silentUntilSeconds = 0.0
    /// Since when nobody has got an answer.
    private(set) var silentFromSeconds = 0.0
    /// The number of deliveries that are refused next, and of those whose acknowledgement is lost.
    var refusedDeliveries = 0
    var lostAcknowledgements = 0
    /// What the broker knows of the transactions into a topic, whose producers have one name.
    var transactions: [TopicPartition: SimulatedTransactions] = [:]
    /// When records of an output topic were lost last.
    private(set) var lostOutputAtSeconds: Double?

    /// - Parameter outputs: the partitions that the workers fill.
    init(_ setup: Setup, outputs: [TopicPartition]) {
        inputs = setup.configuration.topics.flatMap { topic in
            (0..<(topic.broadcast ? setup.broadcastCount : setup.partitionCount)).map { TopicPartition(topic.name, $0) }
        }
        for partition in inputs + outputs { logs[partition] = SimulatedLog() }
        for partition in outputs { transactions[partition] = SimulatedTransactions() }
        group = SimulatedGroup(
            partitions: inputs.filter { $0.topic == Self.input }, isCooperative: setup.isCooperative)
    }

    func high(_ partition: TopicPartition) -> Int64 { logs[partition]?.high ?? 0 }
    func low(_ partition: TopicPartition) -> Int64 { logs[partition]?.low ?? 0 }

    mutating func beSilent(from seconds: Double, until end: Double) {
        if seconds >= silentUntilSeconds { silentFromSeconds = seconds }
        silentUntilSeconds = end
    }

    /// Aborts the transaction of the notifications where it has taken too long.
    mutating func expireTransactions(at seconds: Double) {
        for partition in transactions.keys where transactions[partition]?.expires(at: seconds) ?? false {
            logs[partition]?.endTransaction(aborts: true)
        }
    }

    /// Loses the end of an output topic.
    mutating func loseOutput(_ partition: TopicPartition, from offset: Int64, at seconds: Double) {
        logs[partition]?.lose(from: offset)
        // With a topic the broker deletes the offsets of its groups.
        if offset == 0 { transactions[partition]?.forget() }
        lostOutputAtSeconds = seconds
    }

    /// The partitions of every topic.
    var topics: [String: [ClusterMetadata.Partition]] {
        Dictionary(grouping: logs.keys.sorted(), by: \.topic).mapValues { partitions in
            partitions.map { ClusterMetadata.Partition(number: $0.partition, leader: 1) }
        }
    }
}

extension WorkerConfiguration {
    /// The partitions that a worker fills.
    var outputs: [TopicPartition] {
        [notifications.topic, deadLetters.topic].compactMap { $0.map { TopicPartition($0, 0) } }
    }
}

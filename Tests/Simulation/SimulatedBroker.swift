import KafkaClient

/// The cluster: topics with their logs, the consumer group, and the time for which it is silent.
struct SimulatedBroker {
    static let input = "events"
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
    var transactions = SimulatedTransactions()
    /// When records of an output topic were lost last.
    private(set) var lostOutputAtSeconds: Double?

    init(partitionCount: Int32, isCooperative: Bool) {
        inputs = (0..<partitionCount).map { TopicPartition(Self.input, $0) }
        for partition in inputs + [TopicPartition(Self.output, 0), TopicPartition(Self.failed, 0)] {
            logs[partition] = SimulatedLog()
        }
        group = SimulatedGroup(partitions: inputs, isCooperative: isCooperative)
    }

    func high(_ partition: TopicPartition) -> Int64 { logs[partition]?.high ?? 0 }
    func low(_ partition: TopicPartition) -> Int64 { logs[partition]?.low ?? 0 }

    mutating func beSilent(from seconds: Double, until end: Double) {
        if seconds >= silentUntilSeconds { silentFromSeconds = seconds }
        silentUntilSeconds = end
    }

    /// Aborts the transaction of the notifications where it has taken too long.
    mutating func expireTransactions(at seconds: Double) {
        if transactions.expires(at: seconds) { logs[TopicPartition(Self.output, 0)]?.endTransaction(aborts: true) }
    }

    /// Loses the end of an output topic.
    mutating func loseOutput(_ topic: String, from offset: Int64, at seconds: Double) {
        logs[TopicPartition(topic, 0)]?.lose(from: offset)
        // With a topic the broker deletes the offsets of its groups.
        if topic == Self.output, offset == 0 { transactions.forget() }
        lostOutputAtSeconds = seconds
    }

    /// The partitions of every topic.
    var topics: [String: [ClusterMetadata.Partition]] {
        Dictionary(grouping: logs.keys.sorted(), by: \.topic).mapValues { partitions in
            partitions.map { ClusterMetadata.Partition(number: $0.partition, leader: 1) }
        }
    }
}

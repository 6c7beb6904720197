import GraphCore
import KafkaClient

/// The knowledge of partitions beside their states: from the store, the group and the broker.
struct PartitionReading {
    /// The measures of each assigned partition's lag.
    var lags: [TopicPartition: PartitionLag] = [:]
    /// The partitions that the store has read, as it was asked last.
    private(set) var stored: Set<TopicPartition> = []
    /// The stored partitions that the group did not give to this worker.
    var unassigned: Set<TopicPartition> = []
    /// Which of the broker's partitions the worker reads; nil where the group says.
    var plan: PartitionPlan?
    /// The broker's topics and partition ends, as the probe saw them last.
    let directory: TopicDirectory?
    /// Reads the store's positions; tests let it fail.
    var readPositions: () throws -> [SourcePosition]
    /// Takes partitions over in the store; tests look at it.
    var claimPartitions: ([StorePartition]) throws(StoreError) -> Void

    init(_ writer: WriterContext, plan: PartitionPlan?, directory: TopicDirectory?) {
        self.plan = plan
        self.directory = directory
        readPositions = { [store = writer.store] in try store.read { try $0.positions() } }
        claimPartitions = { partitions throws(StoreError) in try writer.claimPartitions(partitions) }
    }

    /// The store's positions by partition.
    mutating func storedPositions() throws -> [TopicPartition: SourcePosition] {
        let positions = Dictionary(
            try readPositions().map { (TopicPartition($0.topic, $0.partition), $0) },
            uniquingKeysWith: { first, _ in first })
        stored = Set(positions.keys)
        return positions
    }

    /// Makes sure that no other worker saves positions of partitions that are read from now on.
    func claim(_ partitions: some Sequence<TopicPartition>) throws(StoreError) {
        try claimPartitions(partitions.map { StorePartition(topic: $0.topic, partition: $0.partition) })
    }
}

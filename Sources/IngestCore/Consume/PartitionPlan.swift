import KafkaClient

/// Decides which partitions a worker without group reads, from what the broker has.
struct PartitionPlan: Sendable {
    /// The changes that the broker's present topics ask for.
    struct Changes: Sendable, Equatable {
        /// Partitions to read from now on.
        var new: [TopicPartition] = []
        /// Partitions that are wanted and not there, with the reason; the number is -1 where the topic is not.
        var missing: [TopicPartition: String] = [:]
        /// Topics of which no partition falls to this worker.
        var idle: [String] = []
    }

    /// The generation of the news that were taken last.
    var generation = 0
    private let selection: PartitionSelection
    private let topics: [String]
    private var assigned: Set<TopicPartition> = []

    init(selection: PartitionSelection, topics: [String]) {
        self.selection = selection
        self.topics = topics
    }

    /// Takes the partitions of every topic that the broker has.
    ///
    /// A partition that is read once stays so: a topic that vanishes is the consumer's to tell.
    mutating func update(_ known: [String: Set<Int32>]) -> Changes {
        var changes = Changes()
        for topic in topics {
            guard let partitions = known[topic], !partitions.isEmpty else {
                changes.missing[TopicPartition(topic, -1)] = "the broker does not know the topic"
                continue
            }
            let wanted = partitions.filter { selection.contains($0) }.map { TopicPartition(topic, $0) }
            changes.new += wanted.filter { assigned.insert($0).inserted }
            for number in selection.named ?? [] where !partitions.contains(number) {
                changes.missing[TopicPartition(topic, number)] =
                    "the topic has no partition \(number), only \(partitions.count)"
            }
            if wanted.isEmpty { changes.idle.append(topic) }
        }
        changes.new.sort()
        return changes
    }
}

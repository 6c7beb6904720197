import GraphCore
import KafkaClient

/// Decides which partitions a worker without group reads, from the broker's list of partitions.
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
    /// The topics whose partitions all are read, whatever the selection says.
    private let broadcast: Set<String>
    private var assigned: Set<TopicPartition> = []

    init(selection: PartitionSelection, topics: [String], broadcast: Set<String> = []) {
        self.selection = selection
        self.topics = topics
        self.broadcast = broadcast
    }

    /// Notes the partitions of every topic that the broker has.
    ///
    /// A partition that is read once stays so: a topic that vanishes is the consumer's to tell.
    mutating func update(_ known: [String: Set<Int32>]) -> Changes {
        var changes = Changes()
        for topic in topics {
            guard let partitions = known[topic], !partitions.isEmpty else {
                changes.missing[TopicPartition(topic, -1)] = "the broker does not know the topic"
                continue
            }
            let selection = broadcast.contains(topic) ? .all : selection
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

/// Partitions that do not fit their stores.
package struct PartitionError: CodedError {
    /// The kinds of error; the raw values are stable.
    package enum Code: String, Sendable {
        /// A store holds records of partitions which the worker is not to read.
        case foreign = "partitions.foreign"
        /// Topics have different numbers of partitions, and each partition has a store of its own.
        case counts = "partitions.counts"
        /// The group has read a partition whose own store is not there.
        case storeMissing = "partitions.store_missing"
    }

    package let code: Code
    /// The partitions, and what is wrong with them.
    package let message: String
    package let remedy: String
}

extension WorkerConfiguration {
    /// Refuses a store with positions of partitions outside of `kafka.partitions`: another worker may read these, and
    /// one log would be shared out twice.
    ///
    /// - Throws: ``PartitionError``, `StoreError`.
    package func checkPartitions(of store: Store) throws {
        guard let partitions = kafka.partitions, self.store.writers == .one else { return }
        let names = Set(topics.filter { !$0.broadcast }.map(\.name))
        let foreign = try store.read { try $0.positions() }
            .filter { names.contains($0.topic) && !partitions.contains($0.partition) }
            .map { TopicPartition($0.topic, $0.partition) }.sorted()
        if foreign.isEmpty { return }
        let shown = foreign.prefix(5).map(\.description).joined(separator: ", ")
        let more = foreign.count > 5 ? " and \(foreign.count - 5) more" : ""
        throw PartitionError(
            code: .foreign,
            message: "The store at \(store.path) holds records of \(shown)\(more), which kafka.partitions "
                + "(\(partitions)) leaves out",
            remedy: "Name those too, or give these partitions a store of their own, as with "
                + "\(settingOfOwnStore); it is made from the beginning of the topics")
    }
}

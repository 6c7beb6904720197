import GraphCore
import KafkaClient

/// The numbers of partitions that topics have, where each partition has a store of its own.
package struct PartitionCounts {
    private let topics: [String]

    /// Compares these topics.
    package init(of topics: [String]) { self.topics = topics }

    /// Returns the fault of topics that do not have the same number of partitions, or nil.
    ///
    /// - Parameter known: the partitions of every topic that the broker has; a topic that it does not have is no fault.
    package func fault(_ known: [String: Set<Int32>]) -> PartitionError? {
        let counts = topics.compactMap { topic in known[topic].map { (topic, $0.count) } }.filter { $0.1 > 0 }
        guard let most = counts.max(by: { $0.1 < $1.1 }), let least = counts.min(by: { $0.1 < $1.1 }),
            most.1 != least.1
        else { return nil }
        return PartitionError(
            code: .counts,
            message: "The topic \(least.0) has \(counted(least.1, "partition")) and \(most.0) has \(most.1), and each "
                + "partition has one store for all topics",
            remedy: "Add partitions to \(least.0), or give a topic that all stores need 'broadcast: true'")
    }
}

extension PartitionError {
    /// The error of a partition that a group has read up to an offset, and whose own store is not there.
    package static func storeMissing(
        _ place: String, _ partition: TopicPartition, committed: Int64, group: String
    ) -> PartitionError {
        PartitionError(
            code: .storeMissing,
            message: "There is no store at \(place), and the group \(group) has read \(partition) up to offset "
                + "\(committed)",
            remedy: "Put the store back, as with 'restore', or set store.missing: rebuild to make it from the "
                + "beginning of the partition")
    }
}

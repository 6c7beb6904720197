import KafkaClient
import ObjectGraph

/// How the worker takes its partitions where `kafka.partitions` names them: no group, no rebalances.
extension ConsumerWorker {
    /// Looks whether the broker has other topics than before, and takes what is new.
    func assignPartitions(_ consumer: Consumer) throws {
        guard let plan, let news = directory?.news(after: plan.generation) else { return }
        self.plan?.generation = news.generation
        guard let changes = self.plan?.update(news.topics) else { return }
        try take(changes.new, consumer)
        tell(changes)
        health.report(.groupJoined)
    }

    private func take(_ partitions: [TopicPartition], _ consumer: Consumer) throws {
        if partitions.isEmpty { return }
        logger.info("partitions", metadata: ["event": "taken", "partitions": "\(partitions)"])
        // As when a group assigns, the worker saves the open chunk first.
        try saveOrDrop()
        try consumer.assign(adding: begin(partitions))
    }

    /// Tells in health what is wanted and not there, and takes back what has come.
    private func tell(_ changes: PartitionPlan.Changes) {
        for (partition, reason) in changes.missing.sorted(by: { $0.key < $1.key }) {
            let remedy =
                partition.partition < 0
                ? "make the topic, or correct 'topics'" : "add partitions to the topic, or correct kafka.partitions"
            tell(partitions.noteAbsence(of: partition, ReadFault(reason: reason, remedy: remedy)))
        }
        tell(partitions.keepAbsent(Set(changes.missing.keys)))
        for topic in changes.idle {
            logger.warning("no partition of a topic falls to this worker", metadata: ["topic": "\(topic)"])
        }
    }
}

/// A store that holds records of partitions which the worker is not to read.
package struct PartitionError: CodedError {
    /// A stable code for scripts and logs.
    package var code: String { "partitions.foreign" }
    /// The partitions.
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
        let names = Set(topics.map(\.name))
        let foreign = try store.read { try $0.positions() }
            .filter { names.contains($0.topic) && !partitions.contains($0.partition) }
            .map { TopicPartition($0.topic, $0.partition) }.sorted()
        if foreign.isEmpty { return }
        let shown = foreign.prefix(5).map(\.description).joined(separator: ", ")
        let more = foreign.count > 5 ? " and \(foreign.count - 5) more" : ""
        throw PartitionError(
            message: "The store at \(store.path) holds records of \(shown)\(more), which kafka.partitions "
                + "(\(partitions)) leaves out",
            remedy: "Name those too, or give these partitions a store of their own, as with "
                + "\(settingOfOwnStore); it is made from the beginning of the topics")
    }
}

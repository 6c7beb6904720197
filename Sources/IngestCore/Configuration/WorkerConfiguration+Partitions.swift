import GraphCore

/// Configurations with a store for each partition.
extension WorkerConfiguration {
    /// Whether each partition has a store of its own: its number stands in the store's path or URL.
    package var hasStoreForEachPartition: Bool {
        switch storeKind {
        case .file(let path): path.contains(StoreConfiguration.partitionMark)
        case .postgres(let url): url.contains(StoreConfiguration.partitionMark)
        }
    }

    /// The topics that every store reads whole.
    package var broadcastTopics: Set<String> { Set(topics.filter(\.broadcast).map(\.name)) }

    /// The partitions of a topic that the worker reads, where the configuration says so.
    package func selection(of topic: String) -> PartitionSelection {
        broadcastTopics.contains(topic) ? .all : kafka.partitions ?? .all
    }

    /// The topics of which each store reads one partition, or the worker's share.
    package var partitionedTopics: [String] { topics.filter { !$0.broadcast }.map(\.name) }

    /// Returns the configuration of the worker that reads one partition of each topic into the partition's store.
    package func ofPartition(_ partition: Int32) -> WorkerConfiguration {
        var own = self
        let (mark, number) = (StoreConfiguration.partitionMark, "\(partition)")
        own.store.path = store.path.replacing(mark, with: number)
        own.store.url = store.url?.replacing(mark, with: number)
        own.notifications.topic = notifications.topic?.replacing(mark, with: number)
        own.deadLetters.topic = deadLetters.topic?.replacing(mark, with: number)
        own.kafka.partitions = .list([partition...partition])
        own.store.partition = partition
        // Producers of one transactional.id fence each other.
        if let name = kafka.properties["transactional.id"] {
            own.kafka.properties["transactional.id"] = "\(name)-\(partition)"
        }
        return own
    }
}

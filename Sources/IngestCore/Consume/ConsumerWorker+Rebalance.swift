import KafkaClient
import ObjectGraph

/// What the worker does when partitions come and go. Runs inside the poll, on the worker's thread.
extension ConsumerWorker {
    /// Where librdkafka starts at a partition's first record.
    private static let beginning: Int64 = -2

    func rebalance(_ event: RebalanceEvent, _ consumer: Consumer) throws -> [TopicPartition: Int64] {
        logger.info("partitions", metadata: ["event": "\(Self.name(of: event))", "partitions": "\(event.partitions)"])
        switch event {
        case .assigned(let partitions):
            // What is open belongs to partitions that stay; saved first, the store's positions are the latest.
            try saveOrDrop()
            health.report(.groupJoined)
            return try startOffsets(partitions)
        case .revoked(let partitions):
            try saveOrDrop()
            commitOffsets(consumer, asynchronously: false)
            uncommittedOffsets = uncommittedOffsets.filter { !partitions.contains($0.key) }
            release(partitions)
        case .lost(let partitions):
            // Another member may have them already: what is not saved is dropped, and read again if they come back.
            try pipeline.discard()
            uncommittedOffsets = uncommittedOffsets.filter { !partitions.contains($0.key) }
            release(partitions)
            health.report(.groupLost(reason: "the broker gave the partitions to another member"))
        }
        return [:]
    }

    /// Saves what is open; where the store refuses for now, drops it: it is read again from the store's positions.
    private func saveOrDrop() throws {
        do {
            try pipeline.finish()
        } catch let error as StoreError where error.isRetriable {
            health.report(.storeFailed(reason: error.description))
            logger.error("the store refused during a rebalance", metadata: ["reason": "\(error)"])
            try pipeline.discard()
            needsRewind = true
        }
    }

    private static func name(of event: RebalanceEvent) -> String {
        switch event {
        case .assigned: "assigned"
        case .revoked: "revoked"
        case .lost: "lost"
        }
    }

    private func release(_ partitions: [TopicPartition]) {
        for partition in partitions {
            next[partition] = nil
            if halted.remove(partition) != nil {
                health.report(.partitionReleased(topic: partition.topic, partition: partition.partition))
            }
            metrics.consumerLag.remove(partition.topic, "\(partition.partition)")
            metrics.position.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Returns where to read partitions from: the store's positions, and the beginning of those it does not know.
    func startOffsets(_ partitions: [TopicPartition]) throws -> [TopicPartition: Int64] {
        let known = try store.read { try $0.positions() }
        var offsets: [TopicPartition: Int64] = [:]
        for position in known { offsets[TopicPartition(position.topic, position.partition)] = position.nextOffset }
        var result: [TopicPartition: Int64] = [:]
        for partition in partitions {
            result[partition] = offsets[partition] ?? Self.beginning
            next[partition] = offsets[partition]
        }
        return result
    }
}

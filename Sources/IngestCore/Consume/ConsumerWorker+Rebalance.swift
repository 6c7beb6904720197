import KafkaClient
import ObjectGraph

/// The worker's part in a rebalance. Runs inside the poll, on the worker's thread.
extension ConsumerWorker {
    func rebalance(_ event: RebalanceEvent, _ consumer: Consumer) throws -> [TopicPartition: Int64] {
        logger.info("partitions", metadata: ["event": "\(Self.name(of: event))", "partitions": "\(event.partitions)"])
        switch event {
        case .assigned(let assigned):
            // The open chunk belongs to partitions that stay. The worker saves it first, so that the store's positions
            // are the latest.
            try saveOrDrop()
            health.report(.groupJoined)
            return try begin(assigned)
        case .revoked(let revoked):
            try saveOrDrop()
            commitOffsets(consumer)
            release(revoked)
            // Until the group assigns again; it may assign nothing, and reports that as assigned too.
            if partitions.states.isEmpty {
                health.report(.groupWaiting(reason: "waiting for partitions: the group assigns them again"))
            }
        case .lost(let lost):
            // Another member may have them already: the worker drops unsaved records, and reads them again if they come
            // back. The same holds for the partitions that stay.
            partitions.pause(for: .store)
            try attempt { try pipeline.discard() }
            // Released first: the worker claims the partitions that stay, and none of another member.
            release(lost)
            try attempt { try discardIfRefused() }
            health.report(
                .groupLost(reason: "the group's session is over, and its partitions may be with another member"))
        }
        return [:]
    }

    private static func name(of event: RebalanceEvent) -> String {
        switch event {
        case .assigned: "assigned"
        case .revoked: "revoked"
        case .lost: "lost"
        }
    }

    private func release(_ released: [TopicPartition]) {
        for partition in released {
            tell(partitions.revoke(partition))
            endDecodeWait(of: partition)
            pipeline.end(topic: partition.topic, partition: partition.partition)
            lags[partition] = nil
            metrics.consumerLag.remove(partition.topic, "\(partition.partition)")
            metrics.consumerLagSeconds.remove(partition.topic, "\(partition.partition)")
            metrics.position.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Makes sure that no other worker saves positions of partitions that are read from now on.
    func claim(_ partitions: some Sequence<TopicPartition>) throws(StoreError) {
        try claimPartitions(partitions.map { StorePartition(topic: $0.topic, partition: $0.partition) })
    }

    /// Takes partitions that are read from now on. Returns where to read them from: the store's positions, and the
    /// beginning of partitions that the store does not know.
    ///
    /// While the store cannot be read, the start is arbitrary: the worker takes no record before the loop has gone to
    /// the store's positions.
    func begin(_ assigned: [TopicPartition]) throws -> [TopicPartition: Int64] {
        var positions: [TopicPartition: SourcePosition] = [:]
        try attempt {
            try claim(assigned)
            positions = try storedPositions()
        }
        var starts: [TopicPartition: Int64] = [:]
        var actions: AssignedPartitions.Actions = []
        for partition in assigned {
            let position = positions[partition]
            lags[partition, default: PartitionLag()].take(position)
            starts[partition] = partitions.assign(partition, at: position, actions: &actions)
            pipeline.begin(topic: partition.topic, partition: partition.partition, at: position?.nextOffset)
        }
        tell(actions)
        return starts
    }
}

import GraphCore
import KafkaClient

/// How the worker takes partitions and gives them up. A rebalance runs inside the poll, on the worker's thread.
extension ConsumerWorker {
    func rebalance(_ event: RebalanceEvent, _ source: any RecordSource) throws -> [TopicPartition: Int64] {
        logger.info("partitions", metadata: ["event": "\(event.name)", "partitions": "\(event.partitions)"])
        switch event {
        case .assigned(let assigned):
            // The open chunk belongs to partitions that stay. The worker saves it first, so that the store's positions
            // are the latest.
            try saveOrDrop()
            health.report(.groupJoined)
            return try begin(assigned)
        case .revoked(let revoked):
            try saveOrDrop()
            commitOffsets(source)
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
            // Released first: the worker claims the partitions that stay, and no partition of another member.
            release(lost)
            try attempt { try discardIfRefused() }
            health.report(
                .groupLost(reason: "the group's session is over, and its partitions may be with another member"))
        }
        return [:]
    }

    /// Notes the partitions of the store that the group did not give to this worker. A store that workers share has them
    /// from the others.
    func noteUnassigned() {
        if configuration.store.writers == .many || takeover != nil { return }
        let names = Set(configuration.topics.map(\.name))
        reading.unassigned = reading.stored.filter { names.contains($0.topic) }.subtracting(partitions.states.keys)
    }

    private func release(_ released: [TopicPartition]) {
        for partition in released {
            tell(partitions.revoke(partition))
            endDecodeWait(of: partition)
            pipeline.end(topic: partition.topic, partition: partition.partition)
            reading.lags[partition] = nil
            metrics.consumerLag.remove(partition.topic, "\(partition.partition)")
            metrics.consumerLagSeconds.remove(partition.topic, "\(partition.partition)")
            metrics.position.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Begins to read partitions. Returns where to read them from: the store's positions, and the beginning of
    /// partitions that the store does not know.
    ///
    /// While the store cannot be read, the start is arbitrary: the worker takes no record before the loop has gone to
    /// the store's positions.
    func begin(_ assigned: [TopicPartition]) throws -> [TopicPartition: Int64] {
        var positions: [TopicPartition: SourcePosition] = [:]
        try attempt {
            try reading.claim(assigned)
            positions = try reading.storedPositions()
        }
        var starts: [TopicPartition: Int64] = [:]
        var actions: AssignedPartitions.Actions = []
        for partition in assigned {
            let position = positions[partition]
            reading.lags[partition, default: PartitionLag()].take(position)
            starts[partition] = partitions.assign(partition, at: position, actions: &actions)
            pipeline.begin(topic: partition.topic, partition: partition.partition, at: position?.nextOffset)
        }
        tell(actions)
        // Where the store was away, by what it had before.
        noteUnassigned()
        return starts
    }

    // MARK: Partitions that `kafka.partitions` names: no group, no rebalances

    /// Looks whether the broker has other topics than before, and takes what is new.
    func assignPartitions(_ source: any RecordSource) throws {
        guard let plan = reading.plan, let news = reading.directory?.news(after: plan.generation) else { return }
        reading.plan?.generation = news.generation
        guard let changes = reading.plan?.update(news.topics) else { return }
        try take(changes.new, source)
        tell(changes)
        health.report(.groupJoined)
    }

    private func take(_ partitions: [TopicPartition], _ source: any RecordSource) throws {
        if partitions.isEmpty { return }
        logger.info("partitions", metadata: ["event": "taken", "partitions": "\(partitions)"])
        // As when a group assigns, the worker saves the open chunk first.
        try saveOrDrop()
        try source.assign(adding: begin(partitions))
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

import KafkaClient
import ObjectGraph

/// What the worker does when partitions come and go. Runs inside the poll, on the worker's thread.
extension ConsumerWorker {
    func rebalance(_ event: RebalanceEvent, _ consumer: Consumer) throws -> [TopicPartition: Int64] {
        logger.info("partitions", metadata: ["event": "\(Self.name(of: event))", "partitions": "\(event.partitions)"])
        switch event {
        case .assigned(let partitions):
            // What is open belongs to partitions that stay; saved first, the store's positions are the latest.
            try saveOrDrop()
            health.report(.groupJoined)
            // Where reading waits, it waits for these too.
            isWaiting = false
            return try begin(partitions)
        case .revoked(let partitions):
            try saveOrDrop()
            commitOffsets(consumer, asynchronously: false)
            uncommittedOffsets = uncommittedOffsets.filter { !partitions.contains($0.key) }
            release(partitions)
            // Until the group says what comes next; that may be nothing, and is told as assigned too.
            if progress.isEmpty {
                health.report(.groupWaiting(reason: "waiting for partitions: the group shares them out anew"))
            }
        case .lost(let partitions):
            // Another member may have them already: what is not saved is dropped, and read again if they come back.
            try attempt { try pipeline.discard() }
            uncommittedOffsets = uncommittedOffsets.filter { !partitions.contains($0.key) }
            release(partitions)
            health.report(.groupLost(reason: "the broker gave the partitions to another member"))
        }
        return [:]
    }

    /// Saves what is open; where the store refuses for now, drops it: it is read again from the store's positions.
    func saveOrDrop() throws { try attempt { try pipeline.finish() } }

    private func attempt(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StoreError where error.isRetriable {
            refused(error)
        }
    }

    /// The store refused where a rebalance has to be answered: the loop goes to the store's positions afterwards.
    private func refused(_ error: StoreError) {
        health.report(.storeFailed(reason: error.description))
        metrics.noteError()
        logger.error("the store refused during a rebalance", metadata: ["reason": "\(error)"])
        (needsDiscard, needsRewind) = (true, true)
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
            let isInDoubt = outOfRange.remove(partition) != nil
            let wasHalted = progress.removeValue(forKey: partition)?.isHalted == true
            pipeline.end(topic: partition.topic, partition: partition.partition)
            unproven.remove(partition)
            fetchWatch.end(partition)
            resting.remove(partition)
            found(partition)
            if wasHalted || isInDoubt {
                health.report(.partitionReleased(topic: partition.topic, partition: partition.partition))
            }
            metrics.consumerLag.remove(partition.topic, "\(partition.partition)")
            metrics.position.remove(partition.topic, "\(partition.partition)")
        }
    }

    /// Takes partitions that are read from now on, and returns where to read them from.
    ///
    /// Where the store does not tell its positions for now, that is anywhere: nothing that comes is taken before the
    /// loop has gone to the store's positions.
    func begin(_ partitions: [TopicPartition]) throws -> [TopicPartition: Int64] {
        // What keeps one from being read is told anew; going back in one that was read before proves nothing.
        for partition in partitions { found(partition) }
        do {
            return try startOffsets(partitions)
        } catch let error as StoreError where error.isRetriable {
            refused(error)
            for partition in partitions { progress[partition] = PartitionProgress(nil) }
            return Dictionary(partitions.map { ($0, PartitionProgress.beginning) }) { first, _ in first }
        }
    }

    /// Returns where to read partitions from: the store's positions, and the beginning of those it does not know.
    func startOffsets(_ partitions: [TopicPartition]) throws -> [TopicPartition: Int64] {
        let positions = try readPositions()
        let known = Dictionary(
            positions.map { (TopicPartition($0.topic, $0.partition), $0) }, uniquingKeysWith: { first, _ in first })
        var result: [TopicPartition: Int64] = [:]
        for partition in partitions {
            let progress = PartitionProgress(known[partition])
            self.progress[partition] = progress
            unproven.remove(partition)
            fetchWatch.begin(partition)
            pipeline.begin(
                topic: partition.topic, partition: partition.partition, at: known[partition]?.nextOffset)
            result[partition] = progress.start
        }
        return result
    }
}

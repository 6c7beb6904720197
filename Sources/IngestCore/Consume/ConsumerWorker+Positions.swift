import KafkaClient
import ObjectGraph

/// What the worker does when the record that the store waits for is not there.
extension ConsumerWorker {
    /// What the client reports where the broker does not have the offset that is asked for.
    static let lostPositions: Set<KafkaError.Code> = [
        .offsetOutOfRange, .autoOffsetReset, KafkaError.Code("_NO_OFFSET"),
    ]
    /// Takes an event that concerns a position or the reading of a partition, and tells whether it was one.
    func take(_ event: ConsumerEvent, _ consumer: Consumer?) -> Bool {
        guard let partition = event.topicPartition else { return false }
        if Self.lostPositions.contains(event.error.code) {
            noteOutOfRange(partition)
            return true
        }
        switch ReadFailure(event) {
        case .waits(let reason, let remedy)?: unread(partition, reason, remedy: remedy)
        case .damaged(let reason, let remedy)?:
            // What stands before the damage may have come with the same poll.
            halt(partition, before: event.offset ?? 0, reason, remedy: remedy, consumer)
        case nil: return false
        }
        return true
    }

    private func noteOutOfRange(_ partition: TopicPartition) {
        outOfRange.insert(partition)
        health.report(
            .partitionWaiting(
                topic: partition.topic, partition: partition.partition,
                reason: "its position is not there, and the broker has not said yet what is"))
    }

    /// It is decided where reading goes on.
    private func settled(_ partition: TopicPartition) {
        if missing.contains(partition) { return }
        health.report(.partitionReleased(topic: partition.topic, partition: partition.partition))
    }

    /// Asks the broker what it has of partitions whose offset it does not have, and decides.
    ///
    /// Called between polls, when no record is at hand. While the broker does not answer they wait: nothing of them is
    /// fetched anyway.
    func settleOutOfRange(_ consumer: Consumer) throws {
        // A partition may have gone to another member since.
        outOfRange.formIntersection(progress.keys)
        for partition in outOfRange {
            let marks: Watermarks
            do {
                marks = try consumer.queryWatermarks(partition, timeoutMilliseconds: 2000)
            } catch let error as KafkaError where !error.isFatal {
                logger.warning("the broker does not say what it has", metadata: ["reason": "\(error)"])
                return
            }
            outOfRange.remove(partition)
            switch progress[partition, default: PartitionProgress(nil)].outOfRange(low: marks.low, high: marks.high) {
            case .seek(let offset):
                try seek(consumer, partition, to: offset)
                settled(partition)
            case .lost(let reason): try positionLost(partition, reason, consumer)
            }
        }
    }

    /// The record that the store waits for is gone. Jumping over records is a person's decision.
    func positionLost(_ partition: TopicPartition, _ reason: String, _ consumer: Consumer) throws {
        let policy = configuration.kafka.onPositionLost
        if policy == .halt {
            let remedy = "set kafka.onPositionLost to earliest or latest to go on without them"
            return halt(partition, reason, remedy: remedy, consumer)
        }
        let marks: Watermarks
        do {
            marks = try consumer.queryWatermarks(partition, timeoutMilliseconds: 2000)
        } catch let error as KafkaError where !error.isFatal {
            noteOutOfRange(partition)
            return
        }
        let jump = PositionJump(from: progress[partition]?.next ?? 0, policy: policy, marks: marks)
        logger.critical(
            "\(jump.description)",
            metadata: [
                "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                "reason": "\(reason)", "from": .stringConvertible(jump.from), "to": .stringConvertible(jump.to),
            ])
        // The decision is saved with what is open: going back, another member or a restart must not make it again.
        try pipeline.move(topic: partition.topic, partition: partition.partition, to: jump.to)
        progress[partition, default: PartitionProgress(nil)].jump(to: jump.to)
        try seek(consumer, partition, to: jump.to)
        settled(partition)
    }

    /// Goes to an offset; where the client cannot now, the loop begins again at the store's positions.
    func seek(_ consumer: Consumer, _ partition: TopicPartition, to offset: Int64) throws {
        fetchWatch.begin(partition)
        do {
            try consumer.seek(partition, to: offset)
        } catch let error as KafkaError where error.isRetriable {
            logger.warning("going elsewhere does not succeed yet, trying again", metadata: ["reason": "\(error)"])
            needsRewind = true
        }
    }

    private func halt(
        _ partition: TopicPartition, before offset: Int64 = 0, _ reason: String, remedy: String, _ consumer: Consumer?
    ) {
        if progress[partition]?.isHalted == true { return }
        progress[partition, default: PartitionProgress(nil)].halt(before: offset)
        try? consumer?.pause([partition])
        report(halted: partition, reason, remedy: remedy)
    }

    /// Goes back to the last record that the store took of a partition that was out of reach: another log may stand
    /// there by now, with more records than the store has read.
    func compareAgain(_ partition: TopicPartition, _ consumer: Consumer) throws {
        // What is open is saved first, so that going back repeats nothing.
        try pipeline.finish()
        for (partition, offset) in try startOffsets([partition]) { try seek(consumer, partition, to: offset) }
    }

    /// Looks whether topics have gone or have come back: a client whose topic is deleted may say nothing, and the group
    /// may take its partitions back.
    func watchTopics() {
        guard let news = directory?.news(after: topicWatch.generation) else { return }
        let changes = topicWatch.update(news)
        for topic in changes.gone {
            let (reason, remedy) = ReadFailure.unknown
            unproven.formUnion(progress.keys.filter { $0.topic == topic })
            report(halted: TopicPartition(topic, -1), reason, remedy: remedy)
        }
        for topic in changes.back {
            health.report(.partitionReleased(topic: topic, partition: -1))
            for partition in missing where partition.topic == topic { found(partition) }
        }
    }

    /// The topic is not there, or cannot be read for now. Where it comes back, its records decide what it is.
    private func unread(_ event: TopicPartition, _ reason: String, remedy: String) {
        unproven.formUnion(progress.keys.filter { event.partition < 0 ? $0.topic == event.topic : $0 == event })
        let partitions = event.partition >= 0 ? [event] : progress.keys.filter { $0.topic == event.topic }
        for partition in partitions.isEmpty ? [event] : partitions where missing.insert(partition).inserted {
            report(halted: partition, reason, remedy: remedy)
        }
    }

    /// Takes a record of a partition that may have been missing.
    func found(_ partition: TopicPartition) {
        for known in [partition, TopicPartition(partition.topic, -1)] where missing.remove(known) != nil {
            // That the whole topic is there again, the broker's list of topics says.
            if known.partition < 0, topicWatch.isGone(known.topic) { continue }
            health.report(.partitionReleased(topic: known.topic, partition: known.partition))
        }
    }

    func report(halted partition: TopicPartition, _ reason: String, remedy: String) {
        health.report(.partitionHalted(topic: partition.topic, partition: partition.partition, reason: reason))
        logger.critical(
            "a partition is halted",
            metadata: [
                "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                "reason": "\(reason)",
                "remedy": "\(remedy)",
            ])
    }
}

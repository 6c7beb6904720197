import KafkaClient

/// How the worker finds partitions that the client has stopped fetching.
extension ConsumerWorker {
    /// Takes what a poll brought for signs of life.
    func hear(_ batch: RecordBatch) {
        // Hardly ever is a partition behind and silent; only then records are looked at for this.
        guard fetchWatch.isSuspicious else { return }
        fetchWatch.polled(isFull: isFull(batch))
        for record in batch { fetchWatch.hear(record.topicPartition) }
    }

    /// Whether a poll took as much as it may, so that more may wait in the client's queue.
    func isFull(_ batch: RecordBatch) -> Bool { batch.count + batch.errors.count >= configuration.chunk.maxOperations }

    /// Takes the client's word that it has come to a partition's end.
    func takeEnd(_ event: ConsumerEvent) -> Bool {
        guard event.error.code == .partitionEnd, let partition = event.topicPartition else { return false }
        if let offset = event.offset { fetchWatch.reachEnd(partition, offset: offset) }
        return true
    }

    /// Looks which partitions stand still though the broker has more of them, tells of them, and has them fetched anew.
    ///
    /// - Throws: `StoreError` where what is open cannot be saved.
    func watchFetches(_ consumer: Consumer, at time: Double) throws {
        guard let directory else { return }
        let next = progress.filter { isRead($0.key, $0.value) }.mapValues { $0.next ?? 0 }
        directory.watch(Set(next.keys))
        for action in fetchWatch.update(ends: directory.ends, next: next, at: time) {
            switch action {
            case .tell(let partition, let behind):
                health.report(
                    .partitionSilent(
                        topic: partition.topic, partition: partition.partition,
                        reason: "its end on the broker is \(behind) offsets further, and nothing comes"))
            case .over(let partition):
                health.report(.partitionHeard(topic: partition.topic, partition: partition.partition))
            case .fetchAnew(let partition, let behind): try fetchAnew(partition, behind: behind, consumer)
            }
        }
    }

    /// Whether records of a partition can be expected.
    private func isRead(_ partition: TopicPartition, _ progress: PartitionProgress) -> Bool {
        !progress.isHalted && !isWaiting && !resting.contains(partition) && !missing.contains(partition)
            && !outOfRange.contains(partition)
    }

    private func fetchAnew(_ partition: TopicPartition, behind: Int64, _ consumer: Consumer) throws {
        logger.warning(
            "a partition stands still, and is fetched anew",
            metadata: [
                "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                "behind": .stringConvertible(behind),
                "next": .stringConvertible(progress[partition]?.next ?? -1),
            ])
        metrics.fetchesAnew.increment()
        do {
            try compareAgain(partition, consumer)
        } catch let error as KafkaError where !error.isFatal {
            // It may be on its way to another member. Where it stays, its next record is compared with the store's.
            unproven.insert(partition)
            logger.warning("fetching anew failed", metadata: ["reason": "\(error)"])
        }
    }
}

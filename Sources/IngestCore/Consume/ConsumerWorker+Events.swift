import KafkaClient

/// How the client's and the broker's news become events of partitions.
extension ConsumerWorker {
    /// The codes that the client reports where the broker does not have the requested offset.
    static let lostPositions: Set<KafkaError.Code> = [
        .offsetOutOfRange, .autoOffsetReset, KafkaError.Code("_NO_OFFSET"),
    ]

    /// Handles an event that a poll brought beside records.
    ///
    /// - Throws: `KafkaError` where the client cannot go on.
    func handle(_ event: ConsumerEvent) throws {
        switch event.error.code {
        case .partitionEnd:
            guard let partition = event.topicPartition, let offset = event.offset else { return }
            tell(partitions.handle(.endReached(offset), partition))
        case .connectionLost:
            // The next log to answer may be another, with more records than the store has read.
            tell(partitions.handleAll(.connectionLost))
        default:
            metrics.noteError(at: clock.microseconds())
            if event.error.isFatal { throw event.error }
            if !take(event) { outages.clientReported(event.error) }
        }
    }

    /// Handles an event about a partition's position or reading. Returns false for any other event.
    func take(_ event: ConsumerEvent) -> Bool {
        guard let partition = event.topicPartition else { return false }
        if Self.lostPositions.contains(event.error.code) {
            tell(partitions.handle(.offsetOutOfRange, partition))
            return true
        }
        switch ReadFailure(event) {
        case .waits(let reason, let remedy)?:
            tell(partitions.lose(partition, ReadFault(reason: reason, remedy: remedy)))
        case .damaged(let reason, let remedy)?:
            // Records before the damage may have come with the same poll.
            let fault = ReadFault(reason: reason, remedy: remedy)
            tell(partitions.handle(.damaged(at: event.offset ?? 0, fault), partition))
        case nil: return false
        }
        return true
    }

    /// Looks whether topics have gone or have come back.
    func watchTopics() {
        guard let news = reading.directory?.news(after: partitions.topicGeneration) else { return }
        tell(partitions.update(news))
    }

    /// Looks for stalled partitions: the broker has more of them, and nothing comes.
    ///
    /// - Throws: `StoreError` where the open chunk cannot be saved.
    func watchFetches(_ source: any RecordSource, at time: Double) throws {
        guard let directory = reading.directory else { return }
        directory.watch(partitions.present)
        let ends = directory.ends
        for partition in partitions.states.keys.sorted() {
            try carryOut(partitions.handle(.clock(time, end: ends[partition]), partition), source)
        }
    }

    /// Tells health and the log what partitions report.
    func tell(_ actions: AssignedPartitions.Actions) {
        for case (let partition, .report(let report)) in actions {
            for event in report.events(of: partition) { health.report(event) }
            guard case .halted(let fault) = report else { continue }
            logger.critical(
                "a partition is halted",
                metadata: [
                    "topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition),
                    "reason": "\(fault.reason)", "remedy": "\(fault.remedy)",
                ])
        }
    }
}

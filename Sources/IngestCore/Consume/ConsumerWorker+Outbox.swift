import KafkaClient

/// Rests while too much waits to be notified. Runs on the worker's thread, between polls.
extension ConsumerWorker {
    /// Pauses consuming at the outbox's limit, and goes on by itself below it.
    func limitOutbox(_ consumer: Consumer) throws {
        guard let delivered = deliveredToken() else { return }
        let waiting = max(0, (pipeline.writer.committedToken ?? firstToken) - delivered)
        metrics.outboxTransactions.set(waiting)
        switch outbox.update(waiting: waiting) {
        case .pause: outboxFilled(waiting)
        case .resume: try outboxEmptied(waiting, consumer)
        case nil: break
        }
        if outbox.isFull { try rest(consumer) }
    }

    private func outboxFilled(_ waiting: Int64) {
        let limit = outbox.maximum ?? 0
        let reason = "\(waiting) transactions wait to be notified, the limit is \(limit): nothing is consumed meanwhile"
        metrics.outboxFull.set(1)
        health.report(.outboxFull(reason: reason))
        logger.error(
            "the outbox is full, consuming rests",
            metadata: [
                "waiting": .stringConvertible(waiting), "limit": .stringConvertible(limit),
                "remedy":
                    "see why notifications are not delivered, or raise notifications.maxOutboxTransactions; it goes on by itself",
            ])
    }

    private func outboxEmptied(_ waiting: Int64, _ consumer: Consumer) throws {
        metrics.outboxFull.set(0)
        health.report(.outboxHasRoom)
        logger.info("the outbox has room, consuming goes on", metadata: ["waiting": .stringConvertible(waiting)])
        let partitions = resting.filter { progress[$0]?.isHalted == false }
        resting = []
        // While dead letters are waited for, that wait resumes them.
        if isWaiting { return }
        let assigned = Set(try consumer.assignment)
        try goOn(partitions.filter { assigned.contains($0) }, consumer)
    }

    /// Pauses what is assigned and not paused yet: partitions may come while it rests.
    private func rest(_ consumer: Consumer) throws {
        let new = try consumer.assignment.filter {
            !resting.contains($0) && progress[$0]?.isHalted != true
        }
        if new.isEmpty { return }
        try consumer.pause(new)
        resting.formUnion(new)
    }
}

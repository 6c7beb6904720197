/// How the worker lets partitions wait while an outbox is full. Runs on the worker's thread, between polls.
///
/// The loop itself goes on: the worker stays a member of its group, and what it has is saved.
extension ConsumerWorker {
    /// Lets the partitions wait at the limit of transactions to be notified, and lets them go on below it.
    func limitOutbox() {
        guard let delivered = deliveredToken() else { return }
        let waiting = max(0, (pipeline.writer.committedToken ?? firstToken) - delivered)
        metrics.outboxTransactions.set(waiting)
        switch outbox.update(waiting: waiting) {
        case .pause:
            tellFullOutbox(waiting)
            partitions.pause(for: .outbox)
        case .resume:
            metrics.outboxFull.set(0)
            health.report(.outboxHasRoom)
            logger.info("the outbox has room, consuming goes on", metadata: ["waiting": .stringConvertible(waiting)])
            partitions.goOn(without: .outbox)
        case nil: break
        }
    }

    private func tellFullOutbox(_ waiting: Int64) {
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

    /// Lets the partitions wait while too many dead letters wait for their topic, and lets them go on when enough are sent.
    func limitDeadLetters() {
        let mustWait = deadLetters?.mustWait ?? false
        if mustWait == partitions.pauses.contains(.deadLetters) { return }
        let count = partitions.states.values.filter { !$0.isHalted }.count
        if mustWait {
            logger.warning(
                "reading waits for the dead-letter topic", metadata: ["partitions": .stringConvertible(count)])
            partitions.pause(for: .deadLetters)
        } else {
            logger.info("reading goes on", metadata: ["partitions": .stringConvertible(count)])
            partitions.goOn(without: .deadLetters)
        }
    }
}

/// How the worker lets partitions wait while an outbox is full. Runs on the worker's thread, between polls.
///
/// The loop itself goes on: the worker stays a member of its group, and what it has is saved.
extension ConsumerWorker {
    /// Pauses the partitions where an outbox is full, and resumes them where none is.
    func pauseWhereOutboxesAreFull() {
        for (outbox, reason) in [(notifications, PauseReasons.outbox), (deadLetters, .deadLetters)] {
            guard let outbox, outbox.isFull != partitions.pauses.contains(reason) else { continue }
            if reason == .outbox { report(notifications: outbox) } else { report(deadLetters: outbox) }
            if outbox.isFull { partitions.pause(for: reason) } else { partitions.goOn(without: reason) }
        }
    }

    private func report(notifications outbox: Outbox) {
        let waiting = outbox.waiting
        guard outbox.isFull else {
            metrics.outboxFull.set(0)
            health.report(.outboxHasRoom)
            logger.info("the outbox has room, consuming goes on", metadata: ["waiting": .stringConvertible(waiting)])
            return
        }
        let limit = configuration.notifications.maxOutboxTransactions
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

    private func report(deadLetters outbox: Outbox) {
        let count = partitions.states.values.filter { !$0.isHalted }.count
        if outbox.isFull {
            logger.warning(
                "reading waits for the dead-letter topic", metadata: ["partitions": .stringConvertible(count)])
        } else {
            logger.info("reading goes on", metadata: ["partitions": .stringConvertible(count)])
        }
    }
}

import GraphCore
import KafkaClient
import RecordDecoding

/// How the worker lets partitions wait, while an outbox is full or a record cannot be decoded for now. Runs on the
/// worker's thread.
///
/// The loop itself goes on: the worker stays a member of its group, and what it has is saved.
extension ConsumerWorker {
    /// Pauses the partitions where an outbox is full, and resumes them where none is.
    func pauseWhereOutboxesAreFull() {
        for (outbox, reason) in [(delivery.notifications, PauseReasons.outbox), (delivery.deadLetters, .deadLetters)] {
            guard let outbox, outbox.isFull != partitions.pauses.contains(reason) else { continue }
            if reason == .outbox { report(notifications: outbox) } else { report(deadLetters: outbox) }
            if outbox.isFull { partitions.pause(for: reason) } else { partitions.goOn(without: reason) }
        }
    }

    /// Lets a partition wait whose record cannot be decoded, though it is not at fault; the others go on.
    func beginDecodeWait(of partition: TopicPartition, _ error: DecodeError) {
        failures.decodeWait.failed(partition, at: clock.seconds(), jitter: clock.jitter())
        tell(partitions.handle(.pauseBegan(.decoding), partition))
        health.report(
            .decodingFailed(partition, reason: "\(error)"))
        metrics.noteError(at: clock.microseconds())
        outages.failed(
            .decoding, error,
            metadata: ["topic": "\(partition.topic)", "partition": .stringConvertible(partition.partition)])
    }

    /// Ends a partition's wait for a decoder: a record was decoded, or the partition shows no more records.
    func endDecodeWait(of partition: TopicPartition) {
        guard failures.decodeWait.ended(partition) else { return }
        health.report(.decodingOK(partition))
        if failures.decodeWait.isOver { outages.succeeded(.decoding) }
    }

    /// Reads the partitions again that have waited for long enough, from the store's positions. A partition that shows no
    /// record any more, though it was read again, waits no longer.
    func retryDecoding() {
        for partition in failures.decodeWait.retried where partitions[partition]?.isExhausted ?? true {
            endDecodeWait(of: partition)
        }
        for partition in failures.decodeWait.due(at: clock.seconds()) {
            tell(partitions.handle(.pauseEnded(.decoding), partition))
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
        let reason =
            "\(counted(waiting, "transaction")) to be notified, the limit is \(limit): nothing is consumed meanwhile"
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
        guard outbox.isFull else {
            health.report(.deadLettersHaveRoom)
            logger.info("reading goes on", metadata: ["partitions": .stringConvertible(count)])
            return
        }
        let limit = configuration.deadLetters.maxUnsent
        health.report(
            .deadLettersFull(
                reason: "\(counted(outbox.waiting, "dead letter")) to be sent, the limit is \(limit): "
                    + "nothing is consumed until half of them are"))
        logger.warning("reading waits for the dead-letter topic", metadata: ["partitions": .stringConvertible(count)])
    }
}

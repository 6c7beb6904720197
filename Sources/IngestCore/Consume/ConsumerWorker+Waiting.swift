import KafkaClient

/// How the worker stops reading for a while, and goes on.
extension ConsumerWorker {
    /// Stops reading while too many dead letters wait for their topic, and goes on when enough are sent.
    ///
    /// The loop itself goes on: the worker stays a member of its group, and what it has is saved.
    func waitOrGoOn(_ consumer: Consumer) throws {
        let mustWait = deadLetters?.mustWait ?? false
        if mustWait == isWaiting { return }
        let partitions = try consumer.assignment.filter { progress[$0]?.isHalted != true }
        if mustWait {
            logger.warning(
                "reading waits for the dead-letter topic",
                metadata: ["partitions": .stringConvertible(partitions.count)])
            try consumer.pause(partitions)
        } else {
            logger.info("reading goes on", metadata: ["partitions": .stringConvertible(partitions.count)])
            // Those that rest for the outbox go on when it has room.
            try goOn(partitions.filter { !resting.contains($0) }, consumer)
        }
        isWaiting = mustWait
    }

    /// Reads partitions again that were not read for a while, each from the store's last record: brokers close idle
    /// connections, and another log may answer on the next one.
    func goOn(_ partitions: [TopicPartition], _ consumer: Consumer) throws {
        // The worker saves the open chunk first, so that going back to the store's positions repeats nothing.
        try saveOrDrop()
        try consumer.resume(partitions)
        try rewind(consumer)
    }

    /// Tells the publisher how many dead letters a commit saved.
    func noteDeadLetters() {
        guard let deadLetters else { return }
        let count = pipeline.summary.deadLetters
        deadLetters.committed(letters: count - notedDeadLetters)
        notedDeadLetters = count
    }

    /// Saves how far dead letters were sent, with the next commit.
    func saveDeadLetterCursor() throws {
        guard let deadLetters, let cursor = deadLetters.takeCursor() else { return }
        do {
            try pipeline.writer.putSentDeadLetter(cursor, topic: configuration.deadLetters.topic ?? "")
            try pipeline.writer.commit()
        } catch {
            deadLetters.putBack(cursor: cursor)
            throw error
        }
    }
}

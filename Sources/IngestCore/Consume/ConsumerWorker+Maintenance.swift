import KafkaClient
import ObjectGraph

/// When the worker does what recurs; times are in seconds of one monotonic clock.
struct WorkerSchedule {
    var cursorSaves = Recurrence(everySeconds: 1)
    var offsetCommits = Recurrence(everySeconds: 1)
    /// Also of offsets that were committed before.
    var offsetRepeats = Recurrence(everySeconds: 60)
    var reports = Recurrence(everySeconds: 1)
    var fetchChecks = Recurrence(everySeconds: 0.5)
    var takeoverChecks = Recurrence(everySeconds: 0.5)
    var retryChecks = Recurrence(everySeconds: 1)
    var soundnessChecks = Recurrence(everySeconds: 1)
    var purges: Recurrence

    init(purgeEveryMinutes: Int) { purges = Recurrence(everySeconds: Double(purgeEveryMinutes) * 60) }
}

/// The worker's duties between records: cursors, the lease, offsets for the broker, reports, the history's purge, requests.
extension ConsumerWorker {
    /// Does those duties that are due.
    func maintain(_ consumer: Consumer) throws {
        let time = now()
        let writer = pipeline.writer
        if pipeline.deadline == nil {
            if !writer.sharesStore { try saveCursors(writer) }
            if try writer.renewLease() || backoff.failureCount == 0 { storeAnswers() }
        }
        // While there is backlog nothing is ever idle: the cursors and the purge must not wait for the end of it.
        if pipeline.deadline != nil || writer.sharesStore, schedule.cursorSaves.isDue(at: time) {
            try pipeline.settle()
            try saveCursors(writer)
        }
        if deliveryRole.isHeld { try purge(writer, at: time) }
        try serveRequests(writer)
        if schedule.offsetCommits.isDue(at: time) {
            try saveEnds()
            commit(offsetsToTell(at: time), consumer, asynchronously: true)
        }
        if schedule.reports.isDue(at: time) { report(consumer) }
    }

    /// Purges old history, then tombstones, then the audit, a batch a turn: due by the worker's clock, old by the system's microseconds.
    func purge(_ writer: WriterContext, at time: Double, systemTime: Int64 = WriterContext.systemTime()) throws {
        if schedule.purges.isDue(at: time) { purge = PurgeStep(configuration) }
        guard var step = purge else { return }
        try pipeline.settle()
        purge = try step.purgeBatch(writer, now: systemTime, logger) ? step : nil
    }

    /// Does a step of what was asked over the control socket.
    ///
    /// The worker saves the open chunk first, so that a request changes neither positions nor chunks.
    func serveRequests(_ writer: WriterContext) throws {
        guard let control, control.hasWork else { return }
        try control.serve(writer) {
            try pipeline.finish()
            try saveCursors(writer)
        }
        // The step may have made history.
        if let token = writer.committedToken { metrics.historyToken.set(token) }
        tellOutboxes()
    }

    // MARK: Commits

    /// Takes the positions that the store has committed.
    func committed(_ positions: [SourcePosition]) {
        storeAnswers()
        if backoff.failureCount > 0 {
            logger.info(
                "the store takes writes again", metadata: ["failures": .stringConvertible(backoff.failureCount)])
        }
        backoff.succeeded()
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            tell(partitions.handle(.saved(position.nextOffset), partition))
            lags[partition]?.take(position)
            metrics.position.with(position.topic, "\(position.partition)").set(position.nextOffset)
        }
        tellOutboxes()
    }

    /// Saves the ends of partitions that lie behind their last records, such as those behind a transaction's marker.
    ///
    /// When the broker drops the records by age, nothing seems to be missing then.
    ///
    /// - Throws: `StoreError`.
    func saveEnds() throws {
        let ends = partitions.endsToSave
        if ends.isEmpty { return }
        let positions = try storedPositions()
        let moved = ends.sorted { $0.key < $1.key }.compactMap { partition, end -> SourcePosition? in
            // Another writer of the store may have gone on with the partition.
            if positions[partition]?.nextOffset != partitions[partition]?.stored { return nil }
            guard var position = positions[partition] else {
                return SourcePosition(topic: partition.topic, partition: partition.partition, nextOffset: end)
            }
            position.detail = LastRecord(position)?.detail(before: end)
            position.nextOffset = end
            return position
        }
        try pipeline.move(to: moved)
    }

    /// Tells the broker how far the store is, and waits for its answer. The broker's offsets are for displays of lag: the
    /// store's decide.
    ///
    /// - Returns: false where the broker did not answer.
    @discardableResult
    func commitOffsets(_ consumer: Consumer) -> Bool {
        commit(partitions.offsetsToCommit, consumer, asynchronously: false)
    }

    /// The offsets to commit now. Nobody waits for the answers, so a commit that failed is made good with all others.
    func offsetsToTell(at time: Double) -> [TopicPartition: Int64] {
        schedule.offsetRepeats.isDue(at: time) ? partitions.storedOffsets : partitions.offsetsToCommit
    }

    @discardableResult
    private func commit(_ offsets: [TopicPartition: Int64], _ consumer: Consumer, asynchronously: Bool) -> Bool {
        // A store that is being built has no business with the offsets of the group.
        if takeover != nil || offsets.isEmpty { return true }
        do {
            try consumer.commit(
                offsets, asynchronously: asynchronously, timeoutMilliseconds: Self.commitMilliseconds)
            noteOffsetsCommitted(offsets)
            return true
        } catch {
            logger.debug("offsets were not committed to the broker", metadata: ["reason": "\(error)"])
            return (error as? KafkaError)?.code.isFromBroker ?? true
        }
    }

    /// How long a commit that is waited for may keep the loop, or the end of the process, waiting.
    private static let commitMilliseconds = 2000

    /// Takes that nobody has to tell the broker these offsets any more.
    func noteOffsetsCommitted(_ offsets: [TopicPartition: Int64]) {
        for (partition, offset) in offsets { tell(partitions.handle(.offsetCommitted(offset), partition)) }
    }

    // MARK: Outboxes

    /// Reports to the outboxes how much was committed since the last report.
    private func tellOutboxes() {
        let token = max(notedToken, pipeline.writer.committedToken ?? notedToken)
        notifications?.committed(Int(token - notedToken))
        notedToken = token
        let count = pipeline.summary.deadLetters
        deadLetters?.committed(count - notedDeadLetters)
        notedDeadLetters = count
    }

    /// Saves how far notifications and dead letters were delivered.
    ///
    /// Of workers that share the store, the holder of the role delivers, and saves.
    func saveCursors(_ writer: WriterContext) throws {
        if writer.sharesStore, try !holdDeliveryRole(writer) { return }
        try deadLetters?.saveCursor(writer)
        try notifications?.saveCursor(writer)
    }
}

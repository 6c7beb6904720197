import GraphCore
import KafkaClient

/// The schedule of the worker's recurring work; times are in seconds of one monotonic clock.
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
}

/// The worker's duties between records: cursors, the lease, offsets for the broker, reports, the history's purge, requests.
extension ConsumerWorker {
    /// Does those duties that are due.
    func maintain(_ source: any RecordSource) throws {
        let time = clock.seconds()
        let writer = pipeline.writer
        if pipeline.deadline == nil {
            if !writer.sharesStore { try saveCursors() }
            if try writer.renewLease() || failures.backoff.failureCount == 0 { storeAnswers() }
        }
        // While there is backlog nothing is ever idle: the cursors and the purge must not wait for the end of it.
        if pipeline.deadline != nil || writer.sharesStore, schedule.cursorSaves.isDue(at: time) {
            try pipeline.settle()
            try saveCursors()
        }
        if delivery.isHeld { try purging.advance(pipeline, configuration, clock, metrics, logger) }
        try serveRequests()
        if schedule.offsetCommits.isDue(at: time) {
            try saveEnds()
            commit(offsetsToTell(at: time), source, asynchronously: true)
        }
        if schedule.reports.isDue(at: time) { report(source) }
    }

    /// Does a step of a request that came over the control socket.
    ///
    /// The worker saves the open chunk first, so that a request changes neither positions nor chunks.
    func serveRequests() throws {
        guard let control, control.hasWork else { return }
        let writer = pipeline.writer
        try control.serve(writer) {
            try pipeline.finish()
            try saveCursors()
        }
        // The step may have made history.
        if let token = writer.committedToken { metrics.historyToken.set(token) }
        tellOutboxes()
    }

    // MARK: Commits

    /// Notes the positions that the store has committed.
    func committed(_ positions: [SourcePosition]) {
        storeAnswers()
        outages.succeeded(.store)
        failures.backoff.succeeded()
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            tell(partitions.handle(.saved(position.nextOffset), partition))
            reading.lags[partition]?.take(position)
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
        let positions = try reading.storedPositions()
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
    func commitOffsets(_ source: any RecordSource) -> Bool {
        commit(partitions.offsetsToCommit, source, asynchronously: false)
    }

    /// The offsets to commit now. Nobody waits for the answers, so a commit that failed is made good with all others.
    func offsetsToTell(at time: Double) -> [TopicPartition: Int64] {
        schedule.offsetRepeats.isDue(at: time) ? partitions.storedOffsets : partitions.offsetsToCommit
    }

    @discardableResult
    private func commit(_ offsets: [TopicPartition: Int64], _ source: any RecordSource, asynchronously: Bool) -> Bool {
        // A store that is being built has no business with the offsets of the group.
        if takeover != nil || offsets.isEmpty { return true }
        do {
            try source.commit(
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

    /// Notes that the broker has these offsets, so the worker no longer has to commit them.
    func noteOffsetsCommitted(_ offsets: [TopicPartition: Int64]) {
        for (partition, offset) in offsets { tell(partitions.handle(.offsetCommitted(offset), partition)) }
    }

    // MARK: Outboxes

    /// Reports to the outboxes how much was committed since the last report.
    private func tellOutboxes() {
        delivery.committed(token: pipeline.writer.committedToken, deadLetters: pipeline.summary.deadLetters)
    }

    /// Saves how far notifications and dead letters were delivered.
    func saveCursors() throws { try delivery.saveCursors(pipeline.writer, logger) }

    // MARK: Reports beside health

    /// Tells in health of the partitions that the store has read and this worker does not read. Another member has them,
    /// or the broker does not have them any more.
    func reportUnassigned() {
        guard reading.plan == nil, let topics = reading.directory?.news(after: 0)?.topics else { return }
        let ofTopics = reading.unassigned.filter { topics[$0.topic]?.isEmpty == false }
        let gone = ofTopics.filter { topics[$0.topic]?.contains($0.partition) == false }
        for partition in gone.sorted() { tell(partitions.noteAbsence(of: partition, .partitionGone)) }
        let elsewhere = ofTopics.subtracting(gone).sorted()
        let shown = elsewhere.prefix(5).map(\.description).joined(separator: ", ")
        let more = elsewhere.count > 5 ? " and \(elsewhere.count - 5) more" : ""
        let reason = "the store has records of \(shown)\(more), and gets no more of them"
        health.report(.partitionsElsewhere(reason: elsewhere.isEmpty ? nil : reason))
    }

    /// Sets the metrics that are looked at rather than counted.
    func report(_ source: any RecordSource) {
        let ends = reading.directory?.ends
        for (partition, state) in partitions.states {
            // The client's knowledge is as old as its last fetch: it counts only while the broker tells the end too.
            let fetched = (try? source.watermarks(partition))?.high ?? -1
            let end = ends.map { $0[partition].map { max($0, fetched) } } ?? (fetched < 0 ? nil : fetched)
            // A partition that never had a record lacks none, and has no position.
            let position = state.lagStart(storeRefuses: failures.backoff.failureCount > 0) ?? (end == 0 ? 0 : nil)
            let measure = position.flatMap { position in
                end.flatMap { reading.lags[partition]?.measure(from: position, to: $0, at: clock.microseconds()) }
            }
            metrics.setLag(measure, of: partition)
        }
        reportUnassigned()
        let size = store.size
        metrics.setSize(size)
        if let logBytes = size?.logBytes, logGrowth.isWorthTelling(bytes: logBytes) {
            logger.warning(
                "a reader keeps the store's write-ahead log from being used again; end its transaction",
                metadata: ["bytes": .stringConvertible(logBytes)])
        }
    }
}

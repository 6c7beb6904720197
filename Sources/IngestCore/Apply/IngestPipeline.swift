import GraphCore
import KafkaClient
import Logging
import RecordDecoding

/// Takes records, gathers their events into chunks, and commits each chunk with its positions and dead letters.
///
/// Used from one thread, the one that reads the source. With `chunk.threads: 2` and backlog, a second thread saves a
/// chunk while this one decodes the next. The chunks are the same as with one thread: each closes when the chunk before
/// it is committed.
package final class IngestPipeline {
    /// An error that stops the pipeline permanently.
    package struct Halt: CodedError {
        /// A stable code for scripts and logs.
        package var code: String { "ingest.halted" }
        /// The record's place.
        package let location: String?
        package let message: String
        package let remedy: String
    }

    /// The pipeline's counts since it was made: of committed chunks, but for the records that were added.
    package struct Summary: Sendable {
        /// The number of records that were added; one that is read again after a failure counts again.
        package var records = 0
        /// The full size of their values in bytes.
        package var bytes = 0
        /// The number of events that were applied, repeated events included.
        package var applied = 0
        /// The number of events older than what the store knew, which changed nothing.
        package var stale = 0
        /// The number of records that asked nothing of the store: filtered, dropped, or tombstones of a log.
        package var filtered = 0
        /// The number of records that could not be decoded or applied.
        package var deadLetters = 0
        /// Their counts by code, with an example of each.
        package internal(set) var deadLetterCodes = DeadLetterCodes()
        /// The number of placeholders made for objects that had not arrived.
        package var placeholders = 0
        /// The number of chunks that were saved.
        package var chunks = 0
        /// The number of commits.
        package var commits = 0
        /// The number of chunks that were applied again because another writer had got in the way.
        package var conflicts = 0
        /// How many objects were inserted, updated and deleted, or nil before the first chunk.
        package internal(set) var changes: ChangeTally?
    }

    /// The context that the pipeline writes through.
    package let writer: WriterContext
    /// The pipeline's counts so far.
    package private(set) var summary = Summary()
    private let metrics: WorkerMetrics?
    private let logger: Logger
    private let clock: WorkerClock
    private let tools: ChunkSave.Tools
    private var chunk: PendingChunk
    private var policy: ChunkPolicy
    private var savesBeside: Bool
    private var thread: (any BesideSaver)?
    /// Makes the saver for `chunk.threads: 2`, when it is first needed.
    package var makeSaver: () -> any BesideSaver = { SaveThread() }
    /// The chunk that is being saved.
    private var saving: ChunkSave?
    /// The chunk that was saved last, whose memory serves the next one.
    private var saved: ChunkSave?
    private var series: OperationSeries?
    private var ledger = PositionLedger()
    private var warnings = DeadLetterWarnings()
    /// Called after each commit with the positions that it made last.
    package var onCommit: ([SourcePosition]) -> Void = { _ in }
    /// Called for each dead letter with its place, code and reason.
    package var onDeadLetter: (RecordPlace, String, String) -> Void = { _, _, _ in }

    /// Makes a pipeline that writes through a context.
    ///
    /// - Parameters:
    ///   - writer: the store's one writer.
    ///   - configuration: the bounds of chunks, and whether errors are tolerated.
    ///   - metrics: what to count in, or nil.
    ///   - logger: reports dead letters and halts.
    ///   - clock: the time, for which with two threads both ask.
    ///   - tracing: opens a span for each chunk.
    package init(
        writer: WriterContext, configuration: WorkerConfiguration, metrics: WorkerMetrics? = nil, logger: Logger,
        clock: WorkerClock = .system, tracing: WorkerTracing = .installed
    ) {
        self.writer = writer
        chunk = PendingChunk(writer.store.model)
        self.metrics = metrics
        self.logger = logger
        self.clock = clock
        tools = ChunkSave.Tools(
            writer: writer, toleratesErrors: configuration.errors.tolerance == .all, metrics: metrics, tracing: tracing,
            clock: clock)
        savesBeside = configuration.chunk.threads > 1
        policy = ChunkPolicy(configuration.chunk, configuration.commitBounds)
        series = metrics.map { OperationSeries($0, model: writer.store.model) }
    }

    /// Applies a new configuration's bounds of chunks. Call it with no chunk open.
    func take(_ configuration: WorkerConfiguration) {
        policy = ChunkPolicy(configuration.chunk, configuration.commitBounds)
        savesBeside = configuration.chunk.threads > 1
    }

    // MARK: Positions

    /// Notes the store's position of a source that is read from now on. The pipeline saves a chunk of the source only
    /// where the store still holds that position, or a later one of the pipeline's own.
    ///
    /// - Parameters:
    ///   - topic: the source's topic.
    ///   - partition: its partition.
    ///   - offset: its next offset in the store, or nil where the store does not know it.
    package func begin(topic: String, partition: Int32, at offset: Int64?) {
        ledger.begin(TopicPartition(topic, partition), at: offset)
    }

    /// Ends the reading of a source. Call it when no open chunk has records of the source.
    package func end(topic: String, partition: Int32) {
        ledger.end(TopicPartition(topic, partition))
    }

    /// Goes on elsewhere in sources: commits their new positions, together with everything that was added.
    ///
    /// - Throws: as ``add(_:at:nextOffset:detail:hasBacklog:decode:)``.
    package func move(to positions: [SourcePosition]) throws {
        positions.forEach { chunk.move(to: $0) }
        try finish()
    }

    // MARK: Records

    /// Adds a record; commits the chunk when it is full.
    ///
    /// - Parameters:
    ///   - record: the record with its place.
    ///   - place: where the source's position is kept; nil is the record's own place.
    ///   - nextOffset: where the source goes on after the record.
    ///   - detail: what the position keeps besides, such as a file's fingerprint.
    ///   - hasBacklog: whether more records are waiting, so that the chunk may grow.
    ///   - decode: makes the record's event.
    /// - Throws: `StoreError`: everything since the last commit is undone then; a ``DecodeError`` that is retriable; or
    ///   ``Halt``.
    package func add(
        _ record: SourceRecord, at place: RecordPlace? = nil, nextOffset: Int64, detail: String? = nil,
        hasBacklog: Bool = true, decode: (SourceRecord) throws(DecodeError) -> ChangeSet
    ) throws {
        summary.records += 1
        summary.bytes += record.totalBytes
        var (operations, references) = (1, 0)
        do {
            let event = try decode(record)
            references = try IdentityLimit.check(event, model: writer.store.model)
            operations = event.operations.count
            if operations == 0 { chunk.addFiltered() } else { chunk.add(event, record, readTime: clock.microseconds) }
        } catch  where error.isRetriable {
            throw error
        } catch {
            if !tools.toleratesErrors {
                // An earlier record of the chunk may be the first bad one.
                if !chunk.isEmpty { try checkOpenChunk() }
                throw try halt(at: record.place, error.code, error.description)
            }
            chunk.add(error, record, time: clock.microseconds())
        }
        chunk.advance(past: record, at: place ?? record.place, nextOffset: nextOffset, detail: detail)
        let action = policy.added(
            operations: operations, references: references, bytes: record.wholeBytes, hasBacklog: hasBacklog,
            at: clock.seconds())
        if action == .close { try commitChunk(hasBacklog: hasBacklog) }
    }

    /// Lets time pass: commits the open chunk where it is due.
    ///
    /// - Throws: as ``add(_:at:nextOffset:detail:hasBacklog:decode:)``.
    package func tick(hasBacklog: Bool) throws {
        tellDeadLetters(warnings.tick(at: clock.seconds()))
        if saving != nil, thread?.hasEnded() == true { try takeSaved() }
        if policy.tick(hasBacklog: hasBacklog, at: clock.seconds()) == .close {
            try commitChunk(hasBacklog: hasBacklog)
        }
    }

    /// Waits for the chunk that the other thread saves, if there is one; call it before another use of the writer.
    ///
    /// - Throws: as ``add(_:at:nextOffset:detail:hasBacklog:decode:)``.
    package func settle() throws {
        if saving == nil { return }
        let started = clock.seconds()
        thread?.wait()
        policy.waited(seconds: clock.seconds() - started)
        try takeSaved()
    }

    /// Commits everything that was added.
    ///
    /// - Throws: as ``add(_:at:nextOffset:detail:hasBacklog:decode:)``.
    package func finish() throws {
        try settle()
        try commitChunk(hasBacklog: false)
        tellDeadLetters(warnings.flush())
    }

    /// Forgets everything since the last commit.
    package func discard() throws(StoreError) {
        // A chunk that the other thread could not save is undone; one that it has saved counts.
        try? settle()
        forget()
        try writer.rollback()
    }

    /// When the open chunk is due, in seconds of the clock; 0 while another is being saved, nil without either.
    package var deadline: Double? { saving == nil ? policy.deadline : 0 }

    private func forget() {
        chunk.removeAll()
        policy.dropped()
    }

    // MARK: Saving

    private func commitChunk(hasBacklog: Bool) throws {
        if saving != nil {
            try settle()
            // The commit may have let chunks grow.
            if hasBacklog, policy.tick(hasBacklog: true, at: clock.seconds()) == .wait { return }
        }
        if chunk.isEmpty { return }
        let save = ChunkSave(
            chunk, policy.close(at: clock.seconds()), positions: ledger.following(chunk.positions), tools)
        chunk = PendingChunk(writer.store.model)
        saving = save
        // Where a bad record stops the worker, the records behind it are not to be decoded.
        if savesBeside, hasBacklog, tools.toleratesErrors {
            let thread = thread ?? makeSaver()
            self.thread = thread
            thread.start { save.run() }
        } else {
            save.run()
            try takeSaved()
        }
        // Emptying a chunk takes time, which passes beside the save.
        if let saved { chunk = saved.takeChunk() }
        saved = nil
    }

    /// Handles the outcome of the chunk that was saved.
    private func takeSaved() throws {
        guard let save = saving, let outcome = save.outcome else { return }
        saving = nil
        saved = save
        summary.conflicts += save.conflicts
        metrics?.conflicts.increment(by: save.conflicts)
        switch outcome {
        case .success(let report): note(report, save)
        case .failure(let error): throw try undone(by: error)
        }
    }

    /// Handles a chunk that was not saved, and returns the error. The store has undone everything since the last
    /// commit, or does so where it refused an event.
    private func undone(by error: any Error) throws -> any Error {
        if let refusal = error as? ChunkSave.Refusal {
            return try halt(at: refusal.place, refusal.failure.code, refusal.failure.description)
        }
        forget()
        return error
    }

    private func note(_ report: ChunkSave.Report, _ save: ChunkSave) {
        policy.committed(save.closed, rows: report.rows, seconds: report.seconds, conflicts: save.conflicts)
        ledger.committed(save.positions)
        summary.chunks += 1
        summary.commits += 1
        summary.filtered += save.chunk.filteredCount
        summary.applied += report.events - report.stale - report.failures.count
        summary.stale += report.stale
        summary.placeholders += report.placeholders
        if summary.changes == nil { summary.changes = report.changes } else { summary.changes?.add(report.changes) }
        if let metrics { count(report, save, metrics) }
        for letter in save.chunk.deadLetters {
            let place = RecordPlace(
                topic: letter.topic, partition: letter.partition, offset: letter.offset, line: letter.line)
            noteDeadLetter(place, stage: letter.stage, letter.code, letter.reason)
        }
        for refused in report.failures {
            noteDeadLetter(
                save.chunk.place(refused.index), stage: "apply", refused.failure.code, refused.failure.description)
        }
        onCommit(save.positions)
    }

    private func count(_ report: ChunkSave.Report, _ save: ChunkSave, _ metrics: WorkerMetrics) {
        metrics.records.increment(by: save.chunk.recordCount)
        metrics.recordBytes.increment(by: save.chunk.recordBytes)
        metrics.chunks.increment()
        metrics.chunkOperations.observe(Double(report.events))
        metrics.stale.increment(by: report.stale)
        metrics.filtered.increment(by: save.chunk.filteredCount)
        series?.count(save.chunk.events.events, without: report.failures.map(\.index))
        metrics.placeholders.increment(by: report.placeholders)
        series?.count(report.changes)
        metrics.commits.increment()
        metrics.commitDuration.observe(report.commitSeconds)
        if let token = report.token { metrics.historyToken.set(token) }
        metrics.lastCommitTimestamp.set(Double(report.time) / 1_000_000)
    }

    /// Applies the open chunk without a commit: an earlier record of it may be the first bad one.
    private func checkOpenChunk() throws {
        do {
            _ = try ChunkSave(
                chunk, policy.close(at: clock.seconds()), positions: ledger.following(chunk.positions), tools
            ).apply()
        } catch {
            throw try undone(by: error)
        }
    }

    private func noteDeadLetter(_ place: RecordPlace, stage: String, _ code: String, _ reason: String) {
        summary.deadLetters += 1
        metrics?.deadLetters.with(stage).increment()
        summary.deadLetterCodes.note(code, place: "\(place)", reason: reason)
        if warnings.note(code, topic: place.topic, partition: place.partition, at: clock.seconds()) {
            logger.warning(
                "record kept as a dead letter",
                metadata: ["place": "\(place)", "stage": "\(stage)", "code": "\(code)", "reason": "\(reason)"])
        }
        tellDeadLetters(warnings.tick(at: clock.seconds()))
        onDeadLetter(place, code, reason)
    }

    /// Logs the dead letters that had no warning of their own.
    private func tellDeadLetters(_ counts: [String: Int]?) {
        guard let counts else { return }
        logger.warning(
            "records kept as dead letters",
            metadata: [
                "count": .stringConvertible(counts.values.reduce(0, +)),
                "codes": .dictionary(counts.mapValues { .stringConvertible($0) }),
            ])
    }

    /// Undoes everything since the last commit, and returns what stops the pipeline at a bad record.
    private func halt(at place: RecordPlace, _ code: String, _ reason: String) throws -> Halt {
        logger.critical(
            "a bad record stops the worker",
            metadata: ["place": "\(place)", "code": "\(code)", "reason": "\(reason)"])
        forget()
        try writer.rollback()
        return Halt(
            location: "\(place)",
            message: "\(reason). errors.tolerance is none: nothing since the last commit was kept",
            remedy: "Repair the record, or set errors.tolerance to all")
    }
}

/// The metric series of operations and deletions, looked up once.
struct OperationSeries {
    private let upserts: [Counter]
    private let deletes: [Counter]
    private let deleted: [Counter]

    init(_ metrics: WorkerMetrics, model: ObjectModel) {
        upserts = model.entities.map { metrics.operations.with($0.name, "upsert") }
        deletes = model.entities.map { metrics.operations.with($0.name, "delete") }
        deleted = model.entities.map { metrics.objectsDeleted.with($0.name) }
    }

    /// Counts the operations of events.
    ///
    /// - Parameter refused: the indexes of events that became dead letters, ascending.
    func count(_ events: [PackedEvent], without refused: [Int]) {
        var refused = refused[...]
        for (index, event) in events.enumerated() {
            if refused.first == index {
                refused.removeFirst()
                continue
            }
            for operation in event.operations {
                (operation.kind == .upsert ? upserts : deletes)[operation.entity].increment()
            }
        }
    }

    func count(_ changes: ChangeTally) {
        for (entity, counter) in deleted.enumerated() {
            let count = changes.count(.delete, entity: entity)
            if count > 0 { counter.increment(by: count) }
        }
    }
}

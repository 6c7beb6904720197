import Foundation
import KafkaClient
import Logging
import ObjectGraph
import Synchronization

/// Reads topics and writes the store: one thread that polls, applies, saves and commits.
///
/// Everything that touches the writer happens on the thread of ``run()``; rebalances too, for librdkafka calls back
/// inside the poll. That is why this class may claim to be Sendable: only the members marked so are used from others.
public final class ConsumerWorker: @unchecked Sendable {
    let configuration: WorkerConfiguration
    let store: Store
    let pipeline: IngestPipeline
    let metrics: WorkerMetrics
    let health: HealthMonitor
    let logger: Logger
    let mailbox: CursorMailbox
    let deadLetters: DeadLetterPublisher?
    private let consumerConfiguration: KafkaConfiguration
    private let decoders: [String: EventDecoder]
    /// What the broker was last seen to have.
    let directory: TopicDirectory?
    /// Which of these partitions the worker reads; nil where the group says.
    var plan: PartitionPlan?
    /// What to do once everything is read, where the store is built to replace another.
    let takeover: RebuildTakeover?
    private var takeoverChecks = Recurrence(everySeconds: 0.5)
    let wakePublisher: @Sendable () -> Void
    /// Where requests to the store's writer wait; set before ``run()``.
    var control: ControlDesk?
    /// The last token that was notified, or nil where nothing is notified.
    let deliveredToken: @Sendable () -> Int64?
    /// The last token that the store had at the start.
    let firstToken: Int64
    private let stopRequested = Atomic<Bool>(false)
    /// The consumer while ``run()`` is under way, for other threads.
    let consumerBox = Mutex<Consumer?>(nil)
    private let now = HealthMonitor.monotonicSeconds

    /// How far each assigned partition is.
    var progress: [TopicPartition: PartitionProgress] = [:]
    /// Partitions whose offset the broker does not have, until it says which it has.
    var outOfRange: Set<TopicPartition> = []
    /// Partitions whose topic the broker does not have.
    var missing: Set<TopicPartition> = []
    /// Partitions that were out of reach, and may hold another log, since a record was compared with the store's.
    var unproven: Set<TopicPartition> = []
    /// Which partitions stand still though the broker has more of them.
    var fetchWatch: FetchWatch
    /// Which topics are not there.
    var topicWatch: TopicWatch
    /// Whether too much waits to be notified.
    var outbox: OutboxLimit
    /// Partitions that are not read while the outbox is full.
    var resting: Set<TopicPartition> = []
    /// Tells that the consumer is not where the store's positions are: what it passed was dropped, or a seek failed.
    var needsRewind = false
    /// Tells that the store refused, and that what was not committed has to be forgotten before anything else.
    var needsDiscard = false
    /// Reads the store's positions; tests let it fail.
    var readPositions: () throws -> [SourcePosition]
    /// Whether reading waits for the dead-letter topic.
    var isWaiting = false
    /// The number of the pipeline's dead letters that their publisher knows of.
    var notedDeadLetters = 0
    /// Offsets that are saved and not yet told to the broker.
    var uncommittedOffsets: [TopicPartition: Int64] = [:]
    private var cursorSaves = Recurrence(everySeconds: 1)
    private var offsetCommits = Recurrence(everySeconds: 1)
    private var reports = Recurrence(everySeconds: 1)
    private var fetchChecks = Recurrence(everySeconds: 0.5)
    var logGrowth = LogGrowth()
    private var purges: Recurrence
    private var purge: PurgeStep?
    private var backoff = Backoff()
    private var retryBudget: RetryBudget
    private var retryChecks = Recurrence(everySeconds: 1)

    /// Makes a worker on a writer that holds the store's lease.
    ///
    /// - Throws: ``RouteError`` where a topic's routes do not fit the model.
    init(
        configuration: WorkerConfiguration, writer: WriterContext, consumer: KafkaConfiguration,
        metrics: WorkerMetrics, health: HealthMonitor, logger: Logger, mailbox: CursorMailbox,
        deadLetters: DeadLetterPublisher? = nil, directory: TopicDirectory? = nil,
        takeover: RebuildTakeover? = nil, wakePublisher: @escaping @Sendable () -> Void = {},
        deliveredToken: @escaping @Sendable () -> Int64? = { nil }
    ) throws {
        self.deliveredToken = deliveredToken
        self.directory = directory
        self.takeover = takeover
        plan = configuration.kafka.partitions.map {
            PartitionPlan(selection: $0, topics: configuration.topics.map(\.name))
        }
        topicWatch = TopicWatch(configuration.topics.map(\.name))
        let brokerWait = consumer["fetch.wait.max.ms"].flatMap { Double($0) } ?? 500
        fetchWatch = FetchWatch(brokerWaitSeconds: brokerWait / 1000)
        outbox = OutboxLimit(maximumTransactions: configuration.notifications.maxOutboxTransactions)
        firstToken = try writer.store.read { try $0.lastToken() }
        metrics.historyToken.set(firstToken)
        self.configuration = configuration
        consumerConfiguration = consumer
        store = writer.store
        readPositions = { [store = writer.store] in try store.read { try $0.positions() } }
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.mailbox = mailbox
        self.deadLetters = deadLetters
        self.wakePublisher = wakePublisher
        purges = Recurrence(everySeconds: Double(configuration.history.purgeEveryMinutes) * 60)
        retryBudget = RetryBudget(limitSeconds: configuration.errors.retryTimeoutSeconds)
        pipeline = IngestPipeline(writer: writer, configuration: configuration, metrics: metrics, logger: logger)
        var decoders: [String: EventDecoder] = [:]
        for topic in configuration.topics {
            decoders[topic.name] = try configuration.decoder(of: topic, model: writer.store.model)
        }
        self.decoders = decoders
    }

    /// Asks the loop to save what it has, to leave the group and to end. May be called from any thread.
    public func requestStop() {
        stopRequested.store(true, ordering: .releasing)
        consumerBox.withLock { $0 }?.wake()
    }

    /// Consumes until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `StoreError`, `KafkaError` or ``IngestPipeline/Halt`` where going on is impossible; what was not
    ///   committed is read again at the next start.
    public func run() throws {
        defer { control?.close() }
        pipeline.onCommit = { [unowned self] in committed($0) }
        let consumer = try makeConsumer()
        consumerBox.withLock { $0 = consumer }
        health.report(.started)
        let brokerAnswers: Bool
        do {
            while !stopRequested.load(ordering: .acquiring) { try turn(consumer) }
            health.report(.draining)
            // A reader may have found what the writer has not: then nothing more is written.
            if store.isSuspect || needsDiscard { try pipeline.discard() } else { try pipeline.finish() }
            brokerAnswers = commitOffsets(consumer, asynchronously: false)
        } catch {
            let reason = "\(error)"
            health.report(error is StoreError ? .storeFailed(reason: reason) : .halted(reason: reason))
            dropWork(after: error)
            try? consumer.close(timeoutMilliseconds: 5000)
            throw error
        }
        // Offsets that the broker did not take by now serve displays only: leaving the group does not try again.
        uncommittedOffsets.removeAll()
        if brokerAnswers {
            try leave(consumer)
        } else {
            logger.warning("the broker does not answer: the group is not left, and notices by the session timeout")
            try consumer.abandon()
        }
    }

    /// Forgets what is open where the store's disk failed: leaving the group would save it.
    func dropWork(after error: any Error) {
        guard let error = error as? StoreError, error.isDiskFailure else { return }
        try? pipeline.discard()
    }

    private func leave(_ consumer: Consumer) throws {
        do {
            try consumer.close(timeoutMilliseconds: configuration.shutdown.drainSeconds * 200)
        } catch let error as KafkaError where error.code == .timedOut {
            logger.warning("the group was not left in time", metadata: ["reason": "\(error)"])
        }
    }

    private func makeConsumer() throws -> Consumer {
        if plan != nil { return try Consumer(withoutGroup: consumerConfiguration) }
        return try Consumer(
            configuration: consumerConfiguration, topics: configuration.topics.map(\.name)
        ) { [unowned self] event, consumer in try rebalance(event, consumer) }
    }

    /// Saves the last cursors and gives the store's lease up; call it when ``run()`` has ended.
    ///
    /// - Throws: ``StoreError``.
    func close(cursors: [String: Int64]) throws {
        // A store whose disk failed is verified before it is written again; its lease ends with the process.
        if store.isSuspect { return }
        try pipeline.writer.putCursors(cursors)
        try saveDeadLetterCursor()
        try pipeline.writer.close()
    }

    // MARK: The loop

    /// One round of the loop; where the store refuses for now, the next one begins at the store's positions.
    private func turn(_ consumer: Consumer) throws {
        health.report(.heartbeat)
        if retryChecks.isDue(at: now()), let spent = retryBudget.spent(on: health.readiness(), at: now()) {
            throw spent
        }
        do {
            try work(consumer)
        } catch let error as StoreError where error.isRetriable {
            recover(from: error)
        }
    }

    private func work(_ consumer: Consumer) throws {
        // Nothing else is asked of a store that undid what the pipeline still counts as saved.
        try discardIfRefused()
        try assignPartitions(consumer)
        watchTopics()
        try settleOutOfRange(consumer)
        try limitOutbox(consumer)
        try waitOrGoOn(consumer)
        let batch = try consumer.poll(
            maxRecords: configuration.chunk.maxOperations, timeoutMilliseconds: pollMilliseconds)
        for event in batch.errors { try handle(event, consumer) }
        hear(batch)
        // Where the client is not at the store's positions, this batch is read again with the rest.
        if needsRewind { try rewind(consumer) } else { try process(batch, consumer) }
        try maintain(consumer)
        if fetchChecks.isDue(at: now()) { try watchFetches(consumer, at: now()) }
        if let takeover, takeoverChecks.isDue(at: now()) { try consider(takeover, consumer) }
    }

    private var pollMilliseconds: Int {
        if control?.hasWork == true { return 1 }
        guard let deadline = pipeline.deadline else { return 100 }
        return min(100, max(1, Int((deadline - now()) * 1000)))
    }

    private func process(_ batch: RecordBatch, _ consumer: Consumer) throws {
        let hasBacklog = hasBacklog(after: batch, consumer)
        var lost: Set<TopicPartition> = []
        for record in batch {
            let partition = record.topicPartition
            // What follows a lost position is fetched again from where reading goes on.
            if !lost.isEmpty, lost.contains(partition) { continue }
            if !missing.isEmpty, progress[partition]?.isHalted != true { found(partition) }
            if !unproven.isEmpty, unproven.contains(partition), progress[partition]?.isHalted == false {
                lost.insert(partition)
                try compareAgain(partition, consumer)
                continue
            }
            let source = Self.source(record, partition)
            switch progress[partition, default: PartitionProgress(nil)]
                .received(offset: record.offset, fingerprint: RecordFingerprint(source))
            {
            case .apply:
                try takeover?.check(source, partition, offset: record.offset)
                try add(source, partition, hasBacklog: hasBacklog)
            case .skip: continue
            case .lost(let reason):
                lost.insert(partition)
                try positionLost(partition, reason, consumer)
            }
        }
        // The word that a partition has ended is no pause of the others.
        try pipeline.tick(hasBacklog: hasBacklog || (batch.isEmpty && !batch.errors.isEmpty))
    }

    /// Tells whether at least another chunk waits on the broker, as far as the client knows.
    private func hasBacklog(after batch: RecordBatch, _ consumer: Consumer) -> Bool {
        guard let last = batch.last else { return false }
        if isFull(batch) { return true }
        guard let high = try? consumer.watermarks(last.topicPartition)?.high else { return false }
        return high - last.offset > Int64(configuration.chunk.maxOperations)
    }

    static func source(_ record: ConsumedRecord, _ partition: TopicPartition) -> SourceRecord {
        var source = SourceRecord(
            place: RecordPlace(topic: partition.topic, partition: partition.partition, offset: record.offset),
            key: record.key, value: record.value)
        source.timestampMilliseconds = record.timestampMilliseconds
        source.headers = record.headers
        return source
    }

    private func add(_ source: SourceRecord, _ partition: TopicPartition, hasBacklog: Bool) throws {
        let decoder = decoders[partition.topic]
        try pipeline.add(source, nextOffset: source.place.offset + 1, hasBacklog: hasBacklog) {
            record throws(DecodeError) in
            guard let decoder else {
                throw DecodeError(code: "decode.topic", "The topic is not configured. Add it to 'topics'")
            }
            return try decoder.decode(record)
        }
    }

    /// What is done between records: cursors, the lease, offsets for the broker, reports, the history's purge.
    private func maintain(_ consumer: Consumer) throws {
        let time = now()
        let writer = pipeline.writer
        if pipeline.deadline == nil {
            try saveCursors(writer)
            try writer.renewLease()
            health.report(.storeOK)
        } else if cursorSaves.isDue(at: time) {
            // While there is backlog nothing is ever idle: the cursors and the purge must not wait for the end of it.
            try saveCursors(writer)
        }
        try purge(writer, at: time)
        try serveRequests(writer)
        if offsetCommits.isDue(at: time) { commitOffsets(consumer, asynchronously: true) }
        if reports.isDue(at: time) { report(consumer) }
    }

    /// Purges old history, then tombstones, a bite a turn: due by the worker's clock, old by the system's microseconds.
    func purge(_ writer: WriterContext, at time: Double, systemTime: Int64 = WriterContext.systemTime()) throws {
        if purges.isDue(at: time) { purge = .begin(configuration) }
        guard var step = purge else { return }
        purge = try step.bite(writer, now: systemTime, logger) ? step : nil
    }

    private func committed(_ positions: [SourcePosition]) {
        health.report(.storeOK)
        backoff.succeeded()
        for position in positions {
            let partition = TopicPartition(position.topic, position.partition)
            uncommittedOffsets[partition] = position.nextOffset
            metrics.position.with(position.topic, "\(position.partition)").set(position.nextOffset)
        }
        noteDeadLetters()
        wakePublisher()
    }

    /// Tells the broker how far the store is. The broker's offsets are for displays of lag: the store's decide.
    ///
    /// - Returns: false where the broker did not answer.
    @discardableResult
    func commitOffsets(_ consumer: Consumer, asynchronously: Bool) -> Bool {
        // A store that is being built has no business with the offsets of the group.
        if takeover != nil { uncommittedOffsets.removeAll() }
        if uncommittedOffsets.isEmpty { return true }
        do {
            try consumer.commit(
                uncommittedOffsets, asynchronously: asynchronously, timeoutMilliseconds: Self.commitMilliseconds)
            uncommittedOffsets.removeAll()
            return true
        } catch {
            logger.debug("offsets were not committed to the broker", metadata: ["reason": "\(error)"])
            return (error as? KafkaError)?.code.isFromBroker ?? true
        }
    }

    /// How long a commit that is waited for may keep the loop, or the end of the process, waiting.
    private static let commitMilliseconds = 2000

    // MARK: Failures

    /// Waits a little; the loop then goes back to what the store has, and reads the records again.
    private func recover(from error: StoreError) {
        health.report(.storeFailed(reason: error.description))
        metrics.noteError()
        let seconds = backoff.failed()
        logger.error(
            "the store refused, trying again",
            metadata: ["code": "\(error.code.rawValue)", "reason": "\(error)", "seconds": .stringConvertible(seconds)])
        Thread.sleep(forTimeInterval: seconds)
        (needsDiscard, needsRewind) = (true, true)
    }

    private func discardIfRefused() throws {
        if needsDiscard { try pipeline.discard() }
        needsDiscard = false
    }

    /// Goes back to the store's positions.
    ///
    /// Where the client cannot now, the next turn of the loop tries again.
    func rewind(_ consumer: Consumer) throws {
        try discardIfRefused()
        // What is open is saved first, so that going back repeats nothing.
        try pipeline.finish()
        let partitions = try consumer.assignment.filter { progress[$0]?.isHalted != true }
        let offsets = try startOffsets(partitions)
        needsRewind = false
        for (partition, offset) in offsets where !needsRewind { try seek(consumer, partition, to: offset) }
    }

    func handle(_ event: ConsumerEvent, _ consumer: Consumer) throws {
        if takeEnd(event) { return }
        if event.error.code == .connectionLost {
            // What answers next may have another log, with more records than the store has read.
            unproven.formUnion(progress.keys)
            return
        }
        metrics.noteError()
        if event.error.isFatal { throw event.error }
        if take(event, consumer) { return }
        logger.warning("the consumer reports", metadata: ["reason": "\(event.error)"])
    }
}

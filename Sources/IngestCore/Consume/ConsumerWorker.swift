import Foundation
import KafkaClient
import Logging
import ObjectGraph
import Synchronization

/// Reads topics and writes the store: one thread that polls, applies, saves and commits.
///
/// Each poll becomes events of `AssignedPartitions`, which answers with actions; the worker only carries them out.
/// Everything that touches the writer happens on the thread of ``run()``; rebalances too, for librdkafka calls back
/// inside the poll. That is why this class may claim to be Sendable: only the members marked so are used from others.
package final class ConsumerWorker: @unchecked Sendable {
    var configuration: WorkerConfiguration
    let store: Store
    let pipeline: IngestPipeline
    let metrics: WorkerMetrics
    let health: HealthMonitor
    let logger: Logger
    /// The outbox of notifications, or nil where nothing is notified.
    let notifications: Outbox?
    /// The outbox of dead-letter records, or nil without a dead-letter topic.
    let deadLetters: Outbox?
    private let consumerConfiguration: KafkaConfiguration
    var decoders: [String: EventDecoder]
    /// The broker's topics and partition ends, as the probe saw them last.
    let directory: TopicDirectory?
    /// Which of these partitions the worker reads; nil where the group says.
    var plan: PartitionPlan?
    /// What to do once everything is read, where the store is built to replace another.
    let takeover: RebuildTakeover?
    /// Where requests to the store's writer wait; set before ``run()``.
    var control: ControlDesk?
    /// A configuration that the loop is to take, for other threads.
    let nextConfiguration = Mutex<WorkerConfiguration?>(nil)
    private let stopRequested = Atomic<Bool>(false)
    /// The consumer while ``run()`` is under way, for other threads.
    let consumerBox = Mutex<Consumer?>(nil)
    let now = HealthMonitor.monotonicSeconds

    /// The state of each assigned partition.
    var partitions: AssignedPartitions
    /// The measures of each assigned partition's lag.
    var lags: [TopicPartition: PartitionLag] = [:]
    /// Reads the store's positions; tests let it fail.
    var readPositions: () throws -> [SourcePosition]
    /// Takes partitions over in the store; tests look at it.
    var claimPartitions: ([StorePartition]) throws(StoreError) -> Void
    /// The last token that the outbox of notifications knows of.
    var notedToken: Int64
    /// The number of the pipeline's dead letters that their outbox knows of.
    var notedDeadLetters = 0
    /// When the worker does what recurs.
    var schedule: WorkerSchedule
    /// The purge of the history that is under way.
    var purge: PurgeStep?
    /// Whether this worker delivers and purges.
    var deliveryRole: DeliveryRole
    var logGrowth = LogGrowth()
    var backoff = Backoff()
    /// The partitions that wait because a record cannot be decoded for now.
    var decodeWait = DecodeWait()
    var retryBudget: RetryBudget

    /// Makes a worker on a writer that holds the store's lease.
    ///
    /// - Throws: ``RouteError`` where a topic's routes do not fit the model.
    init(
        configuration: WorkerConfiguration, writer: WriterContext, consumer: KafkaConfiguration,
        metrics: WorkerMetrics, health: HealthMonitor, logger: Logger, notifications: Outbox? = nil,
        deadLetters: Outbox? = nil, directory: TopicDirectory? = nil, takeover: RebuildTakeover? = nil
    ) throws {
        let topics = configuration.topics.map(\.name)
        self.configuration = configuration
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.notifications = notifications
        self.deadLetters = deadLetters
        self.directory = directory
        self.takeover = takeover
        consumerConfiguration = consumer
        store = writer.store
        readPositions = { [store = writer.store] in try store.read { try $0.positions() } }
        claimPartitions = { partitions throws(StoreError) in try writer.claimPartitions(partitions) }
        deliveryRole = DeliveryRole(sharesStore: writer.sharesStore)
        notedToken = try writer.store.read { try $0.lastToken() }
        metrics.historyToken.set(notedToken)
        plan = configuration.kafka.partitions.map { PartitionPlan(selection: $0, topics: topics) }
        let brokerWait = consumer["fetch.wait.max.ms"].flatMap { Double($0) } ?? 500
        partitions = AssignedPartitions(
            topics: topics, policy: configuration.kafka.onPositionLost, brokerWaitSeconds: brokerWait / 1000)
        schedule = WorkerSchedule(purgeEveryMinutes: configuration.history.purgeEveryMinutes)
        retryBudget = RetryBudget(limitSeconds: configuration.errors.retryTimeoutSeconds)
        pipeline = IngestPipeline(writer: writer, configuration: configuration, metrics: metrics, logger: logger)
        decoders = try configuration.decoders(model: writer.store.model)
    }

    /// Asks the loop to save what it has, to leave the group and to end. May be called from any thread.
    package func requestStop() {
        stopRequested.store(true, ordering: .releasing)
        consumerBox.withLock { $0 }?.wake()
    }

    /// Consumes until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `StoreError`, `KafkaError` or ``IngestPipeline/Halt`` where going on is impossible; what was not
    ///   committed is read again at the next start.
    package func run() throws {
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
            if store.needsVerification || isStoreRefusing { try pipeline.discard() } else { try finishReading() }
            brokerAnswers = commitOffsets(consumer)
        } catch {
            let reason = "\(error)"
            health.report(error is StoreError ? .storeFailed(reason: reason) : .halted(reason: reason))
            dropWork(after: error)
            try? consumer.close(timeoutMilliseconds: 5000)
            throw error
        }
        // Offsets that the broker did not take by now serve displays only: leaving the group does not try again.
        noteOffsetsCommitted(partitions.offsetsToCommit)
        if brokerAnswers {
            try leave(consumer)
        } else {
            logger.warning("the broker does not answer: the group is not left, and notices by the session timeout")
            try consumer.abandon()
        }
    }

    private func finishReading() throws {
        try pipeline.finish()
        try saveEnds()
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
    func close() throws {
        // A store whose disk failed is verified before it is written again; its lease ends with the process.
        if store.needsVerification { return }
        do {
            try leaveStore()
        } catch let error as StoreError where error.isRetriable {
            // A connection that the server has ended meanwhile shows it here first.
            try leaveStore()
        }
    }

    private func leaveStore() throws {
        // A worker that ends does not take the role of delivery over.
        if deliveryRole.isHeld { try saveCursors(pipeline.writer) }
        try pipeline.writer.close()
    }

    // MARK: The loop

    /// One round of the loop; where the store refuses for now, the next one begins at the store's positions.
    private func turn(_ consumer: Consumer) throws {
        health.report(.heartbeat)
        if schedule.retryChecks.isDue(at: now()), let spent = retryBudget.spent(on: health.readiness(), at: now()) {
            throw spent
        }
        // A reader, or another process, may have found what the writer has not.
        if schedule.soundnessChecks.isDue(at: now()), store.needsVerification { throw StoreError.damaged }
        do {
            try work(consumer)
        } catch let error as StoreError where error.isRetriable {
            try recover(from: error, consumer)
        }
    }

    private func work(_ consumer: Consumer) throws {
        // Nothing else is asked of a store that undid what the pipeline still counts as saved.
        try discardIfRefused()
        try takeConfiguration()
        try assignPartitions(consumer)
        watchTopics()
        pauseWhereOutboxesAreFull()
        retryDecoding()
        try carryOutDue(consumer)
        let batch = try consumer.poll(
            maxRecords: maximumPollRecords, timeoutMilliseconds: pollMilliseconds)
        for event in batch.errors { try handle(event) }
        partitions.hear(batch.lazy.map(\.topicPartition), isFull: isFull(batch))
        // Where the store refused during a rebalance, this batch is read again with the rest.
        if isStoreRefusing { try discardIfRefused() } else { try process(batch, consumer) }
        try maintain(consumer)
        if schedule.fetchChecks.isDue(at: now()) { try watchFetches(consumer, at: now()) }
        if let takeover, schedule.takeoverChecks.isDue(at: now()) { try consider(takeover, consumer) }
    }

    private var pollMilliseconds: Int {
        if control?.hasWork == true { return 1 }
        guard let deadline = pipeline.deadline else { return 100 }
        return min(100, max(1, Int((deadline - now()) * 1000)))
    }

    /// Whether a poll took as much as it may, so that more may wait in the client's queue.
    func isFull(_ batch: RecordBatch) -> Bool {
        batch.count + batch.errors.count >= maximumPollRecords
    }

    private var maximumPollRecords: Int {
        Self.maximumPollRecords(configuration, runsPrograms: decoders.values.contains { $0.runsPrograms })
    }

    /// Returns how many records a poll takes at most. Programs may take half a minute for them, far less than the time
    /// between two polls after which the group takes the partitions away.
    static func maximumPollRecords(_ configuration: WorkerConfiguration, runsPrograms: Bool) -> Int {
        let maximum = configuration.chunk.maxOperations
        if !runsPrograms { return maximum }
        return min(maximum, max(1, 30_000 / max(1, configuration.limits.maxProgramMilliseconds)))
    }
}

import Foundation
import GraphCore
import KafkaClient
import Logging
import RecordDecoding

/// Reads topics and writes the store: polls, applies, saves and commits, step by step.
///
/// Each poll becomes events of `AssignedPartitions`, which answers with actions; the worker only carries them out.
/// ``run()`` calls the steps on one thread. Everything that touches the writer happens there; rebalances too, for the
/// source calls back inside the poll. That is why this class may claim to be Sendable: other threads use only the members
/// marked so.
package final class ConsumerWorker: @unchecked Sendable {
    var configuration: WorkerConfiguration
    package let pipeline: IngestPipeline
    var store: Store { pipeline.writer.store }
    let metrics: WorkerMetrics
    let health: HealthMonitor
    let logger: Logger
    let outages: OutageLog
    private let sources: any RecordSources
    let clock: WorkerClock
    var decoders: [String: EventDecoder]
    /// The takeover once everything is read, where the store is built to replace another.
    let takeover: RebuildTakeover?
    /// Where requests to the store's writer wait; set before ``run()``.
    package var control: ControlDesk?
    let requests = LoopRequests()

    /// The state of each assigned partition.
    var partitions: AssignedPartitions
    var reading: PartitionReading
    var delivery: WorkerDelivery
    var purging: RecurringPurge
    var failures: WorkerFailures
    /// The schedule of the worker's recurring work.
    var schedule = WorkerSchedule()
    var logGrowth = LogGrowth()

    /// Makes a worker on a writer that holds the store's lease.
    ///
    /// - Throws: ``RouteError`` where a topic's routes do not fit the model.
    package init(
        configuration: WorkerConfiguration, writer: WriterContext, sources: any RecordSources,
        metrics: WorkerMetrics, health: HealthMonitor, logger: Logger, outages: OutageLog? = nil,
        notifications: Outbox? = nil, deadLetters: Outbox? = nil, directory: TopicDirectory? = nil,
        takeover: RebuildTakeover? = nil, clock: WorkerClock = .system
    ) throws {
        let topics = configuration.topics.map(\.name)
        self.configuration = configuration
        self.metrics = metrics
        self.health = health
        self.logger = logger
        self.outages = outages ?? OutageLog(logger: logger, now: clock.seconds)
        self.takeover = takeover
        self.sources = sources
        self.clock = clock
        let lastToken = try writer.store.read { try $0.lastToken() }
        metrics.historyToken.set(lastToken)
        delivery = WorkerDelivery(
            notifications: notifications, deadLetters: deadLetters, sharesStore: writer.sharesStore,
            lastToken: lastToken)
        partitions = AssignedPartitions(
            topics: topics, policy: configuration.kafka.onPositionLost, brokerWaitSeconds: sources.fetchWaitSeconds)
        reading = PartitionReading(
            writer,
            plan: configuration.kafka.partitions.map {
                PartitionPlan(selection: $0, topics: topics, broadcast: configuration.broadcastTopics)
            },
            directory: directory)
        purging = RecurringPurge(everyMinutes: configuration.history.purgeEveryMinutes)
        failures = WorkerFailures(retryBudget: RetryBudget(limitSeconds: configuration.errors.retryTimeoutSeconds))
        pipeline = IngestPipeline(
            writer: writer, configuration: configuration, metrics: metrics, logger: logger, clock: clock)
        decoders = try configuration.decoders(model: writer.store.model)
    }

    /// Asks the loop to save its open work, to leave the group and to end. May be called from any thread.
    package func requestStop() { requests.stop() }

    /// Consumes until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `StoreError`, `KafkaError` or ``IngestPipeline/Halt`` where going on is impossible; what was not
    ///   committed is read again at the next start.
    package func run() throws {
        defer { control?.close() }
        try start()
        let brokerAnswers: Bool
        do {
            while !requests.isStopping {
                let next = try step(waitsForRecords: true)
                if next.comesWithNews { continue }
                Thread.sleep(forTimeInterval: max(0, min(1, next.seconds - clock.seconds())))
            }
            brokerAnswers = try drain()
        } catch {
            giveUp(after: error)
            throw error
        }
        try leave(brokerAnswers: brokerAnswers)
    }

    // MARK: Steps

    /// Begins to read: joins the group, or makes a source that takes the chosen partitions.
    ///
    /// - Throws: `KafkaError` where a property is unknown or refused.
    package func start() throws {
        pipeline.onCommit = { [unowned self] in committed($0) }
        let source = try makeSource()
        requests.begin(source)
        health.report(.started)
    }

    /// Does one round: takes the records that are there, saves where a chunk is due, and does the duties that are due.
    ///
    /// Where the store refuses for now, the round after a wait begins at the store's positions.
    ///
    /// - Parameter waitsForRecords: whether the source waits for records where there are none, until the next step.
    /// - Returns: when the next step is due.
    /// - Throws: as ``run()``.
    package func step(waitsForRecords: Bool = false) throws -> NextStep {
        let source = try liveSource()
        if let rest = failures.rest {
            if clock.seconds() < rest.end { return try stayMember(rest, source) }
            failures.rest = nil
        }
        health.report(.heartbeat)
        try checkGoingOn()
        do {
            try work(source, waitsForRecords: waitsForRecords)
        } catch let error as StoreError where error.isRetriable {
            recover(from: error)
            return .at(clock.seconds())
        }
        return .withNews(by: clock.seconds() + Double(pollMilliseconds) / 1000)
    }

    /// Saves the open work, and tells the broker how far the store is.
    ///
    /// - Returns: whether the broker answers.
    /// - Throws: as ``run()``.
    package func drain() throws -> Bool {
        health.report(.draining)
        // A reader may have found damage that the writer has not: then nothing more is written.
        if store.needsVerification || isStoreRefusing {
            try pipeline.discard()
        } else {
            try pipeline.finish()
            try saveEnds()
        }
        return commitOffsets(try liveSource())
    }

    /// Leaves the group, or lets a broker that does not answer notice by the session timeout.
    ///
    /// - Throws: `KafkaError`.
    package func leave(brokerAnswers: Bool) throws {
        // Offsets that the broker did not take by now serve displays only: leaving the group does not try again.
        noteOffsetsCommitted(partitions.offsetsToCommit)
        guard brokerAnswers else {
            logger.warning("the broker does not answer: the group is not left, and notices by the session timeout")
            return try liveSource().abandon()
        }
        do {
            try liveSource().close(timeoutMilliseconds: configuration.shutdown.drainSeconds * 200)
        } catch let error as KafkaError where error.code == .timedOut {
            logger.warning("the group was not left in time", metadata: ["reason": "\(error)"])
        }
    }

    /// Reports an error that ends the worker, and leaves the group.
    package func giveUp(after error: any Error) {
        let reason = "\(error)"
        health.report(error is StoreError ? .storeFailed(reason: reason) : .halted(reason: reason))
        dropWork(after: error)
        try? liveSource().close(timeoutMilliseconds: 5000)
    }

    private func liveSource() throws -> any RecordSource {
        guard let source = requests.source else {
            throw KafkaError(.closed, "the worker has not begun to read")
        }
        return source
    }

    private func makeSource() throws -> any RecordSource {
        if reading.plan != nil { return try sources.withoutGroup() }
        return try sources.join(configuration.topics.map(\.name)) { [unowned self] in try rebalance($0, $1) }
    }

    /// Saves the last cursors and gives the store's lease up; call it when ``run()`` has ended.
    ///
    /// - Throws: ``StoreError``.
    package func close() throws {
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
        if delivery.isHeld { try saveCursors() }
        try pipeline.writer.close()
    }

    // MARK: A round

    private func checkGoingOn() throws {
        let time = clock.seconds()
        if schedule.retryChecks.isDue(at: time),
            let spent = failures.retryBudget.spent(on: health.readiness(), at: time)
        {
            throw spent
        }
        // A reader, or another process, may have found damage that the writer has not.
        if schedule.soundnessChecks.isDue(at: time) {
            if store.needsVerification { throw StoreError.damaged }
            if configuration.isStoreInFile { try store.checkPlace() }
        }
    }

    private func work(_ source: any RecordSource, waitsForRecords: Bool) throws {
        // Where the store undid work that the pipeline still counts as saved, this comes first.
        try discardIfRefused()
        try takeConfiguration()
        try assignPartitions(source)
        watchTopics()
        pauseWhereOutboxesAreFull()
        retryDecoding()
        try carryOutDue(source)
        let batch = try source.poll(
            maxRecords: maximumPollRecords, timeoutMilliseconds: waitsForRecords ? pollMilliseconds : 0)
        for event in batch.errors { try handle(event) }
        partitions.hear(batch.lazy.map(\.topicPartition), isFull: isFull(batch))
        // Where the store refused during a rebalance, this batch is read again with the rest.
        if isStoreRefusing { try discardIfRefused() } else { try process(batch, source) }
        try maintain(source)
        if schedule.fetchChecks.isDue(at: clock.seconds()) { try watchFetches(source, at: clock.seconds()) }
        if let takeover, schedule.takeoverChecks.isDue(at: clock.seconds()) { try consider(takeover, source) }
    }

    private var pollMilliseconds: Int {
        if control?.hasWork == true { return 1 }
        guard let deadline = pipeline.deadline else { return 100 }
        return min(100, max(1, Int((deadline - clock.seconds()) * 1000)))
    }

    /// Whether a poll took as much as it may, so that more may wait in the client's queue.
    func isFull(_ batch: RecordBatch) -> Bool {
        batch.count + batch.errors.count >= maximumPollRecords
    }

    private var maximumPollRecords: Int { Self.maximumPollRecords(configuration, runsPrograms: runsPrograms) }

    /// Whether a record of some topic may take as long as the limit of a program.
    var runsPrograms: Bool { decoders.values.contains { $0.runsPrograms } }

    /// Returns the maximum number of records of a poll. Programs may take half a minute for them, far less than the
    /// time between two polls after which the group takes the partitions away.
    static func maximumPollRecords(_ configuration: WorkerConfiguration, runsPrograms: Bool) -> Int {
        let maximum = configuration.chunk.maxOperations
        if !runsPrograms { return maximum }
        return min(maximum, max(1, 30_000 / max(1, configuration.limits.maxProgramMilliseconds)))
    }

    // MARK: Another configuration

    /// Lets the loop take another configuration before its next poll. May be called from any thread.
    package func take(_ configuration: WorkerConfiguration) {
        requests.give(configuration)
    }

    /// Puts the waiting configuration into effect. Saves the open chunk before, because its records were read under the
    /// former one.
    func takeConfiguration() throws {
        guard requests.hasConfiguration else { return }
        // Where the store refuses the chunk, the configuration waits on.
        try pipeline.finish()
        guard let configuration = requests.takeConfiguration() else { return }
        decoders = try configuration.decoders(model: store.model)
        self.configuration = configuration
        pipeline.take(configuration)
        control?.take(configuration)
        logger.info("the worker has taken the configuration")
    }
}

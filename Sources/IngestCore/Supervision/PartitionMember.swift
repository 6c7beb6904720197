import GraphCore
import KafkaClient
import Logging
import Synchronization

/// The worker of one partition, as the member of the group runs it.
package protocol PartitionWorking: AnyObject, Sendable {
    /// Whether the store is open.
    var isOpen: Bool { get }

    /// Begins to open the partition's store and to read; returns at once.
    ///
    /// - Parameters:
    ///   - onOpen: called when the store is open.
    ///   - onEnd: called once at the end, with the failure of a worker that was not asked to end.
    func begin(onOpen: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable ((any Error)?) -> Void)

    /// Asks the worker to save what is open, and to end.
    func requestStop()

    /// Waits for the end. Blocks its thread.
    ///
    /// - Returns: whether the worker has ended by then.
    func waitForEnd(seconds: Double) -> Bool
}

/// The member of the group in a process with a store for each partition. It runs a worker for each partition that the
/// group gives it.
///
/// The process is one member for one topic. Partition n of the other topics goes with partition n of that one, so that
/// the assignor has no say in it.
package final class PartitionMember<Worker: PartitionWorking>: Sendable {
    private struct State {
        var supervision = PartitionSupervision()
        var workers: [Int32: Worker] = [:]
        var source: (any RecordSource)?
        /// The assigned partitions that the client holds back: the workers read them.
        var held: [TopicPartition] = []
        /// The generation of the broker's topics that were compared last.
        var topicGeneration = 0
    }

    private let configuration: @Sendable () -> WorkerConfiguration
    private let sources: any RecordSources
    private let health: HealthMonitor
    private let logger: Logger
    private let outages: OutageLog
    private let directory: TopicDirectory
    private let clock: WorkerClock
    private let makeWorker: @Sendable (Int32, @escaping MemberSources.Commit) -> Worker
    private let leadTopic: String
    private let counts: PartitionCounts
    private let state = Mutex(State())
    private let stopping = Atomic<Bool>(false)

    /// Makes a member that has not joined yet.
    ///
    /// - Parameters:
    ///   - leadTopic: the topic for which the process is a member.
    ///   - configuration: returns the present configuration.
    ///   - makeWorker: makes the worker of a partition, which does not begin yet, from what commits its offsets.
    package init(
        leadTopic: String, configuration: @escaping @Sendable () -> WorkerConfiguration, sources: any RecordSources,
        health: HealthMonitor, logger: Logger, outages: OutageLog, directory: TopicDirectory,
        clock: WorkerClock = .system, makeWorker: @escaping @Sendable (Int32, @escaping MemberSources.Commit) -> Worker
    ) {
        (self.leadTopic, self.configuration, self.sources, self.health) = (leadTopic, configuration, sources, health)
        (self.logger, self.outages, self.directory, self.clock) = (logger, outages, directory, clock)
        self.makeWorker = makeWorker
        counts = PartitionCounts(of: configuration().partitionedTopics)
    }

    /// Stays a member of the group until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: `KafkaError` where the client cannot go on.
    package func run() throws {
        try join()
        let turns = Result { while !stopping.load(ordering: .acquiring) { _ = try step(waitsForNews: true) } }
        leave()
        try turns.get()
    }

    /// Asks the member to stop all workers and to leave the group. May be called from any thread.
    package func requestStop() {
        stopping.store(true, ordering: .releasing)
        state.withLock { $0.source }?.wake()
    }

    // MARK: Steps

    /// Joins the group.
    package func join() throws {
        let source = try sources.join([leadTopic]) { [unowned self] event, _ in rebalance(event) }
        state.withLock { $0.source = source }
        health.report(.started)
    }

    /// Does one turn: polls, so that the group knows the member, and starts workers whose rest is over.
    ///
    /// - Parameter waitsForNews: whether the source waits where there is nothing.
    /// - Returns: when the next turn is due.
    package func step(waitsForNews: Bool = false) throws -> NextStep {
        guard let source = state.withLock({ $0.source }) else { return .at(clock.seconds()) }
        health.report(.heartbeat)
        // Records that come before the client holds a partition back are dropped.
        let batch = try source.poll(maxRecords: 1000, timeoutMilliseconds: waitsForNews ? 100 : 0)
        for event in batch.errors {
            if event.error.isFatal { throw event.error }
            if event.error.code != .partitionEnd { outages.clientReported(event.error) }
        }
        let assigned = try source.assignment
        if assigned != state.withLock({ $0.held }) {
            try source.pause(assigned)
            state.withLock { $0.held = assigned }
        }
        carryOut { $0.tick(at: clock.seconds()) }
        compareCounts()
        return .withNews(by: clock.seconds() + 0.1)
    }

    /// Lets all workers end, and leaves the group.
    package func leave() {
        stopping.store(true, ordering: .releasing)
        health.report(.draining)
        // Before the group is left: the members that take the partitions find their stores closed.
        stop(partitions)
        do {
            try state.withLock { $0.source }?.close(timeoutMilliseconds: 5000)
        } catch {
            logger.warning("the group was not left in time", metadata: ["reason": "\(error)"])
        }
        // An assignment that was under way may have come with the close.
        stop(partitions)
    }

    /// Commits a worker's offsets for the group; the parameters are those of `RecordSource.commit`.
    private func commit(
        _ offsets: [TopicPartition: Int64], asynchronously: Bool, timeoutMilliseconds: Int
    ) throws {
        guard let source = state.withLock({ $0.source }) else { return }
        let partitioned = Set(configuration().partitionedTopics)
        // Each store has its own position in a broadcast topic, and the group has but one.
        let offsets = offsets.filter { partitioned.contains($0.key.topic) }
        if offsets.isEmpty { return }
        try source.commit(offsets, asynchronously: asynchronously, timeoutMilliseconds: timeoutMilliseconds)
    }

    private func rebalance(_ event: RebalanceEvent) -> [TopicPartition: Int64] {
        let partitions = event.partitions.map(\.partition).sorted()
        logger.info("partitions of this process", metadata: ["event": "\(event.name)", "partitions": "\(partitions)"])
        switch event {
        case .assigned:
            health.report(.groupJoined)
            if !stopping.load(ordering: .acquiring) { carryOut { $0.assigned(partitions) } }
            // Nothing is read here, so the end is the cheapest place to stand at.
            return Dictionary(uniqueKeysWithValues: event.partitions.map { ($0, -1) })
        case .revoked: stop(partitions)
        case .lost:
            // Another process may have the partitions: each store's lease decides, and lets nobody in before the end.
            stop(partitions)
            health.report(
                .groupLost(reason: "the group's session is over, and its partitions may be with another member"))
        }
        return [:]
    }

    /// Looks whether the topics are there, with equal numbers of partitions, where the broker has others than before.
    private func compareCounts() {
        guard let news = directory.news(after: state.withLock { $0.topicGeneration }) else { return }
        state.withLock { $0.topicGeneration = news.generation }
        for topic in configuration().topics.map(\.name) {
            var reason: String?
            if news.topics[topic]?.isEmpty ?? true {
                reason = "the broker does not have the topic. Make it, or correct 'topics'"
            } else if topic == leadTopic, let fault = counts.fault(news.topics) {
                reason = "\(fault)"
            }
            let place = TopicPartition(topic, -1)
            guard let reason else {
                health.report(.partitionReleased(place))
                continue
            }
            health.report(.partitionHalted(place, reason: reason))
            logger.error("a topic does not fit", metadata: ["topic": "\(topic)", "reason": "\(reason)"])
        }
    }
}

// MARK: - Workers

extension PartitionMember {
    /// The time that a worker may take to end beyond `shutdown.drainSeconds`.
    package static var graceSeconds: Int { 10 }

    /// The partitions that have a worker, or wait for one.
    package var partitions: [Int32] { state.withLock { $0.supervision.partitions } }

    /// The present workers, by their partitions.
    package var workers: [Int32: Worker] { state.withLock { $0.workers } }

    /// The checks of the process itself, and of stores that are not open.
    package func readiness() -> [HealthCheck] {
        let (supervision, workers) = state.withLock { ($0.supervision, $0.workers) }
        let failures = supervision.failures
        let closed = supervision.partitions.filter { !(workers[$0]?.isOpen ?? false) }
        return health.readiness().filter { $0.name != "store" }
            + closed.map { HealthCheck("\($0).store", failure: failures[$0] ?? "the store is being opened") }
    }

    /// Decides, and carries the decision out.
    ///
    /// - Returns: the workers of these partitions as the decision has left them.
    @discardableResult
    private func carryOut(
        workersOf partitions: [Int32] = [], _ decide: (inout PartitionSupervision) -> [PartitionSupervision.Action]
    ) -> [(partition: Int32, worker: Worker)] {
        // The worker is there with the decision, so that the next decision finds it.
        let (actions, workers) = state.withLock { state in
            let actions = decide(&state.supervision)
            for case .start(let partition) in actions {
                state.workers[partition] = makeWorker(partition) { [weak self] in
                    try self?.commit($0, asynchronously: $1, timeoutMilliseconds: $2)
                }
            }
            return (actions, state.workers)
        }
        for action in actions {
            switch action {
            case .start(let partition):
                workers[partition]?.begin { [self] in
                    state.withLock { $0.supervision.opened(partition, at: clock.seconds()) }
                } onEnd: { [self] in
                    ended(partition, $0)
                }
            case .stop(let partition): workers[partition]?.requestStop()
            }
        }
        return partitions.compactMap { partition in workers[partition].map { (partition, $0) } }
    }

    private func ended(_ partition: Int32, _ failure: (any Error)?) {
        let reason = failure.map { "\($0)" }
        if let reason {
            let startsAgain = state.withLock { $0.supervision.startsAgain(partition) }
            logger.error(
                startsAgain
                    ? "the worker of a partition has ended, and starts again soon"
                    : "the worker of a partition has failed at its end",
                metadata: ["store": "\(partition)", "reason": "\(reason)"])
        }
        state.withLock { $0.workers[partition] = nil }
        carryOut { $0.ended(partition, failure: reason, at: clock.seconds(), jitter: clock.jitter()) }
    }

    /// Lets the workers of partitions end, all at the same time, and waits for them.
    private func stop(_ partitions: [Int32]) {
        let workers = carryOut(workersOf: partitions) { $0.revoked(partitions) }
        let end = clock.seconds() + Double(configuration().shutdown.drainSeconds + Self.graceSeconds)
        for (partition, worker) in workers where !waitForEnd(of: worker, until: end) {
            logger.error(
                "the worker of a partition does not end: its store's lease keeps other workers out",
                metadata: ["store": "\(partition)"])
        }
    }

    /// Waits for the end of a worker. A wait is no silence of the loop.
    private func waitForEnd(of worker: Worker, until end: Double) -> Bool {
        while !worker.waitForEnd(seconds: max(0, min(1, end - clock.seconds()))) {
            if clock.seconds() >= end { return false }
            health.report(.heartbeat)
        }
        return true
    }
}

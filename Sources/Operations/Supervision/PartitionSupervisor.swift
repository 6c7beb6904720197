import CoreMetrics
import Dispatch
import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding
import ServiceLifecycle
import Synchronization
import Tracing
import UnixSignals

/// Runs a whole worker for each partition that the group gives to this process, each with a store of its own.
///
/// The process is one member of the group, for one topic. Partition n of the other topics goes with partition n of
/// that one, so that the assignor has no say in it. A worker takes its partitions by itself, as one with
/// `kafka.partitions` does; the member commits its offsets, for Kafka takes them from members only. The lease, the
/// fence and the positions stand in each store, so a commit is as safe as with one store.
package final class PartitionSupervisor: Sendable {
    struct State {
        var supervision = PartitionSupervision()
        var workers: [Int32: PartitionWorker] = [:]
        /// The configuration of workers that start from now on.
        var configuration: WorkerConfiguration
        var member: (any RecordSource)?
    }

    /// The member's knowledge from turn to turn.
    private struct Knowledge {
        /// The assigned partitions that the client holds back: the workers read them.
        var held: [TopicPartition] = []
        /// The generation of the broker's topics that were compared last.
        var topicGeneration = 0
    }

    private let model: ObjectModel
    let logger: Logger
    let hooks: WorkerRuntime.Hooks
    let state: Mutex<State>
    private let kafka: KafkaConfiguration
    private let admin: Admin
    let health: HealthMonitor
    let metrics = MetricsRegistry()
    private let probe: BrokerProbe
    private let directory: TopicDirectory
    private let counts: PartitionCounts
    private let leadTopic: String
    private let stopping = Atomic<Bool>(false)
    private let group = Mutex<ServiceGroup?>(nil)
    let outages: OutageLog
    /// The views over all stores; nil where the stores are files, or in several databases.
    private let union: StoreUnion?
    /// The tracer and the metrics of the task that made the supervisor: its workers start on threads that have none.
    private let tracer = InstrumentationSystem.tracer
    private let factory = MetricsSystem.factory

    /// Prepares the process; no store is opened yet.
    ///
    /// - Throws: ``RouteError``, ``PartitionError``, `StoreError`, `KafkaError`.
    package init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger,
        hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks()
    ) throws {
        guard let lead = configuration.partitionedTopics.first else {
            throw RouteError.noTopics
        }
        try configuration.checkStorage(canKeep: model)
        _ = try configuration.decoders(model: model)
        (self.model, self.logger, self.hooks, leadTopic) = (model, logger, hooks, lead)
        counts = PartitionCounts(of: configuration.partitionedTopics)
        state = Mutex(State(configuration: configuration))
        union = StoreUnion(of: configuration, model: model, logger: logger)
        outages = OutageLog(logger: logger, now: hooks.outageClock)
        kafka = try configuration.kafka.consumerConfiguration(logger: logger, outages: outages)
        admin = try Admin(configuration: configuration.kafka.clientConfiguration(logger: logger, outages: outages))
        var rules = HealthRules()
        (rules.needsPublisher, rules.needsDeadLetters) = (false, false)
        health = HealthMonitor(rules: rules, secretValues: configuration.secretValues)
        ProcessMetrics.register(in: metrics)
        directory = TopicDirectory()
        probe = BrokerProbe(
            topics: admin, health: health, metrics: WorkerMetrics(hasProcess: false), logger: logger,
            outages: outages, directory: directory)
        metrics.add(HealthMonitor.failedChecks { [weak self] in self?.ownReadiness() ?? [] })
        health.report(.storeOK)
        health.report(.starting(step: "joining the consumer group"))
        // A broker that does not answer now is asked again by the probe.
        if let known = try? admin.metadata(timeoutMilliseconds: 5000), let fault = counts.fault(known.partitionNumbers)
        {
            throw fault
        }
    }

    /// Runs until the process is asked to stop, then lets all workers drain and close.
    ///
    /// - Parameter signals: the signals that stop it gracefully.
    /// - Throws: `KafkaError`, ``HTTPServerError``.
    package func run(signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
        defer { hooks.notifier?.tell(of: nil) }
        let configuration = state.withLock { $0.configuration }
        var services: [any Service] = []
        if let notifier = hooks.notifier { services.append(ServiceAnnouncement(notifier: notifier, subject: subject)) }
        if configuration.http.enabled { services.append(httpServer(configuration)) }
        if let reloader = reloader(configuration) { services.append(reloader) }
        services.append(
            BlockingService(name: "broker-probe", body: probe.run, stop: { [probe] in probe.requestStop() }))
        services.append(BlockingService(name: "member", body: member, stop: leave))
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals, logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(configuration.shutdown.drainSeconds + Self.graceSeconds)
        let running = ServiceGroup(configuration: group)
        self.group.withLock { $0 = running }
        if !stopping.load(ordering: .acquiring) { try await running.run() }
    }

    /// Asks the running workers to drain and to end, as a signal does.
    package func requestStop() async {
        leave()
        await group.withLock { $0 }?.triggerGracefulShutdown()
    }

    /// Lets the member stop all workers and leave the group. May be called from any thread.
    private func leave() {
        stopping.store(true, ordering: .releasing)
        state.withLock { $0.member }?.wake()
    }

    /// The time that a worker may take to end beyond `shutdown.drainSeconds`.
    private static let graceSeconds = 10

    // MARK: The member of the group

    /// Stays a member of the group until the process ends. Blocks its thread.
    private func member() throws {
        let source = try kafka.join([leadTopic]) { [unowned self] event, _ in rebalance(event) }
        state.withLock { $0.member = source }
        health.report(.started)
        let turns = Result {
            var knowledge = Knowledge()
            while !stopping.load(ordering: .acquiring) { try turn(source, &knowledge) }
        }
        health.report(.draining)
        // Before the group is left: the members that take the partitions find their stores closed.
        stop(state.withLock { $0.supervision.partitions })
        do {
            try source.close(timeoutMilliseconds: 5000)
        } catch {
            logger.warning("the group was not left in time", metadata: ["reason": "\(error)"])
        }
        // An assignment that was under way may have come with the close.
        stop(state.withLock { $0.supervision.partitions })
        try turns.get()
    }

    private func turn(_ source: any RecordSource, _ knowledge: inout Knowledge) throws {
        health.report(.heartbeat)
        // Records that come before the client holds a partition back are dropped.
        let batch = try source.poll(maxRecords: 1000, timeoutMilliseconds: 100)
        for event in batch.errors {
            if event.error.isFatal { throw event.error }
            if event.error.code != .partitionEnd { outages.clientReported(event.error) }
        }
        let assigned = try source.assignment
        if assigned != knowledge.held {
            try source.pause(assigned)
            knowledge.held = assigned
        }
        let time = MonotonicClock.seconds()
        carryOut { $0.tick(at: time) }
        union?.tick(at: time)
        compareCounts(&knowledge)
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
    private func compareCounts(_ knowledge: inout Knowledge) {
        guard let news = directory.news(after: knowledge.topicGeneration) else { return }
        knowledge.topicGeneration = news.generation
        for topic in state.withLock({ $0.configuration.topics.map(\.name) }) {
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

    // MARK: Workers

    /// Decides, and carries the decision out.
    ///
    /// - Returns: the workers of these partitions as the decision has left them.
    @discardableResult
    private func carryOut(
        workersOf partitions: [Int32] = [], _ decide: (inout PartitionSupervision) -> [PartitionSupervision.Action]
    ) -> [(partition: Int32, worker: PartitionWorker)] {
        // The worker is there with the decision, so that the next decision finds it.
        let (actions, workers, configuration) = state.withLock { state in
            let actions = decide(&state.supervision)
            for case .start(let partition) in actions { state.workers[partition] = PartitionWorker() }
            return (actions, state.workers, state.configuration)
        }
        for action in actions {
            switch action {
            case .start(let partition):
                let own = configuration.ofPartition(partition)
                workers[partition]?.begin { [self] in
                    try await open(own, partition)
                } onOpen: { [self] in
                    opened(partition, $0, configuration)
                } onEnd: { [self] in
                    ended(partition, $0)
                }
            case .stop(let partition): workers[partition]?.requestStop()
            }
        }
        return partitions.compactMap { partition in workers[partition].map { (partition, $0) } }
    }

    private func open(_ configuration: WorkerConfiguration, _ partition: Int32) async throws -> WorkerRuntime {
        try await DispatchQueue.global().run { [self] in try checkStore(configuration, partition) }
        var configuration = configuration
        configuration.http.enabled = false
        var own = logger
        own[metadataKey: "store"] = "\(partition)"
        var hooks = hooks
        (hooks.notifier, hooks.readConfiguration) = (nil, nil)
        let partitioned = Set(configuration.partitionedTopics)
        let sources = MemberSources(base: kafka) { [self] offsets, asynchronously, timeout in
            guard let member = state.withLock({ $0.member }) else { return }
            // Each store has its own position in a broadcast topic, and the group has but one.
            let offsets = offsets.filter { partitioned.contains($0.key.topic) }
            if offsets.isEmpty { return }
            try member.commit(offsets, asynchronously: asynchronously, timeoutMilliseconds: timeout)
        }
        return try await withMetricsFactory(factory) {
            try await withTracer(tracer) {
                try await WorkerRuntime.open(
                    configuration: configuration, model: model, logger: own, hooks: hooks, takeover: nil,
                    sources: sources)
            }
        }
    }

    /// Notes that a worker's store is open, and gives the worker the configuration that came meanwhile.
    private func opened(_ partition: Int32, _ runtime: WorkerRuntime, _ former: WorkerConfiguration) {
        let latest = state.withLock { state in
            state.supervision.opened(partition, at: MonotonicClock.seconds())
            return state.configuration
        }
        union?.changed(open: partition)
        if latest != former { runtime.take(latest.ofPartition(partition)) }
    }

    private static let absences: Set<KafkaError.Code> = [.unknownTopicOrPartition, .unknownTopic, .unknownPartition]

    /// Refuses to begin an empty store in silence where the group has read the partition into another.
    private func checkStore(_ configuration: WorkerConfiguration, _ partition: Int32) throws {
        if configuration.store.missing == .rebuild { return }
        guard let group = configuration.kafka.properties["group.id"], try !configuration.hasStore(model: model) else {
            return
        }
        for place in configuration.partitionedTopics.map({ TopicPartition($0, partition) }) {
            do {
                let committed = try admin.committedOffsets(group: group, partitions: [place])[place] ?? 0
                if committed == 0 { continue }
                throw PartitionError.storeMissing(configuration.storePlace, place, committed: committed, group: group)
            } catch let error as KafkaError where Self.absences.contains(error.code) {
                // Nobody has read a topic that is not there.
                continue
            }
        }
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
        // Its store may be gone, and the views with it.
        if let open = stores.first?.partition { union?.changed(open: open) }
        carryOut {
            $0.ended(partition, failure: reason, at: MonotonicClock.seconds(), jitter: .random(in: 0...1))
        }
    }

    /// Lets the workers of partitions end, all at the same time, and waits for them.
    private func stop(_ partitions: [Int32]) {
        let workers = carryOut(workersOf: partitions) { $0.revoked(partitions) }
        let seconds = state.withLock { $0.configuration.shutdown.drainSeconds }
        let end = DispatchTime.now() + .seconds(seconds + Self.graceSeconds)
        for (partition, worker) in workers where !waitForEnd(of: worker, until: end) {
            logger.error(
                "the worker of a partition does not end: its store's lease keeps other workers out",
                metadata: ["store": "\(partition)"])
        }
    }

    /// Waits for the end of a worker. A wait is no silence of the loop.
    private func waitForEnd(of worker: PartitionWorker, until end: DispatchTime) -> Bool {
        while !worker.waitForEnd(until: min(end, .now() + 1)) {
            if DispatchTime.now() >= end { return false }
            health.report(.heartbeat)
        }
        return true
    }

    // MARK: Another configuration

    func reloader(_ configuration: WorkerConfiguration) -> ConfigurationReloader? {
        hooks.readConfiguration.map { read in
            ConfigurationReloader(
                running: configuration, model: model, logger: logger, read: read, take: { [self] in take($0) })
        }
    }

    /// Lets all workers, and those that start later, have another configuration.
    private func take(_ configuration: WorkerConfiguration) {
        state.withLock { $0.configuration = configuration }
        for (partition, runtime) in stores { runtime.take(configuration.ofPartition(partition)) }
    }
}

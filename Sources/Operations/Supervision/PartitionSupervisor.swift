import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs a whole worker for each partition that the group gives to this process, each with a store of its own.
///
/// A worker takes its partitions by itself, as one with `kafka.partitions` does. The process's member of the group
/// commits its offsets, for Kafka takes them from members only. The lease, the fence and the positions stand in each
/// store, so a commit is as safe as with one store.
package final class PartitionSupervisor: Sendable {
    private let model: ObjectModel
    let logger: Logger
    let hooks: WorkerRuntime.Hooks
    private let workers: PartitionStores
    let member: PartitionMember<PartitionWorker>
    let health: HealthMonitor
    let metrics = MetricsRegistry()
    private let probe: BrokerProbe
    private let stopping = Atomic<Bool>(false)
    private let group = Mutex<ServiceGroup?>(nil)
    let outages: OutageLog

    /// Prepares the process; no store is opened yet.
    ///
    /// - Throws: ``RouteError``, ``PartitionError``, `StoreError`, `KafkaError`.
    package init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger,
        hooks: WorkerRuntime.Hooks = WorkerRuntime.Hooks()
    ) throws {
        guard let leadTopic = configuration.partitionedTopics.first else {
            throw RouteError.noTopics
        }
        try configuration.checkStorage(canKeep: model)
        _ = try configuration.decoders(model: model)
        (self.model, self.logger, self.hooks) = (model, logger, hooks)
        outages = OutageLog(logger: logger, now: hooks.outageClock)
        let kafka = try configuration.kafka.consumerConfiguration(logger: logger, outages: outages)
        let admin = try Admin(
            configuration: configuration.kafka.clientConfiguration(logger: logger, outages: outages))
        var rules = HealthRules()
        (rules.needsPublisher, rules.needsDeadLetters) = (false, false)
        health = HealthMonitor(rules: rules, secretValues: configuration.secretValues)
        ProcessMetrics.register(in: metrics)
        let directory = TopicDirectory()
        probe = BrokerProbe(
            topics: admin, health: health, metrics: WorkerMetrics(hasProcess: false), logger: logger,
            outages: outages, directory: directory)
        let workers = PartitionStores(
            configuration, model: model, logger: logger, hooks: hooks, kafka: kafka, admin: admin)
        self.workers = workers
        member = PartitionMember(
            leadTopic: leadTopic, configuration: { workers.configuration }, sources: kafka, health: health,
            logger: logger, outages: outages, directory: directory, makeWorker: workers.worker)
        metrics.add(HealthMonitor.failedChecks { [weak member] in member?.readiness() ?? [] })
        health.report(.storeOK)
        health.report(.starting(step: "joining the consumer group"))
        // A broker that does not answer now is asked again by the probe.
        let counts = PartitionCounts(of: configuration.partitionedTopics)
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
        let configuration = workers.configuration
        var services: [any Service] = []
        if let notifier = hooks.notifier { services.append(ServiceAnnouncement(notifier: notifier, subject: subject)) }
        if configuration.http.enabled { services.append(httpServer(configuration)) }
        if let reloader = reloader(configuration) { services.append(reloader) }
        services.append(
            BlockingService(name: "broker-probe", body: probe.run, stop: { [probe] in probe.requestStop() }))
        services.append(BlockingService(name: "member", body: member.run, stop: member.requestStop))
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals, logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(
            configuration.shutdown.drainSeconds + PartitionMember<PartitionWorker>.graceSeconds)
        let running = ServiceGroup(configuration: group)
        self.group.withLock { $0 = running }
        if !stopping.load(ordering: .acquiring) { try await running.run() }
    }

    /// Asks the running workers to drain and to end, as a signal does.
    package func requestStop() async {
        stopping.store(true, ordering: .releasing)
        member.requestStop()
        await group.withLock { $0 }?.triggerGracefulShutdown()
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
        workers.take(configuration)
        for (partition, runtime) in stores { runtime.take(configuration.ofPartition(partition)) }
    }
}

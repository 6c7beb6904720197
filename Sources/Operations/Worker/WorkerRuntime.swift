import CoreMetrics
import Dispatch
import Foundation
import GraphCore
import IngestCore
import KafkaClient
import Logging
import RecordDecoding
import ServiceLifecycle
import Synchronization
import Tracing
import UnixSignals

/// The whole worker: consumer, writer, publisher, broker probe and HTTP server, wired from a configuration.
package final class WorkerRuntime: Sendable {
    /// How a worker is observed by the program that runs it.
    package struct Hooks: Sendable {
        /// Called with the port once the HTTP server listens.
        package var onHTTPBound: @Sendable (Int) -> Void = { _ in }
        /// Called on the worker's thread for each record that becomes a dead letter: its place, code and reason.
        package var onDeadLetter: @Sendable (RecordPlace, String, String) -> Void = { _, _, _ in }
        /// Called after each step of putting a rebuilt store in its place, with the step's name.
        package var onRebuildStep: @Sendable (String) -> Void = { _ in }
        /// Called before each check of a store that is verified since its disk failed, with the check's name.
        package var onVerification: @Sendable (String) -> Void = { _ in }
        /// Tells the service manager of the worker; nil where none asks.
        package var notifier: ServiceNotifier?
        /// Reads the configuration again at SIGHUP; nil leaves the signal to the process.
        package var readConfiguration: (@Sendable () throws -> WorkerConfiguration)?
        /// The clock by which the log tells how long outages last, in monotonic seconds.
        package var outageClock = MonotonicClock.seconds

        /// Makes hooks that do nothing.
        package init() {}
    }

    /// The store that the worker writes; others may read it meanwhile.
    package let store: Store
    /// The metrics that `/metrics` shows.
    package let metrics: WorkerMetrics
    /// The state behind the readiness and liveness checks.
    package let health: HealthMonitor
    /// The store's writer: a program makes its editing contexts with it, and saves between the worker's chunks.
    package let writer: WriterContext
    private let configuration: WorkerConfiguration
    private let logger: Logger
    let worker: ConsumerWorker
    private let outputs: WorkerOutputs
    private let probe: BrokerProbe
    let feed: ChangeFeed
    /// Where requests to the writer wait; a store that is not in its place takes none.
    private let desk: ControlDesk?
    private let sampler: ConsoleSampler
    private let takeover: RebuildTakeover?
    /// A report reads the store, and waits for one of its connections where others read: one does at a time.
    private let statusQueue = DispatchQueue(label: "status")
    private let hooks: Hooks
    /// Whether the worker is one of several in the process, which share an HTTP server.
    private let isPart: Bool
    private let group = Mutex<ServiceGroup?>(nil)
    private let stopping = Atomic<Bool>(false)
    private let startedAt = WriterContext.systemTime()
    /// The store's figures as `/status` has read them last.
    private let figures = Mutex(StoreFigures())

    /// Opens the store, takes its lease and prepares everything; nothing is consumed yet. It may take hours: a store
    /// whose disk failed is verified first.
    ///
    /// - Throws: `ModelError`, ``RouteError``, `StoreError`, `KafkaError`.
    package static func open(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger, hooks: Hooks = Hooks()
    ) async throws -> WorkerRuntime {
        try await open(configuration: configuration, model: model, logger: logger, hooks: hooks, takeover: nil)
    }

    /// Makes a worker that builds a store to replace another where there is a takeover.
    ///
    /// - Parameter sources: where the records come from, for one worker of several in the process; nil asks Kafka.
    static func open(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger, hooks: Hooks,
        takeover: RebuildTakeover?, sources: (any RecordSources)? = nil
    ) async throws -> WorkerRuntime {
        // The parts of the worker look for the tracer and the metrics of this task.
        let (tracer, factory) = (InstrumentationSystem.tracer, MetricsSystem.factory)
        // A verification has an HTTP server, whose tasks need the thread of this one.
        return try await DispatchQueue(label: "start").run {
            try withMetricsFactory(factory) {
                try withTracer(tracer) {
                    try WorkerRuntime(
                        configuration: configuration, model: model, logger: logger, hooks: hooks, takeover: takeover,
                        sources: sources)
                }
            }
        }
    }

    /// Blocks its thread. A program calls `open`.
    init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger, hooks: Hooks = Hooks(),
        takeover: RebuildTakeover? = nil, sources: (any RecordSources)? = nil
    ) throws {
        (self.takeover, self.configuration, self.logger, self.hooks) = (takeover, configuration, logger, hooks)
        isPart = sources != nil
        let rules = HealthRules(configuration, work: takeover == nil ? nil : .rebuild)
        let health = HealthMonitor(rules: rules, secretValues: configuration.secretValues)
        self.health = health
        metrics = WorkerMetrics(hasProcess: sources == nil)
        health.register(in: metrics.registry)
        health.report(.starting(step: "opening the store"))
        try configuration.checkTopics()
        let outages = OutageLog(logger: logger, now: hooks.outageClock)
        let consumer = try configuration.kafka.consumerConfiguration(logger: logger, outages: outages)
        store = try configuration.openStore(model: model, takeover: takeover)
        sampler = ConsoleSampler(metrics, count: DeadLetterCensus(store, metrics.deadLettersKept).refresh)
        try configuration.checkPartitions(of: store)
        try configuration.verifySuspect(store, hooks, logger)
        writer = try WriterContext(store: store, options: configuration.writerOptions(health))
        health.begin(with: store, isFile: configuration.isStoreInFile)
        health.report(.starting(step: rules.choosesPartitions ? "finding partitions" : "joining the consumer group"))
        let client = configuration.kafka.clientConfiguration(logger: logger, outages: outages)
        outputs = try WorkerOutputs(
            configuration, client: client, consumer: consumer, store: store, metrics: metrics, health: health,
            logger: logger, outages: outages)
        try configuration.putCursor(of: outputs.notifications, writer)
        let directory = TopicDirectory()
        probe = BrokerProbe(
            topics: try Admin(configuration: client), health: health, metrics: metrics, logger: logger,
            outages: outages, directory: directory)
        feed = try ChangeFeed(
            store: store, configuration: configuration.notifications, metrics: metrics, logger: logger,
            outages: outages)
        worker = try ConsumerWorker(
            configuration: configuration, writer: writer, sources: sources ?? consumer, metrics: metrics,
            health: health, logger: logger, outages: outages, notifications: outputs.notifications,
            deadLetters: outputs.deadLetters, directory: directory, takeover: takeover)
        desk = takeover == nil ? try ControlDesk(configuration: configuration, store: store, logger: logger) : nil
        connect()
    }

    /// Lets the parts tell one another what happens.
    private func connect() {
        worker.pipeline.onDeadLetter = hooks.onDeadLetter
        worker.control = desk
        desk?.onVerified = { [health] report in
            let problems = report.isDamaged ? "a verification has found \(report.damageNumber)" : nil
            health.report(.storeVerified(problems: problems))
        }
    }

    /// Runs until the process is asked to stop or something fails permanently, then drains and closes.
    ///
    /// - Parameter signals: the signals that stop it gracefully.
    /// - Throws: what made it fail.
    package func run(signals: [UnixSignal] = [.sigterm, .sigint]) async throws {
        var result = Result<Void, any Error>.success(())
        defer { hooks.notifier?.tell(of: nil) }
        let control = openControl()
        do {
            let group = services(signals, control)
            self.group.withLock { $0 = group }
            if !isStopping { try await group.run() }
        } catch {
            result = .failure(error)
        }
        stopping.store(true, ordering: .releasing)
        // Before the lease is given up: the next holder makes its own.
        control?.close()
        let saved = Result { try close() }
        try result.get()
        try saved.get()
    }

    /// Asks a running worker to drain and to end, as a signal does.
    package func requestStop() async {
        stopping.store(true, ordering: .releasing)
        await group.withLock { $0 }?.triggerGracefulShutdown()
    }

    /// Tells whether the worker was asked to end, or has ended.
    package var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// The services; the last one stops first. The consumer stops, then the publisher, which delivers what the consumer
    /// left.
    private func services(_ signals: [UnixSignal], _ control: ControlServer?) -> ServiceGroup {
        var services: [any Service] = []
        if let notifier = hooks.notifier { services.append(ServiceAnnouncement(notifier: notifier, subject: subject)) }
        if configuration.http.enabled { services.append(httpServer()) }
        if configuration.http.enabled || isPart || metrics.registry.isPublished { services.append(sampler) }
        if let summaries = SummaryService(configuration.log, metrics, health, logger) { services.append(summaries) }
        if let reloader { services.append(reloader) }
        if let control {
            services.append(BlockingService(name: "control", body: control.run, stop: control.requestStop))
        }
        services.append(
            BlockingService(name: "broker-probe", body: probe.run, stop: { [probe] in probe.requestStop() }))
        if let notifications = outputs.notifications {
            services.append(
                BlockingService(name: "publisher", body: notifications.run, stop: { notifications.requestStop() }))
        }
        if let deadLetters = outputs.deadLetters {
            services.append(
                BlockingService(name: "dead-letters", body: deadLetters.run, stop: { deadLetters.requestStop() }))
        }
        services.append(BlockingService(name: "consumer", body: worker.run, stop: { [worker] in worker.requestStop() }))
        var group = ServiceGroupConfiguration(
            services: services.map { .init(service: $0) }, gracefulShutdownSignals: signals, logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(configuration.shutdown.drainSeconds)
        return ServiceGroup(configuration: group)
    }

    /// Lets the worker take another configuration before its next poll.
    func take(_ configuration: WorkerConfiguration) { worker.take(configuration) }

    /// Reads the configuration again at SIGHUP, where the program can.
    private var reloader: ConfigurationReloader? {
        hooks.readConfiguration.map { read in
            ConfigurationReloader(
                running: configuration, model: store.model, logger: logger, isRebuilding: takeover != nil, read: read,
                take: { [worker] in worker.take($0) })
        }
    }

    /// The worker as a service manager sees it.
    private var subject: ServiceNotifier.Subject {
        ServiceNotifier.Subject(isAlive: { [health] in health.liveness().allSatisfy(\.isOK) }) {
            [health, metrics, sampler] in
            let figures = WorkerVerdict.Figures(
                metrics, faults: health.partitionFaults(), recordsPerSecond: sampler.recordsPerSecond)
            return WorkerVerdict(health.readiness(), figures).sentence
        }
    }

    /// Listens beside the store for requests to its writer. Without the socket the worker works as usual.
    private func openControl() -> ControlServer? {
        guard let desk else { return nil }
        do {
            let path = configuration.controlPath
            // A store in PostgreSQL has made no folder.
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let server = try ControlServer(path: path, desk: desk, logger: logger)
            logger.info("the worker takes requests", metadata: ["socket": "\(path)"])
            return server
        } catch {
            logger.warning(
                "there is no control socket: commands that write the store need the worker stopped",
                metadata: ["reason": "\(error)"])
            return nil
        }
    }

    /// A foreign page has no token. Without one the API recognises such a page by the host that it names.
    private var consoleAPI: ConsoleAPI {
        let http = configuration.http
        return ConsoleAPI(
            store: store, sampler: sampler, hosts: http.bearerToken == nil ? HTTPHosts(http) : nil,
            administration: ConsoleAPI.Administration(
                isOn: desk != nil && http.operatorToken != nil, hasBackups: configuration.backup.folder != nil))
    }

    /// The paths of administrative requests, where there is a token for them.
    private var administration: [HTTPRoute] {
        guard let desk, configuration.http.operatorToken != nil else { return [] }
        return AdministrationAPI(desk: desk, hosts: HTTPHosts(configuration.http)).routes
    }

    /// Answers everything about this worker and its store.
    var routes: [HTTPRoute] {
        HTTPRoute.health(
            health, bearerToken: configuration.http.bearerToken, operatorToken: configuration.http.operatorToken)
            + [.metrics(metrics.registry), .status { [self] in try await status() }]
            + (configuration.http.console ? ConsolePage.routes + consoleAPI.routes : [])
            + administration
            // A store that is not in its place has no feed.
            + (takeover == nil ? [feed.route] : [])
    }

    private func httpServer() -> HTTPServer {
        HTTPServer(configuration.http, routes: routes, hooks: hooks, logger: logger)
    }

    /// Delivers the rest of the outbox, saves the cursors and gives the lease up.
    private func close() throws {
        let deadline = MonotonicClock.seconds() + 5
        do {
            try outputs.deadLetters?.drain(untilSeconds: deadline)
        } catch {
            logger.warning("dead letters wait for the next start", metadata: ["reason": "\(error)"])
        }
        // Where the last attempt failed another one would only hold up the end.
        if let notifications = outputs.notifications, !notifications.isFailing {
            do {
                try notifications.drain(untilSeconds: deadline)
            } catch {
                logger.warning(
                    "notifications wait in the outbox for the next start", metadata: ["reason": "\(error)"])
            }
        }
        outputs.close()
        if let takeover, takeover.isTaken, !store.needsVerification { try takeover.finish(writer) }
        try worker.close()
        // A writer that was not closed keeps its connection until the process ends.
        if store.needsVerification { try? store.close() } else { try store.close() }
    }

    /// The pipeline's counts so far; exact once ``run(signals:)`` has returned.
    package var summary: IngestPipeline.Summary { worker.pipeline.summary }

    /// The last token whose notification was delivered, or nil without notifications.
    package var deliveredToken: Int64? { outputs.notifications?.cursor }

    // MARK: Status

    /// Returns the JSON object that `/status` shows, when no other report is being made.
    func status() async throws -> [UInt8] { try await statusQueue.run { self.statusReport() } }

    /// Returns the JSON object that `/status` shows.
    func statusReport() -> [UInt8] {
        // A store that cannot be read is a reason to ask: the checks say why, beside the last figures.
        let figures = (try? store.read { try StoreFigures($0) }) ?? self.figures.withLock { $0 }
        self.figures.withLock { $0 = figures }
        let report = StatusReport(
            configuration, model: store.model.name, startedAt: startedAt, figures, metrics: metrics,
            checks: health.readiness(), faults: health.partitionFaults(), work: health.work(),
            recordsPerSecond: sampler.recordsPerSecond, notifiedToken: deliveredToken)
        return [UInt8](report.json.utf8)
    }
}

extension HTTPServer {
    /// Makes the server of a process with one worker or several, which tells the log and the program where it listens.
    init(
        _ http: HTTPConfiguration, routes: [HTTPRoute],
        further: @escaping HTTPRouting.FurtherRoutes = { _ in nil }, hooks: WorkerRuntime.Hooks, logger: Logger
    ) {
        self.init(
            configuration: HTTPServerConfiguration(http), routes: routes, further: further, logger: logger
        ) { port in
            logger.info("HTTP server listens", metadata: ["host": "\(http.host)", "port": .stringConvertible(port)])
            hooks.onHTTPBound(port)
        }
    }
}

extension RouteError {
    /// The error of a worker without anything to read.
    static let noTopics = RouteError(
        message: "There is no topic to read. Name some in 'topics'; 'replay' reads files")
}

extension HealthRules {
    /// The checks that a worker of this configuration has to pass to be ready.
    fileprivate init(_ configuration: WorkerConfiguration, work: StoreWork.Kind?) {
        self.init()
        needsPublisher = configuration.notifications.topic != nil
        needsDeadLetters = configuration.deadLetters.topic != nil
        choosesPartitions = configuration.kafka.partitions != nil
        self.work = work
        let timeout = configuration.kafka.properties["session.timeout.ms"].flatMap { Int($0) }
        if let timeout { sessionTimeoutSeconds = timeout / 1000 }
    }
}

extension WorkerConfiguration {
    /// Refuses a worker without anything to read.
    fileprivate func checkTopics() throws(RouteError) {
        guard topics.isEmpty else { return }
        throw RouteError.noTopics
    }

    /// Opens the store, which may be one that is built to replace another.
    fileprivate func openStore(model: ObjectModel, takeover: RebuildTakeover?) throws -> Store {
        var options = storeOptions
        if let takeover {
            options.replaces = takeover.identity
            options.builtWith = takeover.contentMark
        }
        return try openStore(model: model, options: options)
    }
}

extension HealthMonitor {
    /// Notes that the store is open, and has the checks see that its file is still in its place.
    fileprivate func begin(with store: Store, isFile: Bool) {
        report(.storeOK)
        guard isFile else { return }
        watchStore {
            do throws(StoreError) { try store.checkPlace() } catch { return error.message }
            return nil
        }
    }
}

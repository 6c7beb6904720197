import Dispatch
import GraphCore
import IngestCore
import Logging
import ServiceLifecycle
import UnixSignals

/// The console over a store that no worker of this machine reads into: objects, history and dead letters, without a
/// broker. It only reads the store, and offers no administration.
package struct StoreConsole: Sendable {
    private let configuration: WorkerConfiguration
    private let store: Store
    private let metrics: WorkerMetrics
    private let sampler: ConsoleSampler
    private let logger: Logger
    private let onBound: @Sendable (Int) -> Void
    private let startedAt = WriterContext.systemTime()
    private let queue = DispatchQueue(label: "status")

    /// The check that stands for the worker that does not run.
    private static let check = HealthCheck(WorkerVerdict.withoutWorker, failure: "the console shows the store alone")

    /// Opens the configured store for reading.
    ///
    /// - Parameter onBound: called with the port once the HTTP server listens.
    /// - Throws: `StoreError`.
    package init(
        configuration: WorkerConfiguration, model: ObjectModel, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void
    ) throws {
        self.configuration = configuration
        self.logger = logger
        self.onBound = onBound
        store = try configuration.openStoreForReading(model: model)
        metrics = WorkerMetrics()
        sampler = ConsoleSampler(metrics, count: DeadLetterCensus(store, metrics.deadLettersKept).refresh)
    }

    /// Serves until the process is asked to stop.
    ///
    /// - Throws: ``HTTPServerError``, `StoreError`.
    package func run() async throws {
        let feed = try ChangeFeed(
            store: store, configuration: configuration.notifications, metrics: metrics, logger: logger)
        let http = configuration.http
        let console = ConsoleAPI(
            store: store, sampler: sampler, hosts: http.bearerToken == nil ? HTTPHosts(http) : nil)
        let status = HTTPRoute.status { [self] in try await queue.run { try self.report() } }
        let routes: [HTTPRoute] = ConsolePage.routes + console.routes + [status, feed.route]
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(http), routes: routes, logger: logger
        ) { [onBound] port in onBound(port) }
        let services: [any Service] = [server, sampler]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger))
        try await group.run()
        try store.close()
    }

    /// The answer to `/status`: a JSON object.
    private func report() throws -> [UInt8] {
        metrics.setSize(store.size)
        let report = StatusReport(
            configuration, model: store.model.name, startedAt: startedAt, try store.read { try StoreFigures($0) },
            metrics: metrics, checks: [Self.check])
        return [UInt8](report.json.utf8)
    }
}

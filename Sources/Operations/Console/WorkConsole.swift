import Dispatch
import GraphCore
import IngestCore
import Logging
import Synchronization

/// Answers while the store is migrated or verified, before a worker is: probes, metrics, `/status` and the page of the
/// console.
///
/// It reads the store once, before the work: a reader would keep the migrated store from its place.
package final class WorkConsole: Sendable {
    private struct Serving {
        let task: Task<Void, Never>
        let end: DispatchSemaphore
    }

    private let configuration: WorkerConfiguration
    private let model: ObjectModel
    private let logger: Logger
    private let figures: StoreFigures
    private let metrics: WorkerMetrics
    private let health: HealthMonitor
    private let startedAt = WriterContext.systemTime()
    private let serving = Mutex<Serving?>(nil)

    /// Reads the figures of the store. Without them, as where there is no store, the answers have zeros.
    ///
    /// - Parameters:
    ///   - work: the kind of work.
    ///   - configuration: names the store and the address.
    ///   - model: the model that the store has after the work.
    ///   - logger: takes failed requests.
    package init(_ work: StoreWork.Kind, configuration: WorkerConfiguration, model: ObjectModel, logger: Logger) {
        self.configuration = configuration
        self.model = model
        self.logger = logger
        metrics = WorkerMetrics()
        var rules = HealthRules()
        rules.work = work
        health = HealthMonitor(rules: rules, secretValues: configuration.secretValues)
        health.register(in: metrics.registry)
        let found = try? configuration.figuresOfOldStore()
        figures = found?.figures ?? StoreFigures()
        metrics.setSize(found?.size)
    }

    deinit { serving.withLock { $0?.task.cancel() } }

    /// Begins to listen at the configured address. Blocks its thread until the server listens, or cannot.
    ///
    /// - Returns: the port.
    /// - Throws: ``HTTPServerError``.
    package func listen() throws -> Int {
        let outcome = Mutex<Result<Int, any Error>?>(nil)
        let isDecided = DispatchSemaphore(value: 0)
        let decide: @Sendable (Result<Int, any Error>) -> Void = { result in
            let isFirst = outcome.withLock { outcome in
                defer { outcome = outcome ?? result }
                return outcome == nil
            }
            if isFirst { isDecided.signal() }
        }
        let server = HTTPServer(
            configuration: HTTPServerConfiguration(configuration.http), routes: routes, logger: logger
        ) { decide(.success($0)) }
        let end = DispatchSemaphore(value: 0)
        let task = Task.detached {
            do { try await server.run() } catch { decide(.failure(error)) }
            end.signal()
        }
        serving.withLock { $0 = Serving(task: task, end: end) }
        isDecided.wait()
        return try outcome.withLock { $0 }?.get() ?? 0
    }

    /// Ends the server, and leaves the port to another one. Blocks its thread until it has ended.
    func close() {
        let former = serving.withLock { serving in
            defer { serving = nil }
            return serving
        }
        former?.task.cancel()
        former?.end.wait()
    }

    /// Reports how far the work is.
    package func show(_ step: ProgressMeter.Step) { health.report(.working(step)) }

    /// The work as a service manager sees it.
    var subject: ServiceNotifier.Subject {
        ServiceNotifier.Subject(
            isReady: false, isAlive: { true },
            status: { [health] in
                WorkerVerdict(health.readiness(), WorkerVerdict.Figures()).sentence
            })
    }

    private var routes: [HTTPRoute] {
        HTTPRoute.health(
            health, bearerToken: configuration.http.bearerToken, operatorToken: configuration.http.operatorToken)
            + [.metrics(metrics.registry), .status { [weak self] in self?.report() ?? [] }]
            + (configuration.http.console ? ConsolePage.routes : [])
    }

    /// The answer to `/status`: a JSON object.
    private func report() -> [UInt8] {
        let report = StatusReport(
            configuration, model: model.name, startedAt: startedAt, figures, metrics: metrics,
            checks: health.readiness(), work: health.work())
        return [UInt8](report.json.utf8)
    }
}

extension WorkerConfiguration {
    /// Reads the figures and the size of a store of any model.
    fileprivate func figuresOfOldStore() throws -> (figures: StoreFigures, size: StoreSize?) {
        let place: String
        switch storeKind {
        case .file(let path): place = path
        case .postgres(let url): place = url
        }
        let store = try openStoreForReading(model: try ObjectModel.load(fileOrStore: place))
        defer { try? store.close() }
        return (try store.read { try StoreFigures($0) }, store.size)
    }
}

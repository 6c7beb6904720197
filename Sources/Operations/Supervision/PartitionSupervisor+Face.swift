import GraphCore
import IngestCore
import ServiceLifecycle

/// One HTTP server for all stores: checks and metrics that name the store, and each store's own paths.
extension PartitionSupervisor {
    /// Says whether each loop goes round; a worker that is being opened has none yet.
    func liveness() -> [HealthCheck] {
        health.liveness() + stores.flatMap { partition, runtime in Self.named(runtime.health.liveness(), partition) }
    }

    /// Says whether each store is written now.
    func readiness() -> [HealthCheck] {
        member.readiness() + stores.flatMap { partition, runtime in Self.named(runtime.health.readiness(), partition) }
    }

    private static func named(_ checks: [HealthCheck], _ partition: Int32) -> [HealthCheck] {
        checks.map { HealthCheck("\(partition).\($0.name)", failure: $0.reason) }
    }

    var subject: ServiceNotifier.Subject {
        ServiceNotifier.Subject(isAlive: { [self] in liveness().allSatisfy(\.isOK) }) { [self] in
            let failed = readiness().filter { !$0.isOK }
            let stores = member.workers.count
            guard let first = failed.first else { return "\(counted(stores, "store")), all ready" }
            return "\(counted(stores, "store")), \(first.name): \(first.reason ?? "")"
        }
    }

    func httpServer(_ configuration: WorkerConfiguration) -> HTTPServer {
        let http = configuration.http
        let feed = ChangeFeed(
            stores: { [self] in stores.flatMap { $0.runtime.feed.stores(ofPartition: $0.partition) } }, outages: outages
        )
        let routes =
            HTTPRoute.health(
                liveness: liveness, readiness: readiness, bearerToken: http.bearerToken,
                operatorToken: http.operatorToken)
            + [
                HTTPRoute("/metrics") { [self] _ in .text(metricsText, type: MetricsRegistry.contentType) },
                .status { [self] in await statusReport() }, feed.route,
            ] + (http.console ? [StorePage.route { [self] in stores.map(\.partition) }] : [])
        return HTTPServer(
            http, routes: routes, further: { [self] in storeRoutes(at: $0) }, hooks: hooks, logger: logger)
    }

    /// Returns the routes of a path below `/stores/PARTITION`, which are those of the partition's worker.
    private func storeRoutes(at path: String) -> [HTTPRoute]? {
        let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        guard parts.count >= 2, parts[0] == "stores", let partition = Int32(parts[1]) else { return nil }
        return member.workers[partition]?.routes(at: parts.count > 2 ? "/\(parts[2])" : "/")
    }

    /// The open stores, by their partitions.
    var stores: [(partition: Int32, runtime: WorkerRuntime)] {
        member.workers.sorted { $0.key < $1.key }.compactMap { partition, worker in
            worker.runtime.map { (partition, $0) }
        }
    }

    private var metricsText: String {
        MetricsRegistry.render([(nil, metrics)] + stores.map { ("\($0.partition)", $0.runtime.metrics.registry) })
    }

    private func statusReport() async -> [UInt8] {
        var report = JSONObject()
        for (partition, runtime) in stores {
            guard let bytes = try? await runtime.status() else { continue }
            report.add("\(partition)", JSONFragment(String(decoding: bytes, as: UTF8.self)))
        }
        var whole = JSONObject()
        whole.add("stores", report)
        return [UInt8](whole.json.utf8)
    }
}

import GraphCore
import IngestCore
import Logging

extension WorkerConfiguration {
    /// Runs a worker inside the program, as `ingest-worker run` does, until the task is cancelled or something fails
    /// permanently.
    ///
    /// A cancelled task ends it as a signal ends the command: the worker commits what is open, delivers notifications
    /// and gives the store's lease up. It installs no signal handlers. Where the program has bootstrapped a tracer, or
    /// encloses the call by `withTracer`, each chunk and each batch of notifications is a span.
    ///
    /// - Parameters:
    ///   - model: the model of the store.
    ///   - logger: takes the worker's log.
    /// - Throws: `ModelError`, `RouteError`, `StoreError`, `KafkaError`: what kept the worker from its start, or ended
    ///   it.
    public func runWorker(model: ObjectModel, logger: Logger) async throws {
        if hasStoreForEachPartition {
            let supervisor = try PartitionSupervisor(configuration: self, model: model, logger: logger)
            return try await Self.run({ try await supervisor.run(signals: []) }, stop: supervisor.requestStop)
        }
        let runtime = try await WorkerRuntime.open(configuration: self, model: model, logger: logger)
        try await Self.run({ try await runtime.run(signals: []) }, stop: runtime.requestStop)
    }

    private static func run(
        _ body: @escaping @Sendable () async throws -> Void, stop: @escaping @Sendable () async -> Void
    ) async throws {
        // A task of its own: the cancellation of this one has to reach the worker as a request to end.
        let worker = Task { try await body() }
        try await withTaskCancellationHandler {
            try await worker.value
        } onCancel: {
            Task { await stop() }
        }
    }
}

import IngestCore
import Logging
import Metrics
import ObjectGraph
import Operations
import Tracing

/// Runs a worker until the task is cancelled. Its spans go to a tracer, and its metrics to a backend.
func importEvents(
    _ configuration: WorkerConfiguration, tracer: any Tracer, metrics: any MetricsFactory
) async throws {
    let model = try ObjectModel.load(path: configuration.model)
    try await withMetricsFactory(metrics) {
        try await withTracer(tracer) {
            try await configuration.runWorker(model: model, logger: Logger(label: "import"))
        }
    }
}

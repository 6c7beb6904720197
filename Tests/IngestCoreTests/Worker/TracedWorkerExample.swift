import IngestCore
import Logging
import ObjectGraph
import Tracing

/// Runs a worker until the task is cancelled, and sends its spans to a tracer.
func importEvents(_ configuration: WorkerConfiguration, tracer: any Tracer) async throws {
    let model = try ObjectModel.load(path: configuration.model)
    try await withTracer(tracer) {
        try await configuration.runWorker(model: model, logger: Logger(label: "import"))
    }
}

import IngestCore
import ServiceLifecycle

/// A part of the worker that blocks a thread of its own until it is asked to stop.
struct BlockingService: Service {
    let name: String
    let body: @Sendable () throws -> Void
    let stop: @Sendable () -> Void

    func run() async throws {
        try await withTaskCancellationHandler {
            try await withGracefulShutdownHandler {
                try await BlockingThread.run(named: name, body)
            } onGracefulShutdown: {
                stop()
            }
        } onCancel: {
            stop()
        }
    }
}

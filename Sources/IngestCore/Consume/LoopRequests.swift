import KafkaClient
import Synchronization

/// The requests of other threads to the worker's loop. Each wakes the source, where the loop waits for records.
final class LoopRequests: Sendable {
    private struct State {
        var source: (any RecordSource)?
        var configuration: WorkerConfiguration?
        var isStopping = false
    }

    private let state = Mutex(State())

    /// The source, once the worker has begun to read.
    var source: (any RecordSource)? { state.withLock { $0.source } }

    /// Whether the loop is asked to end.
    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Whether a configuration waits.
    var hasConfiguration: Bool { state.withLock { $0.configuration != nil } }

    /// Notes the source, in which the loop waits.
    func begin(_ source: any RecordSource) { state.withLock { $0.source = source } }

    /// Asks the loop to end.
    func stop() {
        state.withLock { $0.isStopping = true }
        source?.wake()
    }

    /// Gives the loop another configuration.
    func give(_ configuration: WorkerConfiguration) {
        state.withLock { $0.configuration = configuration }
        source?.wake()
    }

    /// Removes and returns the configuration that waits.
    func takeConfiguration() -> WorkerConfiguration? { state.withLock { $0.configuration.take() } }
}

import Dispatch
import IngestCore
import Synchronization

/// The worker of one partition, from its start to its end: it opens the partition's store, reads, and closes the store.
final class PartitionWorker: Sendable {
    /// Opens the store, and makes the worker; it may wait long.
    typealias Opening = @Sendable () async throws -> WorkerRuntime

    private struct State {
        var runtime: WorkerRuntime?
        var routes: [String: [HTTPRoute]] = [:]
        var isStopping = false
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// The worker, once its store is open.
    var runtime: WorkerRuntime? { state.withLock { $0.runtime } }

    /// Begins to run.
    ///
    /// - Parameters:
    ///   - onOpen: called when the store is open and ``runtime`` is there.
    ///   - onEnd: called once at the end, with the failure of a worker that was not asked to end.
    func begin(
        _ open: @escaping Opening, onOpen: @escaping @Sendable (WorkerRuntime) -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        Task {
            var failure: (any Error)?
            do { try await run(open, onOpen) } catch { failure = error }
            state.withLock { $0.runtime = nil }
            onEnd(failure)
            ended.signal()
        }
    }

    private func run(_ open: Opening, _ onOpen: @Sendable (WorkerRuntime) -> Void) async throws {
        if state.withLock({ $0.isStopping }) { return }
        let runtime = try await open()
        let routes = HTTPRouting.byPath(runtime.routes)
        let isStopping = state.withLock { state in
            (state.runtime, state.routes) = (runtime, routes)
            return state.isStopping
        }
        onOpen(runtime)
        if isStopping { await runtime.requestStop() }
        try await runtime.run(signals: [])
    }

    /// Asks the worker to save what is open, and to end.
    func requestStop() {
        let runtime = state.withLock { state in
            state.isStopping = true
            return state.runtime
        }
        guard let runtime else { return }
        Task { await runtime.requestStop() }
    }

    /// Waits for the end. Blocks its thread.
    ///
    /// - Returns: whether the worker has ended by then.
    func waitForEnd(until time: DispatchTime) -> Bool {
        guard ended.wait(timeout: time) == .success else { return false }
        ended.signal()
        return true
    }

    /// Returns the routes of the worker at a path, or nil.
    func routes(at path: String) -> [HTTPRoute]? {
        state.withLock { $0.runtime == nil ? nil : $0.routes[path] }
    }
}

import Dispatch
import IngestCore
import Synchronization

/// The worker of one partition, from its start to its end: it opens the partition's store, reads, and closes the store.
final class PartitionWorker: PartitionWorking {
    /// Opens the store, and makes the worker; it may wait long.
    typealias Opening = @Sendable () async throws -> WorkerRuntime

    private struct State {
        var runtime: WorkerRuntime?
        var routes: [String: [HTTPRoute]] = [:]
        var isStopping = false
    }

    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    private let open: Opening
    private let whenOpen: @Sendable (WorkerRuntime) -> Void
    private let whenEnded: @Sendable ((any Error)?) -> Void

    /// Prepares a worker.
    ///
    /// - Parameters:
    ///   - onOpen: called when the store is open and ``runtime`` is there.
    ///   - onEnd: called when the store is closed, with the failure of a worker that was not asked to end.
    init(
        open: @escaping Opening, onOpen: @escaping @Sendable (WorkerRuntime) -> Void,
        onEnd: @escaping @Sendable ((any Error)?) -> Void
    ) {
        (self.open, whenOpen, whenEnded) = (open, onOpen, onEnd)
    }

    /// The worker, once its store is open.
    var runtime: WorkerRuntime? { state.withLock { $0.runtime } }

    var isOpen: Bool { runtime != nil }

    func begin(onOpen: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable ((any Error)?) -> Void) {
        Task {
            var failure: (any Error)?
            do { try await run(onOpen) } catch { failure = error }
            state.withLock { $0.runtime = nil }
            whenEnded(failure)
            onEnd(failure)
            ended.signal()
        }
    }

    private func run(_ onOpen: @Sendable () -> Void) async throws {
        if state.withLock({ $0.isStopping }) { return }
        let runtime = try await open()
        let routes = HTTPRouting.byPath(runtime.routes)
        let isStopping = state.withLock { state in
            (state.runtime, state.routes) = (runtime, routes)
            return state.isStopping
        }
        onOpen()
        whenOpen(runtime)
        if isStopping { await runtime.requestStop() }
        try await runtime.run(signals: [])
    }

    func requestStop() {
        let runtime = state.withLock { state in
            state.isStopping = true
            return state.runtime
        }
        guard let runtime else { return }
        Task { await runtime.requestStop() }
    }

    func waitForEnd(seconds: Double) -> Bool {
        guard ended.wait(timeout: .now() + seconds) == .success else { return false }
        ended.signal()
        return true
    }

    /// Returns the routes of the worker at a path, or nil.
    func routes(at path: String) -> [HTTPRoute]? {
        state.withLock { $0.runtime == nil ? nil : $0.routes[path] }
    }
}

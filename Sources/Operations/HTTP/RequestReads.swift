import Dispatch
import GraphCore
import Synchronization

/// Reads a store for requests over HTTP: a few at a time, each within a time limit. A read ends with its client.
///
/// The store's other connections stay free for the worker. Each lane is a serial queue, which has a thread of its own
/// however busy the others are.
final class RequestReads: Sendable {
    private struct State {
        var idle: [DispatchQueue]
        var waiting: [@Sendable () -> Void] = []
    }

    private let store: Store
    private let limitSeconds: Double
    private let state: Mutex<State>

    /// The time of one read by default, in seconds: longer than a page with an index takes, shorter than people wait.
    static let limitSeconds = 10.0

    /// - Parameters:
    ///   - maximumCount: how many read at the same time; others wait for their turn.
    ///   - limitSeconds: how long a read may take once it has its turn.
    init(_ store: Store, maximumCount: Int, limitSeconds: Double = RequestReads.limitSeconds) {
        self.store = store
        self.limitSeconds = limitSeconds
        state = Mutex(State(idle: (1...max(1, maximumCount)).map { DispatchQueue(label: "request-reads-\($0)") }))
    }

    /// Calls `body` with a snapshot, without blocking the task's thread. The read ends once the task is cancelled.
    ///
    /// - Throws: `StoreError`, with code `store.time_limit` where the read took too long; `CancellationError`; what `body`
    ///   throws.
    func read<Result: Sendable>(_ body: @escaping @Sendable (ReadContext) throws -> Result) async throws -> Result {
        guard let result = try await store.reading(withinSeconds: limitSeconds, schedule: schedule, body) else {
            throw CancellationError()
        }
        return result
    }

    private func schedule(_ work: @escaping @Sendable () -> Void) {
        let lane = state.withLock { state -> DispatchQueue? in
            if let lane = state.idle.popLast() { return lane }
            state.waiting.append(work)
            return nil
        }
        lane?.async { [self, lane] in carryOut(work, on: lane) }
    }

    /// Does work, and then the work that waits.
    private func carryOut(_ first: @Sendable () -> Void, on lane: DispatchQueue?) {
        first()
        while true {
            let next = state.withLock { state -> (@Sendable () -> Void)? in
                if let lane, state.waiting.isEmpty { state.idle.append(lane) }
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            guard let next else { return }
            next()
        }
    }
}

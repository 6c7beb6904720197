import Synchronization

/// Wakes the tasks that wait for changes when a writer of this process has committed.
public final class ChangeSignal: Sendable {
    private struct State {
        var generation: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        /// Waiters that were released before they began to wait.
        var released: Set<UInt64> = []
    }

    private let state = Mutex(State())

    /// A number that grows with each commit: read it before looking, and wait for a greater one.
    public var generation: UInt64 { state.withLock { $0.generation } }

    /// Wakes all waiters.
    func notify() {
        let waiters = state.withLock { state in
            state.generation += 1
            defer { state.waiters.removeAll() }
            return state.waiters.values.map { $0 }
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits for a generation after `generation`, for a time, or until the task is cancelled.
    public func wait(after generation: UInt64, timeout: Duration) async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try? await Task.sleep(for: timeout)
            release(id)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.generation > generation || state.released.remove(id) != nil { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            release(id)
        }
        timer.cancel()
        // The timer may release a waiter that is already gone.
        await timer.value
        state.withLock { _ = $0.released.remove(id) }
    }

    private func release(_ id: UInt64) {
        let waiter = state.withLock { state in
            if let waiter = state.waiters.removeValue(forKey: id) { return waiter as CheckedContinuation<Void, Never>? }
            state.released.insert(id)
            return nil
        }
        waiter?.resume()
    }
}

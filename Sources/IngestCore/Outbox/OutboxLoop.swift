import Dispatch
import ObjectGraph
import Synchronization

/// The loop of a thread that delivers what the store holds: until it is asked to stop, with a back-off after failures.
final class OutboxLoop: Sendable {
    private let changed = DispatchSemaphore(value: 0)
    private let isStopping = Atomic<Bool>(false)
    /// Whether it was woken since it last waited: a wake that comes between looking and waiting must not be lost.
    private let hasNews = Atomic<Bool>(false)

    /// Wakes the loop: there may be something to deliver.
    func wake() {
        hasNews.store(true, ordering: .releasing)
        changed.signal()
    }

    /// Asks the loop to end after what it is doing.
    func requestStop() {
        isStopping.store(true, ordering: .releasing)
        wake()
    }

    /// Delivers until it is asked to stop. Blocks its thread.
    ///
    /// - Parameters:
    ///   - next: delivers what comes next, and returns how much that was.
    ///   - succeeded: called after each delivery.
    ///   - failed: called with each failure.
    /// - Throws: `StoreError` where the store's disk failed or it is damaged: that is not tried again.
    func run(next: () throws -> Int, succeeded: () -> Void, failed: (any Error) -> Void) throws {
        var backoff = Backoff()
        while !isStopping.load(ordering: .acquiring) {
            do {
                let count = try next()
                backoff.succeeded()
                succeeded()
                if count == 0 { wait(seconds: 0.5, endsWithNews: true) }
            } catch {
                failed(error)
                if let error = error as? StoreError, error.isDiskFailure { throw error }
                wait(seconds: backoff.failed(), endsWithNews: false)
            }
        }
    }

    /// Waits for a time, for news where they count, or until it is asked to stop.
    private func wait(seconds: Double, endsWithNews: Bool) {
        // Not until a date: a clock that is set back must not make the wait longer.
        let end = DispatchTime.now() + seconds
        while !isStopping.load(ordering: .acquiring) {
            if endsWithNews, hasNews.exchange(false, ordering: .acquiringAndReleasing) { return }
            if changed.wait(timeout: end) == .timedOut { return }
        }
    }
}

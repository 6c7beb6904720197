import Dispatch
import Synchronization

/// The thread of an outbox: it does the outbox's steps when they are due, until it is asked to stop.
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

    /// Asks the loop to end after its present work.
    func requestStop() {
        isStopping.store(true, ordering: .releasing)
        wake()
    }

    /// Does steps until it is asked to stop. Blocks its thread.
    ///
    /// - Throws: the errors of a step.
    func run(_ clock: WorkerClock, step: () throws -> NextStep) throws {
        while !isStopping.load(ordering: .acquiring) { wait(for: try step(), clock) }
    }

    /// Waits until a step is due, or until it is asked to stop.
    private func wait(for next: NextStep, _ clock: WorkerClock) {
        // Not until a date: a clock that is set back must not make the wait longer.
        let end = DispatchTime.now() + max(0, next.seconds - clock.seconds())
        while !isStopping.load(ordering: .acquiring) {
            if next.comesWithNews, hasNews.exchange(false, ordering: .acquiringAndReleasing) { return }
            if changed.wait(timeout: end) == .timedOut { return }
        }
    }
}

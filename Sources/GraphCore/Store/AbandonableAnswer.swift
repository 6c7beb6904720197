import Foundation
import Synchronization

/// The answer of a read on another thread, which its reader stops waiting for where the read does not end in time.
final class AbandonableAnswer<Answer: Sendable>: Sendable {
    private let continuation = Mutex<CheckedContinuation<Answer, any Error>?>(nil)

    /// Notes who waits for the answer.
    func wait(_ continuation: CheckedContinuation<Answer, any Error>) {
        self.continuation.withLock { $0 = continuation }
    }

    /// Gives the answer, unless nobody waits for it any more.
    func give(_ result: Result<Answer, any Error>) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(with: result)
    }

    /// Gives an error instead of an answer that has not come a second after a time.
    func abandon(afterSeconds seconds: Double, with error: any Error) {
        DeadlineThread.shared.call(afterSeconds: seconds + 1) { [weak self] in self?.give(.failure(error)) }
    }
}

/// A thread that calls what is due. A dispatch queue's timer may not come while all of its threads are busy with reads.
private final class DeadlineThread: @unchecked Sendable {
    private struct Entry {
        let date: Date
        let body: @Sendable () -> Void
    }

    static let shared = DeadlineThread()

    // Sendable without a check: the condition guards the entries.
    private let condition = NSCondition()
    /// In the order of their dates.
    private var entries: [Entry] = []

    private init() {
        let thread = Thread { [self] in run() }
        thread.name = "read-deadlines"
        thread.start()
    }

    func call(afterSeconds seconds: Double, _ body: @escaping @Sendable () -> Void) {
        let entry = Entry(date: Date(timeIntervalSinceNow: seconds), body: body)
        condition.withLock {
            let place = entries.lastIndex { $0.date <= entry.date }.map { $0 + 1 } ?? 0
            entries.insert(entry, at: place)
            if place == 0 { condition.signal() }
        }
    }

    private func run() {
        while true {
            condition.lock()
            if let next = entries.first { _ = condition.wait(until: next.date) } else { condition.wait() }
            let now = Date()
            let due = entries.prefix { $0.date <= now }
            entries.removeFirst(due.count)
            condition.unlock()
            for entry in due { entry.body() }
        }
    }
}

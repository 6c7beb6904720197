import Synchronization

/// Lets one thread at a time into the library's queue: it serves callbacks, and must not be entered twice.
final class PollGate: Sendable {
    private let gate = Mutex(())
    private let owner = Atomic<UInt>(0)
    private let isClosing = Atomic<Bool>(false)

    /// Runs `body`, or throws `busy` when a thread (this one included) is inside, `closed` from the close on.
    func enter<Result: Sendable>(_ body: () throws -> Result) throws -> Result {
        let outcome = try gate.withLockIfAvailable { _ in
            if isClosing.load(ordering: .acquiring) { throw Self.closed }
            return try run(body)
        }
        if outcome == nil && isClosing.load(ordering: .acquiring) { throw Self.closed }
        guard let outcome else { throw KafkaError(.busy, "another poll or close is under way") }
        return outcome
    }

    /// Runs `body` after the thread inside has left; `wake` asks that thread to leave. Throws `busy` from inside a
    /// callback.
    func close(wake: () -> Void, _ body: () throws -> Void) throws {
        if owner.load(ordering: .acquiring) == DedicatedThread.current {
            throw KafkaError(.busy, "close was called inside the rebalance handler", isRetriable: false)
        }
        isClosing.store(true, ordering: .releasing)
        wake()
        try gate.withLock { _ in try run(body) }
    }

    private func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        owner.store(DedicatedThread.current, ordering: .releasing)
        defer { owner.store(0, ordering: .releasing) }
        return try body()
    }

    private static let closed = KafkaError(.closed, "the consumer is closed")
}

import Dispatch
import Synchronization

/// Ends a read early: at its time limit, or once nobody waits for the answer any more.
///
/// The read asks for ``isRequested`` between its steps. No timer is needed: a timer's thread may not come while others are
/// busy.
package final class ReadInterruption: Sendable {
    /// How long the read may take, in seconds; nil for any time.
    package let limitSeconds: Double?
    /// The interruption of the read that this thread carries out, for steps that may take long; nil for none.
    @TaskLocal package static var current: ReadInterruption?
    private let isCancelled = Atomic<Bool>(false)
    /// The end of the read's time in nanoseconds of the machine's uptime; the greatest number before it has begun.
    private let deadline = Atomic<UInt64>(.max)
    /// Ends the statement that runs, while one may run.
    private let ending = Mutex<(@Sendable () -> Void)?>(nil)
    /// A server takes the request over a connection of its own, which takes a moment.
    private static let queue = DispatchQueue(label: "read-interruption")

    package init(limitSeconds: Double? = nil) { self.limitSeconds = limitSeconds }

    /// Whether the read is to end.
    package var isRequested: Bool {
        isCancelled.load(ordering: .relaxed)
            || DispatchTime.now().uptimeNanoseconds >= deadline.load(ordering: .relaxed)
    }

    /// Throws where the read is to end: ``StoreError`` with code `store.time_limit`, or `CancellationError`.
    package func check() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
        if isRequested { throw StoreError.timeLimit(seconds: limitSeconds ?? 0) }
    }

    /// Ends the read, for nobody waits for its answer. Never blocks.
    package func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        Self.queue.async { self.ending.withLock { $0?() } }
    }

    /// Calls `body`, whose time begins now.
    ///
    /// - Parameter end: ends a statement of `body` from another thread. It is not called after `body`.
    /// - Throws: as ``check()`` where the read was ended, else what `body` throws.
    package func whileReading<Result>(end: @escaping @Sendable () -> Void = {}, _ body: () throws -> Result) throws
        -> Result
    {
        if let limitSeconds {
            let end = DispatchTime.now() + limitSeconds
            deadline.store(end.uptimeNanoseconds, ordering: .relaxed)
        }
        ending.withLock { $0 = end }
        defer { ending.withLock { $0 = nil } }
        do {
            try check()
            let result = try Self.$current.withValue(self, operation: body)
            // A step that noticed the end has given no true answer.
            try check()
            return result
        } catch {
            try check()
            throw error
        }
    }
}

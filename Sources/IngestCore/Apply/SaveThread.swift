import Dispatch
import Foundation
import Synchronization

/// Carries out saves of chunks, one at a time, beside the reading of the next one. ``SaveThread`` does it on a thread; tests
/// choose the moment.
package protocol BesideSaver: AnyObject {
    /// Starts a save; ``wait()`` has to return before the next one.
    func start(_ save: @escaping @Sendable () -> Void)

    /// Waits until the started save has ended.
    func wait()

    /// Tells whether the started save has ended, so that ``wait()`` must not be called any more.
    func hasEnded() -> Bool
}

/// A thread that saves chunks, one at a time, beside the thread that reads and decodes the next one.
///
/// It is one thread for all chunks, for a memory allocator keeps the memory that a thread has freed for that thread.
final class SaveThread: BesideSaver, Sendable {
    /// The thread holds this, and not its owner, so that it ends with the owner.
    private final class Exchange: Sendable {
        let given = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let save = Mutex<(@Sendable () -> Void)?>(nil)
    }

    private let exchange = Exchange()

    init() {
        let thread = Thread { [exchange] in
            while true {
                exchange.given.wait()
                guard let save = exchange.save.withLock({ $0.take() }) else { return }
                save()
                exchange.done.signal()
            }
        }
        thread.name = "ingest-save"
        thread.stackSize = 8 << 20
        thread.start()
    }

    deinit { exchange.given.signal() }

    func start(_ save: @escaping @Sendable () -> Void) {
        exchange.save.withLock { $0 = save }
        exchange.given.signal()
    }

    func wait() { exchange.done.wait() }

    func hasEnded() -> Bool { exchange.done.wait(timeout: .now()) == .success }
}

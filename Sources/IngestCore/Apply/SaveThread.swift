import Dispatch
import Foundation
import Synchronization

/// A thread that saves chunks, one at a time, beside the thread that reads and decodes the next one.
///
/// It is one thread for all chunks, for a memory allocator keeps the memory that a thread has freed for that thread.
final class SaveThread: Sendable {
    /// The thread holds this, and not its owner, so that it ends with the owner.
    private final class Exchange: Sendable {
        let given = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let save = Mutex<ChunkSave?>(nil)
    }

    private let exchange = Exchange()

    init() {
        let thread = Thread { [exchange] in
            while true {
                exchange.given.wait()
                guard let save = exchange.save.withLock({ $0.take() }) else { return }
                save.run()
                exchange.done.signal()
            }
        }
        thread.name = "ingest-save"
        thread.stackSize = 8 << 20
        thread.start()
    }

    deinit { exchange.given.signal() }

    /// Starts a save; ``wait()`` has to return before the next one.
    func start(_ save: ChunkSave) {
        exchange.save.withLock { $0 = save }
        exchange.given.signal()
    }

    /// Returns when the started save has ended.
    func wait() { exchange.done.wait() }

    /// Tells whether the started save has ended, so that ``wait()`` must not be called any more.
    func hasEnded() -> Bool { exchange.done.wait(timeout: .now()) == .success }
}

import Foundation

/// Runs work that blocks on a thread of its own, away from the few threads that run Swift's tasks.
enum BlockingThread {
    /// Runs `body` and returns when it ends.
    static func run(named name: String, _ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let thread = Thread {
                continuation.resume(with: Result { try body() })
            }
            thread.name = name
            thread.stackSize = 4 << 20
            thread.start()
        }
    }
}

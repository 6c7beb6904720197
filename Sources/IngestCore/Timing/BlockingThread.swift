import Dispatch
import Foundation

/// Runs work that blocks on a thread of its own, away from the few threads that run Swift's tasks.
package enum BlockingThread {
    /// Runs `body` and returns when it ends.
    package static func run(named name: String, _ body: @escaping @Sendable () throws -> Void) async throws {
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

extension DispatchQueue {
    /// Runs work that blocks for a moment, away from the few threads that run Swift's tasks.
    package func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            self.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}

import Synchronization
import TestSupport

/// Carries seeds out on several threads. Alone, each waits for a server most of the time.
final class SeedThreads: Sendable {
    private static let count = 4
    /// The seeds that nobody has begun with, the next one last.
    private let rest: Mutex<[UInt64]>

    private init(_ seeds: [UInt64]) { rest = Mutex(seeds.reversed()) }

    /// Calls `body` with the seeds of `Seeds.forEach(runs:_:)`, and returns its results in any order.
    static func results<Result: Sendable>(
        runs: UInt64, _ body: @escaping @Sendable (UInt64) throws -> Result
    ) throws -> [Result] {
        var seeds: [UInt64] = []
        Seeds.forEach(runs: runs) { seeds.append($0) }
        return try results(seeds, body)
    }

    /// Calls `body` with each seed until a result is enough, and returns the results in any order.
    static func results<Result: Sendable>(
        _ seeds: [UInt64], until isEnough: @escaping @Sendable (Result) -> Bool = { _ in false },
        _ body: @escaping @Sendable (UInt64) throws -> Result
    ) throws -> [Result] {
        let shared = SeedThreads(seeds)
        let threads = (0..<count).map { _ in
            Background {
                var results: [Result] = []
                while let seed = shared.rest.withLock({ $0.popLast() }) {
                    let result = try body(seed)
                    results.append(result)
                    if isEnough(result) { shared.rest.withLock { $0 = [] } }
                }
                return results
            }
        }
        return try threads.map { try $0.value() }.flatMap { $0 }
    }
}

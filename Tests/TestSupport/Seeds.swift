import Foundation

/// The seeds of a randomised test.
public enum Seeds {
    /// The seed that `INGEST_TEST_SEED` names, or nil.
    static var given: UInt64? { ProcessInfo.processInfo.environment["INGEST_TEST_SEED"].flatMap { UInt64($0) } }

    /// Calls `body` with the seed that `INGEST_TEST_SEED` names, or else with new ones in a row: `INGEST_TEST_RUNS`, or
    /// `runs`, of them.
    public static func forEach(runs: UInt64, _ body: (UInt64) throws -> Void) rethrows {
        if let seed = given { return try body(seed) }
        let count = ProcessInfo.processInfo.environment["INGEST_TEST_RUNS"].flatMap { UInt64($0) } ?? runs
        let first = UInt64.random(in: 0..<1_000_000_000)
        for seed in first..<first + count { try body(seed) }
    }
}

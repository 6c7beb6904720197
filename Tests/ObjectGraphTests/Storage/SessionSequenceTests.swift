import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Random calls of a writer's session on every storage: each answers as the one in memory does, and holds the same.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter SessionSequenceTests` runs that one again,
/// and `INGEST_TEST_RUNS=n` makes the runs more.
struct SessionSequenceTests {
    private static let model = """
        model: sessions
        entities:
          Person:
            identity: id
            attributes:
              id: { type: string }
              mail: { type: string, optional: true, unique: true }
              note: { type: binary, optional: true }
            relationships:
              home: { to: Room, inverse: none, optional: true }
              friends: { to: Person, many: true, ordered: true, inverse: none }
          Guest:
            parent: Person
            attributes:
              badge: { type: integer64, optional: true, unique: true }
          Member:
            parent: Person
            attributes:
              club: { type: string, optional: true }
          Room:
            identity: number
            attributes:
              number: { type: integer64 }
              size: { type: double, optional: true }
        """

    @Test func `storages answer a session's calls alike`() throws {
        let model = try ObjectModel.parse(Self.model)
        let seeds = try SeedThreads.results(runs: 12) { seed in
            (seed: seed, isSound: Self.problem(model, Self.calls(seed)) == nil)
        }
        for (seed, isSound) in seeds where !isSound {
            let smallest = Shrinking.smallest(Self.calls(seed), simpler: \.simpler) { Self.problem(model, $0) }
            guard let (calls, problem) = smallest else {
                Issue.record("seed \(seed) fails, but not again")
                continue
            }
            let list = calls.map { "  \($0)" }.joined(separator: "\n")
            Issue.record("seed \(seed): \(problem)\nof the calls:\n\(list)")
        }
        print("SessionSequenceTests: \(seeds.count) sequences")
    }

    private static func calls(_ seed: UInt64) -> [SessionCall] {
        var generator = SessionCallGenerator(seed: seed)
        return generator.calls()
    }

    private static func problem(_ model: ObjectModel, _ calls: [SessionCall]) -> String? {
        do { return try SessionRun(model).problem(calls) } catch { return "\(error)" }
    }
}

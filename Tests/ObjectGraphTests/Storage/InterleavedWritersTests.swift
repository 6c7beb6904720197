import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import PostgresStorage

/// Writers that share a store in PostgreSQL, interleaved at every statement.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter InterleavedWritersTests` runs that one
/// again, and `INGEST_TEST_RUNS=n` makes the runs more.
@Suite(.serialized, .enabled(if: PostgresServer.isOwn, "the tests stand between the writers and a server of their own"))
struct InterleavedWritersTests {
    typealias Step = InterleavedWriters.Step

    @Test func `whatever the order of the writers' statements, the store is that of one writer`() throws {
        let results = try SeedThreads.results(runs: 8) { seed in
            let run = try InterleavingSeed(seed)
            let (problem, figures) = try run.carryOut(run.steps)
            if problem != nil { print("InterleavedWritersTests: seed \(seed) fails") }
            return (seed: seed, isSound: problem == nil, figures: figures)
        }
        var all = InterleavedWriters.Figures()
        for result in results {
            all.add(result.figures)
            if !result.isSound { report(try InterleavingSeed(result.seed)) }
        }
        print(
            """
            InterleavedWritersTests: \(results.count) seeds, \(all.parts) parts, \(all.statements) statements, \
            \(all.blocked) waits, \(all.cuts) lost connections, \(all.refusals) refusals, \(all.reads) snapshots
            """)
    }

    private func report(_ run: InterleavingSeed) {
        let smallest = Shrinking.smallest(run.steps, simpler: { $0.simpler }) { steps in
            do { return try run.carryOut(steps).problem } catch { return "\(error)" }
        }
        guard let (steps, problem) = smallest else {
            Issue.record("seed \(run.seed) fails, but not again")
            return
        }
        let list = steps.map { "  " + $0.text(run.model) }.joined(separator: "\n")
        Issue.record("seed \(run.seed), \(run.told): \(problem)\nof the steps:\n\(list)")
    }

    /// Each with a seed that has found it, and those behind.
    @Test(
        arguments: [
            (SharingFaults.takesNoLock, 28), (.trustsRows, 15), (.trustsTombstones, 2), (.skipsTokens, 1),
            (.addsTwice, 1),
        ] as [(SharingFaults, UInt64)])
    func `planted faults are found`(fault: SharingFaults, first: UInt64) throws {
        let results = try SeedThreads.results(Array(first..<first + 40), until: { $0 }) { seed in
            var run = try InterleavingSeed(seed)
            run.faults = fault
            return try run.carryOut(run.steps).problem != nil
        }
        #expect(results.contains(true), "no seed finds the planted fault")
    }
}

/// A run that a seed decides.
struct InterleavingSeed {
    let seed: UInt64
    let model: ObjectModel
    let steps: [InterleavedWriters.Step]
    let told: String
    var faults: SharingFaults = []
    private let writerCount: Int
    private let threshold: Int

    private static let models = ["rules", "strict", "derived", "hierarchy", "ordered", "chat", "work-orders", "ledger"]

    init(_ seed: UInt64) throws {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        let name = random.number(below: 4) == 0 ? "random" : Self.models[random.number(below: Self.models.count)]
        model =
            switch name {
            case "random": try ObjectModel.parse(ModelGenerator.yaml(seed: seed, policies: 40))
            case "ledger": try ObjectModel.parse(ManyWritersTests.ledger)
            default: try RandomisedTests.model(name)
            }
        writerCount = 2 + random.number(below: 2)
        threshold = random.number(below: 3) == 0 ? 2 : 1000
        told = "model \(name), \(writerCount) writers, deletions in the store from \(threshold) objects"
        steps = Self.work(model, writers: writerCount, &random) + Self.turns(writers: writerCount, &random)
    }

    func carryOut(_ steps: [InterleavedWriters.Step]) throws -> (
        problem: String?, figures: InterleavedWriters.Figures
    ) {
        try InterleavedWriters(model, steps, writers: writerCount, threshold: threshold, faults: faults).problem()
    }

    private static func work(
        _ model: ObjectModel, writers: Int, _ random: inout SeededRandom
    ) -> [InterleavedWriters.Step] {
        var generators = (0..<writers).map { _ in EventGenerator(model, seed: random.next()) }
        let drafts = 50 + random.number(below: 51)
        var steps: [InterleavedWriters.Step] = []
        for _ in 0..<writers * (2 + random.number(below: 3)) {
            let writer = random.number(below: writers)
            switch random.number(below: 20) {
            case 0: steps.append(.takeOver(random.number(below: writers), by: writer))
            case 1: steps.append(.cursor(by: writer))
            case 2: steps.append(.role(by: writer))
            case 3, 4: steps.append(.read)
            default: break
            }
            let events = (0..<1 + random.number(below: 3)).map { _ in generators[writer].event() }
            steps.append(.part(log: writer, events, drafts: random.number(below: 100) < drafts))
        }
        return steps
    }

    /// From a few changes of the order to one at every second statement; every third run loses connections.
    private static func turns(writers: Int, _ random: inout SeededRandom) -> [InterleavedWriters.Step] {
        let percent = [1, 3, 10, 25, 50][random.number(below: 5)]
        var steps: [InterleavedWriters.Step] = []
        for place in 0..<1200 where random.number(below: 100) < percent {
            steps.append(.turn(at: place, .pass(by: 1 + random.number(below: writers))))
        }
        if random.number(below: 3) > 0 { return steps }
        for _ in 0...random.number(below: 6) {
            steps.append(.turn(at: random.number(below: 600), .cut(losesAnswer: random.number(below: 3) > 0)))
        }
        return steps
    }
}

extension InterleavedWriters.Figures {
    mutating func add(_ other: Self) {
        statements += other.statements
        blocked += other.blocked
        cuts += other.cuts
        refusals += other.refusals
        parts += other.parts
        reads += other.reads
    }
}

extension InterleavedWriters.Step {
    /// The step with fewer or simpler events.
    var simpler: [Self] {
        guard case .part(let log, let events, let drafts) = self else { return [] }
        var found: [Self] = []
        for index in events.indices {
            var fewer = events
            fewer.remove(at: index)
            if !fewer.isEmpty { found.append(.part(log: log, fewer, drafts: drafts)) }
            for event in events[index].simpler {
                var other = events
                other[index] = event
                found.append(.part(log: log, other, drafts: drafts))
            }
        }
        return found
    }

    func text(_ model: ObjectModel) -> String {
        switch self {
        case .part(let log, let events, let drafts):
            "writer \(log) \(drafts ? "drafts" : "applies") " + events.map { model.text($0) }.joined(separator: " | ")
        case .takeOver(let log, let writer): "writer \(writer) takes log \(log) over"
        case .cursor(let writer): "writer \(writer) saves a cursor"
        case .role(let writer): "writer \(writer) takes the role"
        case .read: "the reader reads"
        case .turn(let place, .pass(let places)): "at statement \(place) the turn passes by \(places)"
        case .turn(let place, .cut(let losesAnswer)):
            "at statement \(place) a connection is lost, \(losesAnswer ? "with the answer" : "before it")"
        }
    }
}

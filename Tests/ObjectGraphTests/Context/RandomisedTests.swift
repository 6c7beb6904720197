import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Random events against the reference, in every way of cutting them into chunks.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n swift test --filter RandomisedTests` runs that one again, and
/// `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct RandomisedTests {
    @Test(arguments: ["rules", "people", "strict", "awkward", "derived", "hierarchy", "ordered", "chat", "work-orders"])
    func `every way of chunking gives what the reference gives`(_ name: String) throws {
        let model = try Self.model(name)
        Seeds.forEach(runs: 20) { run(name, model, seed: $0) }
    }

    /// Models are made at random too; a failure prints the model, and its seed makes both again.
    @Test func `every model keeps the rules`() throws {
        try Seeds.forEach(runs: 60) { seed in
            let yaml = ModelGenerator.yaml(seed: seed, policies: 40)
            run("random:\n" + yaml, try ObjectModel.parse(yaml), seed: seed)
        }
    }

    static func model(_ name: String) throws -> ObjectModel {
        switch name {
        case "rules": try ObjectModel.parse(Models.rules)
        case "people": try ObjectModel.parse(Models.people)
        case "awkward": try ObjectModel.parse(Models.awkward)
        case "derived": try ObjectModel.parse(Models.derived)
        case "strict": try ObjectModel.parse(Models.strict)
        case "hierarchy": try ObjectModel.parse(Models.hierarchy)
        case "ordered": try ObjectModel.parse(Models.ordered)
        default: try configuredModel(name)
        }
    }

    private func run(_ name: String, _ model: ObjectModel, seed: UInt64) {
        var generator = EventGenerator(model, seed: seed)
        let events = generator.events(Int.random(in: 5...40, using: &generator.random))
        let smallest = Shrinking.smallest(events, simpler: \.simpler) {
            Comparison.problem(model, $0, seed: seed)
        }
        guard let (events, problem) = smallest else { return }
        let list = events.map { "  " + model.text($0) }.joined(separator: "\n")
        Issue.record("model \(name), seed \(seed): \(problem)\nevents:\n\(list)")
    }
}

extension ChangeSet {
    /// The event without one of its operations, then without one value, for the report of a failed run.
    var simpler: [ChangeSet] {
        var events: [ChangeSet] = []
        func add(_ change: (inout [ObjectOperation]) -> Void) {
            var fewer = operations
            change(&fewer)
            events.append(ChangeSet(fewer))
        }
        if operations.count > 1 { for index in operations.indices { add { $0.remove(at: index) } } }
        for (index, operation) in operations.enumerated() {
            for value in operation.attributes.indices { add { $0[index].attributes.remove(at: value) } }
            for value in operation.relationships.indices { add { $0[index].relationships.remove(at: value) } }
        }
        return events
    }
}

/// Compares stores that got the same events in different chunks with the reference.
enum Comparison {
    /// Returns what is wrong, or nil.
    static func problem(_ model: ObjectModel, _ events: [ChangeSet], seed: UInt64) -> String? {
        do {
            return try compare(model, events, seed: seed)
        } catch {
            return "\(error)"
        }
    }

    private static func compare(_ model: ObjectModel, _ events: [ChangeSet], seed: UInt64) throws -> String? {
        var reference = ReferenceGraph(model)
        var states = [reference]
        let expected = events.map { event in
            let words = reference.apply(event)
            states.append(reference)
            return words
        }
        let lines = reference.dump()
        for way in Way.allCases {
            let graph = try Graph(
                model, clock: Clock(ReferenceGraph.time), setDeletionThreshold: way.threshold(seed),
                enforcesKeys: KeyEnforcement.isOn(seed))
            // The reference and the store agree after every save; in one way, for the rest is the same in all.
            let isLookedOver = way == Way.allCases[Int(seed % 5)]
            var early: String?
            let outcomes = try way.apply(events, to: graph, seed: seed) { count in
                if !isLookedOver || way == .sets || early != nil { return }
                early = StoreDump.difference(states[count].dump(), try StoreDump.lines(graph))
                    .map { "\(way): after \(count) events the store (+) is not as the reference (-)\n\($0)" }
            }
            // An event that deletes too many objects beside other changes is refused where deletions are carried out in the store.
            if way == .sets, outcomes.contains("delete.too_large") { continue }
            for (index, outcome) in outcomes.enumerated() where !expected[index].contains(outcome) {
                return
                    "\(way): event \(index) is \(outcome), expected \(expected[index].sorted())\n  \(model.text(events[index]))"
            }
            if let early { return early }
            if let difference = StoreDump.difference(lines, try StoreDump.lines(graph)) {
                return "\(way): the store (+) is not as the reference (-)\n\(difference)"
            }
            // The dumps are the same in all ways; looking one over is enough for its links and counts.
            guard isLookedOver else { continue }
            let problems = try StoreCheck.problems(graph)
            if !problems.isEmpty { return "\(way): \(problems.joined(separator: "; "))" }
            let report = try graph.store.inSQLite().verify()
            if !report.isSound { return "\(way): \(report.text)" }
        }
        return try compareLimits(model, events, seed: seed)
    }

    /// Limits that events reach refuse the same ones in every way.
    private static func compareLimits(_ model: ObjectModel, _ events: [ChangeSet], seed: UInt64) throws -> String? {
        var expected: (outcomes: [String], lines: [String])?
        for way in [Way.eventByEvent, .oneChunk, .randomChunks] {
            let graph = try Graph(
                model, clock: Clock(ReferenceGraph.time), setDeletionThreshold: Int(seed % 4),
                enforcesKeys: KeyEnforcement.isOn(seed))
            graph.writer.registry.maximumListedDestinations = Int(seed / 4 % 3)
            let outcomes = try way.apply(events, to: graph, seed: seed) { _ in }
            let lines = try StoreDump.lines(graph)
            guard let expected else {
                expected = (outcomes, lines)
                continue
            }
            for (index, outcome) in outcomes.enumerated() where outcome != expected.outcomes[index] {
                return "\(way), limits: event \(index) is \(outcome), alone \(expected.outcomes[index])"
            }
            if let difference = StoreDump.difference(expected.lines, lines) {
                return "\(way), limits: the store (+) is not as that of single events (-)\n\(difference)"
            }
        }
        return nil
    }

    enum Way: CaseIterable {
        case eventByEvent, oneChunk, randomChunks, interrupted, sets

        func threshold(_ seed: UInt64) -> Int { self == .sets ? (seed % 4 == 3 ? 1 : 0) : 1000 }

        /// - Parameter saved: called after each commit with the number of events that it has.
        func apply(
            _ events: [ChangeSet], to graph: Graph, seed: UInt64, saved: (Int) throws -> Void
        ) throws -> [String] {
            var random = SeededGenerator(seed: seed ^ 0xabcdef)
            var outcomes: [String] = []
            var uncommitted: [WriterContext.Chunk] = []
            var rest = events[...]
            while !rest.isEmpty {
                let chunk = WriterContext.Chunk(events: Array(rest.prefix(length(rest.count, &random))))
                rest = rest.dropFirst(chunk.events.count)
                uncommitted.append(chunk)
                outcomes += try graph.writer.apply(chunk).outcomes.map(\.word)
                if self == .interrupted, random.chance(30) {
                    // What was not committed was never there; it comes again.
                    try graph.writer.rollback()
                    for chunk in uncommitted { _ = try graph.writer.apply(chunk) }
                }
                if self == .eventByEvent || random.chance(50) {
                    try graph.writer.commit()
                    uncommitted = []
                    try saved(events.count - rest.count)
                    if self == .interrupted, random.chance(20) { try graph.restart() }
                }
            }
            try graph.writer.commit()
            return outcomes
        }

        private func length(_ rest: Int, _ random: inout SeededGenerator) -> Int {
            switch self {
            case .eventByEvent: 1
            case .oneChunk: rest
            case .randomChunks, .interrupted, .sets: Int.random(in: 1...min(8, rest), using: &random)
            }
        }
    }
}

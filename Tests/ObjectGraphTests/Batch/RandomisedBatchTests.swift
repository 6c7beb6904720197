import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// Batch requests among events, on models made at random, against the reference.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED` and `INGEST_TEST_RUNS` as in ``RandomisedTests``.
@Suite struct RandomisedBatchTests {
    @Test func `batch requests keep the rules`() throws {
        try Seeds.forEach(runs: 60) { seed in
            let yaml = ModelGenerator.yaml(seed: seed, policies: 40)
            run(yaml, try ObjectModel.parse(yaml), seed: seed)
        }
    }

    private func run(_ name: String, _ model: ObjectModel, seed: UInt64) {
        var generator = BatchGenerator(model, seed: seed)
        let steps = generator.steps(Int.random(in: 5...30, using: &generator.events.random))
        let smallest = Shrinking.smallest(steps, simpler: \.simpler) { BatchRun.problem(model, $0, seed: seed) }
        guard let (steps, problem) = smallest else { return }
        let list = steps.map { "  " + $0.text(model) }.joined(separator: "\n")
        Issue.record("model:\n\(name), seed \(seed): \(problem)\nsteps:\n\(list)")
    }
}

/// What happens to a store.
private enum BatchStep {
    case event(ChangeSet)
    case update(Entity, BatchCondition, [BatchAssignment])
    case delete(Entity, BatchCondition)
    case insert(Entity, [ObjectOperation], matching: Attribute?)

    var simpler: [BatchStep] {
        switch self {
        case .event(let event): return event.simpler.map { .event($0) }
        case .update(let entity, let condition, let assignments) where assignments.count > 1:
            return assignments.map { .update(entity, condition, [$0]) }
        case .insert(let entity, let rows, let matching) where rows.count > 1:
            return rows.map { .insert(entity, [$0], matching: matching) }
        case .update, .delete, .insert: return []
        }
    }

    func text(_ model: ObjectModel) -> String {
        switch self {
        case .event(let event): return model.text(event)
        case .update(let entity, let condition, let assignments):
            let list = assignments.map(\.text).joined(separator: ", ")
            return "update \(entity.name) where \(condition.text ?? "true") set \(list)"
        case .delete(let entity, let condition): return "delete \(entity.name) where \(condition.text ?? "true")"
        case .insert(_, let rows, let matching):
            return "insert matching \(matching?.name ?? "id"): "
                + rows.map { model.text(ChangeSet($0)) }.joined(separator: " | ")
        }
    }
}

/// Makes events and batch requests that meet the same few objects.
private struct BatchGenerator {
    let model: ObjectModel
    var events: EventGenerator

    init(_ model: ObjectModel, seed: UInt64) {
        self.model = model
        events = EventGenerator(model, seed: seed)
    }

    mutating func steps(_ count: Int) -> [BatchStep] { (0..<count).map { _ in step() } }

    private mutating func step() -> BatchStep {
        let entity = model.entities[Int.random(in: 0..<model.entities.count, using: &events.random)]
        switch Int.random(in: 0..<10, using: &events.random) {
        case 0, 1:
            let assignments = assignments(entity)
            return assignments.isEmpty ? .event(events.event()) : .update(entity, condition(entity), assignments)
        case 2: return .delete(entity, condition(entity))
        case 3, 4: return insertion()
        default: return .event(events.event())
        }
    }

    private mutating func condition(_ entity: Entity) -> BatchCondition {
        let stored = entity.attributes.filter { !$0.isDerived }
        let links = entity.relationships
        for _ in 0..<8 {
            switch Int.random(in: 0..<6, using: &events.random) {
            case 0: return .all
            case 1:
                return .identities(Array(events.names.shuffled(using: &events.random).prefix(2)).map { .text($0) })
            case 2: if let attribute = stored.randomElement(using: &events.random) { return .isMissing(attribute) }
            case 3:
                let numbers = entity.attributes.filter { $0.type.isNumeric && $0.type != .decimal }
                guard let attribute = numbers.randomElement(using: &events.random) else { continue }
                return .isGreater(attribute, Decimal(Int.random(in: -1...4, using: &events.random)))
            case 4:
                guard let link = links.filter({ !$0.isToMany }).randomElement(using: &events.random) else { continue }
                return .leadsTo(link, .text(events.names.randomElement(using: &events.random) ?? "a"))
            default:
                guard let link = links.filter(\.isToMany).randomElement(using: &events.random) else { continue }
                return .has(link, Int.random(in: 0...2, using: &events.random))
            }
        }
        return .all
    }

    private mutating func assignments(_ entity: Entity) -> [BatchAssignment] {
        let stored = entity.attributes.filter { !$0.isDerived && $0.slot != entity.identitySlot }
        return stored.shuffled(using: &events.random).prefix(Int.random(in: 1...2, using: &events.random)).map {
            attribute in
            let isWhole = attribute.type.integerRange != nil
            let operands = entity.attributes.filter { $0.type.isNumeric && (!isWhole || $0.type.integerRange != nil) }
            if attribute.type.isNumeric, let operand = operands.randomElement(using: &events.random),
                events.random.chance(60)
            {
                return .sum(attribute, operand, Int.random(in: 0...3, using: &events.random))
            }
            return .constant(attribute, events.random.chance(15) ? .null : events.value(attribute))
        }
    }

    private mutating func insertion() -> BatchStep {
        var rows: [ObjectOperation] = []
        var entity: Entity?
        for _ in 0..<40 where rows.count < 3 {
            var row = events.operation(time: nil)
            let own = model.entities[row.entity]
            if row.kind == .delete || own.isAbstract || entity != nil && entity !== own { continue }
            entity = own
            if let slot = own.versionSlot, !row.version.isNull {
                row.attributes.removeAll { $0.slot == slot }
                row.attributes.append(ObjectOperation.AttributeValue(slot: slot, value: row.version))
            }
            row.relationships.removeAll { if case .edit = $0.change { true } else { false } }
            row.relationships.sort { own.relationships[$0.relationship].name < own.relationships[$1.relationship].name }
            rows.append(row)
        }
        guard let entity else { return .event(events.event()) }
        let matching = entity.attributes.filter(\.isUnique).randomElement(using: &events.random)
        return .insert(entity, rows, matching: events.random.chance(50) ? matching : nil)
    }
}

/// Carries steps out in a store and in the reference.
private enum BatchRun {
    static func problem(_ model: ObjectModel, _ steps: [BatchStep], seed: UInt64) -> String? {
        do {
            return try compare(model, steps, seed: seed)
        } catch {
            return "\(error)"
        }
    }

    private static func compare(_ model: ObjectModel, _ steps: [BatchStep], seed: UInt64) throws -> String? {
        var reference = ReferenceGraph(model)
        let graph = try Graph(
            model, clock: Clock(ReferenceGraph.time), enforcesKeys: KeyEnforcement.isOn(seed))
        for (index, step) in steps.enumerated() {
            let (expected, found) = try carryOut(step, &reference, graph)
            if found.isDisjoint(with: expected) {
                return "step \(index) is \(found.sorted()), expected \(expected.sorted())\n  \(step.text(model))"
            }
            if case .event = step { continue }
            if let difference = StoreDump.difference(reference.dump(), try StoreDump.lines(graph)) {
                return "step \(index): the store (+) is not as the reference (-)\n\(difference)\n  \(step.text(model))"
            }
        }
        let problems = try StoreCheck.problems(graph)
        if !problems.isEmpty { return problems.joined(separator: "; ") }
        let report = try graph.store.inSQLite().verify()
        return report.isSound ? nil : report.text
    }

    /// Returns the words that the outcome may have in the reference, and has in the store.
    private static func carryOut(
        _ step: BatchStep, _ reference: inout ReferenceGraph, _ graph: Graph
    ) throws -> (Set<String>, Set<String>) {
        switch step {
        case .event(let event): return (reference.apply(event), Set(try graph.apply(event)))
        case .update(let entity, let condition, let assignments):
            let request = BatchUpdateRequest(
                entity.name, where: condition.text,
                set: Dictionary(uniqueKeysWithValues: assignments.map { ($0.attribute.name, $0.request) }))
            let expected = reference.updateAll(condition, entity, assignments)
            return (word(expected), try word { try graph.writer.execute(request).count })
        case .delete(let entity, let condition):
            let request = BatchDeleteRequest(entity.name, where: condition.text)
            let expected = reference.deleteAll(condition, entity)
            return (word(expected), try word { try graph.writer.execute(request).count })
        case .insert(let entity, let operations, let matching):
            var request = BatchInsertRequest(entity.name, rows: operations.map { row($0, entity) })
            request.matching = matching?.name
            let expected = reference.insertAll(operations, matching: matching)
            return (word(expected), try word { try graph.writer.execute(request).staleCount })
        }
    }

    private static func word(_ count: Int?) -> Set<String> { [count.map { String($0) } ?? "refused"] }

    private static func word(_ request: () throws -> Int) throws -> Set<String> {
        do {
            return word(try request())
        } catch let error as BatchError where error.code == .refused {
            return word(nil)
        }
    }

    private static func row(
        _ operation: ObjectOperation, _ entity: Entity
    ) -> [String: BatchInsertRequest.Content] {
        var row: [String: BatchInsertRequest.Content] = [entity.identity.name: .value(operation.identity)]
        for given in operation.attributes { row[entity.attributes[given.slot].name] = .value(given.value) }
        for given in operation.relationships {
            switch given.change {
            case .one(let identity): row[entity.relationships[given.relationship].name] = .value(identity)
            case .replace(let list): row[entity.relationships[given.relationship].name] = .destinations(list)
            case .edit: continue
            }
        }
        return row
    }
}

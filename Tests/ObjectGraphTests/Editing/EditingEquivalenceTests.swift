import Foundation
import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore

/// The same operations, as events and as saves of editing contexts, have the same results.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED` and `INGEST_TEST_RUNS` as in ``RandomisedTests``.
@Suite struct EditingEquivalenceTests {
    @Test(arguments: ["rules", "people", "strict", "hierarchy", "ordered", "chat", "work-orders"])
    func `saves do what events do`(_ name: String) throws {
        let model = try Self.model(name)
        try Seeds.forEach(runs: 15) { try run(name, model, seed: $0) }
    }

    /// Models are made at random too; a failure prints the model, and its seed makes both again.
    @Test func `saves do what events do with any model`() throws {
        try Seeds.forEach(runs: 40) { seed in
            let yaml = ModelGenerator.yaml(seed: seed)
            try run("random:\n" + yaml, try ObjectModel.parse(yaml), seed: seed)
        }
    }

    private static func model(_ name: String) throws -> ObjectModel {
        switch name {
        case "rules": try ObjectModel.parse(Models.rules)
        case "people": try ObjectModel.parse(Models.people)
        case "strict": try ObjectModel.parse(Models.strict)
        case "hierarchy": try ObjectModel.parse(Models.hierarchy)
        case "ordered": try ObjectModel.parse(Models.ordered)
        default: try configuredModel(name)
        }
    }

    private func run(_ name: String, _ model: ObjectModel, seed: UInt64) throws {
        var generator = EventGenerator(model, seed: seed)
        let smallest = Shrinking.smallest(generator.events(30), simpler: \.simpler) { events in
            do { return try problem(model, events, seed: seed) } catch { return "\(error)" }
        }
        guard let (events, problem) = smallest else { return }
        let list = events.map { "  " + model.text($0) }.joined(separator: "\n")
        Issue.record("model \(name), seed \(seed): \(problem)\nevents:\n\(list)")
    }

    /// Carries events out in one store and as saves in another, and returns how they differ, or nil.
    private func problem(_ model: ObjectModel, _ given: [ChangeSet], seed: UInt64) throws -> String? {
        let clock = Clock(1_000)
        let events = try Graph(model, clock: clock, enforcesKeys: KeyEnforcement.isOn(seed))
        let edits = try Graph(model, clock: clock, enforcesKeys: KeyEnforcement.isOn(seed))
        let context = try EditingContext(edits.writer)
        for event in given {
            // Later than any deletion: an insertion of a deleted identity is meant as a new object.
            clock.now += 1
            guard let event = try plain(event, in: events, time: clock.now) else { continue }
            let outcome = try events.apply(event)[0]
            let saved = try Self.save(event, in: context)
            if (outcome == "applied") != (saved == nil) {
                return "\(model.text(event)) is \(outcome) as an event and \(saved ?? "saved") as a save"
            }
            if let difference = StoreDump.difference(try StoreDump.lines(events), try StoreDump.lines(edits)) {
                return "\(model.text(event))\n\(difference)"
            }
        }
        return try StoreCheck.problems(edits).first
    }

    /// Makes an event one that a save can express: one operation, no version, references to objects that are there.
    private func plain(_ event: ChangeSet, in graph: Graph, time: Int64) throws -> ChangeSet? {
        guard var operation = event.operations.last else { return nil }
        let model = graph.model
        operation.version = .null
        operation.time = time
        let entity = model.entities[operation.entity]
        operation.attributes.removeAll { $0.slot == entity.versionSlot }
        func isThere(_ entity: Entity, _ identity: Value) throws -> Bool {
            let column = "\"\(entity.identity.columnName)\""
            let sql = "SELECT 1 FROM \"\(entity.viewName)\" WHERE \(column) = \(Self.literal(identity))"
            return try graph.value(sql) != nil
        }
        if operation.kind == .delete, try !isThere(entity, operation.identity) { return nil }
        // A context cannot make an object one of a more special entity.
        let isKnown = try isThere(model.root(of: entity), operation.identity)
        if isKnown, try !isThere(entity, operation.identity) { return nil }
        for change in operation.relationships {
            let destination = model.entities[entity.relationships[change.relationship].destinationIndex]
            for identity in change.change.identities
            where try !isThere(destination, identity)
                && (destination.index != entity.index || identity != operation.identity)
            {
                return nil
            }
        }
        return ChangeSet(operation)
    }

    private static func literal(_ value: Value) -> String {
        switch value {
        case .blob(let bytes): "X'" + bytes.map { String(format: "%02X", $0) }.joined() + "'"
        case .integer(let number): String(number)
        default: "'\(value.text ?? "")'"
        }
    }

    /// Does an event's operation in a context and saves; returns the code of the refusal, or nil.
    private static func save(_ event: ChangeSet, in context: EditingContext) throws -> String? {
        let operation = event.operations[0]
        let entity = context.model.entities[operation.entity]
        do {
            let known = try context.object(entity.name, identity: operation.identity)
            if operation.kind == .delete {
                if let known { try context.delete(known) }
            } else {
                let object = try known ?? context.insert(entity.name, identity: operation.identity)
                try apply(operation, to: object, entity, context)
            }
            try context.save()
            return nil
        } catch let error as EditingError {
            context.rollback()
            return error.coreDataCode.map(String.init) ?? error.code.rawValue
        }
    }

    private static func apply(
        _ operation: ObjectOperation, to object: ManagedObject, _ entity: Entity, _ context: EditingContext
    ) throws {
        for attribute in operation.attributes where !entity.attributes[attribute.slot].isDerived {
            try object.set(entity.attributes[attribute.slot].name, attribute.value)
        }
        // A transient value is held, and changes nothing that is stored.
        for attribute in entity.transientAttributes { try object.set(attribute.name, Value.integer(4)) }
        for value in operation.relationships {
            let relationship = entity.relationships[value.relationship]
            let destination = context.model.entities[relationship.destinationIndex].name
            func objects(_ identities: [Value]) throws -> [ManagedObject] {
                try identities.map { try context.require(destination, $0) }
            }
            switch value.change {
            case .one(let identity):
                try object.setObject(relationship.name, identity.isNull ? nil : context.require(destination, identity))
            case .replace(let identities): try object.setObjects(relationship.name, try objects(identities))
            case .edit(let add, let remove):
                for other in try objects(add) { try object.add(other, to: relationship.name) }
                for other in try objects(remove) { try object.remove(other, from: relationship.name) }
            }
        }
    }
}

import ObjectGraph
import TestSupport
import Testing

@testable import GraphCore
@testable import SQLiteStorage

/// Several contexts with policies of their own and events besides, on models made at random: after every save the store
/// is sound and the context shows what is in it, and a save that is refused has changed nothing.
///
/// The seed is printed with a failure; `INGEST_TEST_SEED=n Tests/run --filter EditingStormTests` runs that one again, and
/// `INGEST_TEST_RUNS=n` makes the runs more.
@Suite struct EditingStormTests {
    @Test func `random edits of several contexts leave the store sound`() throws {
        Seeds.forEach(runs: 25) { seed in
            let smallest = Shrinking.smallest(Array(0..<EditingStorm.stepCount)) { steps in
                EditingStorm.problem(seed: seed, steps)
            }
            if let (_, problem) = smallest { Issue.record("seed \(seed): \(problem)") }
        }
    }
}

/// One run: a model, a store, contexts, and what they do. Each step draws from numbers of its own, so that the others
/// stay as they are where one is left out.
struct EditingStorm {
    struct Problem: Error { let text: String }

    static let stepCount = 60

    /// Carries out some steps of a run, and returns its problem with all that was done, or nil.
    static func problem(seed: UInt64, _ steps: [Int]) -> String? {
        var log: [String] = []
        do {
            var storm = try EditingStorm(seed: seed)
            defer { log = storm.log + [storm.yaml] }
            try storm.run(steps)
            return nil
        } catch {
            return (["\((error as? Problem)?.text ?? "\(error)")"] + log).joined(separator: "\n")
        }
    }

    let yaml: String
    let graph: Graph
    private let seed: UInt64
    private let clock = Clock(1_000)
    private var random: SeededGenerator
    private var contexts: [EditingContext] = []
    private var events: [ChangeSet]
    /// Handles that stay in use over saves.
    private var held: [Int: [ManagedObject]] = [:]
    private(set) var log: [String] = []

    private static let policies = ["error", "storeTrump", "objectTrump", "overwrite", "rollback", "objectTrump"]

    init(seed: UInt64) throws {
        self.seed = seed
        random = SeededGenerator(seed: seed ^ 0x7374_6f72_6d)
        yaml = ModelGenerator.yaml(seed: seed, policies: random.chance(50) ? 60 : 0)
        let model = try ObjectModel.parse(yaml)
        graph = try Graph(model, clock: clock, enforcesKeys: KeyEnforcement.isOn(seed))
        var generator = EventGenerator(model, seed: seed)
        events = generator.events(20)
        for index in 0..<3 {
            var options = EditingContext.Options()
            options.name = "context \(index)"
            options.mergePolicy = MergePolicy(named: Self.policies.randomElement(using: &random) ?? "error") ?? .error
            if random.chance(20) { options.mergePolicy = Self.program(firstOnly: random.chance(50)) }
            if random.chance(10) { options.mergePolicy = .lastWriterWins(attribute: "v") }
            contexts.append(try EditingContext(graph.writer, options: options))
        }
    }

    /// A policy of the program's own: some of the context's values, or another policy.
    private static func program(firstOnly: Bool) -> MergePolicy {
        .custom { conflict in
            guard firstOnly, let property = conflict.properties.first else { return .policy(.objectTrump) }
            return .values([property.name: property.local])
        }
    }

    private var model: ObjectModel { graph.model }

    private mutating func run(_ steps: [Int]) throws {
        for step in steps {
            random = SeededGenerator(seed: seed &+ UInt64(step + 1) &* 7919)
            clock.now += 1
            let index = Int.random(in: 0..<contexts.count, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<12: try applyEvent()
            case 12..<30: try save(index)
            case 30..<33:
                note(index, "rollback")
                contexts[index].rollback()
                if contexts[index].hasChanges { throw Problem(text: "changes after a rollback") }
            case 33..<35:
                note(index, "reset")
                contexts[index].reset()
            default: try edit(index)
            }
        }
        for index in contexts.indices { try save(index) }
        for (index, context) in contexts.enumerated() {
            context.rollback()
            let last = try graph.store.read { try $0.lastToken() }
            try context.save()
            if try graph.store.read({ try $0.lastToken() }) != last {
                throw Problem(text: "context \(index) saves something after a rollback")
            }
        }
    }

    private mutating func note(_ index: Int, _ text: String) { log.append("\(index): \(text)") }

    // MARK: What is done

    private mutating func applyEvent() throws {
        guard var event = events.popLast(), var operation = event.operations.last else { return }
        operation.time = clock.now
        if operation.version != .null { operation.version = .integer(clock.now) }
        event = ChangeSet(operation)
        let outcome = try graph.apply(event)[0]
        log.append("event: \(model.text(event)) → \(outcome)")
        try checkStore("an event")
    }

    private mutating func edit(_ index: Int) throws {
        let context = contexts[index]
        let entity = model.entities[Int.random(in: 0..<model.entities.count, using: &random)]
        do {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25 where !entity.isAbstract:
                let name = name()
                note(index, "insert \(entity.name) \(name)")
                let object = try context.insert(entity.name, identity: name)
                held[index, default: []].append(object)
                try fill(object, index)
            case 25..<35:
                if let object = try pick(entity, index) {
                    note(index, "delete \(entity.name) \(try object.identity.shown)")
                    try context.delete(object)
                }
            case 35..<40:
                note(index, "undo")
                context.undo()
            case 40..<43:
                note(index, "redo")
                context.redo()
            case 43..<46:
                note(index, "process")
                try context.processPendingChanges()
            case 46..<50:
                if let object = try pick(entity, index) {
                    let merges = random.chance(50)
                    note(index, "refresh \(object.objectID) \(merges)")
                    try context.refresh(object, mergeChanges: merges)
                }
            default:
                if let object = try pick(entity, index) { try change(object, index) }
            }
        } catch let error as EditingError {
            note(index, "  refused: \(error.code.rawValue)")
        }
    }

    private mutating func name() -> String { ["a", "b", "c", "d", "e", "f"].randomElement(using: &random) ?? "a" }

    /// An object by its identity, or one whose handle is held already.
    private mutating func pick(_ entity: Entity, _ index: Int) throws -> ManagedObject? {
        if random.chance(30), let object = held[index]?.randomElement(using: &random) { return object }
        let object = try contexts[index].object(entity.name, identity: name())
        if let object { held[index, default: []].append(object) }
        return object
    }

    private mutating func fill(_ object: ManagedObject, _ index: Int) throws {
        for attribute in object.entity.attributes where !attribute.isOptional { try set(attribute, object, index) }
        for relationship in object.entity.relationships where !relationship.isOptional {
            try lead(relationship, object, index)
        }
        if random.chance(70) { try change(object, index) }
    }

    private mutating func change(_ object: ManagedObject, _ index: Int) throws {
        let entity = object.entity
        if random.chance(50), let relationship = entity.relationships.randomElement(using: &random) {
            try lead(relationship, object, index)
        } else if let attribute = entity.attributes.randomElement(using: &random) {
            try set(attribute, object, index)
        }
    }

    private mutating func set(_ attribute: Attribute, _ object: ManagedObject, _ index: Int) throws {
        if attribute.isDerived || attribute.name == "id" { return }
        let value: Value
        switch attribute.type {
        case .integer16, .integer32, .integer64: value = .integer(Int64.random(in: 0...6, using: &random))
        case .double, .float: value = .double(Double(Int.random(in: -4...9, using: &random)) / 2)
        case .decimal: value = .text(["0", "0.5", "3"].randomElement(using: &random) ?? "0")
        case .boolean: value = .integer(random.chance(50) ? 1 : 0)
        case .date: value = .integer(Int64.random(in: 1...99, using: &random))
        default: value = .text(["open", "done", "p", "too long"].randomElement(using: &random) ?? "p")
        }
        let given = attribute.isOptional && random.chance(15) ? Value.null : value
        note(index, "set \(object.objectID) \(attribute.name)=\(given.shown)")
        try object.set(attribute.name, given)
    }

    private mutating func lead(_ relationship: Relationship, _ object: ManagedObject, _ index: Int) throws {
        let destination = model.entities[relationship.destinationIndex]
        var others: [ManagedObject] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            if let other = try pick(destination, index), !others.contains(where: { $0 === other }) {
                others.append(other)
            }
        }
        let list = others.map { "\($0.objectID)" }.joined(separator: ",")
        if !relationship.isToMany {
            let other = relationship.isOptional && random.chance(20) ? nil : others.first
            note(index, "lead \(object.objectID) \(relationship.name)=\(other.map { "\($0.objectID)" } ?? "nil")")
            return try object.setObject(relationship.name, other)
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0:
            note(index, "replace \(object.objectID) \(relationship.name)=[\(list)]")
            try object.setObjects(relationship.name, others)
        case 1:
            note(index, "remove \(object.objectID) \(relationship.name)-[\(list)]")
            for other in others { try object.remove(other, from: relationship.name) }
        default:
            note(index, "add \(object.objectID) \(relationship.name)+[\(list)]")
            for other in others { try object.add(other, to: relationship.name) }
        }
    }

    // MARK: Saves and what has to hold

    private mutating func save(_ index: Int) throws {
        let context = contexts[index]
        let before = try StoreDump.lines(graph)
        var deleted: [ManagedObjectID] = []
        do {
            let result = try context.save()
            deleted = result.deleted
            note(
                index,
                "save \(context.options.mergePolicy.name) → \(result.inserted.count) \(result.updated.count) \(result.deleted.count)"
            )
        } catch let error as EditingError {
            note(index, "save \(context.options.mergePolicy.name) → \(error.code.rawValue) \(error.description)")
            // What the events' engine refuses, the context should have met before it came to that; a policy of the
            // program's own may give what is none of the type.
            if error.code == .type, !error.description.contains("by the merge policy") {
                throw Problem(text: "save of \(index) refused as \(error.description)")
            }
            if let difference = StoreDump.difference(before, try StoreDump.lines(graph)) {
                throw Problem(text: "a refused save changed the store\n\(difference)")
            }
            if random.chance(60) {
                note(index, "rollback")
                context.rollback()
            }
            return
        } catch {
            throw Problem(text: "save of \(index) throws \(error)")
        }
        if context.hasChanges { throw Problem(text: "context \(index) has changes after its save") }
        try checkStore("the save of \(index)")
        for object in held[index] ?? [] {
            let isGone = deleted.contains {
                $0.pk == object.objectID.pk
                    && model.entities[$0.entityIndex].rootIndex == model.entities[object.objectID.entityIndex].rootIndex
            }
            if isGone, (try? object.identity) != nil {
                throw Problem(text: "\(object.objectID) was deleted by the save and can be read")
            }
        }
        try compare(index)
    }

    private func checkStore(_ cause: String) throws {
        let damage = try graph.damage()
        if !damage.isEmpty { throw Problem(text: "after \(cause): \(damage)") }
        if let problem = try StoreCheck.problems(graph).first { throw Problem(text: "after \(cause): \(problem)") }
    }

    /// After a refresh the context shows what a new one reads.
    private mutating func compare(_ index: Int) throws {
        let context = contexts[index]
        if random.chance(50) { context.refreshAll() }
        let other = try EditingContext(graph.writer)
        // What others changed or deleted since an object was read is known after a refresh.
        held[index] = held[index]?.filter { object in
            // What was inserted and deleted between two saves never was in the store.
            if object.objectID.isTemporary, !object.isInserted { return false }
            return (try? context.refresh(object, mergeChanges: true)) != nil
        }
        for object in held[index] ?? [] {
            guard let same = try other.object(model.entities[object.entity.rootIndex].name, identity: object.identity)
            else {
                throw Problem(text: "\(object.objectID) is not in the store")
            }
            if object.hasChanges { throw Problem(text: "\(object.objectID) has changes after the save") }
            if object.objectID.isTemporary { throw Problem(text: "\(object.objectID) is temporary after the save") }
            for attribute in object.entity.attributes where try object[attribute.name] != same[attribute.name] {
                throw Problem(
                    text:
                        "\(object.objectID).\(attribute.name) is \(try object[attribute.name].shown), stored \(try same[attribute.name].shown)"
                )
            }
            for relationship in object.entity.relationships where !relationship.isToMany {
                var here = try object.object(relationship.name)
                // What nobody holds was not refreshed, and may be gone where the rule 'no action' left the reference.
                if let known = here, !isHeld(known, index), (try? context.refresh(known, mergeChanges: true)) == nil {
                    here = nil
                }
                if try here?.identity != same.object(relationship.name)?.identity {
                    throw Problem(text: "\(object.objectID).\(relationship.name) leads elsewhere than in the store")
                }
            }
        }
    }

    private func isHeld(_ object: ManagedObject, _ index: Int) -> Bool {
        held[index, default: []].contains { $0 === object }
    }
}

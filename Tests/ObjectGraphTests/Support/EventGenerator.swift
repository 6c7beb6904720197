import ObjectGraph

@testable import GraphCore

/// SplitMix64: small, seeded, the same on every machine. Source: Steele, Lea and Flood, 2014.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// Makes events that a model understands, on few objects, so that they meet: late, twice, broken, out of order.
struct EventGenerator {
    let model: ObjectModel
    var random: SeededGenerator
    private var made: [ChangeSet] = []
    /// Of a hundred operations, and how many objects an entity has: each run stresses something else.
    private let deletions: Int
    let names: [String]

    init(_ model: ObjectModel, seed: UInt64) {
        self.model = model
        random = SeededGenerator(seed: seed)
        deletions = [3, 10, 25, 40].randomElement(using: &random) ?? 25
        names = Array(["a", "b", "c", "d", "e"].prefix(Int.random(in: 2...5, using: &random)))
    }

    mutating func events(_ count: Int) -> [ChangeSet] {
        while made.count < count {
            if random.chance(10), let repeated = made.randomElement(using: &random) {
                made.append(repeated)
            } else {
                made.append(event())
            }
        }
        return made
    }

    mutating func event() -> ChangeSet {
        let time: Int64? = random.chance(50) ? Int64.random(in: 1...30, using: &random) : nil
        let count = random.chance(20) ? Int.random(in: 2...3, using: &random) : 1
        return ChangeSet((0..<count).map { _ in operation(time: time) })
    }

    mutating func operation(time: Int64?) -> ObjectOperation {
        let entity = model.entities[Int.random(in: 0..<model.entities.count, using: &random)]
        let isDeletion = random.chance(deletions)
        var operation = ObjectOperation(
            isDeletion ? .delete : .upsert, entity: entity.index, identity: identity(entity))
        operation.time = time
        if entity.versionSlot != nil, random.chance(60) {
            operation.version = .integer(Int64.random(in: 1...30, using: &random))
        }
        if isDeletion { return operation }
        for attribute in entity.attributes where !attribute.isDerived && attribute.slot != entity.identitySlot {
            if attribute.slot == entity.versionSlot {
                // A null states no version.
                let isNull = operation.version.isNull && random.chance(20)
                if isNull { operation.attributes.append(.init(slot: attribute.slot, value: .null)) }
                continue
            }
            if !random.chance(attribute.isOptional ? 50 : 80) { continue }
            let value = random.chance(attribute.isOptional ? 15 : 4) ? Value.null : value(attribute)
            operation.attributes.append(ObjectOperation.AttributeValue(slot: attribute.slot, value: value))
        }
        for relationship in entity.relationships where random.chance(relationship.isOptional ? 35 : 92) {
            operation.relationships.append(
                ObjectOperation.RelationshipValue(relationship: relationship.index, change: change(relationship)))
        }
        return operation
    }

    private mutating func identity(_ entity: Entity) -> Value {
        let name = names.randomElement(using: &random) ?? "a"
        switch entity.identity.type {
        case .integer16, .integer32, .integer64: return .integer(Int64(name.unicodeScalars.first?.value ?? 0))
        case .uuid: return .blob([UInt8](repeating: UInt8(name.unicodeScalars.first?.value ?? 0), count: 16))
        default: return .text(name)
        }
    }

    private mutating func identities(_ entity: Entity, _ range: ClosedRange<Int>) -> [Value] {
        (0..<Int.random(in: range, using: &random)).map { _ in identity(entity) }
    }

    private mutating func change(_ relationship: Relationship) -> RelationshipChange {
        let destination = model.entities[relationship.destinationIndex]
        if !relationship.isToMany {
            return .one(random.chance(relationship.isOptional ? 20 : 4) ? .null : identity(destination))
        }
        if random.chance(50) { return .replace(identities(destination, 0...4)) }
        return .edit(add: identities(destination, 0...2), remove: identities(destination, 0...2))
    }

    mutating func value(_ attribute: Attribute) -> Value {
        switch attribute.type {
        case .integer16, .integer32, .integer64: .integer(Int64.random(in: 0...6, using: &random))
        case .double, .float: .double(Double(Int.random(in: -4...9, using: &random)) / 2)
        case .decimal: .text(["0", "0.5", "1", "0.25", "-3"].randomElement(using: &random) ?? "0")
        case .boolean: .integer(random.chance(50) ? 1 : 0)
        case .date: .integer(Int64.random(in: 1...99, using: &random))
        case .uuid, .binary: .blob([UInt8](repeating: 7, count: 16))
        case .transformable: "{}"
        case .string, .uri: .text(["open", "done", "x@y.z", "p", "Q", "Ünï"].randomElement(using: &random) ?? "p")
        }
    }
}

extension ObjectModel {
    /// An event as a line of text, for the report of a failed run.
    func text(_ event: ChangeSet) -> String {
        event.operations.map { operation in
            let entity = entities[operation.entity]
            var words = ["\(operation.kind) \(entity.name) \(operation.identity.shown)"]
            if !operation.version.isNull { words.append("version \(operation.version.shown)") }
            if let time = operation.time { words.append("time \(time)") }
            words += operation.attributes.map { "\(entity.attributes[$0.slot].name)=\($0.value.shown)" }
            words += operation.relationships.map { "\(entity.relationships[$0.relationship].name)=\(text($0.change))" }
            return words.joined(separator: " ")
        }.joined(separator: "; ")
    }

    private func text(_ change: RelationshipChange) -> String {
        switch change {
        case .one(let identity): identity.shown
        case .replace(let list): "[" + list.map(\.shown).joined(separator: ",") + "]"
        case .edit(let add, let remove):
            "+[" + add.map(\.shown).joined(separator: ",") + "]-[" + remove.map(\.shown).joined(separator: ",") + "]"
        }
    }
}

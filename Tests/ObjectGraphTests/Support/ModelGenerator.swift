import ObjectGraph

/// Writes models at random: few entities, some below others, many relationships of every kind between them, ordered ones
/// and constraints of several properties among them. The same seed, the same model.
struct ModelGenerator {
    private var random: SeededGenerator
    private var entities: [EntityText] = []

    private struct EntityText {
        let name: String
        var attributes: [String] = []
        var derived: [String] = []
        var relationships: [String] = []
        var hasVersion = false
        /// The position of the parent, and how far below the top the entity is.
        var parent: Int?
        var depth = 0
        var isAbstract = false
        /// The own properties that constraints may name.
        var constrainable: [String] = []
        var constraints: [String] = []
        var numbers: [(name: String, type: String)] = []
        var texts: [String] = []
        /// To-many relationships with the numbers of their destinations.
        var collections: [(name: String, numbers: [(name: String, type: String)])] = []
        /// To-one relationships.
        var destinations: [(name: String, entity: Int)] = []
        var policy: String?
    }

    private init(seed: UInt64) { random = SeededGenerator(seed: seed ^ 0x6d6f_6465_6c) }

    /// Returns the model of a seed as a model file's text.
    ///
    /// - Parameter policies: of a hundred hierarchies and entities in them, how many have a merge policy.
    static func yaml(seed: UInt64, policies: Int = 0) -> String {
        var generator = ModelGenerator(seed: seed)
        return AwkwardNames.applied(to: generator.make(policies), seed: seed)
    }

    private mutating func make(_ policies: Int) -> String {
        let names = ["Ant", "Bee", "Cow", "Dog"].prefix(Int.random(in: 1...4, using: &random))
        entities = names.map { EntityText(name: $0) }
        if random.chance(60) { makeHierarchy() }
        for index in entities.indices { makeAttributes(index) }
        for number in 0..<Int.random(in: 1...5, using: &random) { makeRelationship(number) }
        for index in entities.indices { makeDerived(index) }
        for index in entities.indices where random.chance(40) { makeConstraint(index) }
        for index in entities.indices where random.chance(policies) { makePolicy(index) }
        return text()
    }

    // MARK: Hierarchies

    private mutating func makeHierarchy() {
        for index in entities.indices.dropFirst() where random.chance(60) {
            let parent = Int.random(in: 0..<index, using: &random)
            entities[index].parent = parent
            entities[index].depth = entities[parent].depth + 1
            if random.chance(20) { entities[parent].isAbstract = true }
        }
    }

    /// An entity and those above it.
    private func line(_ index: Int) -> [Int] { [index] + (entities[index].parent.map { line($0) } ?? []) }

    // MARK: Attributes

    private mutating func makeAttributes(_ index: Int) {
        // A property cannot be declared again below; entities beside each other may use one name for two types.
        let letter = ["p", "q", "s", "t"][entities[index].depth]
        if entities[index].parent == nil { entities[index].attributes.append("id: { type: string }") }
        if entities[index].parent == nil, random.chance(30) {
            entities[index].hasVersion = true
            entities[index].attributes.append(
                "v: { type: \(random.chance(50) ? "integer64" : "date"), optional: true }")
        }
        for number in 0..<Int.random(in: 0...3, using: &random) { makeAttribute("\(letter)\(number)", index) }
        if random.chance(20) {
            let isOptional = random.chance(50) ? ", optional: true" : ", default: 3"
            entities[index].attributes.append(
                "\(letter)held: { type: integer32, transient: true\(isOptional), max: 5 }")
        }
    }

    private mutating func makeAttribute(_ name: String, _ index: Int) {
        let types = ["string", "integer32", "integer64", "double", "decimal", "boolean", "date"]
        let type = types.randomElement(using: &random) ?? "string"
        var options = ["type: \(type)"]
        if random.chance(70) { options.append("optional: true") }
        let isNumber = ["integer32", "integer64", "double", "decimal"].contains(type)
        if isNumber {
            entities[index].numbers.append((name, type))
            if random.chance(30) { options.append("default: 1") }
            if random.chance(20) { options.append("max: 5") }
        }
        if type == "string" {
            entities[index].texts.append(name)
            if random.chance(20) { options.append("unique: true") }
            if random.chance(20) { options.append("maxLength: 4") }
        }
        if random.chance(15) { options.append("preserveAfterDeletion: true") }
        if random.chance(15) { options.append("indexed: true") }
        if type == "string" || isNumber && type != "decimal" { entities[index].constrainable.append(name) }
        entities[index].attributes.append("\(name): { \(options.joined(separator: ", ")) }")
    }

    // MARK: Relationships

    private mutating func makeRelationship(_ number: Int) {
        let here = Int.random(in: entities.indices, using: &random)
        let there = Int.random(in: entities.indices, using: &random)
        let (name, back) = ("r\(number)", "b\(number)")
        let isToMany = random.chance(60)
        let rules = DeleteRule.allCases.map(\.rawValue)
        let rule = rules.randomElement(using: &random) ?? "nullify"
        let backRule = rules.randomElement(using: &random) ?? "nullify"
        // Who is not told that a destination goes is not validated: a minimum would be broken in silence.
        func isTold(_ backRule: String) -> Bool { backRule != "noAction" }
        if random.chance(12) {
            add(name, from: here, to: there, inverse: "none", isToMany: isToMany, rule: rule, isTold: false)
        } else if here == there, random.chance(25) {
            // The relationship is its own inverse.
            add(name, from: here, to: here, inverse: name, isToMany: isToMany, rule: rule, isTold: isTold(rule))
        } else {
            add(name, from: here, to: there, inverse: back, isToMany: isToMany, rule: rule, isTold: isTold(backRule))
            add(
                back, from: there, to: here, inverse: name, isToMany: random.chance(50), rule: backRule,
                isTold: isTold(rule))
        }
    }

    private mutating func add(
        _ name: String, from here: Int, to there: Int, inverse: String, isToMany: Bool, rule: String, isTold: Bool
    ) {
        var options = ["to: \(entities[there].name)", "inverse: \(inverse)"]
        if isToMany {
            options.append("many: true")
            if random.chance(30) { options.append("ordered: true") }
            if isTold, random.chance(12) { options.append("minCount: 2") }
            if random.chance(12) { options.append("maxCount: 3") }
            entities[here].collections.append((name, entities[there].numbers))
        } else {
            if !isTold || random.chance(80) { options.append("optional: true") }
            entities[here].constrainable.append(name)
            entities[here].destinations.append((name, there))
        }
        options.append("delete: \(rule)")
        if random.chance(10) { options.append("onMissing: reject") }
        entities[here].relationships.append("\(name): { \(options.joined(separator: ", ")) }")
    }

    // MARK: Constraints

    private mutating func makeConstraint(_ index: Int) {
        let names = line(index).flatMap { entities[$0].constrainable }.shuffled(using: &random)
        if names.count < 2 { return }
        entities[index].constraints.append(
            "[\(names.prefix(Int.random(in: 2...3, using: &random)).joined(separator: ", "))]")
    }

    private mutating func makePolicy(_ index: Int) {
        var names = ["error", "storeTrump", "objectTrump", "overwrite", "rollback"]
        if line(index).contains(where: { entities[$0].hasVersion }) { names.append("lastWriterWins") }
        entities[index].policy = names.randomElement(using: &random)
    }

    // MARK: Derived attributes

    private mutating func makeDerived(_ index: Int) {
        makeDerivedFromOwn(index)
        makeDerivedFromDestination(index)
        for (number, collection) in entities[index].collections.enumerated() where random.chance(50) {
            entities[index].derived.append(
                "c\(number)_\(index): { type: integer64, derived: \(collection.name).@count }")
            guard let summed = collection.numbers.randomElement(using: &random), random.chance(60) else { continue }
            entities[index].derived.append(
                "s\(number)_\(index): { type: double, derived: \(collection.name).\(summed.name).@sum }")
            for (letter, function) in [("l", "min"), ("h", "max")] where random.chance(30) {
                entities[index].derived.append(
                    "\(letter)\(number)_\(index): { type: \(summed.type), optional: true, "
                        + "derived: \(collection.name).\(summed.name).@\(function) }")
            }
            if random.chance(30) {
                entities[index].derived.append(
                    "m\(number)_\(index): { type: double, optional: true, "
                        + "derived: \(collection.name).\(summed.name).@avg }")
            }
        }
    }

    private mutating func makeDerivedFromOwn(_ index: Int) {
        let numbers = line(index).flatMap { entities[$0].numbers }
        guard random.chance(30), let left = numbers.randomElement(using: &random),
            let right = numbers.randomElement(using: &random)
        else { return }
        let sign = ["+", "-", "*"].randomElement(using: &random) ?? "+"
        entities[index].derived.append(
            "o_\(index): { type: double, optional: true, derived: \(left.name) \(sign) \(right.name) }")
    }

    private mutating func makeDerivedFromDestination(_ index: Int) {
        guard random.chance(40), let relationship = entities[index].destinations.randomElement(using: &random),
            let text = entities[relationship.entity].texts.randomElement(using: &random)
        else { return }
        let path = "\(relationship.name).\(text)"
        let derivation =
            ["\(path)", "uppercase:(\(path))", "lowercase:(\(path))"].randomElement(using: &random) ?? path
        entities[index].derived.append("k_\(index): { type: string, optional: true, derived: \(derivation) }")
    }

    // MARK: Text

    private func text() -> String {
        var lines = ["model: random", "entities:"]
        for entity in entities {
            lines.append("  \(entity.name):")
            if let parent = entity.parent {
                lines.append("    parent: \(entities[parent].name)")
            } else {
                lines.append("    identity: id")
            }
            if let policy = entity.policy { lines.append("    mergePolicy: \(policy)") }
            if entity.isAbstract { lines.append("    abstract: true") }
            if !entity.constraints.isEmpty {
                lines.append("    unique: [\(entity.constraints.joined(separator: ", "))]")
            }
            if entity.hasVersion { lines.append("    version: v") }
            if !(entity.attributes + entity.derived).isEmpty { lines.append("    attributes:") }
            lines += (entity.attributes + entity.derived).map { "      \($0)" }
            if entity.relationships.isEmpty { continue }
            lines.append("    relationships:")
            lines += entity.relationships.map { "      \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

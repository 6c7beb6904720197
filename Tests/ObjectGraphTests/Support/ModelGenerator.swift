/// Writes models at random: few entities, many relationships of every kind between them. The same seed, the same model.
struct ModelGenerator {
    private var random: SeededGenerator
    private var entities: [EntityText] = []

    private struct EntityText {
        let name: String
        var attributes: [String] = []
        var derived: [String] = []
        var relationships: [String] = []
        var hasVersion = false
        var numbers: [String] = []
        /// To-many relationships with the numbers of their destinations.
        var collections: [(name: String, numbers: [String])] = []
    }

    private init(seed: UInt64) { random = SeededGenerator(seed: seed ^ 0x6d6f_6465_6c) }

    /// Returns the model of a seed as a model file's text.
    static func yaml(seed: UInt64) -> String {
        var generator = ModelGenerator(seed: seed)
        return generator.make()
    }

    private mutating func make() -> String {
        let names = ["Ant", "Bee", "Cow", "Dog"].prefix(Int.random(in: 1...4, using: &random))
        entities = names.map { EntityText(name: $0) }
        for index in entities.indices { makeAttributes(index) }
        for number in 0..<Int.random(in: 1...5, using: &random) { makeRelationship(number) }
        for index in entities.indices { makeDerived(index) }
        return text()
    }

    // MARK: Attributes

    private mutating func makeAttributes(_ index: Int) {
        entities[index].attributes.append("id: { type: string }")
        if random.chance(30) {
            entities[index].hasVersion = true
            entities[index].attributes.append(
                "v: { type: \(random.chance(50) ? "integer64" : "date"), optional: true }")
        }
        for number in 0..<Int.random(in: 0...3, using: &random) { makeAttribute("p\(number)", index) }
    }

    private mutating func makeAttribute(_ name: String, _ index: Int) {
        let types = ["string", "integer32", "integer64", "double", "decimal", "boolean", "date"]
        let type = types.randomElement(using: &random) ?? "string"
        var options = ["type: \(type)"]
        if random.chance(70) { options.append("optional: true") }
        let isNumber = ["integer32", "integer64", "double", "decimal"].contains(type)
        if isNumber {
            entities[index].numbers.append(name)
            if random.chance(30) { options.append("default: 1") }
            if random.chance(20) { options.append("max: 5") }
        }
        if type == "string" {
            if random.chance(20) { options.append("unique: true") }
            if random.chance(20) { options.append("maxLength: 4") }
        }
        if random.chance(15) { options.append("preserveAfterDeletion: true") }
        if random.chance(15) { options.append("indexed: true") }
        entities[index].attributes.append("\(name): { \(options.joined(separator: ", ")) }")
    }

    // MARK: Relationships

    private mutating func makeRelationship(_ number: Int) {
        let here = Int.random(in: entities.indices, using: &random)
        let there = Int.random(in: entities.indices, using: &random)
        let (name, back) = ("r\(number)", "b\(number)")
        let isToMany = random.chance(60)
        let rules = ["nullify", "cascade", "deny", "noAction"]
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
            if isTold, random.chance(12) { options.append("minCount: 2") }
            if random.chance(12) { options.append("maxCount: 3") }
            entities[here].collections.append((name, entities[there].numbers))
        } else if !isTold || random.chance(80) {
            options.append("optional: true")
        }
        options.append("delete: \(rule)")
        if random.chance(10) { options.append("onMissing: reject") }
        entities[here].relationships.append("\(name): { \(options.joined(separator: ", ")) }")
    }

    // MARK: Derived attributes

    private mutating func makeDerived(_ index: Int) {
        for (number, collection) in entities[index].collections.enumerated() where random.chance(50) {
            entities[index].derived.append("c\(number): { type: integer64, derived: \(collection.name).@count }")
            guard let summed = collection.numbers.randomElement(using: &random), random.chance(60) else { continue }
            entities[index].derived.append("s\(number): { type: double, derived: \(collection.name).\(summed).@sum }")
        }
    }

    // MARK: Text

    private func text() -> String {
        var lines = ["model: random", "entities:"]
        for entity in entities {
            lines += ["  \(entity.name):", "    identity: id"]
            if entity.hasVersion { lines.append("    version: v") }
            lines.append("    attributes:")
            lines += (entity.attributes + entity.derived).map { "      \($0)" }
            if entity.relationships.isEmpty { continue }
            lines.append("    relationships:")
            lines += entity.relationships.map { "      \($0)" }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

/// Resolves a declaration into a model: names to positions, links to storage, texts to values.
///
/// Notes every problem rather than the first, so that a person mends a file in one go.
struct ModelBuilder {
    /// What the file declares; once the hierarchies are resolved, each entity with what it inherits, inherited
    /// properties first.
    var declaration: ModelDeclaration
    /// What the file declares, as it was read.
    private let original: ModelDeclaration
    private let file: String
    private(set) var problems: [ModelError.Problem] = []
    var positions: [String: Int] = [:]
    /// Of each entity its parent, the parent's parent and so on.
    var ancestors: [[Int]] = []
    /// How many of an entity's relationships are inherited.
    var inheritedRelationshipCounts: [Int] = []
    /// How many of an entity's attributes are inherited.
    var inheritedAttributeCounts: [Int] = []
    /// The columns of each hierarchy, by the position of its topmost entity.
    var tables: [Int: TableBuilder] = [:]
    var joinTables: [JoinTable] = []
    /// The storage of each relationship, by entity and position.
    var storages: [[RelationshipStorage?]] = []
    /// What each entity itself declares and the store has no place for.
    var transientAttributes: [[AttributeDeclaration]] = []
    var transientRelationships: [[RelationshipDeclaration]] = []
    var constraintCount = 0

    init(_ declaration: ModelDeclaration, file: String) {
        self.declaration = declaration
        original = declaration
        self.file = file
    }

    mutating func build() -> ObjectModel? {
        checkNames()
        guard problems.isEmpty else { return nil }
        positions = Dictionary(uniqueKeysWithValues: declaration.entities.enumerated().map { ($1.name, $0) })
        resolveHierarchies()
        guard problems.isEmpty else { return nil }
        checkRelationships()
        guard problems.isEmpty else { return nil }
        separateTransients()
        layOutTables()
        placeRelationships()
        guard let entities = buildEntities() else { return nil }
        checkDerivations(entities)
        guard problems.isEmpty else { return nil }
        let model = ObjectModel(
            declaration: original, entities: entities, joinTables: joinTables)
        checkIndexPredicates(model)
        return problems.isEmpty ? model : nil
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }
}

// MARK: - Names

extension ModelBuilder {
    /// Column names that SQLite or the store use themselves.
    private static let reservedNames: Set = ["pk", "rowid", "oid"]

    static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first.properties.isAlphabetic, name.utf8.count <= 64 else {
            return false
        }
        return name.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_"
        }
    }

    mutating func checkNames() {
        if declaration.entities.isEmpty {
            report(nil, "The model has no entities", "Declare at least one under 'entities:'")
        }
        // SQLite compares names without regard to case.
        var entityNames: Set<String> = []
        for entity in declaration.entities {
            if !Self.isName(entity.name) || entity.name.lowercased().hasPrefix("sqlite_")
                || entity.name.lowercased().hasSuffix("_readable")
            {
                report(
                    entity.line, "'\(entity.name)' cannot be an entity's name",
                    "Begin with a letter; use letters, digits and _, at most 64 bytes")
            }
            if !entityNames.insert(entity.name.lowercased()).inserted {
                report(entity.line, "Two entities are named \(entity.name), case aside", "Rename one")
            }
            checkPropertyNames(of: entity)
        }
    }

    private mutating func checkPropertyNames(of entity: EntityDeclaration) {
        var names: Set<String> = []
        let properties = entity.attributes.map { ($0.name, $0.line) } + entity.relationships.map { ($0.name, $0.line) }
        for (name, line) in properties {
            let isHiddenIdentity = name == HiddenIdentity.name && entity.identity?.content == name
            if !isHiddenIdentity, !Self.isName(name) || Self.reservedNames.contains(name.lowercased()) {
                report(
                    line, "'\(name)' cannot be a property's name",
                    "Begin with a letter; use letters, digits and _; pk, rowid and oid are taken")
            }
            if !names.insert(name.lowercased()).inserted {
                report(line, "Two properties of \(entity.name) are named \(name), case aside", "Rename one")
            }
        }
    }
}

/// Checks the condition of a partial index of an entity, and returns the problem that it finds, or nil.
///
/// A model has no predicates of its own: the reader of conditions is given to those who build one.
package typealias IndexConditionCheck = (
    _ condition: String, _ entity: Entity, _ model: ObjectModel
) -> (message: String, remedy: String)?

/// Resolves a declaration into a model: names to positions, links to storage, texts to values.
///
/// Notes every problem rather than the first, so that a person repairs a file in one go.
package struct ModelBuilder {
    /// The declarations of the file; once the hierarchies are resolved, each entity with what it inherits, inherited
    /// properties first.
    var declaration: ModelDeclaration
    /// The declarations of the file as they were read.
    private let original: ModelDeclaration
    private let file: String
    package private(set) var problems: [ModelError.Problem] = []
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
    /// The store's name of each entity.
    var entityNames: [StoredNames] = []
    /// The names of tables and views that have been given.
    var tableNames = StoreNames()
    /// Which attributes share columns.
    let layout: ColumnLayout
    let checkCondition: IndexConditionCheck
    /// The storage of each relationship, by entity and position.
    var storages: [[RelationshipStorage?]] = []
    /// Each entity's own declarations that the store has no place for.
    var transientAttributes: [[AttributeDeclaration]] = []
    var transientRelationships: [[RelationshipDeclaration]] = []
    var constraintCount = 0
    /// The relationships that lead nowhere, or whose inverse does not lead back.
    var unsoundLinks: Set<PropertyKey> = []
    /// The names of properties with a fault: the builder reports no fault that follows from them.
    var unclearNames: Set<String> = []

    package init(
        _ declaration: ModelDeclaration, file: String, layout: ColumnLayout = .typed,
        checkCondition: @escaping IndexConditionCheck
    ) {
        self.declaration = declaration
        self.layout = layout
        self.checkCondition = checkCondition
        original = declaration
        self.file = file
    }

    /// Builds the model, or returns nil where something is wrong.
    ///
    /// Each stage goes on with the parts that the stage before found in order. It reports no fault that follows from
    /// the other parts.
    package mutating func build() -> ObjectModel? {
        checkNames()
        setUnclearAside()
        positions = Dictionary(
            declaration.entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        nameEntities()
        resolveHierarchies()
        checkRelationships()
        separateTransients()
        layOutTables()
        placeRelationships()
        let entities = buildEntities()
        checkDerivations(entities)
        let model = ObjectModel(declaration: original, entities: entities, joinTables: joinTables)
        checkIndexPredicates(model)
        return problems.isEmpty ? model : nil
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }
}

// MARK: - What is known to be wrong

extension ModelBuilder {
    /// Removes properties that could not be read, and remembers their names.
    private mutating func setUnclearAside() {
        for index in declaration.entities.indices {
            let entity = declaration.entities[index]
            unclearNames.formUnion(entity.attributes.filter(\.isUnclear).map(\.name))
            unclearNames.formUnion(entity.relationships.filter(\.isUnclear).map(\.name))
            declaration.entities[index].attributes.removeAll(where: \.isUnclear)
            declaration.entities[index].relationships.removeAll(where: \.isUnclear)
        }
    }

    /// Tells whether an entity may lack a property only because something else is wrong.
    func isUnclear(_ property: String, of entity: EntityDeclaration) -> Bool {
        entity.isUnclear || unclearNames.contains(property)
    }

    /// Tells whether an expression or condition depends on a faulty part.
    func isUnclear(expression: String, of entity: EntityDeclaration) -> Bool {
        if problems.isEmpty, unclearNames.isEmpty { return entity.isUnclear }
        let words = Set(
            expression.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map { String($0) })
        if entity.isUnclear || !unclearNames.isDisjoint(with: words) { return true }
        return declaration.entities.contains { $0.isUnclear }
            && entity.relationships.contains { words.contains($0.name) }
    }
}

// MARK: - Names

extension ModelBuilder {
    static let nameRule = "Begin with a letter or _; use letters, digits and _, at most 255 bytes"

    package static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first.properties.isAlphabetic || first == "_",
            name.utf8.count <= 255
        else {
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
        var names: Set<String> = []
        for index in declaration.entities.indices {
            let entity = declaration.entities[index]
            if !Self.isName(entity.name) {
                report(entity.line, "'\(entity.name)' cannot be an entity's name", Self.nameRule)
            }
            if names.contains(entity.name) {
                report(entity.line, "Two entities are named \(entity.name)", "Rename one")
            }
            names.insert(entity.name)
            checkPropertyNames(of: index)
        }
        var seen: Set<String> = []
        declaration.entities.removeAll { !seen.insert($0.name).inserted }
    }

    private mutating func checkPropertyNames(of index: Int) {
        let entity = declaration.entities[index]
        var names: Set<String> = []
        let properties = entity.attributes.map { ($0.name, $0.line) } + entity.relationships.map { ($0.name, $0.line) }
        for (name, line) in properties {
            if !Self.isName(name) {
                report(line, "'\(name)' cannot be a property's name", Self.nameRule)
            }
            if name == HiddenIdentity.name, entity.identity?.content != name {
                report(line, "'\(name)' is the name of an identity that a model does not state", "Rename the property")
            }
            if !names.insert(name).inserted {
                report(line, "Two properties of \(entity.name) are named \(name)", "Rename one")
            }
        }
        var seen: Set<String> = []
        declaration.entities[index].attributes.removeAll { !seen.insert($0.name).inserted }
        declaration.entities[index].relationships.removeAll { !seen.insert($0.name).inserted }
    }
}

/// How the columns of a hierarchy are shared.
package enum ColumnLayout: Sendable {
    /// Attributes of one name and one type share a column: layouts from 3 on.
    case typed
    /// Attributes of one name share a column whatever their types, and the column has none: layouts 1 and 2.
    case untyped
}

/// Resolves a declaration into a model: names to positions, links to storage, texts to values.
///
/// Notes every problem rather than the first, so that a person mends a file in one go.
struct ModelBuilder {
    let declaration: ModelDeclaration
    private let file: String
    private(set) var problems: [ModelError.Problem] = []
    private var positions: [String: Int] = [:]
    private var joinTables: [JoinTable] = []
    /// The storage of each relationship, by entity and position.
    private var storages: [[RelationshipStorage?]] = []

    init(_ declaration: ModelDeclaration, file: String) {
        self.declaration = declaration
        self.file = file
    }

    mutating func build() -> ObjectModel? {
        checkNames()
        guard problems.isEmpty else { return nil }
        positions = Dictionary(uniqueKeysWithValues: declaration.entities.enumerated().map { ($1.name, $0) })
        checkRelationships()
        guard problems.isEmpty else { return nil }
        placeRelationships()
        let entities = declaration.entities.indices.compactMap { buildEntity($0) }
        guard problems.isEmpty else { return nil }
        return ObjectModel(
            name: declaration.name, version: declaration.version, entities: entities, joinTables: joinTables)
    }

    mutating func report(_ line: Int?, _ message: String, _ remedy: String) {
        problems.append(ModelError.Problem(file: file, line: line, message: message, remedy: remedy))
    }
}

// MARK: - Names

extension ModelBuilder {
    /// Column names that SQLite or the store use themselves.
    private static let reservedNames: Set = ["pk", "rowid", "oid"]

    private static func isName(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first.properties.isAlphabetic, name.utf8.count <= 64 else {
            return false
        }
        return name.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "_"
        }
    }

    private mutating func checkNames() {
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
            if !Self.isName(name) || Self.reservedNames.contains(name.lowercased()) {
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

// MARK: - Relationships

extension ModelBuilder {
    private mutating func checkRelationships() {
        for entity in declaration.entities {
            for relationship in entity.relationships { check(relationship, of: entity) }
        }
    }

    private mutating func check(_ relationship: RelationshipDeclaration, of entity: EntityDeclaration) {
        let label = "\(entity.name).\(relationship.name)"
        guard let position = positions[relationship.destination.content] else {
            report(
                relationship.destination.line,
                "\(label) leads to '\(relationship.destination.content)', which is no entity",
                "Known entities are: \(positions.keys.sorted().joined(separator: ", "))")
            return
        }
        if let maximum = relationship.maximumCount, maximum < max(relationship.minimumCount, 1) {
            report(relationship.line, "\(label) allows fewer objects than it needs", "Raise maxCount or lower minCount")
        }
        guard let inverseName = relationship.inverse else { return }
        let destination = declaration.entities[position]
        guard let inverse = destination.relationships.first(where: { $0.name == inverseName.content }) else {
            report(
                inverseName.line,
                "\(destination.name) has no relationship '\(inverseName.content)', the inverse of \(label)",
                "Declare it in \(destination.name), or write 'inverse: none'")
            return
        }
        if inverse.destination.content != entity.name || inverse.inverse?.content != relationship.name {
            report(
                inverseName.line,
                "\(label) and \(destination.name).\(inverse.name) are not each other's inverse",
                "Let \(destination.name).\(inverse.name) say 'to: \(entity.name)' and 'inverse: \(relationship.name)'")
        }
    }

    /// Decides where the links of each relationship are kept.
    private mutating func placeRelationships() {
        storages = declaration.entities.map { $0.relationships.map { _ in nil } }
        for (entityIndex, entity) in declaration.entities.enumerated() {
            var slot = entity.attributes.count
            for (index, relationship) in entity.relationships.enumerated() where !relationship.isToMany {
                storages[entityIndex][index] = .column(slot: slot)
                slot += 1
            }
        }
        for (entityIndex, entity) in declaration.entities.enumerated() {
            for (index, relationship) in entity.relationships.enumerated() where relationship.isToMany {
                place(relationship, at: index, of: entityIndex)
            }
        }
    }

    private mutating func place(_ relationship: RelationshipDeclaration, at index: Int, of entityIndex: Int) {
        guard storages[entityIndex][index] == nil, let destination = positions[relationship.destination.content] else {
            return
        }
        let inverse = inverseIndex(of: relationship)
        if let inverse, case .column(let slot) = storages[destination][inverse] {
            storages[entityIndex][index] = .inverseColumn(slot: slot)
            return
        }
        let own = "\(declaration.entities[entityIndex].name)_\(relationship.name)"
        let other = inverse.map {
            "\(declaration.entities[destination].name)_\(declaration.entities[destination].relationships[$0].name)"
        }
        // The side whose name sorts first owns the table, so that the order of a file's lines does not matter.
        let isOwner = other.map { own <= $0 } ?? true
        let name = isOwner ? own : (other ?? own)
        let taken = positions.keys.flatMap { [$0, $0 + "_readable"] } + joinTables.map(\.name)
        if taken.contains(where: { $0.lowercased() == name.lowercased() }) {
            report(
                relationship.line, "The join table \(name) has the name of another table or view",
                "Rename the entity or the relationship")
        }
        let table = joinTables.count
        storages[entityIndex][index] = .join(table: table, isOwner: isOwner)
        if let inverse, !(destination == entityIndex && inverse == index) {
            storages[destination][inverse] = .join(table: table, isOwner: !isOwner)
        }
        let here = (entityIndex, index)
        let there = (destination, inverse)
        joinTables.append(
            JoinTable(
                name: name, index: table, ownerEntity: isOwner ? here.0 : there.0,
                ownerRelationship: isOwner ? here.1 : (there.1 ?? here.1),
                destinationEntity: isOwner ? there.0 : here.0, destinationRelationship: isOwner ? there.1 : here.1))
    }

    private func inverseIndex(of relationship: RelationshipDeclaration) -> Int? {
        guard let inverse = relationship.inverse, let destination = positions[relationship.destination.content] else {
            return nil
        }
        return declaration.entities[destination].relationships.firstIndex { $0.name == inverse.content }
    }
}

// MARK: - Entities

extension ModelBuilder {
    private mutating func buildEntity(_ index: Int) -> Entity? {
        let declared = declaration.entities[index]
        let attributes = declared.attributes.enumerated().map { buildAttribute($1, slot: $0, of: declared) }
        var relationships: [Relationship] = []
        for (position, relationship) in declared.relationships.enumerated() {
            guard let destination = positions[relationship.destination.content],
                let storage = storages[index][position]
            else { return nil }
            relationships.append(
                Relationship(
                    name: relationship.name, index: position, entityIndex: index, destinationIndex: destination,
                    isToMany: relationship.isToMany, isOptional: relationship.isOptional,
                    deleteRule: relationship.deleteRule, onMissing: relationship.onMissing,
                    // A required to-many relationship needs at least one.
                    minimumCount: relationship.isToMany && !relationship.isOptional
                        ? max(1, relationship.minimumCount) : relationship.minimumCount,
                    maximumCount: relationship.maximumCount,
                    inverseIndex: inverseIndex(of: relationship), storage: storage))
        }
        let identity = identitySlot(of: declared)
        let version = versionSlot(of: declared)
        checkIndexes(of: declared)
        let order = derivedOrder(attributes, of: declared)
        guard let identity, problems.isEmpty else { return nil }
        return Entity(
            name: declared.name, index: index, attributes: attributes, relationships: relationships,
            identitySlot: identity, versionSlot: version, indexes: declared.indexes.map(\.content),
            derivedOrder: order)
    }

    private mutating func identitySlot(of entity: EntityDeclaration) -> Int? {
        guard let identity = entity.identity else {
            report(
                entity.line, "\(entity.name) has no identity",
                "Name the attribute that events address its objects by with 'identity:'")
            return nil
        }
        guard let slot = entity.attributes.firstIndex(where: { $0.name == identity.content }) else {
            report(
                identity.line, "\(entity.name) has no attribute '\(identity.content)' to be its identity", "Declare it")
            return nil
        }
        let attribute = entity.attributes[slot]
        if !attribute.type.canIdentify || attribute.derived != nil {
            report(
                identity.line, "\(entity.name).\(attribute.name) cannot be an identity",
                "Use a stored attribute of type string, uuid, uri or integer")
        }
        return slot
    }

    private mutating func versionSlot(of entity: EntityDeclaration) -> Int? {
        guard let version = entity.version else { return nil }
        guard let slot = entity.attributes.firstIndex(where: { $0.name == version.content }) else {
            report(version.line, "\(entity.name) has no attribute '\(version.content)' to be its version", "Declare it")
            return nil
        }
        let attribute = entity.attributes[slot]
        if !attribute.type.canBeVersion || attribute.derived != nil || attribute.name == entity.identity?.content {
            report(
                version.line, "\(entity.name).\(attribute.name) cannot order versions",
                "Use a stored attribute of type date, integer, double or string that is not the identity")
        }
        return slot
    }

    private mutating func checkIndexes(of entity: EntityDeclaration) {
        let columns = Set(entity.attributes.map(\.name) + entity.relationships.filter { !$0.isToMany }.map(\.name))
        for index in entity.indexes {
            for name in index.content where !columns.contains(name) {
                report(
                    index.line, "'\(name)' in an index of \(entity.name) has no column",
                    "Use attributes and to-one relationships")
            }
        }
    }
}

// MARK: - Attributes

extension ModelBuilder {
    private mutating func buildAttribute(
        _ declared: AttributeDeclaration, slot: Int, of entity: EntityDeclaration
    ) -> Attribute {
        let label = "\(entity.name).\(declared.name)"
        var constraints = ValueConstraints()
        constraints.minimum = value(declared.minimumText, of: declared, label, "min")
        constraints.maximum = value(declared.maximumText, of: declared, label, "max")
        constraints.minimumLength = declared.minimumLength
        constraints.maximumLength = declared.maximumLength
        if let pattern = declared.pattern {
            do {
                constraints.pattern = try TextPattern(pattern.content)
            } catch {
                report(pattern.line, "The pattern of \(label) is no regular expression", "Mend its syntax")
            }
        }
        checkConstraints(declared, constraints, label)
        let defaultValue = value(declared.defaultText, of: declared, label, "default")
        let attribute = Attribute(
            name: declared.name, type: declared.type, slot: slot, isOptional: declared.isOptional,
            defaultValue: defaultValue, constraints: constraints, derivation: derivation(declared, of: entity),
            isUnique: declared.isUnique, isIndexed: declared.isIndexed,
            isPreservedAfterDeletion: declared.isPreservedAfterDeletion)
        do {
            try attribute.check(defaultValue, entity: entity.name)
        } catch {
            report(
                declared.defaultText?.line, "The default of \(label) breaks the rule: it \(error.limit)", "Change one")
        }
        return attribute
    }

    private mutating func value(
        _ text: Located<String>?, of attribute: AttributeDeclaration, _ label: String, _ key: String
    ) -> Value {
        guard let text else { return .null }
        if let value = attribute.type.value(fromText: text.content) { return value }
        report(
            text.line, "'\(key)' of \(label) is no \(attribute.type.rawValue)",
            "Write \(attribute.type.expectation)")
        return .null
    }

    private mutating func checkConstraints(
        _ declared: AttributeDeclaration, _ constraints: ValueConstraints, _ label: String
    ) {
        let hasLength = constraints.minimumLength != nil || constraints.maximumLength != nil
        let isText = [.string, .uri].contains(declared.type)
        if hasLength, !isText, declared.type != .binary {
            report(declared.line, "\(label) has a length and is no text", "Use min and max for numbers and dates")
        }
        if constraints.pattern != nil, !isText {
            report(declared.line, "\(label) has a pattern and is no text", "Remove the pattern")
        }
        let hasRange = !constraints.minimum.isNull || !constraints.maximum.isNull
        if hasRange, !declared.type.isNumeric, declared.type != .date {
            report(declared.line, "\(label) has a range and is neither number nor date", "Use minLength and maxLength")
        }
        if !constraints.minimum.isNull, !constraints.maximum.isNull,
            Attribute.comesBefore(constraints.maximum, constraints.minimum, declared.type)
        {
            report(declared.line, "\(label) has a min above its max", "Exchange them")
        }
        if let minimum = constraints.minimumLength, let maximum = constraints.maximumLength, minimum > maximum {
            report(declared.line, "\(label) has a minLength above its maxLength", "Exchange them")
        }
        if declared.isPreservedAfterDeletion, declared.type == .binary {
            report(declared.line, "\(label) is binary and cannot be preserved after deletion", "Remove the option")
        }
        if declared.derived != nil, declared.defaultText != nil || declared.isUnique {
            report(declared.line, "\(label) is derived and has a default or is unique", "Remove that option")
        }
    }
}

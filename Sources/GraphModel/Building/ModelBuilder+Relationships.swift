// Relationships: mutual inverses, and where the links are kept.
extension ModelBuilder {
    mutating func checkRelationships() {
        for (index, entity) in declaration.entities.enumerated() {
            for relationship in ownRelationships(index) where !check(relationship, of: entity) {
                unsoundLinks.insert(PropertyKey(entity: index, name: relationship.name))
            }
        }
        // A path over a wrong relationship cannot be followed either.
        var count = -1
        while count != unsoundLinks.count {
            count = unsoundLinks.count
            for index in declaration.entities.indices {
                for relationship in ownRelationships(index) {
                    guard let inverse = relationship.inverse?.content,
                        let destination = positions[relationship.destination.content],
                        unsoundLinks.contains(PropertyKey(entity: destination, name: inverse))
                    else { continue }
                    unsoundLinks.insert(PropertyKey(entity: index, name: relationship.name))
                }
            }
        }
        unclearNames.formUnion(unsoundLinks.map(\.name))
    }

    /// Checks a relationship, and tells whether it leads somewhere and back.
    private mutating func check(_ relationship: RelationshipDeclaration, of entity: EntityDeclaration) -> Bool {
        let label = "\(entity.name).\(relationship.name)"
        guard let position = positions[relationship.destination.content] else {
            report(
                relationship.destination.line,
                "\(label) leads to '\(relationship.destination.content)', which is no entity",
                "Known entities are: \(positions.keys.sorted().joined(separator: ", "))")
            return false
        }
        if let maximum = relationship.maximumCount, maximum < max(relationship.minimumCount, 1) {
            report(relationship.line, "\(label) allows fewer objects than it needs", "Raise maxCount or lower minCount")
        }
        guard let inverseName = relationship.inverse else { return true }
        let destination = declaration.entities[position]
        guard let inverse = ownRelationships(position).first(where: { $0.name == inverseName.content }) else {
            if isUnclear(inverseName.content, of: destination) { return false }
            let isInherited = destination.relationships.contains { $0.name == inverseName.content }
            report(
                inverseName.line,
                "\(destination.name) \(isInherited ? "inherits" : "has no") relationship '\(inverseName.content)', the "
                    + "inverse of \(label)",
                isInherited
                    ? "Let \(label) lead to the entity that declares it, or write 'inverse: none'"
                    : "Declare it in \(destination.name), or write 'inverse: none'")
            return false
        }
        return agree(relationship, inverse, at: inverseName.line, of: entity, destination)
    }

    /// Checks that a relationship and the inverse that it names lead to each other.
    private mutating func agree(
        _ relationship: RelationshipDeclaration, _ inverse: RelationshipDeclaration, at line: Int?,
        of entity: EntityDeclaration, _ destination: EntityDeclaration
    ) -> Bool {
        let label = "\(entity.name).\(relationship.name)"
        // The builder reports the other side's mistake at its own line.
        if positions[inverse.destination.content] == nil { return false }
        if inverse.isTransient != relationship.isTransient {
            report(
                line, "Of \(label) and \(destination.name).\(inverse.name) only one is transient",
                "Make both transient, or none")
            return false
        }
        if inverse.destination.content != entity.name || inverse.inverse?.content != relationship.name {
            report(
                line,
                "\(label) and \(destination.name).\(inverse.name) are not each other's inverse",
                "Let \(destination.name).\(inverse.name) say 'to: \(entity.name)' and 'inverse: \(relationship.name)'")
            return false
        }
        return true
    }

    /// Decides where the links of each relationship are kept.
    mutating func placeRelationships() {
        storages = declaration.entities.map { $0.relationships.map { _ in nil } }
        for (entityIndex, entity) in declaration.entities.enumerated() {
            for (index, relationship) in entity.relationships.enumerated() where !relationship.isToMany {
                storages[entityIndex][index] = slot(relationship.name, of: entity).map { .column(slot: $0) }
            }
        }
        for (entityIndex, entity) in declaration.entities.enumerated() {
            for (index, relationship) in entity.relationships.enumerated()
            where relationship.isToMany && index >= inheritedRelationshipCounts[entityIndex] {
                place(relationship, at: index, of: entityIndex)
            }
        }
        nameJoinTables()
        // Sub-entities have their ancestors' storage.
        for (entityIndex, entity) in declaration.entities.enumerated() {
            for index in entity.relationships.indices where storages[entityIndex][index] == nil {
                guard let owner = declaringEntity(of: index, in: entityIndex) else { continue }
                storages[entityIndex][index] = storages[owner][index]
            }
        }
    }

    /// Returns the ancestor, or the entity itself, that declares the relationship at a position.
    func declaringEntity(of relationship: Int, in entity: Int) -> Int? {
        ([entity] + ancestors[entity]).first { inheritedRelationshipCounts[$0] <= relationship }
    }

    mutating func place(_ relationship: RelationshipDeclaration, at index: Int, of entityIndex: Int) {
        guard storages[entityIndex][index] == nil, let destination = positions[relationship.destination.content] else {
            return
        }
        let inverse = inverseIndex(of: relationship)
        if let inverse, case .column(let slot) = storages[destination][inverse] {
            storages[entityIndex][index] = .inverseColumn(slot: slot)
            return
        }
        func name(_ entity: Int, _ relationship: Int) -> (String, String) {
            let entity = declaration.entities[entity]
            return ("\(entity.name)_\(entity.relationships[relationship].name)", entity.name)
        }
        // The side whose name sorts first owns the table, so that the order of a file's lines does not matter.
        let isOwner = inverse.map { name(entityIndex, index) <= name(destination, $0) } ?? true
        let table = joinTables.count
        storages[entityIndex][index] = .join(table: table, isOwner: isOwner)
        let isOwnInverse = destination == entityIndex && inverse == index
        if let inverse, !isOwnInverse { storages[destination][inverse] = .join(table: table, isOwner: !isOwner) }
        let here = (entityIndex, index)
        let there = (destination, inverse)
        let back = inverse.map { declaration.entities[destination].relationships[$0].isOrdered } ?? false
        joinTables.append(
            JoinTable(
                name: "", index: table, ownerEntity: isOwner ? here.0 : there.0,
                ownerRelationship: isOwner ? here.1 : (there.1 ?? here.1),
                destinationEntity: isOwner ? there.0 : here.0, destinationRelationship: isOwner ? there.1 : here.1,
                ordersDestinations: isOwner ? relationship.isOrdered : back,
                // Of a relationship that is its own inverse every link is there in both directions.
                ordersOwners: !isOwnInverse && (isOwner ? back : relationship.isOrdered)))
    }

    func inverseIndex(of relationship: RelationshipDeclaration) -> Int? {
        guard let inverse = relationship.inverse, let destination = positions[relationship.destination.content] else {
            return nil
        }
        return declaration.entities[destination].relationships.firstIndex { $0.name == inverse.content }
    }

    func inverseDeclaration(of relationship: RelationshipDeclaration) -> RelationshipDeclaration? {
        guard let index = inverseIndex(of: relationship), let destination = positions[relationship.destination.content]
        else { return nil }
        return declaration.entities[destination].relationships[index]
    }

    // MARK: Building

    /// Builds the relationships that an entity declares itself, behind the inherited ones.
    func buildRelationships(_ index: Int, inherited: [Relationship]) -> [Relationship] {
        var relationships = inherited
        for relationship in ownRelationships(index) {
            guard let destination = positions[relationship.destination.content],
                let storage = storages[index][relationships.count]
            else { continue }
            relationships.append(
                Relationship(
                    relationship, index: relationships.count, entityIndex: index, destinationIndex: destination,
                    inverseIndex: inverseIndex(of: relationship), storage: storage,
                    columnName: columnName(storage, of: index),
                    positionSlot: tables[root(of: destination)]?.positionSlots[
                        PropertyKey(entity: index, name: relationship.name)]))
        }
        return relationships
    }

    private func columnName(_ storage: RelationshipStorage, of index: Int) -> String? {
        guard case .column(let slot) = storage else { return nil }
        return tables[root(of: index)]?.columnNames[slot]
    }

    func buildTransientRelationship(_ declared: RelationshipDeclaration, of index: Int) -> TransientRelationship? {
        guard let destination = positions[declared.destination.content] else { return nil }
        return TransientRelationship(
            name: declared.name, entityIndex: index, destinationIndex: destination, isToMany: declared.isToMany,
            isOptional: declared.isOptional, renamedFrom: declared.renamedFrom?.content,
            hashModifier: declared.hashModifier, info: declared.info)
    }
}

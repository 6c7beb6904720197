// Parents and sub-entities: one table for each hierarchy.
extension ModelBuilder {
    /// The columns of a hierarchy's table, as they are found.
    struct TableBuilder {
        var slots: [String: Int] = [:]
        var columnNames: [String] = []
        var propertySlotCount = 0

        mutating func add(_ name: String) {
            if slots[name] != nil { return }
            slots[name] = columnNames.count
            columnNames.append(name)
        }
    }

    /// Finds each entity's ancestors and gives it what it inherits.
    mutating func resolveHierarchies() {
        for entity in declaration.entities {
            guard let parent = entity.parent, positions[parent.content] == nil else { continue }
            report(
                parent.line, "The parent of \(entity.name), '\(parent.content)', is no entity",
                "Known entities are: \(positions.keys.sorted().joined(separator: ", "))")
        }
        ancestors = declaration.entities.indices.map { _ in [] }
        inheritedRelationshipCounts = declaration.entities.indices.map { _ in 0 }
        inheritedAttributeCounts = inheritedRelationshipCounts
        guard problems.isEmpty else { return }
        for index in declaration.entities.indices { findAncestors(of: index) }
        guard problems.isEmpty else { return }
        for root in declaration.entities.indices where ancestors[root].isEmpty { liftIdentity(to: root) }
        // From the top down, so that a parent has its own inheritance by then.
        let order = declaration.entities.indices.sorted { (ancestors[$0].count, $0) < (ancestors[$1].count, $1) }
        for index in order { inherit(index) }
        for root in declaration.entities.indices where ancestors[root].isEmpty { checkColumns(below: root) }
    }

    private mutating func findAncestors(of index: Int) {
        var found: [Int] = []
        var next = parent(of: index)
        while let position = next {
            if position == index || found.contains(position) {
                let entity = declaration.entities[index]
                report(entity.parent?.line, "\(entity.name) is among its own ancestors", "Break the circle of parents")
                return
            }
            found.append(position)
            next = parent(of: position)
        }
        ancestors[index] = found
    }

    private func parent(of index: Int) -> Int? {
        declaration.entities[index].parent.flatMap { positions[$0.content] }
    }

    func root(of index: Int) -> Int { ancestors[index].last ?? index }

    /// The positions of a hierarchy's entities, ancestors before their descendants.
    func hierarchy(of root: Int) -> [Int] { [root] + subentities(of: root) }

    func subentities(of index: Int) -> [Int] {
        declaration.entities.indices.filter { ancestors[$0].contains(index) }
            .sorted { (ancestors[$0].count, $0) < (ancestors[$1].count, $1) }
    }

    /// Gives a root without identity that of its sub-entities, where they agree on one.
    private mutating func liftIdentity(to root: Int) {
        let below = subentities(of: root).filter { declaration.entities[$0].identity != nil }
        guard declaration.entities[root].identity == nil, let first = below.first,
            let identity = declaration.entities[first].identity,
            let attribute = declaration.entities[first].attributes.first(where: { $0.name == identity.content })
        else { return }
        for index in below {
            let entity = declaration.entities[index]
            let same = entity.attributes.first { $0.name == attribute.name && $0.type == attribute.type }
            guard entity.identity?.content == identity.content, same != nil else {
                report(
                    entity.identity?.line,
                    "\(entity.name) has another identity than \(declaration.entities[first].name), which shares its table",
                    "Declare one identity in \(declaration.entities[root].name), the topmost entity")
                return
            }
        }
        declaration.entities[root].identity = identity
        if !declaration.entities[root].attributes.contains(where: { $0.name == attribute.name }) {
            declaration.entities[root].attributes.insert(attribute, at: 0)
        }
        for index in below {
            declaration.entities[index].identity = nil
            declaration.entities[index].attributes.removeAll { $0.name == attribute.name }
        }
    }

    private mutating func inherit(_ index: Int) {
        guard let above = ancestors[index].first else { return }
        let parent = declaration.entities[above]
        var entity = declaration.entities[index]
        let names = (parent.attributes.map(\.name) + parent.relationships.map(\.name)).map { $0.lowercased() }
        let own = entity.attributes.map { ($0.name, $0.line) } + entity.relationships.map { ($0.name, $0.line) }
        for (name, line) in own where names.contains(name.lowercased()) {
            report(
                line, "\(entity.name) inherits a property named \(name), case aside, and declares another",
                "Remove or rename one")
        }
        for (mine, theirs, word) in [
            (entity.identity, parent.identity, "identity"), (entity.version, parent.version, "version"),
        ] {
            guard let mine, let theirs, mine.content != theirs.content else { continue }
            report(
                mine.line, "\(entity.name) inherits the \(word) '\(theirs.content)' and states another",
                "Remove it: a hierarchy has one")
        }
        entity.identity = parent.identity ?? entity.identity
        entity.version = entity.version ?? parent.version
        entity.mergePolicy = entity.mergePolicy ?? parent.mergePolicy
        inheritedAttributeCounts[index] = parent.attributes.count
        inheritedRelationshipCounts[index] = parent.relationships.count
        entity.attributes = parent.attributes + entity.attributes
        entity.relationships = parent.relationships + entity.relationships
        declaration.entities[index] = entity
    }

    /// Checks that the properties of entities beside each other can share a table: stored attributes of one name share
    /// a column, whatever their types; nothing else may.
    private mutating func checkColumns(below root: Int) {
        let members = hierarchy(of: root)
        guard members.count > 1 else { return }
        var columns: [String: (name: String, owner: String, isAttribute: Bool)] = [:]
        for index in members {
            let entity = declaration.entities[index]
            let attributes = ownAttributes(index).filter { !$0.isTransient }.map {
                ($0.name, $0.line, $0.derived == nil)
            }
            let links = ownRelationships(index).filter { !$0.isToMany && !$0.isTransient }
                .map { ($0.name, $0.line, false) }
            for (name, line, isAttribute) in attributes + links {
                guard let other = columns[name.lowercased()] else {
                    columns[name.lowercased()] = (name, entity.name, isAttribute)
                    continue
                }
                if isAttribute, other.isAttribute, other.name == name { continue }
                report(
                    line,
                    "\(entity.name).\(name) and \(other.owner).\(other.name) would need one column of the table "
                        + "\(declaration.entities[root].name)",
                    "Rename one, or declare it in a common ancestor; only attributes of the same name that are not derived share a column"
                )
            }
        }
    }

    func ownAttributes(_ index: Int) -> ArraySlice<AttributeDeclaration> {
        declaration.entities[index].attributes[inheritedAttributeCounts[index]...]
    }

    func ownRelationships(_ index: Int) -> ArraySlice<RelationshipDeclaration> {
        declaration.entities[index].relationships[inheritedRelationshipCounts[index]...]
    }

    /// Takes what has no place in the store out of the declaration, so that positions count what is stored.
    mutating func separateTransients() {
        transientAttributes = declaration.entities.indices.map { ownAttributes($0).filter(\.isTransient) }
        transientRelationships = declaration.entities.indices.map { ownRelationships($0).filter(\.isTransient) }
        for index in declaration.entities.indices {
            let entity = declaration.entities[index]
            inheritedAttributeCounts[index] =
                entity.attributes.prefix(inheritedAttributeCounts[index]).filter { !$0.isTransient }.count
            inheritedRelationshipCounts[index] =
                entity.relationships.prefix(inheritedRelationshipCounts[index]).filter { !$0.isTransient }.count
            declaration.entities[index].attributes.removeAll(where: \.isTransient)
            declaration.entities[index].relationships.removeAll(where: \.isTransient)
        }
    }

    // MARK: Columns

    /// Numbers the columns of each table: attributes, then to-one relationships, then positions.
    mutating func layOutTables() {
        for root in declaration.entities.indices where ancestors[root].isEmpty {
            var table = TableBuilder()
            let members = hierarchy(of: root)
            for index in members {
                for attribute in ownAttributes(index) { table.add(attribute.name) }
            }
            for index in members {
                for relationship in ownRelationships(index) where !relationship.isToMany {
                    table.add(relationship.name)
                }
            }
            table.propertySlotCount = table.columnNames.count
            tables[root] = table
        }
        for index in declaration.entities.indices {
            for relationship in ownRelationships(index) where relationship.isOrdered {
                guard let column = positionColumn(of: relationship),
                    let destination = positions[relationship.destination.content]
                else { continue }
                tables[root(of: destination)]?.add(column)
            }
        }
    }

    /// The name of the destinations' column that holds their place in an ordered one-to-many relationship, or nil.
    func positionColumn(of relationship: RelationshipDeclaration) -> String? {
        guard relationship.isOrdered, let inverse = inverseDeclaration(of: relationship), !inverse.isToMany else {
            return nil
        }
        return "_\(inverse.name)_position"
    }

    /// Returns the slot of a stored attribute or to-one relationship of an entity, inherited ones included, or nil.
    func slot(_ name: String, of entity: EntityDeclaration) -> Int? {
        guard let index = positions[entity.name] else { return nil }
        let isStored =
            entity.attributes.contains { $0.name == name }
            || entity.relationships.contains { $0.name == name && !$0.isToMany }
        return isStored ? tables[root(of: index)]?.slots[name] : nil
    }
}

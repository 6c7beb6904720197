// Parents and sub-entities: one table for each hierarchy.
extension ModelBuilder {
    /// Finds each entity's ancestors and gives it what it inherits.
    mutating func resolveHierarchies() {
        for (index, entity) in declaration.entities.enumerated() {
            guard let parent = entity.parent, positions[parent.content] == nil else { continue }
            declaration.entities[index].isUnclear = true
            report(
                parent.line, "The parent of \(entity.name), '\(parent.content)', is no entity",
                "Known entities are: \(positions.keys.sorted().joined(separator: ", "))")
        }
        ancestors = declaration.entities.indices.map { _ in [] }
        inheritedRelationshipCounts = declaration.entities.indices.map { _ in 0 }
        inheritedAttributeCounts = inheritedRelationshipCounts
        for index in declaration.entities.indices { findAncestors(of: index) }
        for root in declaration.entities.indices where ancestors[root].isEmpty {
            liftIdentity(to: root)
            checkIdentity(of: root)
        }
        // From the top down, so that a parent has its own inheritance by then.
        let order = declaration.entities.indices.sorted { (ancestors[$0].count, $0) < (ancestors[$1].count, $1) }
        for index in order { inherit(index) }
    }

    private mutating func findAncestors(of index: Int) {
        var found: [Int] = []
        var next = parent(of: index)
        while let position = next {
            if position == index || found.contains(position) {
                let entity = declaration.entities[index]
                declaration.entities[index].isUnclear = true
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

    /// Gives a root without identity the identity of its sub-entities, where they agree on one.
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
                declaration.entities[root].isUnclear = true
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

    /// Checks the identity of a hierarchy. Where it is none, a hidden one stands in for it, so that the rest can be checked.
    private mutating func checkIdentity(of root: Int) {
        let entity = declaration.entities[root]
        let attribute = entity.attributes.first { $0.name == entity.identity?.content && !$0.isTransient }
        if let attribute, attribute.type.canIdentify, attribute.derived == nil { return }
        if let identity = entity.identity, let attribute {
            report(
                identity.line, "\(entity.name).\(attribute.name) cannot be an identity",
                "Use a stored attribute of type string, uuid, uri or integer")
        } else if let identity = entity.identity {
            if !isUnclear(identity.content, of: entity) {
                report(
                    identity.line, "\(entity.name) has no attribute '\(identity.content)' to be its identity",
                    "Declare it")
            }
        } else if !entity.isUnclear {
            report(
                entity.line, "\(entity.name) has no identity",
                "Name the attribute that events address its objects by with 'identity:'")
        }
        var hidden = AttributeDeclaration(name: HiddenIdentity.name, line: entity.line)
        hidden.type = .uuid
        declaration.entities[root].attributes.removeAll { $0.name == HiddenIdentity.name }
        declaration.entities[root].attributes.append(hidden)
        declaration.entities[root].identity = Located(content: HiddenIdentity.name, line: entity.line)
    }

    private mutating func inherit(_ index: Int) {
        guard let above = ancestors[index].first else { return }
        let parent = declaration.entities[above]
        var entity = declaration.entities[index]
        let names = Set(parent.attributes.map(\.name) + parent.relationships.map(\.name))
        let own = entity.attributes.map { ($0.name, $0.line) } + entity.relationships.map { ($0.name, $0.line) }
        for (name, line) in own where names.contains(name) {
            report(
                line, "\(entity.name) inherits a property named \(name) and declares another",
                "Remove or rename one")
        }
        entity.isUnclear = entity.isUnclear || parent.isUnclear
        entity.attributes.removeAll { names.contains($0.name) }
        entity.relationships.removeAll { names.contains($0.name) }
        for (mine, theirs, word) in [
            (entity.identity, parent.identity, "identity"), (entity.version, parent.version, "version"),
        ] {
            guard let mine, let theirs, mine.content != theirs.content, theirs.content != HiddenIdentity.name
            else { continue }
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

    func ownAttributes(_ index: Int) -> ArraySlice<AttributeDeclaration> {
        declaration.entities[index].attributes[inheritedAttributeCounts[index]...]
    }

    func ownRelationships(_ index: Int) -> ArraySlice<RelationshipDeclaration> {
        declaration.entities[index].relationships[inheritedRelationshipCounts[index]...]
    }

    /// Takes transient properties out of the declaration, so that positions count stored properties only.
    mutating func separateTransients() {
        transientAttributes = declaration.entities.indices.map { ownAttributes($0).filter(\.isTransient) }
        transientRelationships = declaration.entities.indices.map { index in
            ownRelationships(index).filter { $0.isTransient && isSound($0, index) }
        }
        let unsound = declaration.entities.indices.map { index in
            Set(declaration.entities[index].relationships.filter { !isSound($0, index) }.map(\.name))
        }
        for index in declaration.entities.indices {
            let entity = declaration.entities[index]
            inheritedAttributeCounts[index] =
                entity.attributes.prefix(inheritedAttributeCounts[index]).filter { !$0.isTransient }.count
            inheritedRelationshipCounts[index] =
                entity.relationships.prefix(inheritedRelationshipCounts[index])
                .filter { !$0.isTransient && !unsound[index].contains($0.name) }.count
            declaration.entities[index].attributes.removeAll(where: \.isTransient)
            declaration.entities[index].relationships.removeAll {
                $0.isTransient || unsound[index].contains($0.name)
            }
        }
    }

    /// Tells whether nothing is wrong with a relationship of an entity, inherited ones included.
    private func isSound(_ relationship: RelationshipDeclaration, _ index: Int) -> Bool {
        !([index] + ancestors[index]).contains {
            unsoundLinks.contains(PropertyKey(entity: $0, name: relationship.name))
        }
    }
}

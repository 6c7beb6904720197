// Entities: identity, version, constraints and indexes.
extension ModelBuilder {
    /// Builds all entities.
    mutating func buildEntities() -> [Entity] {
        var parts: [EntityParts?] = declaration.entities.indices.map { _ in nil }
        // From the top down: what is inherited is built once.
        let order = declaration.entities.indices.sorted { (ancestors[$0].count, $0) < (ancestors[$1].count, $1) }
        for index in order { parts[index] = buildEntity(index, parent: ancestors[index].first.flatMap { parts[$0] }) }
        return parts.compactMap { parts in
            guard let parts, let layout = layout(of: root(of: parts.index)) else { return nil }
            return Entity(parts, table: layout)
        }
    }

    private func layout(of root: Int) -> TableLayout? {
        tables[root].map {
            TableLayout(
                name: entityNames[root].table, entityCount: hierarchy(of: root).count,
                columnNames: $0.columnNames, slotNames: $0.slotNames, propertySlotCount: $0.propertySlotCount)
        }
    }

    private mutating func buildEntity(_ index: Int, parent: EntityParts?) -> EntityParts {
        let declared = declaration.entities[index]
        var parts = EntityParts(
            declaration: declared, index: index, ancestors: ancestors[index], subentities: subentities(of: index),
            names: entityNames[index], rootName: declaration.entities[root(of: index)].name)
        parts.attributes = parent?.attributes ?? []
        for attribute in ownAttributes(index) {
            guard let slot = slot(attribute.name, of: declared) else { continue }
            parts.attributes.append(buildAttribute(attribute, slot: slot, of: declared, at: index))
        }
        parts.transientAttributes = parent?.transientAttributes ?? []
        for attribute in transientAttributes[index] {
            let slot = parts.transientAttributes.count
            parts.transientAttributes.append(buildAttribute(attribute, slot: slot, of: declared, at: index))
        }
        parts.relationships = buildRelationships(index, inherited: parent?.relationships ?? [])
        parts.inheritedRelationshipCount = inheritedRelationshipCounts[index]
        parts.transientRelationships =
            (parent?.transientRelationships ?? [])
            + transientRelationships[index].compactMap { buildTransientRelationship($0, of: index) }
        parts.identitySlot = declared.identity.flatMap { slot($0.content, of: declared) } ?? 0
        // An inherited one is checked where it is stated.
        parts.versionSlot =
            declared.version?.content == ancestors[index].first.flatMap { declaration.entities[$0].version?.content }
            ? parent?.versionSlot : versionSlot(of: declared)
        parts.uniquenessConstraints = (parent?.uniquenessConstraints ?? []) + constraints(of: declared, at: index)
        parts.indexes = declared.indexes.compactMap { buildIndex($0, of: declared) }
        return parts
    }

    private mutating func versionSlot(of entity: EntityDeclaration) -> Int? {
        guard let version = entity.version else { return nil }
        guard let slot = slot(version.content, of: entity),
            let attribute = entity.attributes.first(where: { $0.name == version.content })
        else {
            if isUnclear(version.content, of: entity) { return nil }
            report(
                version.line, "\(entity.name) has no attribute '\(version.content)' to be its version",
                "Declare it")
            return nil
        }
        if !attribute.type.canBeVersion || attribute.derived != nil || attribute.name == entity.identity?.content {
            report(
                version.line, "\(entity.name).\(attribute.name) cannot order versions",
                "Use a stored attribute of type date, integer, double or string that is not the identity")
        }
        return slot
    }

    // MARK: Uniqueness

    /// The constraints that an entity itself declares: unique attributes, then lists of properties.
    private mutating func constraints(of entity: EntityDeclaration, at index: Int) -> [UniquenessConstraint] {
        var lists = ownAttributes(index).filter(\.isUnique).map { Located(content: [$0.name], line: $0.line) }
        lists += entity.uniqueness
        var constraints: [UniquenessConstraint] = []
        for list in lists {
            let slots = list.content.compactMap { slot($0, of: entity) }
            guard slots.count == list.content.count, Set(slots).count == slots.count else {
                let unknown = list.content.first { slot($0, of: entity) == nil }
                if let unknown, isUnclear(unknown, of: entity) { continue }
                report(
                    list.line,
                    unknown.map { "'\($0)' in a uniqueness constraint of \(entity.name) has no column" }
                        ?? "A uniqueness constraint of \(entity.name) names a property twice",
                    "Use attributes and to-one relationships, each once")
                continue
            }
            if let derived = entity.attributes.first(where: { $0.derived != nil && list.content.contains($0.name) }) {
                report(
                    list.line, "'\(derived.name)' in a uniqueness constraint of \(entity.name) is derived",
                    "Use stored attributes")
                continue
            }
            // The identity is unique by itself.
            let isKnown = constraints.contains { Set($0.slots) == Set(slots) }
            if list.content == [entity.identity?.content] || isKnown { continue }
            constraints.append(
                UniquenessConstraint(
                    index: constraintCount, entityIndex: index, properties: list.content, slots: slots))
            constraintCount += 1
        }
        return constraints
    }

    // MARK: Indexes

    private mutating func buildIndex(_ declared: IndexDeclaration, of entity: EntityDeclaration) -> EntityIndex? {
        var elements: [EntityIndex.Element] = []
        for element in declared.elements {
            guard let built = buildElement(element, line: element.line ?? declared.line, of: entity) else { return nil }
            elements.append(built)
        }
        if let name = declared.name, !Self.isName(name) {
            report(
                declared.line, "'\(name)' cannot be an index's name",
                Self.nameRule)
        }
        return EntityIndex(name: declared.name, elements: elements, predicate: declared.predicate?.content)
    }

    private mutating func buildElement(
        _ element: IndexDeclaration.Element, line: Int?, of entity: EntityDeclaration
    ) -> EntityIndex.Element? {
        var name: String
        var function: EntityIndex.Element.Function?
        switch element.content {
        case .property(let property): name = property
        case .expression(let text):
            guard let parsed = indexExpression(text) else {
                report(
                    line, "'\(text)' in an index of \(entity.name) is no expression that can be indexed",
                    "Use a property's name, lowercase:(name), uppercase:(name) or canonical:(name)")
                return nil
            }
            (function, name) = parsed
        }
        guard slot(name, of: entity) != nil else {
            if isUnclear(name, of: entity) { return nil }
            report(
                line, "'\(name)' in an index of \(entity.name) has no column",
                "Use attributes and to-one relationships")
            return nil
        }
        let type = entity.attributes.first { $0.name == name }?.type
        if function != nil, type != .string, type != .uri {
            report(
                line, "'\(name)' in an index of \(entity.name) is no text and has no case",
                "Name the property alone")
            return nil
        }
        return EntityIndex.Element(property: name, function: function, isDescending: element.isDescending)
    }

    /// Reads `lowercase:(title)`, or `title` alone.
    private func indexExpression(_ text: String) -> (EntityIndex.Element.Function?, String)? {
        let text = text.filter { !$0.isWhitespace }
        if Self.isName(text) { return (nil, text) }
        for function in EntityIndex.Element.Function.allCases {
            let opening = "\(function.rawValue):("
            guard text.hasPrefix(opening), text.hasSuffix(")") else { continue }
            let name = String(text.dropFirst(opening.count).dropLast())
            if Self.isName(name) { return (function, name) }
        }
        return nil
    }

    /// Checks the conditions of partial indexes, which needs the whole model.
    mutating func checkIndexPredicates(_ model: ObjectModel) {
        for (index, entity) in declaration.entities.enumerated() {
            for declared in entity.indexes {
                guard let predicate = declared.predicate,
                    !isUnclear(expression: predicate.content, of: entity)
                else { continue }
                if let problem = checkCondition(predicate.content, model.entities[index], model) {
                    report(
                        predicate.line ?? declared.line,
                        "The condition of an index of \(entity.name) cannot be kept in the store: \(problem.message)",
                        problem.remedy)
                }
            }
        }
    }
}

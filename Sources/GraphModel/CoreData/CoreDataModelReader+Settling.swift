// Settings that Core Data loads and this store cannot keep: the reader takes the nearest meaning and notes it.

extension CoreDataModelReader {
    // MARK: Attributes

    /// Removes settings that contradict the rest of an attribute. Examples are a default beyond the limits, limits that
    /// leave nothing, or a pattern that this library cannot read.
    mutating func settle(_ attribute: inout AttributeDeclaration, _ label: String) {
        if attribute.derived != nil {
            if let text = attribute.defaultText { drop("defaultValueString", text.content, &attribute, label) }
            attribute.defaultText = nil
            if attribute.isTransient { note("a derived attribute is stored, though it is transient", at: label) }
            attribute.isTransient = false
        }
        if Self.holds(attribute) { return }
        var rest = attribute
        if let text = attribute.defaultText {
            rest.defaultText = nil
            if Self.holds(rest) {
                drop("defaultValueString", text.content, &attribute, label)
                return attribute.defaultText = nil
            }
        }
        if let pattern = attribute.pattern, (try? TextPattern(pattern.content)) == nil {
            drop("regularExpressionString", pattern.content, &attribute, label)
            attribute.pattern = nil
            return settle(&attribute, label)
        }
        let limits = [
            attribute.minimumText?.content, attribute.maximumText?.content, attribute.minimumLength.map { "\($0)" },
            attribute.maximumLength.map { "\($0)" },
        ]
        guard limits.contains(where: { $0 != nil }) else { return }
        for (key, text) in zip(["minValueString", "maxValueString", "minValueString", "maxValueString"], limits) {
            if let text { drop(key, text, &attribute, label) }
        }
        (attribute.minimumText, attribute.maximumText) = (nil, nil)
        (attribute.minimumLength, attribute.maximumLength) = (nil, nil)
        settle(&attribute, label)
    }

    private mutating func drop(_ key: String, _ text: String, _ attribute: inout AttributeDeclaration, _ label: String)
    {
        note("'\(key)' contradicts the rest of the attribute and has no effect", at: label)
        keep(key, text, in: &attribute.info)
    }

    /// Tells whether an attribute's values and limits go together.
    private static func holds(_ attribute: AttributeDeclaration) -> Bool {
        var probe = attribute
        // Without a column and by itself it can be built apart from any model.
        (probe.isTransient, probe.isUnique, probe.derived) = (true, false, nil)
        var builder = ModelBuilder(ModelDeclaration(), file: "") { _, _, _ in nil }
        _ = builder.buildAttribute(probe, slot: 0, of: EntityDeclaration(name: ""), at: 0)
        return builder.problems.isEmpty
    }

    // MARK: The whole model

    /// Settles contradictions that show only when all entities are known.
    mutating func settle(_ model: inout ModelDeclaration) {
        let positions = Dictionary(
            model.entities.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        settleInverses(&model, positions)
        for index in model.entities.indices {
            let columns = columns(index, model, positions)
            settleLists(&model.entities[index], columns)
        }
    }

    /// The entity itself, its parent and so on.
    private func lineage(_ index: Int, _ model: ModelDeclaration, _ positions: [String: Int]) -> [Int] {
        var found = [index]
        while let parent = model.entities[found[found.count - 1]].parent.flatMap({ positions[$0.content] }),
            !found.contains(parent)
        {
            found.append(parent)
        }
        return found
    }

    /// The properties of an entity that have columns, inherited ones included.
    private func columns(
        _ index: Int, _ model: ModelDeclaration, _ positions: [String: Int]
    ) -> (all: Set<String>, stored: Set<String>) {
        let entities = lineage(index, model, positions).map { model.entities[$0] }
        let attributes = entities.flatMap(\.attributes).filter { !$0.isTransient }
        let links = entities.flatMap(\.relationships).filter { !$0.isToMany && !$0.isTransient }.map(\.name)
        return (
            Set(attributes.map(\.name) + links), Set(attributes.filter { $0.derived == nil }.map(\.name) + links)
        )
    }

    /// Constraints and indexes over what has no column are kept, without effect.
    private mutating func settleLists(
        _ entity: inout EntityDeclaration, _ columns: (all: Set<String>, stored: Set<String>)
    ) {
        for list in entity.uniqueness
        where !list.content.allSatisfy(columns.stored.contains) || Set(list.content).count < list.content.count {
            let text = list.content.joined(separator: ",")
            note("a constraint over what has no column of its own has no effect", at: "\(entity.name) (\(text))")
            keep("uniquenessConstraint.\(text)", text, in: &entity.info)
        }
        entity.uniqueness.removeAll {
            !$0.content.allSatisfy(columns.stored.contains) || Set($0.content).count < $0.content.count
        }
        let unusable = entity.indexes.filter { !isUsable($0, columns.all) }
        for index in unusable {
            let text = index.elements.map(Self.text).joined(separator: ",")
            note("an index over what has no column has no effect", at: "\(entity.name) (\(text))")
            keep("fetchIndex.\(index.name ?? text)", text, in: &entity.info)
        }
        entity.indexes = entity.indexes.filter { isUsable($0, columns.all) }
    }

    private func isUsable(_ index: IndexDeclaration, _ columns: Set<String>) -> Bool {
        !index.elements.isEmpty
            && index.elements.allSatisfy { element in
                guard case .property(let name) = element.content else { return true }
                return columns.contains(name)
            }
    }

    private static func text(_ element: IndexDeclaration.Element) -> String {
        switch element.content {
        case .property(let text), .expression(let text): text
        }
    }

    // MARK: Inverses

    /// An inverse that the destination inherits makes its declaring entity the destination; one that is not there, or
    /// does not lead back, is none.
    private mutating func settleInverses(_ model: inout ModelDeclaration, _ positions: [String: Int]) {
        for index in model.entities.indices {
            for number in model.entities[index].relationships.indices {
                let relationship = model.entities[index].relationships[number]
                guard let inverse = relationship.inverse?.content,
                    let destination = positions[relationship.destination.content],
                    let owner = lineage(destination, model, positions).first(where: {
                        model.entities[$0].relationships.contains { $0.name == inverse }
                    }), owner != destination
                else { continue }
                let label = "\(model.entities[index].name).\(relationship.name)"
                note("it leads to the entity that declares the inverse", at: label)
                keep(
                    "destinationEntity", relationship.destination.content,
                    in: &model.entities[index].relationships[number].info)
                model.entities[index].relationships[number].destination.content = model.entities[owner].name
            }
        }
        let before = model
        for index in before.entities.indices {
            for (number, relationship) in before.entities[index].relationships.enumerated() {
                guard let inverse = relationship.inverse?.content,
                    let destination = positions[relationship.destination.content],
                    !leadsBack(relationship, before.entities[index], before.entities[destination], inverse)
                else { continue }
                note(
                    "an inverse that is missing or does not lead back is read as none",
                    at: "\(before.entities[index].name).\(relationship.name)")
                keep("inverseName", inverse, in: &model.entities[index].relationships[number].info)
                model.entities[index].relationships[number].inverse = nil
            }
        }
    }

    private func leadsBack(
        _ relationship: RelationshipDeclaration, _ entity: EntityDeclaration, _ destination: EntityDeclaration,
        _ inverse: String
    ) -> Bool {
        guard let back = destination.relationships.first(where: { $0.name == inverse }) else { return false }
        // One without destination is a mistake of its own.
        if back.isUnclear { return true }
        return back.destination.content == entity.name && back.inverse?.content == relationship.name
            && back.isTransient == relationship.isTransient
    }
}

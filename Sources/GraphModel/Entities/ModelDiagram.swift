/// Draws a model as Mermaid text or as SVG; equal models give equal texts.
public struct ModelDiagram {
    let model: ObjectModel

    /// Makes the diagrams of a model.
    public init(_ model: ObjectModel) { self.model = model }

    /// An `erDiagram`: attributes with their options, relationships with cardinalities and delete rules.
    public var entityRelationshipText: String {
        var lines = ["erDiagram"]
        for entity in model.entities {
            lines.append("    \(name(entity)) {")
            lines += entity.ownAttributes.map { "        \(line($0, entity))" }
            lines.append("    }")
        }
        for entity in model.entities {
            guard let parent = entity.parentIndex else { continue }
            lines.append("    \(name(model.entities[parent])) ||--o| \(name(entity)) : \"is a\"")
        }
        for (relationship, inverse) in model.relationshipPairs {
            let left = leftCardinality(relationship, inverse)
            let right = rightCardinality(relationship)
            let ends = "\(name(model.entities[relationship.entityIndex])) \(left)--\(right) "
            lines.append(
                "    \(ends)\(name(model.entities[relationship.destinationIndex])) : \"\(label(relationship, inverse))\""
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A name, in quotes where Mermaid asks for them.
    private func name(_ entity: Entity) -> String {
        entity.name.utf8.allSatisfy { $0 < 0x80 } ? entity.name : "\"\(entity.name)\""
    }

    private func line(_ attribute: Attribute, _ entity: Entity) -> String {
        var line = "\(attribute.type.rawValue) \(attribute.name)"
        if attribute.slot == entity.identitySlot {
            line += " PK"
        } else if attribute.isUnique {
            line += " UK"
        }
        if let derivation = attribute.derivation {
            line += " \"derived: \(derivation.text(in: entity, model))\""
        } else if attribute.isOptional {
            line += " \"optional\""
        }
        return line
    }

    /// How many destinations an object has.
    private func rightCardinality(_ relationship: Relationship) -> String {
        if relationship.isToMany { return relationship.minimumCount > 0 && !relationship.isOptional ? "|{" : "o{" }
        return relationship.isOptional ? "o|" : "||"
    }

    /// How many objects lead to a destination; without an inverse nobody counts them.
    private func leftCardinality(_ relationship: Relationship, _ inverse: Relationship?) -> String {
        guard let inverse else { return "}o" }
        if inverse.isToMany { return inverse.minimumCount > 0 && !inverse.isOptional ? "}|" : "}o" }
        return inverse.isOptional ? "|o" : "||"
    }

    private func label(_ relationship: Relationship, _ inverse: Relationship?) -> String {
        let isOwnInverse = inverse?.entityIndex == relationship.entityIndex && inverse?.index == relationship.index
        return [relationship, isOwnInverse ? nil : inverse].compactMap { end in
            end.map { "\($0.name): \($0.deleteRule.rawValue)" }
        }.joined(separator: " / ")
    }
}

// Changes of an entity's relationships, inherited ones included.
extension ModelComparison {
    mutating func compareRelationships(_ entity: Entity, _ source: Entity) {
        let matched = mapping.source(of: entity).relationships
        for relationship in entity.relationships {
            if let before = matched[relationship.name] {
                compare(relationship, before)
            } else {
                noteAdded(relationship)
            }
        }
        let kept = Set(matched.values.map(\.name))
        for relationship in source.relationships where !kept.contains(relationship.name) {
            let declaring = old.entities[relationship.entityIndex]
            note(
                .relationshipRemoved, mapping.target(of: declaring)?.name ?? declaring.name, relationship.name,
                old: Self.text(relationship, old), inference: .inferred)
        }
    }

    private static func text(_ relationship: Relationship, _ model: ObjectModel) -> String {
        "to \(relationship.isToMany ? "many" : "one") \(model.entities[relationship.destinationIndex].name)"
    }

    private mutating func noteAdded(_ relationship: Relationship) {
        let inference: Inference =
            relationship.isOptional
            ? .inferred : .checked("it is required: there may be no objects without a destination")
        note(
            .relationshipAdded, new.entities[relationship.entityIndex].name, relationship.name,
            new: Self.text(relationship, new), inference: inference)
    }

    private mutating func compare(_ relationship: Relationship, _ before: Relationship) {
        let declaring = new.entities[relationship.entityIndex]
        let name = relationship.name
        compare(.relationshipRenamed, declaring, name, before.name, name, .inferred)
        compareHome(.relationshipMoved, declaring, name, old.entities[before.entityIndex])
        compareDestination(relationship, before, declaring)
        if before.isToMany != relationship.isToMany {
            if relationship.isToMany {
                note(.madeToMany, declaring.name, name, inference: .inferred)
            } else {
                note(.madeToOne, declaring.name, name, inference: .checked("no object may have several destinations"))
            }
        }
        compare(
            .orderChanged, declaring, name, before.isOrdered ? "ordered" : "unordered",
            relationship.isOrdered ? "ordered" : "unordered", .inferred)
        compareInverse(relationship, before, declaring)
        compareOptionality(relationship, before, declaring)
        let touchesColumn =
            before.deleteRule.leavesDanglingReferences != relationship.deleteRule.leavesDanglingReferences
        compare(
            .deleteRuleChanged, declaring, name, before.deleteRule.rawValue, relationship.deleteRule.rawValue,
            touchesColumn ? .checked("no reference may dangle") : .unneeded)
        compare(.countsChanged, declaring, name, Self.counts(before), Self.counts(relationship), .unneeded)
        compare(
            .onMissingChanged, declaring, name, before.onMissing.rawValue, relationship.onMissing.rawValue, .unneeded)
        compare(.hashModifierChanged, declaring, name, before.hashModifier, relationship.hashModifier, .inferred)
        if before.info != relationship.info { note(.informationChanged, declaring.name, name, inference: .unneeded) }
    }

    private static func counts(_ relationship: Relationship) -> String? {
        if !relationship.hasCountLimits { return nil }
        let least = relationship.minimumCount > 0 ? "minCount \(relationship.minimumCount)" : nil
        return [least, relationship.maximumCount.map { "maxCount \($0)" }].compactMap { $0 }.joined(separator: ", ")
    }

    private mutating func compareDestination(_ relationship: Relationship, _ before: Relationship, _ declaring: Entity)
    {
        let destination = new.entities[relationship.destinationIndex]
        let former = old.entities[before.destinationIndex]
        let heir = mapping.target(of: former)
        if heir?.index == destination.index { return }
        let inference: Inference =
            switch mapping.kinship(of: former, to: destination) {
            case .all: .inferred
            case .some: .checked("all destinations have to be of \(destination.name)")
            case .none: .checked("objects of \(former.name) are none of \(destination.name): there may be no links")
            }
        note(
            .destinationChanged, declaring.name, relationship.name, old: former.name, new: destination.name,
            inference: inference)
    }

    private mutating func compareInverse(_ relationship: Relationship, _ before: Relationship, _ declaring: Entity) {
        let inverse = new.inverse(of: relationship)
        let former = old.inverse(of: before)
        let source = inverse.flatMap { mapping.source(of: $0) }
        if inverse == nil, former == nil { return }
        if let source, let former, source.entityIndex == former.entityIndex, source.index == former.index { return }
        let inference: Inference
        if source != nil {
            inference = .checked("the links of both sides have to fit together")
        } else if let inverse, !inverse.isToMany {
            inference = .checked("no destination may be linked twice")
        } else {
            inference = .inferred
        }
        // An inverse that is merely new or gone shows as such; this is about the link between the two.
        note(
            .inverseChanged, declaring.name, relationship.name, old: former?.name ?? "none",
            new: inverse?.name ?? "none", inference: inference)
    }

    private mutating func compareOptionality(_ relationship: Relationship, _ before: Relationship, _ declaring: Entity)
    {
        if before.isOptional == relationship.isOptional { return }
        note(
            relationship.isOptional ? .madeOptional : .madeRequired, declaring.name, relationship.name,
            inference: relationship.isOptional ? .unneeded : .checked("each object needs a destination"))
    }
}

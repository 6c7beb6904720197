/// A derived attribute whose upkeep costs more, the more objects it follows from.
package struct DerivationCost: CustomStringConvertible, Sendable {
    /// The entity and the name, such as `Chat.meanLength`.
    package let attribute: String
    /// The work of the store, the change that causes it, and why.
    package let reason: String
    /// A change of the model that makes it cheaper.
    package let remedy: String

    package var description: String { "\(attribute): \(reason). \(remedy)" }
}

extension ObjectModel {
    /// The derived attributes whose cost of a change is not the same for owners of any size, in the order of the model.
    package var derivationCosts: [DerivationCost] {
        entities.flatMap { entity in entity.ownAttributes.compactMap { cost(of: $0, entity) } }
    }

    private func cost(of attribute: Attribute, _ entity: Entity) -> DerivationCost? {
        switch attribute.derivation {
        case .count(let relationship): aggregateCost(of: attribute, entity, over: relationship, nil)
        case .aggregate(_, let relationship, let slot): aggregateCost(of: attribute, entity, over: relationship, slot)
        case .keyPath(let path) where !path.relationships.isEmpty:
            DerivationCost(
                attribute: "\(entity.name).\(attribute.name)",
                reason: "a change of the value at the end of the path writes all objects that read it",
                remedy:
                    "The store finds them by indexes that it has. Read through the path where the value changes often")
        case .keyPath, .arithmetic, .now, nil: nil
        }
    }

    private func aggregateCost(
        of attribute: Attribute, _ entity: Entity, over index: Int, _ slot: Int?
    ) -> DerivationCost? {
        let relationship = entity.relationships[index]
        let destination = entities[relationship.destinationIndex]
        let source = slot.map { destination.attributes[$0] }
        let all = "the store reads all '\(relationship.name)' of the owner"
        let found: (reason: String, remedy: String)
        switch AggregateUpkeep(attribute, of: entity, in: self) {
        case .sum, .running(isExact: true), nil: return nil
        case .extreme:
            // The others have an index of the owner and the value.
            guard source?.type == .decimal else { return nil }
            found = (
                "\(all) again when the extreme value changes or goes, because no index orders decimals",
                "Use a whole number, such as cents: its index makes this one look-up"
            )
        case .running(isExact: false):
            found = (
                "\(all) again when a value changes or goes, because binary fractions add up in one order",
                "Use decimal or a whole number" + alternative(destination, relationship, source)
            )
        case .rows:
            let cause =
                source.map {
                    $0.isDerived ? "because '\($0.name)' is derived" : "because a join table does not hold the values"
                } ?? "because a count of the type \(attribute.type.rawValue) is not added to"
            let index = indexAdvice(destination, relationship, source)
            found = (
                "\(all) again at each change of one, \(cause)",
                slot == nil
                    ? "Use integer64" : index.map { "Add \($0)" } ?? "No other index helps; keep such sets small"
            )
        }
        return DerivationCost(
            attribute: "\(entity.name).\(attribute.name)", reason: found.reason, remedy: found.remedy)
    }

    private func alternative(_ destination: Entity, _ relationship: Relationship, _ source: Attribute?) -> String {
        indexAdvice(destination, relationship, source).map { ", or add \($0)" } ?? ""
    }

    /// The index by which the values of one owner are read without their rows; nil where there is none, or it is there.
    private func indexAdvice(_ destination: Entity, _ relationship: Relationship, _ source: Attribute?) -> String? {
        guard let source, case .inverseColumn = relationship.storage, let inverse = inverse(of: relationship) else {
            return nil
        }
        let properties = [inverse.name, source.name]
        if destination.indexes.contains(where: { $0.isPlain && $0.properties.starts(with: properties) }) { return nil }
        return "indexes: [[\(properties.joined(separator: ", "))]] to \(destination.name)"
    }
}

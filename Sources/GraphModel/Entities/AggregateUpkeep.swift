/// How a change of one destination reaches the aggregate of its owner.
package enum AggregateUpkeep: Equatable, Sendable {
    /// It is added to the owner's value.
    case sum
    /// It is compared with the owner's least or greatest value. Only the rows know the next one where that value goes.
    case extreme(AggregateFunction)
    /// It is added to what the owner's value was computed from.
    ///
    /// Whole numbers and decimals are exact and may come and go. Binary fractions add up in the order of their objects: what
    /// comes behind all others can be added, and nothing can be taken away.
    case running(isExact: Bool)
    /// The owner's value is computed again from the rows.
    case rows

    /// Returns the upkeep of a derived attribute that an entity declares, or nil where it is no aggregate.
    package init?(_ attribute: Attribute, of entity: Entity, in model: ObjectModel) {
        guard let derivation = attribute.derivation, let index = derivation.aggregatedRelationship else { return nil }
        let relationship = entity.relationships[index]
        guard case .aggregate(let function, _, let slot) = derivation else {
            self = attribute.type.integerRange == nil ? .rows : .sum
            return
        }
        // A join table gives the keys of what was linked, and not its values.
        if case .join = relationship.storage {
            self = .rows
            return
        }
        let source = model.entities[relationship.destinationIndex].attributes[slot]
        switch function {
        case .minimum, .maximum: self = .extreme(function)
        case .sum where Self.isExact(source.type, into: attribute.type): self = .sum
        // A derived value may also change inside the store.
        case .sum, .average:
            self = source.isDerived ? .rows : .running(isExact: Self.isExact(function, source, attribute))
        }
    }

    /// The average of a chunk's values is computed once, from a sum that is exact unless both types are binary fractions.
    private static func isExact(_ function: AggregateFunction, _ source: Attribute, _ derived: Attribute) -> Bool {
        guard function == .average else { return false }
        return source.type.integerRange != nil || source.type == .decimal || derived.type == .decimal
    }

    /// Whole numbers and decimals add up to the same sum in any order; binary fractions do not.
    private static func isExact(_ summed: AttributeType, into derived: AttributeType) -> Bool {
        if summed.integerRange != nil { return derived.integerRange != nil }
        return summed == .decimal && derived == .decimal
    }
}

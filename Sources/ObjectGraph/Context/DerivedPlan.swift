/// Which derived attributes follow from which changes, worked out once per model.
struct DerivedPlan {
    /// An aggregate that the objects of one entity feed into their owner.
    struct Aggregate {
        let ownerEntity: Int
        /// The slot of the derived attribute.
        let derivedSlot: Int
        /// The slot that is summed, or nil for a count.
        let summedSlot: Int?
        /// Tells whether changes can be added up exactly; otherwise the aggregate is computed anew.
        let isIncremental: Bool
    }

    /// Aggregates fed through a to-one relationship: the owner is its destination.
    struct ColumnFeed {
        /// The slot of the to-one relationship.
        let slot: Int
        let aggregates: [Aggregate]
    }

    /// Per entity.
    let columnFeeds: [[ColumnFeed]]
    /// Per join table: aggregates of the objects on its owner side, then on its destination side.
    let joinFeeds: [(owner: [Aggregate], destination: [Aggregate])]

    init(_ model: ObjectModel) {
        columnFeeds = model.entities.map { entity in
            entity.relationships.compactMap { relationship in
                guard case .column(let slot) = relationship.storage, let inverse = relationship.inverseIndex else {
                    return nil
                }
                let aggregates = Self.aggregates(model, relationship.destinationIndex, over: inverse)
                return aggregates.isEmpty ? nil : ColumnFeed(slot: slot, aggregates: aggregates)
            }
        }
        joinFeeds = model.joinTables.map { join in
            (
                Self.aggregates(model, join.ownerEntity, over: join.ownerRelationship),
                join.isOwnInverse
                    ? []
                    : join.destinationRelationship.map { Self.aggregates(model, join.destinationEntity, over: $0) }
                        ?? []
            )
        }
    }

    private static func aggregates(_ model: ObjectModel, _ owner: Int, over relationship: Int) -> [Aggregate] {
        let entity = model.entities[owner]
        let destination = model.entities[entity.relationships[relationship].destinationIndex]
        return entity.attributes.compactMap { attribute in
            switch attribute.derivation {
            case .count(relationship):
                return Aggregate(
                    ownerEntity: owner, derivedSlot: attribute.slot, summedSlot: nil,
                    isIncremental: attribute.type.integerRange != nil)
            case .sum(relationship, let slot):
                return Aggregate(
                    ownerEntity: owner, derivedSlot: attribute.slot, summedSlot: slot,
                    isIncremental: isExact(destination.attributes[slot].type, into: attribute.type))
            default: return nil
            }
        }
    }

    /// Whole numbers and decimals add up to the same sum in any order; binary fractions do not.
    private static func isExact(_ summed: AttributeType, into derived: AttributeType) -> Bool {
        if summed.integerRange != nil { return derived.integerRange != nil }
        return summed == .decimal && derived == .decimal
    }
}

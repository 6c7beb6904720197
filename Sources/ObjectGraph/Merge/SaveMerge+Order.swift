import GraphCore

// The order of ordered relationships, after all links are made.
extension SaveMerge {
    /// Brings lists into the context's order; what others have added meanwhile comes behind, in the store's order.
    ///
    /// A list that the context only added to keeps the store's order, with the added ones behind.
    func setOrders() throws {
        for order in edits.orders {
            let relationship = order.relationship
            guard let owner = try target(entity: order.owner.entity, order.owner.pk) else { continue }
            let own = try order.destinations.compactMap { try target(entity: relationship.destinationIndex, $0) }
            if !order.isWhole {
                // An object that was linked alone is at the end already.
                if own.count > 1 { try applier.moveToEnd(own, of: relationship, owner) }
                continue
            }
            let current = try list(owner, relationship)
            let known = Set(current.map(\.pk))
            let wanted = own.filter { known.contains($0.pk) }
            let placed = Set(wanted.map(\.pk))
            try applier.order(owner, relationship, wanted + current.filter { !placed.contains($0.pk) })
        }
    }

    private func list(_ owner: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        do {
            return try registry.destinations(
                of: owner, relationship, readingAtMost: registry.maximumListedDestinations)
        } catch is ObjectRegistry.TooManyDestinations {
            throw EditingError(
                .tooLarge,
                "\(owner.entity.name).\(relationship.name) has more than \(registry.maximumListedDestinations) objects, too many "
                    + "to be put in order; add objects or remove some, which keeps the order of the others")
        }
    }
}

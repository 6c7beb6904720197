// Relationships that may lead to more objects than memory should hold.
extension ObjectRegistry {
    /// Returns the objects that a relationship of an object leads to now, unless there are too many.
    ///
    /// Objects that the chunk has linked count, and objects that it has unlinked or deleted do not. So it makes no
    /// difference where chunks begin and end. The registry reads no more than the limit and the number of those objects.
    ///
    /// - Throws: ``TooManyDestinations`` where there are more than `limit`; ``StoreError``.
    func destinations(
        of object: ContextObject, _ relationship: Relationship, limit: Int
    ) throws -> [ContextObject] {
        if try !loadDestinations(of: [object], relationship, limit: limit) {
            let count = departureCount(object, relationship)
            guard count > 0, try loadDestinations(of: [object], relationship, limit: limit + count) else {
                throw TooManyDestinations()
            }
        }
        let found = try loadedDestinations(of: object, relationship)
        if found.count > limit { throw TooManyDestinations() }
        return found
    }

    /// Returns the same for an editing context, whose own objects are in memory anyway: the limit bounds the objects
    /// that the store has.
    ///
    /// - Throws: ``TooManyDestinations`` where the store has more than `limit`; ``StoreError``.
    package func destinations(
        of object: ContextObject, _ relationship: Relationship, readingAtMost limit: Int
    ) throws -> [ContextObject] {
        guard try loadDestinations(of: [object], relationship, limit: limit) else { throw TooManyDestinations() }
        return try loadedDestinations(of: object, relationship)
    }

    /// Returns an upper bound of the stored destinations that are no longer destinations.
    private func departureCount(_ object: ContextObject, _ relationship: Relationship) -> Int {
        let destination = model.entities[relationship.destinationIndex]
        let changed = listed.lazy.filter { !$0.isNew && $0.entity.isKind(of: destination) }
        switch relationship.storage {
        case .column: return 0
        case .inverseColumn(let slot):
            return changed.count {
                $0.original.packed(slot).integer == object.pk
                    && (!$0.isAlive || $0.state.values.packed(slot).integer != object.pk)
            }
        case .join(let table, let isOwner):
            // The link of a deleted destination may be unknown here.
            return pairs[table].removedCount(of: object.pk, isOwner: isOwner) + changed.count { !$0.isAlive }
        }
    }
}

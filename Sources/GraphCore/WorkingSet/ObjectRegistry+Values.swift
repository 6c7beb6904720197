// Values of slots, as people and rules read them.
extension ObjectRegistry {
    /// Returns a value as people know it: of a to-one relationship the destination's identity.
    package func shown(_ value: Value, _ slot: Int, _ entity: Entity) throws(StoreError) -> Value {
        guard let relationship = entity.relationship(at: slot), case .integer(let pk) = value else { return value }
        return try object(entity: relationship.destinationIndex, pk: pk)?.identity ?? .null
    }

    /// Tells whether a slot holds nothing: a reference without inverse is cleared when its destination goes.
    package func readsNull(_ object: ContextObject, _ slot: Int) -> Bool {
        let value = object.state.values.packed(slot)
        return readsNull(value.integer, slot, object.entity) ?? value.isNull
    }

    func readsNull(_ value: Value, _ slot: Int, _ entity: Entity) -> Bool {
        readsNull(value.integer, slot, entity) ?? value.isNull
    }

    private func readsNull(_ key: Int64?, _ slot: Int, _ entity: Entity) -> Bool? {
        guard let pk = key else { return nil }
        guard let relationship = entity.clearedRelationship(slot: slot) else { return false }
        // A destination that the chunk deletes is known to the registry.
        return known(relationship.destinationIndex, pk: pk)?.isAlive == false
    }
}

import GraphCore

/// The objects of a context. Changed objects have the context's values, all others have the store's.
struct RegistryObjects: EvaluatedObjects {
    let registry: ObjectRegistry
    /// Returns the destinations of a to-many relationship.
    let destinations: (ContextObject, Relationship) throws -> [ContextObject]

    func object(_ entity: Int, _ pk: Int64) throws -> ContextObject? {
        let found = try registry.object(entity: entity, pk: pk)
        return found?.isAlive == true ? found : nil
    }

    func forEachDestination(
        of object: ContextObject, _ relationship: Relationship, _ each: (ContextObject) throws -> Bool
    ) throws {
        for destination in try destinations(object, relationship) where try !each(destination) { return }
    }

    func primaryKey(of object: ContextObject) -> Int64 { object.pk }

    func identity(of object: ContextObject) -> Value { object.identity }

    func value(_ slot: Int, of object: ContextObject) -> Value { object.state.values[slot] }

    func reference(_ relationship: Relationship, of object: ContextObject) -> Value {
        guard let slot = relationship.slot, !registry.readsNull(object, slot) else { return .null }
        return object.state.values[slot]
    }
}

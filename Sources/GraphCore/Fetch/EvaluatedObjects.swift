/// The objects on which a ``PredicateEvaluator`` evaluates, wherever they are.
package protocol EvaluatedObjects {
    associatedtype Object

    /// Returns the object of a primary key in an entity's hierarchy, or nil where there is none.
    func object(_ entity: Int, _ pk: Int64) throws -> Object?

    /// Calls `each` with the destinations of a to-many relationship, in any order, until it returns false.
    func forEachDestination(
        of object: Object, _ relationship: Relationship, _ each: (Object) throws -> Bool) throws

    func primaryKey(of object: Object) -> Int64

    func identity(of object: Object) -> Value

    /// Returns the value of an attribute by its slot.
    func value(_ slot: Int, of object: Object) -> Value

    /// Returns the primary key that a to-one relationship holds, or null.
    func reference(_ relationship: Relationship, of object: Object) -> Value
}

/// The objects of a context: those that it has changed as it has them, all others as the store has them.
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

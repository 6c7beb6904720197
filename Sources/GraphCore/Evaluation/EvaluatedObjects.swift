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

/// By which columns a cascade came to the objects that go.
///
/// The owner of an object that only the column of its owner has reached is deleted too. So no survivor counts the object,
/// and the deletion looks for none: a chat's million messages need not be read for that.
struct CascadeReach {
    /// The slots of the columns, for each table of objects, named by its root entity; nil stands for any other way.
    private var ways: [Int: Set<Int?>] = [:]

    /// Notes that objects of a table are deleted for themselves.
    mutating func noteSeed(of table: Int) { ways[table, default: []].insert(nil) }

    /// Notes that a relationship led to objects that were not reached before.
    mutating func note(_ relationship: Relationship, _ model: ObjectModel) {
        let slot: Int? = if case .inverseColumn(let slot) = relationship.storage { slot } else { nil }
        ways[model.entities[relationship.destinationIndex].rootIndex, default: []].insert(slot)
    }

    /// Tells whether each object that goes has, by the relationship's inverse, an owner that goes too.
    func takesOwners(of relationship: Relationship, _ model: ObjectModel) -> Bool {
        guard case .inverseColumn(let slot) = relationship.storage else { return false }
        return ways[model.entities[relationship.destinationIndex].rootIndex, default: []].isSubset(of: [slot])
    }
}

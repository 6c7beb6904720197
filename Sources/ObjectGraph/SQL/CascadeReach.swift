/// By which columns a cascade came to the objects that go.
///
/// What was reached by the column of its owner, and by nothing else, has an owner that goes too: no survivor counts it,
/// and none has to be looked for. A chat's million messages need not be read for that.
struct CascadeReach {
    /// The columns' slots, for each table of objects, named by its root entity.
    private var slots: [Int: Set<Int>] = [:]
    /// The tables with objects that were reached otherwise.
    private var others: Set<Int> = []

    /// Notes that objects of a table are deleted for themselves.
    mutating func noteSeed(of table: Int) { others.insert(table) }

    /// Notes that a relationship led to objects that were not reached before.
    mutating func note(_ relationship: Relationship, _ model: ObjectModel) {
        let table = model.entities[relationship.destinationIndex].rootIndex
        guard case .inverseColumn(let slot) = relationship.storage else {
            others.insert(table)
            return
        }
        slots[table, default: []].insert(slot)
    }

    /// Tells whether each object that goes has, by the relationship's inverse, an owner that goes too.
    func takesOwners(of relationship: Relationship, _ model: ObjectModel) -> Bool {
        let table = model.entities[relationship.destinationIndex].rootIndex
        guard case .inverseColumn(let slot) = relationship.storage, !others.contains(table) else { return false }
        return slots[table, default: []].isSubset(of: [slot])
    }
}

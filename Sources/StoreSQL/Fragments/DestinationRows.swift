import GraphCore

/// The rows `d` of a relationship's destinations as queries name them, behind the join table `j` where there is one.
package struct DestinationRows {
    /// The content of a FROM clause.
    package let from: String
    /// The expression of the owner's key.
    package let owner: String
    /// The expression of the destination's key; in a join table's own column, which its index has.
    package let key: String
    /// The expression of the destination's place in an ordered relationship.
    package let place: String?

    /// - Parameter table: the quoted name of the destinations' table or view.
    package init(_ relationship: Relationship, in table: String, _ model: ObjectModel) {
        let destination = model.entities[relationship.destinationIndex]
        func column(_ slot: Int) -> String { "d.\(SQLText.quoted(destination.columnNames[slot]))" }
        switch relationship.storage {
        case .column(let slot), .inverseColumn(let slot):
            (from, owner, key) = ("\(table) d", column(slot), "d.pk")
            place = relationship.positionSlot.map(column)
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let join = model.joinTables[index].quotedName
            (from, owner, key) = ("\(join) j JOIN \(table) d ON d.pk = j.\(far)", "j.\(near)", "j.\(far)")
            let position = SQLText.quoted(JoinTable.positionColumn(isOwner: isOwner))
            place = relationship.isOrdered ? "j.\(position)" : nil
        }
    }
}

extension JoinTable {
    /// The quoted name.
    package var quotedName: String { SQLText.quoted(name) }
}

import GraphCore

// Names and conditions that the checks of every SQL storage share.
extension StoreChecks {
    package func table(_ entity: Entity) -> String { SQLText.quoted(entity.viewName) }

    /// The to-one relationships that an entity declares, with their quoted columns.
    package func columns(_ entity: Entity) -> [(relationship: Relationship, column: String)] {
        entity.ownRelationships.filter { $0.slot != nil }.map { ($0, SQLText.quoted($0.columnName)) }
    }

    /// The destinations `d` of a relationship.
    package func destinations(_ relationship: Relationship) -> DestinationRows {
        DestinationRows(relationship, in: table(model.entities[relationship.destinationIndex]), model)
    }

    /// The table that has the places of an ordered relationship, with the columns of the owner's key and of the place.
    package func places(_ relationship: Relationship) -> (from: String, owner: String, place: String) {
        let destination = model.entities[relationship.destinationIndex]
        switch relationship.storage {
        case .join(let index, let isOwner):
            let place = SQLText.quoted(JoinTable.positionColumn(isOwner: isOwner))
            return (model.joinTables[index].quotedName, isOwner ? "owner" : "destination", place)
        case .column(let slot), .inverseColumn(let slot):
            let columns = destination.columnNames.map(SQLText.quoted)
            return (table(destination), columns[slot], columns[relationship.positionSlot ?? slot])
        }
    }

    /// Columns of the store's own tables that hold JSON.
    package var jsonColumns: [(table: String, column: String)] {
        [
            ("_history_change", "tombstone"), ("_dead_letter", "headers"), ("_conflict", "local"),
            ("_conflict", "stored"),
        ]
    }
}

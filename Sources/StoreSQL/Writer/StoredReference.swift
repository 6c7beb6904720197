/// A column of a relationship without inverse, or an end of a join table. No delete rule clears its references to deleted
/// objects, so the deletion of the rows clears them.
///
/// No object changes by it, so the history has no entry for it.
package struct StoredReference {
    /// The statement that clears the column, or removes the links, up to the column with the keys.
    package let clearing: String
    /// The root entity of the rows that the keys are of.
    package let destination: Int
    /// The root entity of the rows that have the column; nil for a join table.
    package let holder: Int?

    /// Returns all of a model.
    package static func all(_ model: ObjectModel) -> [StoredReference] {
        let columns = model.entities.flatMap { entity in
            entity.ownRelationships.filter { $0.slot != nil && $0.inverseIndex == nil }.map { relationship in
                let column = SQLText.quoted(relationship.columnName)
                return StoredReference(
                    clearing: "UPDATE \(SQLText.quoted(entity.tableName)) SET \(column) = NULL WHERE \(column)",
                    destination: model.entities[relationship.destinationIndex].rootIndex, holder: entity.rootIndex)
            }
        }
        let ends = model.joinTables.flatMap { join in
            [("owner", join.ownerEntity), ("destination", join.destinationEntity)].map { column, entity in
                StoredReference(
                    clearing: "DELETE FROM \(SQLText.quoted(join.name)) WHERE \(column)",
                    destination: model.entities[entity].rootIndex, holder: nil)
            }
        }
        return columns + ends
    }

    /// Returns the statements that delete rows, after those that clear the stored references to them. They end with the
    /// column of the keys.
    ///
    /// - Parameter keys: the primary keys, by the position of the root entity.
    package static func deletions(
        of keys: [Int: [Int64]], _ references: [StoredReference], _ model: ObjectModel
    ) -> [(sql: String, keys: [Int64])] {
        let clearing = references.compactMap { reference in
            keys[reference.destination].map { (sql: reference.clearing, keys: $0) }
        }
        return clearing
            + model.rootEntities.compactMap { root in
                keys[root.index].map { (sql: "DELETE FROM \(SQLText.quoted(root.tableName)) WHERE pk", keys: $0) }
            }
    }
}

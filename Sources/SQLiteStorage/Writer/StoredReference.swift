/// A column of a relationship without inverse, or an end of a join table. No delete rule clears its references to deleted
/// objects, so the deletion of the rows clears them.
///
/// No object changes by it, so the history has no entry for it.
struct StoredReference {
    /// The statement that clears the column, or removes the links, up to its list or query of keys.
    let clearing: String
    /// The root entity of the rows that the keys are of.
    let destination: Int
    /// The root entity of the rows that have the column; nil for a join table.
    let holder: Int?

    /// Returns all of a model.
    static func all(_ model: ObjectModel) -> [StoredReference] {
        let columns = model.entities.flatMap { entity in
            entity.ownRelationships.filter { $0.slot != nil && $0.inverseIndex == nil }.map { relationship in
                let column = SQLText.quoted(relationship.columnName)
                return StoredReference(
                    clearing: "UPDATE \(SQLText.quoted(entity.tableName)) SET \(column) = NULL WHERE \(column) IN",
                    destination: model.entities[relationship.destinationIndex].rootIndex, holder: entity.rootIndex)
            }
        }
        let ends = model.joinTables.flatMap { join in
            [("owner", join.ownerEntity), ("destination", join.destinationEntity)].map { column, entity in
                StoredReference(
                    clearing: "DELETE FROM \(SQLText.quoted(join.name)) WHERE \(column) IN",
                    destination: model.entities[entity].rootIndex, holder: nil)
            }
        }
        return columns + ends
    }
}

extension WriterConnection {
    /// Deletes rows, after the stored references to them that no delete rule has cleared.
    ///
    /// - Parameter keys: the primary keys, by the position of the root entity.
    func delete(_ keys: [Int: [Int64]]) throws(StoreError) {
        if keys.isEmpty { return }
        for reference in storedReferences {
            if let gone = keys[reference.destination] { try run(reference.clearing, keys: gone) }
        }
        for entity in model.rootEntities {
            if let gone = keys[entity.index] {
                try run("DELETE FROM \(SQLText.quoted(entity.tableName)) WHERE pk IN", keys: gone)
            }
        }
    }

    /// Runs a statement that ends with a list of keys, once for each part of them.
    private func run(_ sql: String, keys: [Int64]) throws(StoreError) {
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)].map { Value.integer($0) }
            let statement = try statement("\(sql) (\(SQLText.parameters(KeyList.width(for: part.count))))")
            KeyList.bind(part[...], to: statement)
            try statement.run()
        }
    }
}

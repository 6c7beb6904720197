// What a deletion by sets writes: history, tombstones, and the rows that go.
extension SetDeletion {
    func writeDeletions(
        root: (entity: Int, pk: Int64)?, _ tombstone: Tombstone, into tally: inout ChangeTally
    ) throws(StoreError) {
        for entity in model.rootEntities {
            let doomedRows = "\(table(entity.index)) e WHERE pk IN (SELECT pk FROM temp.\(doomed(entity.index)))"
            guard try exists("SELECT 1 FROM temp.\(doomed(entity.index)) LIMIT 1") else { continue }
            for kind in kinds(entity) {
                try appendChanges(
                    kind.entity, .delete, from: doomedRows + kind.condition, properties: nil, into: &tally)
                try writeTombstones(kind.entity, from: doomedRows + kind.condition, tombstone)
            }
        }
        if let root { try setVersion(of: root, tombstone) }
        // References go before what they lead to: SQLite counts those that are broken until the transaction ends.
        for entity in ReferenceOrder(model).referringFirst {
            try store.runOnce(
                "DELETE FROM \(table(entity.index)) WHERE pk IN (SELECT pk FROM temp.\(doomed(entity.index)))")
        }
    }

    private func setVersion(of root: (entity: Int, pk: Int64), _ tombstone: Tombstone) throws(StoreError) {
        let entity = model.entities[root.entity]
        try store.runOnce(
            """
            UPDATE _tombstone SET version = ?1 WHERE entity = ?2 AND identity = (SELECT \
            \(SQLText.quoted(entity.identity.name)) FROM \(table(entity.index)) WHERE pk = ?3) AND ?1 IS NOT NULL
            """
        ) {
            $0.bind(1, tombstone.version)
            $0.bind(2, entity.tableName)
            $0.bind(3, root.pk)
        }
    }
}

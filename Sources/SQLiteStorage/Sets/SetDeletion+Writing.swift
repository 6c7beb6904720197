import StoreSQL

// The writes of a deletion by sets: history, tombstones, and the rows that go.
extension SetDeletion {
    /// How many rows of a table are written at once: few enough to be in the page cache still when they are deleted.
    ///
    /// In a large transaction nearly all of the cache is changed pages, which SQLite writes late: what is only read has a
    /// tenth of it.
    private static let windowLength = 2048

    func writeDeletions(
        root: (entity: Int, pk: Int64)?, _ tombstone: Tombstone, into tally: inout ChangeTally
    ) throws(StoreError) {
        let identity = if let root { try identity(of: root) } else { Value?.none }
        // References go before what they lead to: where keys are enforced, each broken one is counted until the commit.
        for entity in ReferenceOrder(model).referringFirst {
            let bound = try PreparedStatement(
                store.connection,
                sql: "SELECT pk FROM temp.\(tableToDelete(entity.index)) WHERE pk >= ? ORDER BY pk LIMIT 1 OFFSET ?")
            guard var first = try bound.key(from: .min, offset: 0) else { continue }
            while true {
                let next = try bound.key(from: first, offset: Self.windowLength)
                try writeDeletions(entity, from: first, before: next, tombstone, into: &tally)
                guard let next else { break }
                first = next
            }
        }
        if let root, let identity { try setVersion(of: model.entities[root.entity], identity, tombstone) }
    }

    private func writeDeletions(
        _ entity: Entity, from first: Int64, before next: Int64?, _ tombstone: Tombstone, into tally: inout ChangeTally
    ) throws(StoreError) {
        let range = "pk >= \(first)\(next.map { " AND pk < \($0)" } ?? "")"
        let keys = "SELECT pk AS _key FROM temp.\(tableToDelete(entity.index)) WHERE \(range)"
        // Where the keys have no gaps, the range is all of them.
        let isRange = next == first &+ Int64(Self.windowLength)
        let name = table(entity.index)
        for kind in kinds(entity) {
            // Else led by the keys, for a list of them would be gathered first, each time.
            let rows =
                isRange
                ? "\(name) e WHERE \(range)\(kind.condition)"
                : "(\(keys)) CROSS JOIN \(name) e ON pk = _key WHERE 1\(kind.condition)"
            let key = isRange ? "pk" : "_key"
            try appendChanges(kind.entity, .delete, from: rows, orderedBy: key, properties: nil, into: &tally)
            try writeTombstones(kind.entity, from: rows, tombstone)
        }
        try store.runOnce("DELETE FROM \(name) WHERE \(isRange ? range : "pk IN (\(keys))")")
    }

    private func identity(of root: (entity: Int, pk: Int64)) throws(StoreError) -> Value? {
        let entity = model.entities[root.entity]
        let statement = try PreparedStatement(
            store.connection,
            sql: "SELECT \(SQLText.quoted(entity.identity.columnName)) FROM \(table(entity.index)) WHERE pk = ?")
        statement.bind(1, root.pk)
        return try statement.step() ? statement.value(0) : nil
    }

    private func setVersion(
        of entity: Entity, _ identity: Value, _ tombstone: Tombstone
    ) throws(StoreError) {
        try store.runOnce(
            "UPDATE _tombstone SET version = ?1 WHERE entity = ?2 AND identity = ?3 AND ?1 IS NOT NULL"
        ) {
            $0.bindAll(tombstone.version, entity.rootName, identity)
        }
    }
}

extension PreparedStatement {
    /// Returns the key that stands so many behind the first from a bound on, or nil.
    fileprivate func key(from first: Int64, offset: Int) throws(StoreError) -> Int64? {
        bind(1, first)
        bind(2, offset)
        defer { reset() }
        return try step() ? integer(0) : nil
    }
}

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
        for entity in model.rootEntities {
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

    private func writeTombstones(_ entity: Entity, from rows: String, _ tombstone: Tombstone) throws(StoreError) {
        let token = try history.openToken()
        let version = entity.versionSlot.map { slot in
            let column = SQLText.quoted(entity.columnNames[slot])
            // The later of the object's own version and the time of the deletion, where they can be compared.
            return entity.attributes[slot].type == .date
                ? "max(coalesce(\(column), ?2), coalesce(?2, \(column)))" : column
        }
        try store.runOnce(
            """
            INSERT INTO _tombstone (entity, identity, version, time, token, saved) \
            SELECT ?1, \(SQLText.quoted(entity.identity.name)), \(version ?? "NULL"), ?2, ?3, ?4 FROM \(rows) \
            ON CONFLICT (entity, identity) DO UPDATE SET \
            version = excluded.version, time = excluded.time, token = excluded.token, saved = excluded.saved
            """
        ) {
            $0.bind(1, entity.tableName)
            $0.bind(2, tombstone.time)
            $0.bind(3, token)
            $0.bind(4, history.time)
        }
    }

    /// Appends a change for each row of `rows`, which are of this very entity, in the order of the primary keys.
    ///
    /// Only keys are numbered: numbering whole rows would hold them all in memory.
    func appendChanges(
        _ entity: Entity, _ kind: ChangeKind, from rows: String, properties: String?, into tally: inout ChangeTally
    ) throws(StoreError) {
        let token = try history.openToken()
        let tombstone = kind == .delete ? preservedSelection(entity) : "NULL"
        try store.runOnce(
            """
            INSERT INTO _history_change (id, token, entity, object, identity, change, properties, tombstone) \
            SELECT ?1 + _keys._number - 1, ?2, ?3, pk, \(SQLText.quoted(entity.identity.name)), ?4, ?5, \(tombstone) \
            FROM (SELECT pk AS _pk, row_number() OVER (ORDER BY pk) AS _number FROM \(rows)) _keys \
            CROSS JOIN \(table(entity.index)) ON pk = _keys._pk
            """
        ) {
            $0.bind(1, history.nextChange)
            $0.bind(2, token)
            $0.bind(3, entity.name)
            $0.bind(4, kind.rawValue)
            $0.bind(5, properties)
        }
        history.noteAppended(store.changedRowCount)
        tally.note(kind, entity: entity.index, count: Int(store.changedRowCount))
    }

    /// The values that stay readable after the deletion, as the JSON text that ``Entity/preservedValues(_:)`` writes.
    private func preservedSelection(_ entity: Entity) -> String {
        let preserved = entity.attributes.filter(\.isPreservedAfterDeletion)
        if preserved.isEmpty { return "NULL" }
        let fields = preserved.map { attribute in
            let column = SQLText.quoted(attribute.name)
            let value: String
            switch attribute.type {
            case .boolean: value = "json(CASE \(column) WHEN 0 THEN 'false' WHEN 1 THEN 'true' ELSE 'null' END)"
            case .date: value = Schema.isoDate(column)
            case .uuid: value = Schema.hyphenated(column)
            case .decimal, .transformable: value = "json(coalesce(\(column), 'null'))"
            case .binary: value = "hex(\(column))"
            default: value = column
            }
            return "\(SQLText.literal(attribute.name)), \(value)"
        }
        return "json_object(\(fields.joined(separator: ", ")))"
    }
}

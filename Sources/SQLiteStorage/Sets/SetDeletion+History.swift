import StoreSQL

// The traces of a deletion by sets of rows: changes, preserved values, tombstones.
extension SetDeletion {
    func writeTombstones(_ entity: Entity, from rows: String, _ tombstone: Tombstone) throws(StoreError) {
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
            SELECT ?1, \(SQLText.quoted(entity.identity.columnName)), \(version ?? "NULL"), ?2, ?3, ?4 FROM \(rows) \
            ON CONFLICT (entity, identity) DO UPDATE SET \
            version = max(coalesce(excluded.version, version), coalesce(version, excluded.version)), \
            time = max(coalesce(excluded.time, time), coalesce(time, excluded.time)), \
            token = excluded.token, saved = excluded.saved
            """
        ) {
            $0.bindAll(entity.rootName, tombstone.time, token, history.time)
        }
        if !store.tombstoneFilter.isRead { return }
        let identities = try PreparedStatement(
            store.connection, sql: "SELECT \(SQLText.quoted(entity.identity.columnName)) FROM \(rows)")
        while try identities.step() { store.tombstoneFilter.insert(identities.value(0), of: entity) }
    }

    /// Appends a change for each row of `rows`, which are of this very entity, in the order of the primary keys.
    ///
    /// SQLite gives the ids, each one more than the greatest there is.
    ///
    /// - Parameter key: the column of `rows` with the primary key by which SQLite need not sort first.
    func appendChanges(
        _ entity: Entity, _ kind: ChangeKind, from rows: String, orderedBy key: String = "pk", properties: String?,
        into tally: inout ChangeTally
    ) throws(StoreError) {
        let token = try history.openToken()
        let tombstone = kind == .delete ? preservedSelection(entity) : "NULL"
        let mark = try store.markLastChange(before: history.nextChange, token: token)
        try store.runOnce(
            """
            INSERT INTO _history_change (token, entity, object, identity, change, properties, tombstone) \
            SELECT ?1, ?2, pk, \(SQLText.quoted(entity.identity.columnName)), ?3, ?4, \(tombstone) FROM \(rows) ORDER BY \(key)
            """
        ) {
            $0.bindAll(token, entity.name, kind.rawValue, properties)
        }
        let count = store.changedRowCount
        if let mark { try store.removeChange(id: mark) }
        history.noteAppended(count)
        tally.note(kind, entity: entity.index, count: Int(count))
    }

    /// The values that stay readable after the deletion, as the JSON text that ``Entity/preservedValues(_:)`` writes.
    ///
    /// Each value is written by the same function as in memory: SQLite's own JSON functions fail at what is no JSON.
    private func preservedSelection(_ entity: Entity) -> String {
        let preserved = entity.attributes.filter(\.isPreservedAfterDeletion)
        if preserved.isEmpty { return "NULL" }
        let fields = preserved.map { attribute in
            let name = SQLText.literal(JSONText.string(attribute.name) + ":")
            let type = SQLText.literal(attribute.type.rawValue)
            return "\(name) || objectgraph_json(\(type), \(SQLText.quoted(attribute.columnName)))"
        }
        return "'{' || \(fields.joined(separator: " || ',' || ")) || '}'"
    }
}

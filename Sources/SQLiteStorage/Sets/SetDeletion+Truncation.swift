import StoreSQL

// Emptying an entity.
extension SetDeletion {
    /// Deletes the objects of an entity and its sub-entities, with the effects by the delete rules.
    ///
    /// Objects whose version is a date later than the truncation are newer, and stay. Placeholders stay too: no row was
    /// ever there.
    ///
    /// - Parameter time: when it happened, in microseconds since 1970 UTC, or nil.
    /// - Throws: as ``delete(tombstone:root:into:seed:)``.
    func truncate(_ entity: Entity, time: Int64?, into tally: inout ChangeTally) throws {
        try delete(tombstone: Tombstone(version: .null, time: time), root: nil, into: &tally) {
            deletion throws(StoreError) in
            for kind in deletion.kinds(entity) where !kind.entity.isAbstract {
                var condition = "_placeholder = 0\(kind.condition)"
                var comparesVersions = false
                if time != nil, let slot = kind.entity.versionSlot, kind.entity.attributes[slot].type == .date {
                    let column = SQLText.quoted(kind.entity.columnNames[slot])
                    condition += " AND (\(column) IS NULL OR \(column) <= ?1)"
                    comparesVersions = true
                }
                try store.runOnce(
                    """
                    INSERT INTO temp.\(deletion.tableToDelete(entity.index)) (pk, round) \
                    SELECT pk, 0 FROM \(deletion.table(entity.index)) WHERE \(condition)
                    """
                ) { statement in
                    if comparesVersions { statement.bind(1, time) }
                }
            }
        }
    }
}

import GRDBSQLite

// The writes of a save.
extension SQLiteWriterSession {
    func write(_ changes: RowChanges) throws(StoreError) {
        for link in changes.removedLinks { try joins[link.table].delete(link.pair) }
        if !changes.deletedKeys.isEmpty { try delete(changes.deletedKeys) }
        for rows in changes.vacated { try entities[rows.root].update(rows) }
        for rows in changes.updates { try entities[rows.root].update(rows) }
        for (key, entity) in changes.entityChanges { try entities[entity.index].setEntity(entity, pk: key) }
        for rows in changes.insertions {
            try entities[rows.entity.index].insert(rows)
            identityBounds.insert(
                rows.values, slot: rows.entity.identitySlot, of: model.entities[rows.entity.rootIndex])
        }
        for link in changes.links { try joins[link.table].insert(link.pair, link.places) }
    }

    private func delete(_ keys: [Int: [Int64]]) throws(StoreError) {
        for (sql, keys) in StoredReference.deletions(of: keys, storedReferences, model) {
            try KeyList.forEachPart(of: keys) { list throws(StoreError) in
                try statement("\(sql) IN (\(list))")
            } body: { statement throws(StoreError) in
                try statement.run()
            }
        }
    }

    func write(nextKeys: [(root: Int, key: Int64)]) throws(StoreError) {
        for (root, key) in nextKeys { try putSequence(entity: model.entities[root].name, next: key) }
    }

    func write(_ changes: TombstoneChanges) throws(StoreError) {
        for (entity, identity, tombstone) in changes.written {
            try putTombstone(
                entity: entity, identity: identity, tombstone, token: changes.token, saved: changes.time)
        }
        for (entity, identity) in changes.removed { try removeTombstone(entity: entity.rootName, identity: identity) }
    }

    func write(_ ledger: ChunkLedger) throws(StoreError) {
        try append(ledger.letters)
        for attempt in ledger.failedAttempts { try noteAttempt(attempt) }
        try removeDeadLetters(ledger.removedLetters)
        for position in ledger.positions { try put(position) }
    }

    func append(_ conflicts: [ConflictNote]) throws(StoreError) {
        for conflict in conflicts { try append(conflict) }
    }

    private func append(_ note: ConflictNote) throws(StoreError) {
        try run(
            Self.insertion(into: .conflicts),
            note.token, note.time, note.kind, note.entity, note.identity, note.property, note.local, note.stored,
            note.policy, note.decision, note.source)
    }

    /// An insertion of a row to which SQLite gives the number.
    static func insertion(into table: StoreTable) -> String {
        let names = table.columns.dropFirst().map(\.name)
        return
            "INSERT INTO \(table.name) (\(names.joined(separator: ", "))) VALUES (\(SQLText.parameters(names.count)))"
    }

    // MARK: History

    func openHistory(_ header: HistoryHeader) throws(StoreError) -> Int64 {
        try run(
            """
            INSERT INTO _history_transaction (time, author, context, source, firstChange, trace, changeCount) \
            VALUES (?, ?, ?, ?, ?, ?, 0)
            """, header.time, header.author, header.context, header.source, header.firstChange, header.trace)
        return sqlite3_last_insert_rowid(connection)
    }

    func closeHistory(token: Int64, changeCount: Int64) throws(StoreError) {
        let statement = try statement(
            changeCount == 0
                ? "DELETE FROM _history_transaction WHERE token = ?1"
                : "UPDATE _history_transaction SET changeCount = ?2 WHERE token = ?1")
        statement.bind(1, token)
        if changeCount > 0 { statement.bind(2, changeCount) }
        try statement.run()
    }
}

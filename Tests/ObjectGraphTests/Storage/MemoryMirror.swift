import ObjectGraph

@testable import GraphCore
@testable import MemoryStorage
@testable import PostgresStorage
@testable import SQLiteStorage

extension Store {
    /// Returns the store itself, or a copy of a store in another storage as a file of SQLite: tests look at both with SQL,
    /// and the verifier checks both.
    func inSQLite() throws -> Store {
        if storage is SQLiteStorage { return self }
        let tables = try tables()
        let copy = try Store.inMemory(model: model)
        try copy.sqlite().onWriter { try tables.write(to: SQLiteWriterSession($0, model: model)) }
        return copy
    }

    /// Returns the whole content.
    func tables() throws -> MemoryTables {
        switch storage {
        case let memory as MemoryStorage: try memory.tables()
        case let postgres as PostgresStorage: try MemoryTables(postgres)
        default: try read { try MemoryTables($0) }
        }
    }
}

extension MemoryTables {
    /// Writes the whole content into an empty store.
    fileprivate func write(to store: SQLiteWriterSession) throws {
        try store.run("BEGIN IMMEDIATE")
        for root in store.model.rootEntities { try writeRows(of: root, to: store) }
        for (table, links) in links.enumerated() {
            for (pair, places) in links { try store.joins[table].insert(pair, places) }
        }
        for (root, entries) in tombstones.enumerated() {
            for (identity, entry) in entries {
                try store.putTombstone(
                    entity: store.model.entities[root], identity: identity, entry.tombstone, token: lastToken,
                    saved: entry.saved)
            }
        }
        try writeHistory(to: store)
        for position in positions { try store.put(position) }
        for cursor in cursors { try store.putCursor(name: cursor.name, token: cursor.token, time: cursor.time) }
        for letter in deadLetters { try store.write(ChunkLedger(letters: [letter])) }
        try store.append(conflicts)
        try store.run("COMMIT")
        store.releaseStatements()
    }

    private func writeRows(of root: Entity, to store: SQLiteWriterSession) throws {
        for row in rows[root.index].all {
            let object = ContextObject(entity: row.entity, pk: row.pk, values: row.values)
            object.state.isPlaceholder = row.isPlaceholder
            var changes = RowChanges(entityCount: store.model.entities.count)
            changes.insert(object)
            try store.write(changes)
        }
        if nextKeys[root.index] > 1 { try store.putSequence(entity: root.name, next: nextKeys[root.index]) }
    }

    private func writeHistory(to store: SQLiteWriterSession) throws {
        for transaction in transactions {
            let statement = try store.statement(
                """
                INSERT INTO _history_transaction (token, time, author, context, source, firstChange, changeCount) \
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """)
            statement.bind(1, transaction.token)
            statement.bind(2, transaction.time)
            statement.bind(3, transaction.author)
            statement.bind(4, transaction.context)
            statement.bind(5, transaction.source)
            statement.bind(6, transaction.firstChange)
            statement.bind(7, Int64(transaction.changeCount))
            try statement.run()
        }
        if purgedToken > 0 {
            try store.putMetadata("purgedToken", "\(purgedToken)")
            try store.putMetadata("nextChange", "\(firstKeptChange)")
        }
        for stored in changes {
            guard let entity = store.model.entity(named: stored.change.entity) else { continue }
            var entries = HistoryEntries(firstChange: stored.id)
            let names = stored.change.properties.joined(separator: ",")
            entries.append(
                .row(entity, key: stored.change.pk, identity: stored.change.identity), stored.change.kind,
                properties: stored.change.kind == .update ? names : nil, preservedValues: stored.change.tombstone)
            try store.append(entries, token: stored.change.token)
        }
        for stored in ranges {
            try store.appendRange(stored.range, id: stored.id, token: stored.token, entity: stored.entity)
        }
    }
}

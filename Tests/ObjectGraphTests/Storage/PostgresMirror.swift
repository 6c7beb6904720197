import ObjectGraph
import StoreSQL

@testable import GraphCore
@testable import MemoryStorage
@testable import PostgresStorage

extension MemoryTables {
    /// Copies the whole content of a store in PostgreSQL.
    init(_ storage: PostgresStorage) throws {
        self = try storage.read(nil) { session, _ in
            guard let snapshot = session as? PostgresSnapshot else { throw StoreError.closed }
            return try MemoryTables(snapshot)
        }
    }

    private init(_ snapshot: PostgresSnapshot) throws {
        let model = snapshot.model
        self.init(model)
        storeID = try snapshot.storeID()
        for root in model.rootEntities {
            var changed: [Int64: StoredRow?] = [:]
            var request = FetchRequest(root.name)
            request.includesPlaceholders = true
            try snapshot.candidates(try request.checked(with: model)) { rows in
                for row in rows { changed[row.pk] = row }
                return true
            }
            try rows[root.index].change(changed, unlessTaken: root.name)
            nextKeys[root.index] = max(
                1, try snapshot.integer("SELECT next FROM _sequence WHERE entity = \(bind: root.name)"))
        }
        for join in model.joinTables {
            let found = try snapshot.all(
                PostgresQuery(), "SELECT \(join.selection("j")) FROM \(join.quotedName) j", join.link)
            for (pair, places) in found { links[join.index][pair] = places }
        }
        for (name, identity, tombstone) in try snapshot.all(
            PostgresQuery(), "SELECT entity, identity, version, time, saved FROM _tombstone",
            {
                let tombstone = Tombstone(version: $0.value(2, .anyValue), time: $0.optionalInteger(3))
                return (
                    $0.text(0), $0.value(1, .anyValue), MemoryTombstone(tombstone: tombstone, saved: $0.integer(4))
                )
            })
        {
            if let entity = model.entity(named: name) { tombstones[entity.rootIndex][identity] = tombstone }
        }
        try readRecords(snapshot)
        firstKeptChange = try snapshot.metadata("nextChange").flatMap { Int64($0) } ?? 1
        lastToken = try snapshot.integer(PostgresQuery(), "SELECT token FROM _token")
        let sent = try snapshot.all(
            PostgresQuery(), "SELECT substr(key, 16), value FROM _metadata WHERE key LIKE 'sentDeadLetter:%'"
        ) { ($0.text(0), Int64($0.text(1)) ?? 0) }
        sentDeadLetters = Dictionary(uniqueKeysWithValues: sent)
    }

    // MARK: Writing

    /// Makes a store in PostgreSQL with the same content.
    func inPostgres(_ model: ObjectModel) throws -> Store {
        let store = try Store.inPostgres(model: model)
        let session = try PostgresWriterSession(store.postgres())
        try session.begin()
        var changes = RowChanges(entityCount: model.entities.count)
        for root in model.rootEntities {
            for row in rows[root.index].all {
                let object = ContextObject(entity: row.entity, pk: row.pk, values: row.values)
                object.state.isPlaceholder = row.isPlaceholder
                changes.insert(object)
            }
        }
        for (table, links) in links.enumerated() {
            changes.links += links.map { RowChanges.Link(table: table, pair: $0.key, places: $0.value) }
        }
        try session.write(changes)
        try session.write(nextKeys: model.rootEntities.map { ($0.index, nextKeys[$0.index]) })
        try writeTombstones(model, session)
        try writeHistory(session)
        try writeLetters(session)
        try session.append(conflicts)
        session.putMetadata(["storeID": storeID])
        try session.commit()
        return store
    }

    private func writeTombstones(_ model: ObjectModel, _ session: PostgresWriterSession) throws {
        for (root, entries) in tombstones.enumerated() {
            for (identity, entry) in entries {
                var changes = TombstoneChanges()
                changes.written = [(model.entities[root], identity, entry.tombstone)]
                changes.time = entry.saved
                try session.write(changes)
            }
        }
    }

    private func writeHistory(_ session: PostgresWriterSession) throws {
        try session.insert(
            "_history_transaction", ["token", "time", "author", "context", "source", "firstChange", "changeCount"],
            [.bigint, .bigint, .text, .text, .text, .bigint, .bigint],
            transactions.map {
                [
                    .integer($0.token), .integer($0.time), .text($0.author), .optional($0.context),
                    .optional($0.source),
                    .integer($0.firstChange), .integer(Int64($0.changeCount)),
                ]
            })
        try session.insert(
            "_history_change", ["id", "token", "entity", "object", "identity", "change", "properties", "tombstone"],
            [.bigint, .bigint, .text, .bigint, .anyValue, .bigint, .text, .text],
            changes.map { stored in
                let change = stored.change
                return [
                    .integer(stored.id), .integer(change.token), .text(change.entity), .integer(change.pk),
                    change.identity, .integer(Int64(change.kind.rawValue)),
                    .text(change.properties.joined(separator: ",")), .optional(change.tombstone),
                ]
            })
        try session.insert(
            "_history_range",
            ["id", "token", "entity", "first", "last", "count", "objects", "change", "properties"],
            [.bigint, .bigint, .text, .bigint, .bigint, .bigint, .text, .bigint, .text],
            ranges.map { stored in
                let range = stored.range
                return [
                    .integer(stored.id), .integer(stored.token), .text(stored.entity), .integer(range.first),
                    .integer(range.last), .integer(range.count), .optional(range.objects),
                    .integer(Int64(range.kind.rawValue)), .optional(range.properties),
                ]
            })
        session.putMetadata(["purgedToken": "\(purgedToken)", "nextChange": "\(firstKeptChange)"])
        for cursor in cursors { try session.putCursor(name: cursor.name, token: cursor.token, time: cursor.time) }
    }

    private func writeLetters(_ session: PostgresWriterSession) throws {
        try session.insert(
            "_dead_letter",
            [
                "id", "time", "topic", "partition", "offset", "line", "stage", "code", "reason", "key", "value",
                "valueBytes", "headers", "attempts", "timestampMilliseconds",
            ],
            [
                .bigint, .bigint, .text, .bigint, .bigint, .bigint, .text, .text, .text, .bytea, .bytea, .bigint, .text,
                .bigint, .bigint,
            ],
            deadLetters.map {
                [
                    .integer($0.id), .integer($0.time), .text($0.topic), .integer(Int64($0.partition)),
                    .integer($0.offset), $0.line.map { .integer(Int64($0)) } ?? .null, .text($0.stage), .text($0.code),
                    .text($0.reason), $0.key.map { .blob($0) } ?? .null, $0.value.map { .blob($0) } ?? .null,
                    .integer(Int64($0.valueBytes)), .optional($0.headers), .integer(Int64($0.attempts)),
                    $0.timestampMilliseconds.map { .integer($0) } ?? .null,
                ]
            })
        for (topic, id) in sentDeadLetters { try session.putSentDeadLetter(id, topic: topic) }
        try session.write(ChunkLedger(positions: positions))
    }
}

extension Value {
    fileprivate static func optional(_ text: String?) -> Value { text.map { .text($0) } ?? .null }
}

extension PostgresWriterSession {
    /// Inserts rows as they are.
    fileprivate func insert(
        _ table: String, _ columns: [String], _ kinds: [ColumnKind], _ rows: [[Value]]
    ) throws {
        let lists = kinds.enumerated().map { $1.list($0 + 1) }.joined(separator: ", ")
        let names = columns.map(SQLText.quoted).joined(separator: ", ")
        var statement = PostgresStatement("INSERT INTO \(table) (\(names)) SELECT * FROM unnest(\(lists))")
        for (index, kind) in kinds.enumerated() { try statement.bind(rows.map { $0[index] }, as: kind) }
        try connection.run(statement)
    }
}

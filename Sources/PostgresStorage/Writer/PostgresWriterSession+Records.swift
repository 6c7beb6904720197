// Tombstones, and the rows that a chunk saves beside its events.
extension PostgresWriterSession {
    func write(_ changes: TombstoneChanges) throws(StoreError) {
        if let change = changes.written.first(where: \.identity.isNull) {
            throw StoreError(
                .constraint, "A tombstone of \(change.entity.name) has no identity", remedy: "Correct the event")
        }
        noteTombstones(changes.written)
        try writeTombstones(changes)
        if changes.removed.isEmpty { return }
        var statement = PostgresStatement(
            """
            DELETE FROM _tombstone t USING unnest($1::text[], $2::bytea[]) AS r(entity, identity) \
            WHERE t.entity = r.entity AND t.identity = r.identity
            """)
        statement.bind(changes.removed.map(\.entity.rootName))
        try statement.bind(changes.removed.map(\.identity), as: .anyValue)
        enqueue(statement)
    }

    private struct Place: Hashable {
        let entity: String
        let identity: Value
    }

    private func writeTombstones(_ changes: TombstoneChanges) throws(StoreError) {
        if changes.written.isEmpty { return }
        // One statement cannot write a row twice: the last tombstone of an identity counts.
        let last = Dictionary(
            changes.written.map { (Place(entity: $0.entity.rootName, identity: $0.identity), $0.tombstone) }
        ) { _, last in last }
        let written = Array(last)
        var statement = PostgresStatement(
            """
            INSERT INTO _tombstone (entity, identity, version, time, token, saved) \
            SELECT r.*, $5::int8, $6::int8 FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::int8[]) AS r \
            ON CONFLICT (entity, identity) DO UPDATE SET version = excluded.version, time = excluded.time, \
            token = excluded.token, saved = excluded.saved
            """)
        statement.bind(written.map(\.key.entity))
        try statement.bind(written.map(\.key.identity), as: .anyValue)
        try statement.bind(written.map(\.value.version), as: .anyValue)
        statement.bind(written.map(\.value.time))
        // A deletion of something unknown is of no transaction.
        if changes.token == 0 {
            statement.bind(changes.token)
        } else {
            statement.bind(changes.token, countedFrom: .token)
        }
        statement.bind(changes.time)
        enqueue(statement)
    }

    // MARK: Positions

    func write(_ ledger: ChunkLedger) throws(StoreError) {
        try append(ledger.letters)
        note(ledger.failedAttempts)
        try removeDeadLetters(ledger.removedLetters)
        if let draft { return draft.positions = ledger.positions }
        if ledger.positions.isEmpty, connection.waiting.isEmpty { return }
        // A few at most: the partitions of one chunk. Without any, the statements that wait fail here all the same.
        try connection.run(ledger.positions.map(put), "save")
    }

    private func moved(_ position: SourcePosition) -> StoreError {
        StoreError(
            .positionConflict,
            "Another writer has claimed \(position.topic)/\(position.partition) or saved its position meanwhile",
            remedy: "Nothing of the chunk was saved; read on from the store's positions")
    }

    /// A statement that saves a position where the store holds what it has to follow, and the partition is this writer's;
    /// else it is refused.
    func put(_ position: SourcePosition) -> PostgresStatement {
        let place = StorePartition(topic: position.topic, partition: position.partition)
        let fence = share?.faults.contains(.ignoresFences) == true ? nil : share?.fences[place]
        let isOwn =
            fence == nil
            ? ""
            : " AND EXISTS (SELECT 1 FROM _fence WHERE topic = $1::text AND partition = $2::int8 AND epoch = $5::int8)"
        let insertion = """
            INSERT INTO _position (topic, partition, "nextOffset", detail) \
            SELECT $1::text, $2::int8, $3::int8, $4::text WHERE true\(isOwn) ON CONFLICT (topic, partition)
            """
        let predecessor = share?.faults.contains(.ignoresPositions) == true ? .anything : position.predecessor
        let change =
            switch predecessor {
            case .anything:
                "\(insertion) DO UPDATE SET \"nextOffset\" = excluded.\"nextOffset\", detail = excluded.detail"
            case .nothing: "\(insertion) DO NOTHING"
            case .offset:
                """
                UPDATE _position SET "nextOffset" = $3::int8, detail = $4::text WHERE topic = $1::text \
                AND partition = $2::int8 AND "nextOffset" = $\(fence == nil ? 5 : 6)::int8\(isOwn)
                """
            }
        let words = "another writer has claimed the partition or saved its position"
        var statement = PostgresStatement(
            """
            WITH put AS (\(change) RETURNING 1) \
            SELECT \(PostgresStatement.refusal(unless: "EXISTS (SELECT FROM put)", words))
            """, refusal: moved(position))
        statement.bind(position.topic, Int64(position.partition), position.nextOffset, position.detail)
        if let fence { statement.bind(fence) }
        if case .offset(let offset) = predecessor { statement.bind(offset) }
        return statement
    }

    /// An insertion of rows that take the next numbers of a counter. Its parameters are the number of rows, and a list for
    /// each other column.
    private static func insertion(into table: StoreTable, counter: String) -> String {
        let (counter, columns) = (SQLText.quoted(counter), table.columns.dropFirst())
        let names = columns.map { SQLText.quoted($0.name) }
        let lists = columns.enumerated().map { ColumnKind($1.form)?.list($0 + 2) ?? "NULL" }
        return """
            WITH c AS (UPDATE _token SET \(counter) = \(counter) + $1::int8 WHERE id = 1 RETURNING \(counter)) \
            INSERT INTO \(table.name) (id, \(names.joined(separator: ", "))) \
            SELECT c.\(counter) - $1::int8 + r.n, \(names.map { "r.\($0)" }.joined(separator: ", ")) \
            FROM c, unnest(\(lists.joined(separator: ", "))) \
            WITH ORDINALITY AS r(\(names.joined(separator: ", ")), n)
            """
    }

    // MARK: Dead letters

    /// Saves letters; of one that the store has already, the record's bytes included, it counts another attempt.
    private func append(_ letters: [DeadLetter]) throws(StoreError) {
        if letters.isEmpty { return }
        var statement = PostgresStatement(Self.insertion(into: .deadLetters, counter: "deadLetter"))
        statement.bind(
            Int64(letters.count), letters.map(\.time), letters.map(\.topic), letters.map { Int64($0.partition) },
            letters.map(\.offset), letters.map { $0.line.map { Int64($0) } }, letters.map(\.stage), letters.map(\.code),
            letters.map(\.reason), letters.map { $0.key.map(Blob.init) },
            letters.map { $0.value.map(Blob.init) }, letters.map { Int64($0.valueBytes) },
            letters.map(\.headers), letters.map { Int64($0.attempts) }, letters.map(\.timestampMilliseconds))
        enqueue(statement)
        let repeats = repeats(after: "(SELECT \"deadLetter\" FROM _token WHERE id = 1) - \(bind: Int64(letters.count))")
        try execute(repeats.counting)
        try execute(repeats.removal)
    }

    private func note(_ attempts: [FailedAttempt]) {
        if attempts.isEmpty { return }
        let grouped = Array(Dictionary(grouping: attempts, by: \.id))
        var statement = PostgresStatement(
            """
            UPDATE _dead_letter d SET attempts = d.attempts + r.n, stage = r.stage, code = r.code, reason = r.reason \
            FROM unnest($1::int8[], $2::int8[], $3::text[], $4::text[], $5::text[]) AS r(id, n, stage, code, reason) \
            WHERE d.id = r.id
            """)
        statement.bind(
            grouped.map(\.key), grouped.map { Int64($0.value.count) }, grouped.map { $0.value.last?.stage ?? "" },
            grouped.map { $0.value.last?.code ?? "" }, grouped.map { $0.value.last?.reason ?? "" })
        enqueue(statement)
    }

    func removeDeadLetters(_ ids: [Int64]) throws(StoreError) {
        if !ids.isEmpty { try execute("DELETE FROM _dead_letter WHERE id \(Dialect.isOneOf(ids))") }
    }

    /// Stores values under their keys with the next round trip.
    func putMetadata(_ values: [String: String]) { enqueue(.putMetadata(values)) }

    // MARK: Conflicts

    func append(_ conflicts: [ConflictNote]) throws(StoreError) {
        if conflicts.isEmpty { return }
        // Their list has the token in each row.
        if draft != nil { throw .conflict }
        var statement = PostgresStatement(Self.insertion(into: .conflicts, counter: "conflict"))
        statement.bind(
            Int64(conflicts.count), conflicts.map(\.token), conflicts.map(\.time), conflicts.map(\.kind),
            conflicts.map(\.entity))
        try statement.bind(conflicts.map(\.identity), as: .anyValue)
        statement.bind(
            conflicts.map(\.property), conflicts.map(\.local), conflicts.map(\.stored), conflicts.map(\.policy),
            conflicts.map(\.decision), conflicts.map(\.source))
        enqueue(statement)
    }
}

// MARK: - Statements of all engines

extension PostgresWriterSession: SQLWriterSession {
    typealias Dialect = PostgresDialect

    func query(_ query: SQLFragment, _ action: String, each: (PostgresRow) -> Bool) throws(StoreError) {
        for row in try connection.run(PostgresStatement(query), action).rows where !each(row) { return }
    }

    func rows(
        about keys: [Int64], _ query: (String) -> String, each: (PostgresRow) -> Void
    ) throws(StoreError) {
        // A draft has to see the store as it was before its own writes.
        if draft?.statements.isEmpty == false { throw .conflict }
        if !isInTransaction { try reconnectIfLost() }
        var statement = PostgresStatement(query("= ANY($1::int8[])"))
        statement.bind(keys)
        try connection.stream(statement, "read the store", each: each)
    }

    @discardableResult
    func change(_ statement: SQLFragment, _ action: String) throws(StoreError) -> Int {
        try connection.run(PostgresStatement(statement), action).changedRowCount
    }

    func execute(_ statement: SQLFragment) throws(StoreError) { enqueue(try PostgresStatement(statement)) }
}

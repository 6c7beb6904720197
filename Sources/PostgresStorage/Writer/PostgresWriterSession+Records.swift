// Tombstones, and what a chunk saves beside its events.
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
        append(ledger.letters)
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

    // MARK: Dead letters

    /// Saves letters; of one that the store has already, the record's bytes included, it counts another attempt.
    private func append(_ letters: [DeadLetter]) {
        if letters.isEmpty { return }
        var statement = PostgresStatement(
            """
            WITH c AS (UPDATE _token SET "deadLetter" = "deadLetter" + $1::int8 WHERE id = 1 RETURNING "deadLetter") \
            INSERT INTO _dead_letter (id, time, topic, partition, "offset", line, stage, code, reason, key, value, \
            "valueBytes", headers, attempts, "timestampMilliseconds") SELECT c."deadLetter" - $1::int8 + r.n, r.c1, r.c2, \
            r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11, r.c12, r.c13, r.c14 \
            FROM c, unnest($2::int8[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::text[], $8::text[], \
            $9::text[], $10::bytea[], $11::bytea[], $12::int8[], $13::text[], $14::int8[], $15::int8[]) \
            WITH ORDINALITY AS r(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, n)
            """)
        statement.bind(
            Int64(letters.count), letters.map(\.time), letters.map(\.topic), letters.map { Int64($0.partition) },
            letters.map(\.offset), letters.map { $0.line.map { Int64($0) } }, letters.map(\.stage), letters.map(\.code),
            letters.map(\.reason), letters.map { $0.key.map(Blob.init) },
            letters.map { $0.value.map(Blob.init) }, letters.map { Int64($0.valueBytes) },
            letters.map(\.headers), letters.map { Int64($0.attempts) }, letters.map(\.timestampMilliseconds))
        enqueue(statement)
        countRepeats(of: Int64(letters.count))
    }

    /// Where reading goes back, as in a topic that lost its end, the same letters come again. The first of each stays, with
    /// the new reason and the last known timestamp. Another record at the place, as in a topic that was made again, is
    /// another letter.
    private func countRepeats(of count: Int64) {
        let fresh = "fresh.id > (SELECT \"deadLetter\" FROM _token WHERE id = 1) - $1::int8"
        let isSame = """
            kept.topic = fresh.topic AND kept.partition = fresh.partition AND kept."offset" = fresh."offset" \
            AND kept.id < fresh.id AND kept."valueBytes" IS NOT DISTINCT FROM fresh."valueBytes" \
            AND kept.key IS NOT DISTINCT FROM fresh.key AND kept.headers IS NOT DISTINCT FROM fresh.headers \
            AND kept.value IS NOT DISTINCT FROM fresh.value
            """
        var update = PostgresStatement(
            """
            UPDATE _dead_letter d SET attempts = d.attempts + repeats.times, stage = l.stage, code = l.code, \
            reason = l.reason, "timestampMilliseconds" = coalesce(l."timestampMilliseconds", d."timestampMilliseconds") \
            FROM (SELECT earliest, count(*) AS times, max(id) AS latest FROM \
            (SELECT fresh.id, min(kept.id) AS earliest FROM _dead_letter fresh JOIN _dead_letter kept ON \(isSame) \
            WHERE \(fresh) GROUP BY fresh.id) f GROUP BY earliest) repeats \
            JOIN _dead_letter l ON l.id = repeats.latest WHERE d.id = repeats.earliest
            """)
        var removal = PostgresStatement(
            """
            DELETE FROM _dead_letter fresh WHERE \(fresh) \
            AND EXISTS (SELECT 1 FROM _dead_letter kept WHERE \(isSame))
            """)
        update.bind(count)
        removal.bind(count)
        enqueue(update)
        enqueue(removal)
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
        if ids.isEmpty { return }
        var statement = PostgresStatement("DELETE FROM _dead_letter WHERE id = ANY($1::int8[])")
        statement.bind(ids)
        enqueue(statement)
    }

    func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError) {
        putMetadata([DeadLetter.cursorKey(topic): "\(id)"])
    }

    /// Stores values under their keys with the next round trip.
    func putMetadata(_ values: [String: String]) { enqueue(.putMetadata(values)) }

    // MARK: Conflicts

    func append(_ conflicts: [ConflictNote]) throws(StoreError) {
        if conflicts.isEmpty { return }
        // Their list has the token in each row.
        if draft != nil { throw .conflict }
        var statement = PostgresStatement(
            """
            WITH c AS (UPDATE _token SET conflict = conflict + $1::int8 WHERE id = 1 RETURNING conflict) \
            INSERT INTO _conflict (id, token, time, kind, entity, identity, property, local, stored, policy, decision, \
            source) SELECT c.conflict - $1::int8 + r.n, r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11 \
            FROM c, unnest($2::int8[], $3::int8[], $4::text[], $5::text[], $6::bytea[], $7::text[], $8::text[], \
            $9::text[], $10::text[], $11::text[], $12::text[]) \
            WITH ORDINALITY AS r(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, n)
            """)
        statement.bind(
            Int64(conflicts.count), conflicts.map(\.token), conflicts.map(\.time), conflicts.map(\.kind),
            conflicts.map(\.entity))
        try statement.bind(conflicts.map(\.identity), as: .anyValue)
        statement.bind(
            conflicts.map(\.property), conflicts.map(\.local), conflicts.map(\.stored), conflicts.map(\.policy),
            conflicts.map(\.decision), conflicts.map(\.source))
        enqueue(statement)
    }

    func removeConflicts(through id: Int64) throws(StoreError) -> Int {
        var statement = PostgresStatement("DELETE FROM _conflict WHERE id <= $1::int8")
        statement.bind(id)
        return try connection.run(statement, "remove conflicts").changedRowCount
    }

    // MARK: Cursors

    func putCursor(name: String, token: Int64, time: Int64) throws(StoreError) {
        var statement = PostgresStatement(
            """
            INSERT INTO _cursor (name, token, time) VALUES ($1::text, $2::int8, $3::int8) \
            ON CONFLICT (name) DO UPDATE SET token = excluded.token, time = excluded.time
            """)
        statement.bind(name, token, time)
        enqueue(statement)
    }

    func removeCursor(name: String) throws(StoreError) -> Bool {
        var statement = PostgresStatement("DELETE FROM _cursor WHERE name = $1::text")
        statement.bind(name)
        return try connection.run(statement, "remove a cursor").changedRowCount > 0
    }
}

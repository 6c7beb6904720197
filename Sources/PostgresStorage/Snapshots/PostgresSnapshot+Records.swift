// Tombstones, positions, dead-letter records and conflicts.
extension PostgresSnapshot {
    /// So many tombstones are in memory at a time.
    private static let pageSize = 5000

    func tombstones(each: (String, Value, Tombstone) throws -> Void) throws {
        var (entity, identity) = ("", [UInt8]())
        while true {
            var query = PostgresQuery()
            let place = (query.parameter(entity), query.parameter("bytea") { [identity] in $0.bind(Blob(identity)) })
            let rows = try run(
                query,
                """
                SELECT entity, identity, version, time FROM _tombstone WHERE (entity, identity) > (\(place.0), \(place.1)) \
                ORDER BY entity, identity LIMIT \(Self.pageSize)
                """
            ).rows
            for row in rows {
                (entity, identity) = (row.text(0), row.blob(1) ?? [])
                let tombstone = Tombstone(version: row.value(2, .anyValue), time: row.optionalInteger(3))
                try each(entity, row.value(1, .anyValue), tombstone)
            }
            if rows.count < Self.pageSize { return }
        }
    }

    func positions() throws -> [SourcePosition] {
        try all(
            PostgresQuery(), "SELECT topic, partition, \"nextOffset\", detail FROM _position ORDER BY topic, partition"
        ) { SourcePosition($0) }
    }

    // MARK: Dead letters

    func deadLetterCount(_ selection: DeadLetterSelection, after id: Int64) throws -> Int {
        let query = selection.query(after: id)
        return Int(try integer(query, "SELECT count(*) FROM _dead_letter WHERE \(query.condition)"))
    }

    func lastDeadLetterID() throws -> Int64 { try integer(PostgresQuery(), "SELECT max(id) FROM _dead_letter") }

    func deadLetters(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int?
    ) throws -> [DeadLetter] {
        var query = selection.query(after: id)
        let count = query.parameter(Int64(limit))
        let bytes =
            valueLimit.map { "NULL::bytea, substring(value FROM 1 FOR \($0)), \"valueBytes\", NULL::text" }
            ?? "key, value, \"valueBytes\", headers"
        let hasTimestamps = try connection.deadLettersHaveTimestamps("read the store")
        let timestamp = hasTimestamps ? SQLText.quoted(DeadLetter.timestampColumn) : "NULL::bigint"
        return try all(
            query,
            """
            SELECT id, time, topic, partition, "offset", line, stage, code, reason, \(bytes), attempts, \(timestamp) \
            FROM _dead_letter WHERE \(query.condition) ORDER BY id LIMIT \(count)
            """
        ) { DeadLetter($0) }
    }

    func deadLetterSizes(after id: Int64, limit: Int) throws -> [DeadLetterSize] {
        var query = DeadLetterSelection().query(after: id)
        let count = query.parameter(Int64(limit))
        return try sizes(query, "ORDER BY id LIMIT \(count)")
    }

    func deadLetterSizesByPlace(_ selection: DeadLetterSelection) throws -> [DeadLetterSize] {
        try sizes(selection.query(after: nil), "ORDER BY topic, partition, \"offset\", id")
    }

    private func sizes(_ query: PostgresQuery, _ end: String) throws -> [DeadLetterSize] {
        try all(
            query,
            "SELECT id, coalesce(octet_length(value), 0)::int8 FROM _dead_letter WHERE \(query.condition) \(end)"
        ) { DeadLetterSize(id: $0.integer(0), bytes: Int($0.integer(1))) }
    }

    func deadLetterReasons(_ selection: DeadLetterSelection, each: (DeadLetterReason) throws -> Void) throws {
        let query = selection.query(after: nil)
        let groups = try all(
            query,
            """
            SELECT code, topic, reason, count(*), min(time), max(time) FROM _dead_letter WHERE \(query.condition) \
            GROUP BY code, topic, reason
            """
        ) { DeadLetterReason($0) }
        for group in groups { try each(group) }
    }

    func sentDeadLetter(topic: String) throws -> Int64 {
        try metadata(DeadLetter.cursorKey(topic)).flatMap { Int64($0) } ?? 0
    }

    // MARK: Conflicts

    func conflicts(after id: Int64, limit: Int) throws -> [ConflictNote] {
        var query = PostgresQuery()
        query.add("id >", id)
        let count = query.parameter(Int64(limit))
        return try all(
            query,
            """
            SELECT id, token, time, kind, entity, identity, property, local, stored, policy, decision, source \
            FROM _conflict WHERE \(query.condition) ORDER BY id LIMIT \(count)
            """
        ) { ConflictNote($0) }
    }
}

extension DeadLetterSelection {
    /// The conditions on the selected letters, those after a number if one is given.
    fileprivate func query(after id: Int64?) -> PostgresQuery {
        var query = PostgresQuery()
        query.add("id >", id)
        if let ids { query.add("id = ANY(\(query.parameter(ids)))") }
        query.add("topic =", topic)
        query.add("partition =", partition.map { Int64($0) })
        query.add("stage =", stage)
        query.add("code =", code)
        query.add("time <", before)
        query.add("time >=", since)
        // In this collation the case of ASCII letters alone is folded.
        if let reason { query.add("strpos(lower(reason), lower(\(query.parameter(reason)) COLLATE \"C\")) > 0") }
        return query
    }
}

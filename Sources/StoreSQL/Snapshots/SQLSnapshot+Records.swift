// Tombstones, positions, dead letters and conflicts.
extension SQLSnapshot {
    package func positions() throws -> [SourcePosition] {
        try all("SELECT topic, partition, \"nextOffset\", detail FROM _position ORDER BY topic, partition") {
            SourcePosition($0)
        }
    }

    package func tombstones(each: (String, Value, Tombstone) throws -> Void) throws {
        // So many tombstones are in memory at a time.
        let pageSize = 5000
        var (entity, identity) = ("", Value.blob([]))
        while true {
            let page = try all(
                """
                SELECT entity, identity, version, time FROM _tombstone \
                WHERE (entity, identity) > (\(bind: entity), \(bind: .recorded(identity))) \
                ORDER BY entity, identity LIMIT \(pageSize)
                """
            ) { ($0.text(0), $0.value(1), Tombstone(version: $0.value(2), time: $0.optionalInteger(3))) }
            for tombstone in page { try each(tombstone.0, tombstone.1, tombstone.2) }
            guard page.count == pageSize, let last = page.last else { return }
            (entity, identity) = (last.0, last.1)
        }
    }

    // MARK: Dead letters

    package func deadLetterCount(_ selection: DeadLetterSelection, after id: Int64) throws -> Int {
        // Without a condition an index is counted, and not the table with its records.
        let condition = condition(selection, after: id == 0 ? nil : id)
        return Int(try integer("SELECT count(*) FROM _dead_letter WHERE \(condition)"))
    }

    package func lastDeadLetterID() throws -> Int64 { try integer("SELECT max(id) FROM _dead_letter") }

    package func deadLetters(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int?
    ) throws -> [DeadLetter] {
        let bytes =
            valueLimit.map { "NULL, substr(value, 1, \($0)), \"valueBytes\", NULL" }
            ?? "key, value, \"valueBytes\", headers"
        let timestamp = try deadLettersHaveTimestamps() ? SQLText.quoted(DeadLetter.timestampColumn) : "NULL"
        return try all(
            """
            SELECT id, time, topic, partition, "offset", line, stage, code, reason, \(bytes), attempts, \(timestamp) \
            FROM _dead_letter WHERE \(condition(selection, after: id)) ORDER BY id LIMIT \(bind: Int64(limit))
            """
        ) { DeadLetter($0) }
    }

    package func deadLetterSizes(after id: Int64, limit: Int) throws -> [DeadLetterSize] {
        try sizes("id > \(bind: id) ORDER BY id LIMIT \(bind: Int64(limit))")
    }

    package func deadLetterSizesByPlace(_ selection: DeadLetterSelection) throws -> [DeadLetterSize] {
        try sizes("\(condition(selection, after: nil)) ORDER BY topic, partition, \"offset\", id")
    }

    private func sizes(_ condition: SQLFragment) throws -> [DeadLetterSize] {
        try all("SELECT id, coalesce(length(value), 0) FROM _dead_letter WHERE \(condition)") {
            DeadLetterSize(id: $0.integer(0), bytes: Int($0.integer(1)))
        }
    }

    package func deadLetterReasons(_ selection: DeadLetterSelection, each: (DeadLetterReason) throws -> Void) throws {
        try step(
            """
            SELECT code, topic, reason, count(*), min(time), max(time) FROM _dead_letter \
            WHERE \(condition(selection, after: nil)) GROUP BY code, topic, reason
            """
        ) { row in
            try each(DeadLetterReason(row))
            return true
        }
    }

    package func sentDeadLetter(topic: String) throws -> Int64 {
        try metadata(DeadLetter.cursorKey(topic)).flatMap { Int64($0) } ?? 0
    }

    /// The condition on the selected letters, those after a number if one is given.
    private func condition(_ selection: DeadLetterSelection, after id: Int64?) -> SQLFragment {
        let conditions: [SQLFragment?] = [
            id.map { "id > \(bind: $0)" }, selection.ids.map { "id \(Dialect.isOneOf($0))" },
            selection.topic.map { "topic = \(bind: $0)" },
            selection.partition.map { "partition = \(bind: Int64($0))" },
            selection.stage.map { "stage = \(bind: $0)" }, selection.storedCode.map { "code = \(bind: $0)" },
            selection.before.map { "time < \(bind: $0)" }, selection.since.map { "time >= \(bind: $0)" },
            selection.reason.map { Dialect.contains("reason", part: $0) },
        ]
        return conditions.compactMap(\.self).conjunction
    }

    // MARK: Conflicts

    package func conflicts(after id: Int64, limit: Int) throws -> [ConflictNote] {
        guard try hasTable("_conflict") else { return [] }
        return try all(
            """
            SELECT \(Dialect.names(of: .conflicts)) \
            FROM _conflict WHERE id > \(bind: id) ORDER BY id LIMIT \(bind: Int64(limit))
            """
        ) { ConflictNote($0) }
    }
}

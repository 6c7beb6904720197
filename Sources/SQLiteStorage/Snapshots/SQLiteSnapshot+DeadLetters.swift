// Tombstones, positions, dead-letter records and conflicts.
extension SQLiteSnapshot {
    func positions() throws -> [SourcePosition] {
        try all("SELECT topic, partition, nextOffset, detail FROM _position ORDER BY topic, partition") {
            SourcePosition($0)
        }
    }

    func tombstones(each: (String, Value, Tombstone) throws -> Void) throws {
        try step("SELECT entity, identity, version, time FROM _tombstone ORDER BY entity, identity", []) { row in
            let time = row.isNull(3) ? nil : row.integer(3)
            try each(row.text(0), row.value(1), Tombstone(version: row.value(2), time: time))
            return true
        }
    }

    // MARK: Dead letters

    func deadLetterCount(_ selection: DeadLetterSelection, after id: Int64) throws -> Int {
        // Without a condition an index is counted, and not the table with its records.
        let (condition, bindings) = selection.sql(after: id == 0 ? nil : id)
        return Int(try integer("SELECT count(*) FROM _dead_letter WHERE \(condition)", bindings))
    }

    func lastDeadLetterID() throws -> Int64 { try integer("SELECT max(id) FROM _dead_letter") }

    func deadLetters(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int?
    ) throws -> [DeadLetter] {
        let (condition, bindings) = selection.sql(after: id)
        let bytes =
            valueLimit.map { "NULL, substr(value, 1, \($0)), valueBytes, NULL" }
            ?? "key, value, valueBytes, headers"
        let hasTimestamps = try columnNames(of: "_dead_letter").contains(DeadLetter.timestampColumn)
        let timestamp = hasTimestamps ? DeadLetter.timestampColumn : "NULL"
        let sql = """
            SELECT id, time, topic, partition, offset, line, stage, code, reason, \(bytes), attempts, \(timestamp) \
            FROM _dead_letter WHERE \(condition) ORDER BY id LIMIT ?
            """
        return try all(sql, bindings + [.integer(Int64(limit))]) { DeadLetter($0) }
    }

    func deadLetterSizes(after id: Int64, limit: Int) throws -> [DeadLetterSize] {
        try sizes("id > ? ORDER BY id LIMIT ?", [.integer(id), .integer(Int64(limit))])
    }

    func deadLetterSizesByPlace(_ selection: DeadLetterSelection) throws -> [DeadLetterSize] {
        let (condition, bindings) = selection.sql(after: nil)
        return try sizes("\(condition) ORDER BY topic, partition, offset, id", bindings)
    }

    private func sizes(_ condition: String, _ bindings: [Value]) throws -> [DeadLetterSize] {
        try all("SELECT id, ifnull(length(value), 0) FROM _dead_letter WHERE \(condition)", bindings) {
            DeadLetterSize(id: $0.integer(0), bytes: Int($0.integer(1)))
        }
    }

    func deadLetterReasons(_ selection: DeadLetterSelection, each: (DeadLetterReason) throws -> Void) throws {
        let (condition, bindings) = selection.sql(after: nil)
        let sql = """
            SELECT code, topic, reason, count(*), min(time), max(time) FROM _dead_letter WHERE \(condition) \
            GROUP BY code, topic, reason
            """
        try step(sql, bindings) { row in
            try each(DeadLetterReason(row))
            return true
        }
    }

    func sentDeadLetter(topic: String) throws -> Int64 {
        try metadata(DeadLetter.cursorKey(topic)).flatMap { Int64($0) } ?? 0
    }

    // MARK: Conflicts

    func conflicts(after id: Int64, limit: Int) throws -> [ConflictNote] {
        // Stores that were made before conflicts were kept, and are only read, have no table for them.
        let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '_conflict'"
        guard try integer(table) == 1 else { return [] }
        let sql = """
            SELECT id, token, time, kind, entity, identity, property, local, stored, policy, decision, source \
            FROM _conflict WHERE id > ? ORDER BY id LIMIT ?
            """
        return try all(sql, [.integer(id), .integer(Int64(limit))]) { ConflictNote($0) }
    }
}

extension DeadLetterSelection {
    /// The condition on the selected letters, those after a number if one is given, with its values.
    fileprivate func sql(after id: Int64?) -> (condition: String, bindings: [Value]) {
        var conditions: [String] = []
        var bindings: [Value] = []
        func add(_ condition: String, _ value: Value?) {
            guard let value else { return }
            conditions.append(condition)
            bindings.append(value)
        }
        add("id > ?", id.map { .integer($0) })
        let list = ids.map { HistoryRange.list($0[...]) }
        add("id IN (SELECT value FROM json_each(?))", list.map { .text($0) })
        add("topic = ?", topic.map { .text($0) })
        add("partition = ?", partition.map { .integer(Int64($0)) })
        add("stage = ?", stage.map { .text($0) })
        add("code = ?", code.map { .text($0) })
        add("time < ?", before.map { .integer($0) })
        add("time >= ?", since.map { .integer($0) })
        add("instr(lower(reason), lower(?)) > 0", reason.map { .text($0) })
        return (conditions.isEmpty ? "1" : conditions.joined(separator: " AND "), bindings)
    }
}

// Tombstones, positions, dead-letter records and conflicts.
extension SQLiteSnapshot {
    func positions() throws -> [SourcePosition] {
        try all("SELECT topic, partition, nextOffset, detail FROM _position ORDER BY topic, partition") { row in
            SourcePosition(
                topic: row.text(0), partition: Int32(clamping: row.integer(1)), nextOffset: row.integer(2),
                detail: row.optionalText(3))
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
        let sql = """
            SELECT id, time, topic, partition, offset, line, stage, code, reason, \(bytes), attempts FROM _dead_letter WHERE \(condition) \
            ORDER BY id LIMIT ?
            """
        return try all(sql, bindings + [.integer(Int64(limit))]) { row in
            var letter = DeadLetter(
                time: row.integer(1), topic: row.text(2), partition: max(0, Int32(clamping: row.integer(3))),
                offset: row.integer(4), line: row.isNull(5) ? nil : Int(row.integer(5)), stage: row.text(6),
                code: row.text(7), reason: row.text(8), key: blob(row.value(9)), value: blob(row.value(10)),
                valueBytes: Int(row.integer(11)), headers: row.optionalText(12))
            letter.id = row.integer(0)
            letter.attempts = Int(row.integer(13))
            return letter
        }
    }

    private func blob(_ value: Value) -> [UInt8]? {
        if case .blob(let bytes) = value { return bytes }
        return nil
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
            try each(
                DeadLetterReason(
                    code: row.text(0), topic: row.text(1), reason: row.text(2), count: Int(row.integer(3)),
                    firstTime: row.integer(4), lastTime: row.integer(5)))
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
        return try all(sql, [.integer(id), .integer(Int64(limit))]) { row in
            var note = ConflictNote(
                kind: row.text(3), entity: row.text(4), identity: row.value(5), property: row.optionalText(6),
                local: row.optionalText(7), stored: row.optionalText(8), policy: row.text(9), decision: row.text(10))
            note.id = row.integer(0)
            note.token = row.integer(1)
            note.time = row.integer(2)
            note.source = row.optionalText(11)
            return note
        }
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

/// A row of a store's own tables. Columns count from 0; a null reads as 0, an empty text, or nil.
package protocol StoreRow {
    func isNull(_ column: Int) -> Bool
    func integer(_ column: Int) -> Int64
    func text(_ column: Int) -> String
    func blob(_ column: Int) -> [UInt8]?
    /// A value of any type.
    func value(_ column: Int) -> Value
}

extension StoreRow {
    package func optionalInteger(_ column: Int) -> Int64? { isNull(column) ? nil : integer(column) }

    package func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
}

// MARK: - Rows in the order of their columns

extension StoredTransaction {
    /// token, time, author, context, source, firstChange, changeCount, trace
    package init(_ row: some StoreRow) {
        self.init(
            token: row.integer(0), time: row.integer(1), author: row.text(2), context: row.optionalText(3),
            source: row.optionalText(4), trace: row.optionalText(7), firstChange: row.integer(5),
            changeCount: Int(row.integer(6)))
    }
}

extension StoredChange {
    /// id, token, entity, object, identity, change, properties, tombstone
    package init(_ row: some StoreRow) {
        let change = HistoryChange(
            entity: row.text(2), pk: row.integer(3), identity: row.value(4),
            kind: ChangeKind(rawValue: Int(row.integer(5))) ?? .update,
            properties: row.text(6).split(separator: ",").map { String($0) }, tombstone: row.optionalText(7),
            token: row.integer(1))
        self.init(id: row.integer(0), change: change)
    }
}

extension StoredRange {
    /// id, token, entity, first, last, count, objects, change, properties
    package init(_ row: some StoreRow) {
        let range = HistoryRange(
            first: row.integer(3), last: row.integer(4), count: row.integer(5), objects: row.optionalText(6),
            kind: ChangeKind(rawValue: Int(row.integer(7))) ?? .update, properties: row.optionalText(8))
        self.init(id: row.integer(0), token: row.integer(1), entity: row.text(2), range: range)
    }
}

extension StoredCursor {
    /// name, token, time
    package init(_ row: some StoreRow) {
        self.init(name: row.text(0), token: row.integer(1), time: row.integer(2))
    }
}

extension DeadLetter {
    /// id, time, topic, partition, offset, line, stage, code, reason, key, value, valueBytes, headers, attempts,
    /// timestampMilliseconds
    package init(_ row: some StoreRow) {
        self.init(
            time: row.integer(1), topic: row.text(2), partition: max(0, Int32(clamping: row.integer(3))),
            offset: row.integer(4), line: row.optionalInteger(5).map { Int($0) }, stage: row.text(6),
            code: row.text(7), reason: row.text(8), key: row.blob(9), value: row.blob(10),
            valueBytes: Int(row.integer(11)), headers: row.optionalText(12),
            timestampMilliseconds: row.optionalInteger(14))
        id = row.integer(0)
        attempts = Int(row.integer(13))
    }
}

extension DeadLetterReason {
    /// code, topic, reason, count, first time, last time
    package init(_ row: some StoreRow) {
        self.init(
            code: row.text(0), topic: row.text(1), reason: row.text(2), count: Int(row.integer(3)),
            firstTime: row.integer(4), lastTime: row.integer(5))
    }
}

extension ConflictNote {
    /// id, token, time, kind, entity, identity, property, local, stored, policy, decision, source
    package init(_ row: some StoreRow) {
        self.init(
            kind: row.text(3), entity: row.text(4), identity: row.value(5), property: row.optionalText(6),
            local: row.optionalText(7), stored: row.optionalText(8), policy: row.text(9), decision: row.text(10))
        id = row.integer(0)
        token = row.integer(1)
        time = row.integer(2)
        source = row.optionalText(11)
    }
}

extension AuditEntry {
    /// id, time, actor, action, request, idempotencyKey, result
    package init(_ row: some StoreRow) {
        self.init(
            id: row.integer(0), time: row.integer(1), actor: row.text(2), action: row.text(3), request: row.text(4),
            idempotencyKey: row.optionalText(5), result: row.optionalText(6))
    }
}

extension SourcePosition {
    /// topic, partition, nextOffset, detail
    package init(_ row: some StoreRow) {
        self.init(
            topic: row.text(0), partition: Int32(clamping: row.integer(1)), nextOffset: row.integer(2),
            detail: row.optionalText(3))
    }
}

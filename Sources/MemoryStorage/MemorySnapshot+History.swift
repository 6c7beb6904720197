// The history and its readers, sources, dead letters and conflicts.
extension MemorySnapshot {
    func lastToken() throws -> Int64? { tables.transactions.last?.token }

    func purgedToken() throws -> Int64 { tables.purgedToken }

    func transactions(_ selection: HistorySelection, limit: Int) throws -> [StoredTransaction] {
        var found: [StoredTransaction] = []
        for transaction in tables.transactions(after: selection.after) where selection.includes(transaction) {
            if found.count >= limit { break }
            if !selection.selectsChanges || hasChange(of: transaction, selection) { found.append(transaction) }
        }
        return found
    }

    private func hasChange(of transaction: StoredTransaction, _ selection: HistorySelection) -> Bool {
        tables.changes(transaction.firstChange..<(transaction.firstChange + Int64(transaction.changeCount)))
            .contains { selection.includes($0.change) }
            || tables.ranges.contains { $0.token == transaction.token && selection.includes($0) }
    }

    func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange] {
        Array(selected(selection).prefix(limit))
    }

    func changeCount(_ selection: HistorySelection) throws -> Int { selected(selection).count }

    private func selected(_ selection: HistorySelection) -> [StoredChange] {
        let tokens = tokens(selection)
        return tables.changes(selection.ids).filter {
            tokens?.contains($0.change.token) ?? true && selection.includes($0.change)
        }
    }

    func ranges(_ selection: HistorySelection, each: (StoredRange) throws -> Bool) throws {
        for range in selectedRanges(selection) where try !each(range) { return }
    }

    func rangeChangeCount(_ selection: HistorySelection) throws -> Int {
        selectedRanges(selection).reduce(0) { $0 + Int($1.range.count) }
    }

    private func selectedRanges(_ selection: HistorySelection) -> [StoredRange] {
        let tokens = tokens(selection)
        return tables.ranges.filter {
            $0.id < selection.ids.upperBound && $0.id + $0.range.count > selection.ids.lowerBound
                && tokens?.contains($0.token) ?? true && selection.includes($0)
        }
    }

    /// The tokens of the selected transactions, or nil without a condition on them.
    private func tokens(_ selection: HistorySelection) -> Set<Int64>? {
        guard selection.selectsTransactions else { return nil }
        return Set(tables.transactions(after: selection.after).filter(selection.includes).map(\.token))
    }

    // MARK: Identities

    func primaryKeys(_ entity: Entity, identity: Value) throws -> [Int64] {
        let present = rows(entity.index).row(identity: identity).flatMap { $0.entity.isKind(of: entity) ? $0 : nil }
        let kinds = model.kindNames(entity)
        let deleted = tables.changes.map(\.change).filter {
            $0.kind == .delete && kinds.contains($0.entity) && $0.identity == identity
        }
        return Set((present.map { [$0.pk] } ?? []) + deleted.map(\.pk)).sorted()
    }

    func deletedIdentities(_ entities: [String], in range: HistoryRange, after id: Int64) throws -> [Int64: Value] {
        var identities: [Int64: Value] = [:]
        for stored in tables.changes where stored.id > id && stored.change.kind == .delete {
            let change = stored.change
            if entities.contains(change.entity), change.pk >= range.first, change.pk <= range.last {
                identities[change.pk] = change.identity
            }
        }
        return identities
    }

    // MARK: Readers

    func cursors() throws -> [StoredCursor] { tables.cursors }

    func unread(after token: Int64) throws -> (count: Int64, oldestTime: Int64?) {
        let unread = tables.transactions(after: token)
        return (Int64(unread.count), unread.first?.time)
    }

    // MARK: Sources, dead letters, conflicts

    func tombstones(each: (String, Value, Tombstone) throws -> Void) throws {
        for root in model.rootEntities.sorted(by: { $0.name < $1.name }) {
            let sorted = tables.tombstones[root.index].sorted { ValueOrder.compare($0.key, $1.key) < 0 }
            for (identity, entry) in sorted { try each(root.name, identity, entry.tombstone) }
        }
    }

    func positions() throws -> [SourcePosition] { tables.positions }

    func deadLetterCount(_ selection: DeadLetterSelection, after id: Int64) throws -> Int {
        tables.deadLetters(after: id).count(where: selection.includes)
    }

    func lastDeadLetterID() throws -> Int64 { tables.deadLetters.last?.id ?? 0 }

    func deadLetters(
        _ selection: DeadLetterSelection, after id: Int64, limit: Int, valueLimit: Int?
    ) throws -> [DeadLetter] {
        tables.deadLetters(after: id).lazy.filter(selection.includes).prefix(limit).map { letter in
            guard let valueLimit else { return letter }
            var preview = letter
            (preview.key, preview.headers) = (nil, nil)
            preview.value = letter.value.map { Array($0.prefix(valueLimit)) }
            return preview
        }
    }

    func deadLetterSizes(after id: Int64, limit: Int) throws -> [DeadLetterSize] {
        tables.deadLetters(after: id).prefix(limit).map { DeadLetterSize($0) }
    }

    func deadLetterSizesByPlace(_ selection: DeadLetterSelection) throws -> [DeadLetterSize] {
        selected(selection).sorted {
            let order = ValueOrder.compare(.text($0.topic), .text($1.topic))
            return order == 0 ? ($0.partition, $0.offset, $0.id) < ($1.partition, $1.offset, $1.id) : order < 0
        }.map { DeadLetterSize($0) }
    }

    func deadLetterReasons(_ selection: DeadLetterSelection, each: (DeadLetterReason) throws -> Void) throws {
        let groups = Dictionary(grouping: selected(selection)) {
            [$0.code, $0.topic, $0.reason].map { Value.text($0) }
        }
        for letters in groups.values {
            let times = letters.map(\.time)
            guard let letter = letters.first, let first = times.min(), let last = times.max() else { continue }
            try each(
                DeadLetterReason(
                    code: letter.code, topic: letter.topic, reason: letter.reason, count: letters.count,
                    firstTime: first, lastTime: last))
        }
    }

    func sentDeadLetter(topic: String) throws -> Int64 { tables.sentDeadLetters[topic] ?? 0 }

    private func selected(_ selection: DeadLetterSelection) -> [DeadLetter] {
        tables.deadLetters.filter(selection.includes)
    }

    func conflicts(after id: Int64, limit: Int) throws -> [ConflictNote] {
        Array(tables.conflicts.filter { $0.id > id }.prefix(limit))
    }

    func auditEntries(before id: Int64, key: String?, limit: Int) throws -> [AuditEntry] {
        let entries = tables.auditEntries.reversed().lazy.filter {
            $0.id < id && (key == nil || $0.idempotencyKey == key)
        }
        return Array(entries.prefix(limit))
    }

    func auditCount(before time: Int64) throws -> Int { tables.auditEntries.count { $0.time < time } }

    func note(_ key: String) throws -> String? { tables.notes[key] }
}

extension DeadLetterSize {
    fileprivate init(_ letter: DeadLetter) { self.init(id: letter.id, bytes: letter.value?.count ?? 0) }
}

extension HistorySelection {
    /// Tells whether a transaction meets the conditions on transactions.
    fileprivate func includes(_ transaction: StoredTransaction) -> Bool {
        after.map { transaction.token > $0 } ?? true && since.map { transaction.time >= $0 } ?? true
            && before.map { transaction.time < $0 } ?? true && author.map { transaction.author == $0 } ?? true
            && context.map { transaction.context == $0 } ?? true
    }

    /// Tells whether a change meets the conditions on changes, its id aside.
    fileprivate func includes(_ change: HistoryChange) -> Bool {
        includes(change.kind, change.entity) && keys?.contains(change.pk) ?? true
    }

    /// Tells whether a range may have a change that meets the conditions on changes.
    fileprivate func includes(_ stored: StoredRange) -> Bool {
        guard includes(stored.range.kind, stored.entity) else { return false }
        guard let keys else { return true }
        return keys.contains { key in
            stored.range.first <= key && key <= stored.range.last
                && (stored.range.objects == nil || stored.range.keys.contains(key))
        }
    }

    private func includes(_ kind: ChangeKind, _ entity: String) -> Bool {
        kinds?.contains(kind) ?? true && (entities.isEmpty || entities.contains(entity))
    }
}

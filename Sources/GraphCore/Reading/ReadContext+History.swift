extension ReadContext {
    /// The last token, or 0 while there is no history.
    ///
    /// - Throws: ``StoreError``.
    public func lastToken() throws -> Int64 { try session.lastToken() ?? purgedToken() }

    /// The last token whose changes were purged, or 0.
    ///
    /// - Throws: ``StoreError``.
    public func purgedToken() throws -> Int64 { try session.purgedToken() }

    /// The token of everything that is saved by now.
    ///
    /// Read together with objects in one ``Store/read(_:)`` it is the token of exactly those: what changes them later
    /// comes after it.
    ///
    /// - Throws: ``StoreError``.
    public func historyToken() throws -> HistoryToken {
        HistoryToken(store: try session.storeID(), number: try lastToken(), epoch: try historyEpochs().current)
    }

    /// The epochs of the history.
    package func historyEpochs() throws -> HistoryEpochs { try session.historyEpochs() }

    /// The epochs of the history of a store.
    ///
    /// - Throws: ``StoreError`` with code `history.foreign_token` where another store stands in its place by now.
    package func historyEpochs(of store: String) throws -> HistoryEpochs {
        guard try session.storeID() == store else { throw StoreError.foreignToken }
        return try historyEpochs()
    }

    /// Returns the transactions after a token in their order: at most `limit`, and together no more than
    /// `maximumChangeCount` changes. Of one that alone has more, the first page is returned:
    /// ``HistoryTransaction/nextIndex`` tells where ``transaction(_:from:limit:)`` goes on.
    ///
    /// - Throws: ``StoreError`` with code `history.expired` where transactions after the token were purged.
    public func history(
        after token: Int64, limit: Int = 100, maximumChangeCount: Int = 10_000
    ) throws -> [HistoryTransaction] {
        try checkNotExpired(token)
        let epochs = try historyEpochs()
        var result: [HistoryTransaction] = []
        var total = 0
        for stored in try session.transactions(HistorySelection(after: token), limit: bounded(limit)) {
            if !result.isEmpty, total + stored.changeCount > maximumChangeCount { break }
            total += stored.changeCount
            result.append(try transaction(stored, epochs, from: 0, limit: maximumChangeCount))
        }
        return result
    }

    func checkNotExpired(_ token: Int64) throws {
        let purged = try purgedToken()
        if token < purged {
            throw StoreError(
                .historyExpired, "The history up to token \(purged) was purged, token \(token) is older",
                remedy: "Read the store itself, then go on from the token that it had")
        }
    }

    /// Returns a page of a transaction's changes: at most `limit`, beginning with the one at `index`; nil where the
    /// history does not hold the transaction.
    ///
    /// - Throws: ``StoreError``.
    public func transaction(_ token: Int64, from index: Int, limit: Int) throws -> HistoryTransaction? {
        try stored(token).map { try transaction($0, historyEpochs(), from: index, limit: limit) }
    }

    /// Returns a transaction as the history holds it, or nil.
    package func stored(_ token: Int64) throws -> StoredTransaction? {
        if token == .min { return nil }
        let next = try session.transactions(HistorySelection(after: token - 1), limit: 1).first
        return next?.token == token ? next : nil
    }

    private func transaction(
        _ stored: StoredTransaction, _ epochs: HistoryEpochs, from index: Int, limit: Int
    ) throws -> HistoryTransaction {
        let index = min(max(0, index), stored.changeCount)
        let size = max(0, min(limit, stored.changeCount - index))
        let first = stored.firstChange + Int64(index)
        return HistoryTransaction(
            token: stored.token, time: stored.time, author: stored.author, context: stored.context,
            source: stored.source, trace: stored.trace, changes: try changes(first..<first + Int64(size)),
            changeCount: stored.changeCount, firstIndex: index, epoch: epochs.epoch(of: stored.token))
    }

    private func changes(_ ids: Range<Int64>) throws -> [HistoryChange] {
        if ids.isEmpty { return [] }
        let selection = HistorySelection(ids: ids)
        let single = try session.changes(selection, limit: ids.count)
        if single.count == ids.count { return single.map(\.change) }
        return ordered(single + (try expanded(selection, before: ids.upperBound))).map(\.change)
    }

    package func ordered(_ changes: [StoredChange]) -> [StoredChange] { changes.sorted { $0.id < $1.id } }

    // MARK: Ranges

    /// Returns the selected changes that share a row with others in the order of their ids, those before `end`.
    ///
    /// - Parameter limit: the number of changes after which no further one is returned.
    func expanded(
        _ selection: HistorySelection, before end: Int64, limit: Int = .max
    ) throws -> [StoredChange] {
        let lower = selection.ids.lowerBound
        let ids = lower..<max(lower, min(end, selection.ids.upperBound))
        var result: [StoredChange] = []
        try session.ranges(selection) { range in
            if range.id >= ids.upperBound { return false }
            result += try expand(range, ids, keys: selection.keys, limit: limit - result.count)
            return result.count < limit
        }
        return result
    }

    /// Returns the changes that a range stands for, as far as their ids and keys are wanted.
    private func expand(
        _ stored: StoredRange, _ ids: Range<Int64>, keys wanted: [Int64]?, limit: Int
    ) throws -> [StoredChange] {
        let range = stored.range
        let (distance, overflow) = range.last.subtractingReportingOverflow(range.first)
        // Another program wrote this row: it is no range, and the verifier reports it.
        if range.objects == nil, overflow || distance < 0 || distance >= HistoryRange.maximumCount { return [] }
        let keys = range.keys
        let start = Int(min(max(0, ids.lowerBound - stored.id), Int64(keys.count)))
        let end = Int(min(max(0, ids.upperBound - stored.id), Int64(keys.count)))
        var indexes = Array(start..<max(start, end))
        if let wanted { indexes = indexes.filter { wanted.contains(keys[$0]) } }
        if indexes.count > limit { indexes.removeLast(indexes.count - limit) }
        let part = indexes.map { keys[$0] }
        guard let least = part.min(), let greatest = part.max() else { return [] }
        let asked = HistoryRange(
            first: least, last: greatest, count: Int64(part.count),
            objects: range.objects == nil && wanted == nil ? nil : HistoryRange.list(part[...]), kind: range.kind,
            properties: range.properties)
        let identities = try identities(of: asked, stored, count: part.count)
        let names = range.properties?.split(separator: ",").map { String($0) } ?? []
        return zip(indexes, part).map { index, pk in
            let change = HistoryChange(
                entity: stored.entity, pk: pk, identity: identities[pk] ?? .null, kind: range.kind, properties: names,
                tombstone: nil, token: stored.token)
            return StoredChange(id: stored.id + Int64(index), change: change)
        }
    }

    /// Returns the identities of a range's objects: of present objects from their table, of others from their deletion.
    ///
    /// - Parameter part: the part of the range whose objects are asked for.
    private func identities(
        of part: HistoryRange, _ stored: StoredRange, count: Int
    ) throws -> [Int64: Value] {
        var identities: [Int64: Value] = [:]
        var names = [stored.entity]
        if let entity = model.entity(named: stored.entity) {
            identities = try session.identities(entity, in: part)
            // An object may have become one of a sub-entity since; keys are unique in the whole hierarchy.
            names = model.kindNames(model.root(of: entity))
        }
        if identities.count >= count { return identities }
        let deleted = try session.deletedIdentities(names, in: part, after: stored.id)
        return identities.merging(deleted) { $1 }
    }

    // MARK: Readers

    /// Returns the tokens of all cursors by name.
    ///
    /// - Throws: ``StoreError``.
    public func cursors() throws -> [String: Int64] {
        Dictionary(uniqueKeysWithValues: try session.cursors().map { ($0.name, $0.token) })
    }

    /// Returns all named readers of the history with how far behind they are, by name.
    ///
    /// - Throws: ``StoreError``.
    public func historyCursors() throws -> [HistoryCursor] {
        let purged = try purgedToken()
        return try session.cursors().map { cursor in
            let unread = try session.unread(after: cursor.token)
            return HistoryCursor(
                name: cursor.name, token: cursor.token, time: cursor.time, lag: unread.count,
                oldestUnread: unread.oldestTime, isExpired: cursor.token < purged)
        }
    }
}

// The history and its removal.
extension MemoryTables {
    mutating func openHistory(_ header: HistoryHeader) -> Int64 {
        lastToken += 1
        transactions.append(
            StoredTransaction(
                token: lastToken, time: header.time, author: header.author, context: header.context,
                source: header.source, trace: header.trace, firstChange: header.firstChange, changeCount: 0))
        return lastToken
    }

    mutating func append(_ entries: HistoryEntries, token: Int64) {
        for index in 0..<entries.count {
            let names = entries[index].properties?.split(separator: ",").map { String($0) } ?? []
            let object = entries[index].object
            let change = HistoryChange(
                entity: object.entity.name, pk: object.key, identity: object.identity, kind: entries[index].kind,
                properties: names, tombstone: entries[index].preservedValues, token: token)
            changes.append(StoredChange(id: entries.firstChange + Int64(index), change: change))
        }
        nextChange = max(nextChange, entries.firstChange + Int64(entries.count))
    }

    mutating func closeHistory(token: Int64, changeCount: Int64) {
        guard let index = transactions.lastIndex(where: { $0.token == token }) else { return }
        if changeCount == 0 {
            transactions.remove(at: index)
            return
        }
        let open = transactions[index]
        transactions[index] = StoredTransaction(
            token: token, time: open.time, author: open.author, context: open.context, source: open.source,
            trace: open.trace, firstChange: open.firstChange, changeCount: Int(changeCount))
    }

    // MARK: Cursors

    mutating func putCursor(name: String, token: Int64, time: Int64) {
        cursors.removeAll { $0.name == name }
        cursors.append(StoredCursor(name: name, token: token, time: time))
        cursors.sort { ValueOrder.compare(.text($0.name), .text($1.name)) < 0 }
    }

    mutating func removeCursor(name: String) -> Bool {
        let count = cursors.count
        cursors.removeAll { $0.name == name }
        return cursors.count < count
    }

    // MARK: Purges

    mutating func removeHistory(_ purge: HistoryPurge) -> PurgeResult {
        var result = PurgeResult()
        // Changes that an earlier batch left go first.
        if changes.first.map({ $0.id < firstKeptChange }) ?? false {
            result.isFinished = false
        } else {
            removeTransactions(purge, &result)
        }
        let waiting = changes.prefix { $0.id < firstKeptChange }.count
        let removed = min(waiting, max(1, purge.changeLimit))
        if removed < waiting { result.isFinished = false }
        let end = removed < waiting ? changes[removed].id : firstKeptChange
        changes.removeFirst(removed)
        let rangeCount = ranges.count
        ranges.removeAll { $0.id < end }
        result.changeRowCount = removed + rangeCount - ranges.count
        return result
    }

    private mutating func removeTransactions(_ purge: HistoryPurge, _ result: inout PurgeResult) {
        var decision = PurgeDecision(purge, through: lastWanted(purge.bound), cursors)
        var count = 0
        for transaction in transactions.prefix(max(1, purge.transactionLimit)) {
            let next = transaction.firstChange + Int64(transaction.changeCount)
            guard transaction.token <= decision.allowed,
                decision.take(token: transaction.token, nextChange: next, changeCount: transaction.changeCount)
            else { break }
            count += 1
        }
        decision.describe(in: &result)
        guard let last = decision.last else { return }
        transactions.removeFirst(count)
        purgedToken = last.token
        firstKeptChange = last.nextChange
    }

    /// The last token before the bound.
    private func lastWanted(_ bound: HistoryPurge.Bound) -> Int64 {
        let last = transactions.last?.token ?? 0
        switch bound {
        case .token(let token): return min(last, max(0, token - 1))
        case .time(let time): return transactions.first { $0.time >= time }.map { $0.token - 1 } ?? last
        }
    }

    mutating func removeTombstones(
        savedBefore time: Int64, from sweep: TombstoneSweep, limit: Int, countsOnly: Bool, _ model: ObjectModel
    ) -> TombstonePurgeResult {
        var rest: [(root: Entity, identity: Value, saved: Int64)] = []
        for root in model.rootEntities.sorted(by: { $0.name < $1.name }) {
            if let first = sweep.entity, root.name < first { continue }
            for (identity, tombstone) in tombstones[root.index] {
                if sweep.entity == root.name, ValueOrder.compare(identity, sweep.identity) <= 0 { continue }
                rest.append((root, identity, tombstone.saved))
            }
        }
        rest.sort { left, right in
            left.root.name == right.root.name
                ? ValueOrder.compare(left.identity, right.identity) < 0 : left.root.name < right.root.name
        }
        let examined = rest.prefix(max(1, limit))
        let removed = examined.filter { $0.saved < time }
        for tombstone in removed where !countsOnly { tombstones[tombstone.root.index][tombstone.identity] = nil }
        var next: TombstoneSweep?
        if examined.count < rest.count, let last = examined.last {
            next = TombstoneSweep()
            next?.entity = last.root.name
            next?.identity = last.identity
        }
        return TombstonePurgeResult(examinedCount: examined.count, removedCount: removed.count, next: next)
    }
}

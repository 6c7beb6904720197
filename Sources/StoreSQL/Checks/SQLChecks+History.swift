// The store's own tables.
extension SQLChecks {
    private func metadata(_ key: String) throws(StoreError) -> String? {
        var value: String?
        try rows("SELECT value FROM _metadata WHERE key = \(bind: key)") { value = $0.text(0) }
        return value
    }

    /// Returns the end of the purged part of the history.
    private func purgedEnd() throws(StoreError) -> HistoryEnd {
        HistoryEnd(
            token: try metadata("purgedToken").flatMap { Int64($0) } ?? 0,
            change: try metadata("nextChange").flatMap { Int64($0) } ?? 1)
    }

    /// Returns the end of the history as of the snapshot.
    private func historyEnd() throws(StoreError) -> HistoryEnd {
        var end = try purgedEnd()
        try rows(
            "SELECT token, \"firstChange\", \"changeCount\" FROM _history_transaction ORDER BY token DESC LIMIT 1"
        ) { row in end = HistoryEnd(token: row.integer(0), change: row.integer(1) &+ row.integer(2)) }
        return end
    }

    /// Transactions follow one another without a gap among their changes, and every change belongs to one.
    package func checkHistory(_ check: inout Check) throws(StoreError) {
        var chain = HistoryEnd(token: -1, change: 1)
        try eachSlice(of: "_history_transaction", by: .number("token"), &check) { slice, check throws(StoreError) in
            // The chain begins behind the purged part, which may have reached beyond the slice before.
            let purged = try purgedEnd()
            if purged.token > chain.token { chain = purged }
            try checkTransactions(slice, &chain, purgedToken: purged.token, &check)
        }
        try checkRanges(&check)
        try checkChanges(&check)
        try renew()
        let end = try historyEnd()
        try rows("SELECT id FROM _history_change WHERE id >= \(bind: end.change) ORDER BY id") { row in
            check.report("_history_change", String(row.integer(0)), nil, StoreProblem.behindTheEnd)
        }
        try rows("SELECT name, token FROM _cursor WHERE token > \(bind: end.token) OR token < 0 ORDER BY name") { row in
            check.report("_cursor", row.text(0), nil, StoreProblem.cursorAhead(row.integer(1), end: end.token))
        }
        try checkTokens(through: end.token, &check)
    }

    private func checkTransactions(
        _ slice: SQLSlice, _ chain: inout HistoryEnd, purgedToken: Int64, _ check: inout Check
    ) throws(StoreError) {
        let end = "t.\"firstChange\" + t.\"changeCount\""
        try rows(
            """
            SELECT t.token, t."firstChange", t."changeCount", t.author, (SELECT count(*) FROM _history_change c \
            WHERE c.id >= t."firstChange" AND c.id < \(end) AND c.token = t.token), \
            (SELECT \(Dialect.whole("coalesce(sum(r.count), 0)")) FROM _history_range r \
            WHERE r.id >= t."firstChange" AND r.id + r.count <= \(end) AND r.token = t.token) \
            FROM _history_transaction t WHERE \(slice.holds("t.token")) ORDER BY t.token
            """
        ) { row in
            check.checkedCount += 1
            let transaction = StoredTransaction(
                token: row.integer(0), time: 0, author: row.text(3), context: nil, source: nil,
                firstChange: row.integer(1), changeCount: Int(row.integer(2)))
            let problems = StoreProblem.ofTransaction(
                transaction, foundCount: row.integer(4) &+ row.integer(5), next: chain.change,
                purgedToken: purgedToken)
            for problem in problems { check.report("_history_transaction", String(transaction.token), nil, problem) }
            chain = HistoryEnd(
                token: transaction.token, change: transaction.firstChange &+ Int64(transaction.changeCount))
        }
    }

    private func checkRanges(_ check: inout Check) throws(StoreError) {
        try eachSlice(of: "_history_range", by: .number("id"), &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT id FROM _history_range WHERE \(slice.holds("id")) AND (count < 1 \
                OR id + count > \(bind: try historyEnd().change) OR last < first OR count <> CASE \
                WHEN objects IS NULL THEN last - first + 1 ELSE \(Dialect.count(ofList: "objects")) END) ORDER BY id
                """
            ) { row in check.report("_history_range", String(row.integer(0)), nil, StoreProblem.wrongRange) }
        }
    }

    /// Changes before the first transaction wait for their removal: a purge takes a huge transaction's changes in several
    /// batches.
    private func checkChanges(_ check: inout Check) throws(StoreError) {
        // Entities that a migration took out of the model stay in the history.
        let former = try metadata("formerEntities")?.split(separator: "\n").map { String($0) } ?? []
        let names = SQLText.literals(model.entities.map(\.name) + former)
        for (table, number) in [("_history_change", "count(*)"), ("_history_range", "coalesce(sum(count), 0)")] {
            try eachSlice(of: table, by: .number("id"), &check) { slice, check throws(StoreError) in
                let number = Dialect.whole(number)
                check.checkedCount += try integer("SELECT \(number) FROM \(table) WHERE \(slice.holds("id"))") ?? 0
                try rows(
                    """
                    SELECT id FROM \(table) WHERE \(slice.holds("id")) \
                    AND (entity NOT IN (\(names)) OR change NOT IN (0, 1, 2)) ORDER BY id
                    """
                ) { row in check.report(table, String(row.integer(0)), nil, StoreProblem.unknownChange) }
            }
        }
    }

    /// An object that has arrived has no tombstone.
    package func checkTombstones(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            let own = "(SELECT identity FROM _tombstone WHERE entity = \(SQLText.literal(entity.name))) t"
            let (column, type) = (column(entity.identity, "e"), entity.identity.type)
            let recorded = Dialect.recorded(column, type)
            try eachSlice(of: own, by: .recorded("identity"), &check) { slice, check throws(StoreError) in
                check.checkedCount += try count(own, in: slice, by: "identity")
                // No index has the recorded form: without bounds each slice would read the whole table.
                let bounds: SQLFragment = recorded == column ? "" : " AND \(slice.holds(column, of: type))"
                try rows(
                    """
                    SELECT \(selected(entity.identity, "e")) FROM \(own) JOIN \(table(entity)) e \
                    ON t.identity = \(recorded) WHERE \(slice.holds("t.identity")) AND NOT e._placeholder\(bounds)
                    """
                ) { row in
                    check.report(entity.name, identity(row, entity), nil, StoreProblem.presentTombstone)
                }
            }
        }
        let names = SQLText.literals(model.rootEntities.map(\.name))
        try rows("SELECT entity FROM _tombstone WHERE entity NOT IN (\(names)) ORDER BY entity") { row in
            check.report("_tombstone", nil, nil, StoreProblem.unknownTombstone(row.text(0)))
        }
    }

    package func checkPositions(_ check: inout Check) throws(StoreError) {
        try rows("SELECT topic, partition, \"nextOffset\" FROM _position ORDER BY topic, partition") { row in
            check.checkedCount += 1
            if row.integer(2) >= 0 { return }
            check.report(
                "_position", "\(row.text(0)) \(row.integer(1))", "nextOffset", StoreProblem.negative(row.integer(2)))
        }
    }

    /// Primary keys are below the next one to be given out: none is used twice.
    package func checkKeys(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            guard let greatest = try integer("SELECT max(pk) FROM \(table(entity))") else { continue }
            let next = try integer("SELECT next FROM _sequence WHERE entity = \(bind: entity.name)") ?? 1
            if greatest >= next {
                check.report(entity.name, nil, "pk", StoreProblem.usedKey(greatest: greatest, next: next))
            }
        }
    }
}

/// The last transaction, and the number of the change that follows it.
private struct HistoryEnd {
    var token: Int64
    var change: Int64
}

// The store's own tables.
extension StoreVerifier {
    /// Transactions follow one another without a gap among their changes, and every change belongs to one.
    func checkHistory(_ check: inout VerificationReport.Check) throws(StoreError) {
        var chain = HistoryEnd(token: -1, change: 1)
        try eachSlice(of: "_history_transaction", by: "token", &check) { slice, check throws(StoreError) in
            // The chain begins behind the purged part, which may have reached beyond the slice before.
            let purged = HistoryEnd(
                token: try metadata("purgedToken") ?? 0, change: try metadata("nextChange") ?? 1)
            if purged.token > chain.token { chain = purged }
            try checkTransactions(slice, &chain, purgedToken: purged.token, &check)
        }
        try checkChanges(&check)
        try renew()
        let end = try historyEnd()
        try rows("SELECT id FROM _history_change WHERE id >= ?", [.integer(end.change)]) { row in
            check.report("_history_change", String(row.integer(0)), nil, StoreProblem.behindTheEnd)
        }
        try rows("SELECT name, token FROM _cursor WHERE token > ? OR token < 0", [.integer(end.token)]) { row in
            check.report("_cursor", row.text(0), nil, StoreProblem.cursorAhead(row.integer(1), end: end.token))
        }
    }

    /// The last transaction, and the number of the change that follows it.
    private struct HistoryEnd {
        var token: Int64
        var change: Int64
    }

    /// Returns the end of the history as of the snapshot.
    private func historyEnd() throws(StoreError) -> HistoryEnd {
        var end = HistoryEnd(token: try metadata("purgedToken") ?? 0, change: try metadata("nextChange") ?? 1)
        try rows(
            "SELECT token, firstChange, changeCount FROM _history_transaction ORDER BY token DESC LIMIT 1"
        ) { row in end = HistoryEnd(token: row.integer(0), change: row.integer(1) &+ row.integer(2)) }
        return end
    }

    private func checkTransactions(
        _ slice: Slice, _ chain: inout HistoryEnd, purgedToken: Int64, _ check: inout VerificationReport.Check
    ) throws(StoreError) {
        try rows(
            """
            SELECT t.token, t.firstChange, t.changeCount, (SELECT count(*) FROM _history_change c \
            WHERE c.id >= t.firstChange AND c.id < t.firstChange + t.changeCount AND c.token = t.token) + \
            (SELECT coalesce(sum(r.count), 0) FROM _history_range r WHERE r.id >= t.firstChange \
            AND r.id + r.count <= t.firstChange + t.changeCount AND r.token = t.token), t.author \
            FROM _history_transaction t WHERE \(slice.holds("t.token")) ORDER BY t.token
            """, slice.bounds
        ) { row in
            check.checkedCount += 1
            let transaction = StoredTransaction(
                token: row.integer(0), time: 0, author: row.text(4), context: nil, source: nil,
                firstChange: row.integer(1), changeCount: Int(row.integer(2)))
            let problems = StoreProblem.ofTransaction(
                transaction, foundCount: row.integer(3), next: chain.change, purgedToken: purgedToken)
            for problem in problems { check.report("_history_transaction", String(transaction.token), nil, problem) }
            chain = HistoryEnd(
                token: transaction.token, change: transaction.firstChange &+ Int64(transaction.changeCount))
        }
    }

    /// Changes before the first transaction wait for their removal: a purge takes a huge transaction's changes in several
    /// batches.
    private func checkChanges(_ check: inout VerificationReport.Check) throws(StoreError) {
        try checkRanges(&check)
        // Entities that a migration took out of the model stay in the history.
        var former: [String] = []
        try rows("SELECT value FROM _metadata WHERE key = 'formerEntities'") { row in
            former = row.text(0).split(separator: "\n").map { String($0) }
        }
        let names = (model.entities.map(\.name) + former).map { Value.text($0) }
        for (table, number) in [("_history_change", "count(*)"), ("_history_range", "coalesce(sum(count), 0)")] {
            try eachSlice(of: table, by: "id", &check) { slice, check throws(StoreError) in
                check.checkedCount +=
                    try integer("SELECT \(number) FROM \(table) WHERE \(slice.holds("id"))", slice.bounds) ?? 0
                try rows(
                    """
                    SELECT id FROM \(table) WHERE \(slice.holds("id")) \
                    AND (entity NOT IN (\(SQLText.parameters(names.count))) OR change NOT IN (0, 1, 2))
                    """, slice.bounds + names
                ) { row in
                    check.report(table, String(row.integer(0)), nil, StoreProblem.unknownChange)
                }
            }
        }
    }

    private func checkRanges(_ check: inout VerificationReport.Check) throws(StoreError) {
        try eachSlice(of: "_history_range", by: "id", &check) { slice, check throws(StoreError) in
            try rows(
                """
                SELECT id FROM _history_range WHERE \(slice.holds("id")) AND (count < 1 OR id + count > ? OR last < first \
                OR count != CASE WHEN objects IS NULL THEN last - first + 1 WHEN json_valid(objects) \
                THEN json_array_length(objects) ELSE 0 END)
                """, slice.bounds + [.integer(try historyEnd().change)]
            ) { row in
                check.report("_history_range", String(row.integer(0)), nil, StoreProblem.wrongRange)
            }
        }
    }

    private func metadata(_ key: String) throws(StoreError) -> Int64? {
        try integer("SELECT CAST(value AS INTEGER) FROM _metadata WHERE key = ?", [.text(key)])
    }

    /// An object that has arrived has no tombstone.
    func checkTombstones(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.rootEntities {
            let tombstones = "(SELECT identity FROM _tombstone WHERE entity = \(SQLText.literal(entity.name)))"
            try eachSlice(of: tombstones, by: "identity", &check) { slice, check throws(StoreError) in
                check.checkedCount += try count(tombstones, in: slice, by: "identity")
                try rows(
                    """
                    SELECT t.identity FROM \(tombstones) t JOIN \(table(entity)) e \
                    ON e.\(SQLText.quoted(entity.identity.columnName)) = t.identity \
                    WHERE \(slice.holds("t.identity")) AND e._placeholder = 0
                    """, slice.bounds
                ) { row in
                    check.report(entity.name, identity(row.value(0), entity), nil, StoreProblem.presentTombstone)
                }
            }
        }
        let names = model.rootEntities.map { Value.text($0.name) }
        try rows("SELECT entity FROM _tombstone WHERE entity NOT IN (\(SQLText.parameters(names.count)))", names) {
            row in
            check.report("_tombstone", nil, nil, StoreProblem.unknownTombstone(row.text(0)))
        }
    }

    func checkPositions(_ check: inout VerificationReport.Check) throws(StoreError) {
        try rows("SELECT topic, partition, nextOffset FROM _position") { row in
            check.checkedCount += 1
            if row.integer(2) < 0 {
                check.report(
                    "_position", "\(row.text(0)) \(row.integer(1))", "nextOffset", StoreProblem.negative(row.integer(2))
                )
            }
        }
    }

    /// Primary keys are below the next one to be given out: none is used twice.
    func checkKeys(_ check: inout VerificationReport.Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            guard let greatest = try integer("SELECT max(pk) FROM \(table(entity))") else { continue }
            let next = try integer("SELECT next FROM _sequence WHERE entity = ?", [.text(entity.name)]) ?? 1
            if greatest >= next {
                check.report(entity.name, nil, "pk", StoreProblem.usedKey(greatest: greatest, next: next))
            }
        }
    }
}

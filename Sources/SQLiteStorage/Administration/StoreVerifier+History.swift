// The store's own tables.
extension StoreVerifier {
    /// Transactions follow one another without a gap among their changes, and every change belongs to one.
    func checkHistory(_ check: inout VerificationReport.Check) throws(StoreError) {
        let purgedToken = try metadata("purgedToken") ?? 0
        let firstChange = try metadata("nextChange") ?? 1
        var next = firstChange
        var last = purgedToken
        var transactionCount: Int64 = 0
        try rows(
            """
            SELECT t.token, t.firstChange, t.changeCount, (SELECT count(*) FROM _history_change c \
            WHERE c.id >= t.firstChange AND c.id < t.firstChange + t.changeCount AND c.token = t.token) + \
            (SELECT coalesce(sum(r.count), 0) FROM _history_range r WHERE r.id >= t.firstChange \
            AND r.id + r.count <= t.firstChange + t.changeCount AND r.token = t.token), t.author \
            FROM _history_transaction t ORDER BY t.token
            """
        ) { row in
            transactionCount += 1
            let transaction = StoredTransaction(
                token: row.integer(0), time: 0, author: row.text(4), context: nil, source: nil,
                firstChange: row.integer(1), changeCount: Int(row.integer(2)))
            let problems = StoreProblem.ofTransaction(
                transaction, foundCount: row.integer(3), next: next, purgedToken: purgedToken)
            for problem in problems { check.report("_history_transaction", String(transaction.token), nil, problem) }
            next = transaction.firstChange &+ Int64(transaction.changeCount)
            last = transaction.token
        }
        check.checkedCount = transactionCount
        try checkChanges(next: next, &check)
        try rows("SELECT name, token FROM _cursor WHERE token > ? OR token < 0", [.integer(last)]) { row in
            check.report("_cursor", row.text(0), nil, StoreProblem.cursorAhead(row.integer(1), end: last))
        }
    }

    private func checkChanges(next: Int64, _ check: inout VerificationReport.Check) throws(StoreError) {
        check.checkedCount +=
            try integer(
                "SELECT (SELECT count(*) FROM _history_change) + (SELECT coalesce(sum(count), 0) FROM _history_range)")
            ?? 0
        // Changes before the first one wait for their removal: a purge takes a huge transaction's changes in several batches.
        try rows("SELECT id FROM _history_change WHERE id >= ?", [.integer(next)]) { row in
            check.report("_history_change", String(row.integer(0)), nil, StoreProblem.behindTheEnd)
        }
        try checkRanges(next: next, &check)
        // Entities that a migration took out of the model stay in the history.
        var former: [String] = []
        try rows("SELECT value FROM _metadata WHERE key = 'formerEntities'") { row in
            former = row.text(0).split(separator: "\n").map { String($0) }
        }
        let names = (model.entities.map(\.name) + former).map { Value.text($0) }
        for table in ["_history_change", "_history_range"] {
            try rows(
                """
                SELECT id FROM \(table) WHERE entity NOT IN (\(SQLText.parameters(names.count))) \
                OR change NOT IN (0, 1, 2)
                """, names
            ) { row in
                check.report(table, String(row.integer(0)), nil, StoreProblem.unknownChange)
            }
        }
    }

    private func checkRanges(next: Int64, _ check: inout VerificationReport.Check) throws(StoreError) {
        try rows(
            """
            SELECT id FROM _history_range WHERE count < 1 OR id + count > ? OR last < first \
            OR count != CASE WHEN objects IS NULL THEN last - first + 1 WHEN json_valid(objects) \
            THEN json_array_length(objects) ELSE 0 END
            """, [.integer(next)]
        ) { row in
            check.report("_history_range", String(row.integer(0)), nil, StoreProblem.wrongRange)
        }
    }

    private func metadata(_ key: String) throws(StoreError) -> Int64? {
        try integer("SELECT CAST(value AS INTEGER) FROM _metadata WHERE key = ?", [.text(key)])
    }

    /// An object that has arrived has no tombstone.
    func checkTombstones(_ check: inout VerificationReport.Check) throws(StoreError) {
        check.checkedCount = try integer("SELECT count(*) FROM _tombstone") ?? 0
        for entity in model.rootEntities {
            try rows(
                """
                SELECT t.identity FROM _tombstone t JOIN \(table(entity)) e \
                ON e.\(SQLText.quoted(entity.identity.columnName)) = t.identity WHERE t.entity = ? AND e._placeholder = 0
                """, [.text(entity.name)]
            ) { row in
                check.report(entity.name, identity(row.value(0), entity), nil, StoreProblem.presentTombstone)
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

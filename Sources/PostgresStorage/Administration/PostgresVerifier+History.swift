// The store's own tables.
extension PostgresVerifier {
    private func metadata(_ key: String) throws(StoreError) -> String? {
        try text("SELECT value FROM _metadata WHERE key = \(SQLText.literal(key))")
    }

    /// Transactions follow one another without a gap among their changes, and every change belongs to one.
    func checkHistory(_ check: inout Check) throws(StoreError) {
        let purgedToken = try metadata("purgedToken").flatMap { Int64($0) } ?? 0
        var next = try metadata("nextChange").flatMap { Int64($0) } ?? 1
        var last = purgedToken
        try pages { after, limit in
            """
            SELECT t.token, t."firstChange", t."changeCount", t.author, (SELECT count(*) FROM _history_change c \
            WHERE c.id >= t."firstChange" AND c.id < t."firstChange" + t."changeCount" AND c.token = t.token) + \
            (SELECT coalesce(sum(r.count), 0)::int8 FROM _history_range r WHERE r.id >= t."firstChange" \
            AND r.id + r.count <= t."firstChange" + t."changeCount" AND r.token = t.token) \
            FROM _history_transaction t WHERE t.token > \(after) ORDER BY t.token LIMIT \(limit)
            """
        } each: { row in
            check.checkedCount += 1
            let transaction = StoredTransaction(
                token: row.integer(0), time: 0, author: row.text(3), context: nil, source: nil,
                firstChange: row.integer(1), changeCount: Int(row.integer(2)))
            let problems = StoreProblem.ofTransaction(
                transaction, foundCount: row.integer(4), next: next, purgedToken: purgedToken)
            for problem in problems { check.report("_history_transaction", String(transaction.token), nil, problem) }
            next = transaction.firstChange &+ Int64(transaction.changeCount)
            last = transaction.token
        }
        try checkChanges(next: next, &check)
        try rows("SELECT name, token FROM _cursor WHERE token > $1::int8 OR token < 0 ORDER BY 1", last) { row in
            check.report("_cursor", row.text(0), nil, StoreProblem.cursorAhead(row.integer(1), end: last))
        }
        let given = try integer("SELECT token FROM _token") ?? 0
        if given < last { check.report("_token", nil, "token", StoreProblem.usedKey(greatest: last, next: given + 1)) }
    }

    private func checkChanges(next: Int64, _ check: inout Check) throws(StoreError) {
        check.checkedCount +=
            try integer(
                "SELECT ((SELECT count(*) FROM _history_change) + (SELECT coalesce(sum(count), 0) FROM _history_range))::int8"
            ) ?? 0
        // Changes before the first one wait for their removal: a purge takes a huge transaction's changes in several batches.
        try rows("SELECT id FROM _history_change WHERE id >= $1::int8 ORDER BY id", next) { row in
            check.report("_history_change", String(row.integer(0)), nil, StoreProblem.behindTheEnd)
        }
        // The server may judge both sides of an AND: a list is looked into only where it is one.
        let length =
            "CASE WHEN objects ~ '^\\[(-?[0-9]+(, ?-?[0-9]+)*)?\\]$' THEN jsonb_array_length(objects::jsonb) ELSE 0 END"
        try rows(
            """
            SELECT id FROM _history_range WHERE count < 1 OR id + count > $1::int8 OR last < first \
            OR count <> CASE WHEN objects IS NULL THEN last - first + 1 ELSE \(length) END ORDER BY id
            """, next
        ) { row in
            check.report("_history_range", String(row.integer(0)), nil, StoreProblem.wrongRange)
        }
        // Entities that a migration took out of the model stay in the history.
        let former = try metadata("formerEntities")?.split(separator: "\n").map { String($0) } ?? []
        let names = SQLText.literals(model.entities.map(\.name) + former)
        for table in ["_history_change", "_history_range"] {
            try rows(
                "SELECT id FROM \(table) WHERE entity NOT IN (\(names)) OR change NOT IN (0, 1, 2) ORDER BY id"
            ) { row in
                check.report(table, String(row.integer(0)), nil, StoreProblem.unknownChange)
            }
        }
    }

    /// An object that has arrived has no tombstone.
    func checkTombstones(_ check: inout Check) throws(StoreError) {
        check.checkedCount = try integer("SELECT count(*) FROM _tombstone") ?? 0
        for entity in model.rootEntities {
            let column = "e.\(SQLText.quoted(entity.identity.columnName))"
            let identity = kind(entity.identitySlot, of: entity).tagged(column)
            try rows(
                """
                SELECT \(identityColumn(entity, "e")) FROM _tombstone t JOIN \(table(entity)) e \
                ON t.identity = \(identity) WHERE t.entity = \(SQLText.literal(entity.name)) \
                AND NOT e._placeholder ORDER BY e.pk
                """
            ) { row in
                check.report(entity.name, self.identity(row, 0, entity), nil, StoreProblem.presentTombstone)
            }
        }
        let names = SQLText.literals(model.rootEntities.map(\.name))
        try rows("SELECT entity FROM _tombstone WHERE entity NOT IN (\(names)) ORDER BY entity") { row in
            check.report("_tombstone", nil, nil, StoreProblem.unknownTombstone(row.text(0)))
        }
    }

    func checkPositions(_ check: inout Check) throws(StoreError) {
        try rows("SELECT topic, partition, \"nextOffset\" FROM _position ORDER BY topic, partition") { row in
            check.checkedCount += 1
            if row.integer(2) >= 0 { return }
            check.report(
                "_position", "\(row.text(0)) \(row.integer(1))", "nextOffset", StoreProblem.negative(row.integer(2)))
        }
    }

    /// Primary keys are below the next one to be given out: none is used twice.
    func checkKeys(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            guard let greatest = try integer("SELECT max(pk) FROM \(table(entity))") else { continue }
            let name = SQLText.literal(entity.name)
            let next = try integer("SELECT next FROM _sequence WHERE entity = \(name)") ?? 1
            if greatest >= next {
                check.report(entity.name, nil, "pk", StoreProblem.usedKey(greatest: greatest, next: next))
            }
        }
    }
}

/// The writer of a store in a SQL engine, which looks after the store's own tables in one way on all engines.
package protocol SQLWriterSession: WriterSession, RepairQueries {
    associatedtype Dialect: SQLDialect
    associatedtype Row: SQLRow

    var model: ObjectModel { get }

    /// The tombstones that there may be.
    var tombstoneFilter: TombstoneFilter { get set }

    /// Calls `each` with every row of a query, until it returns false.
    ///
    /// - Parameter action: what an error says that failed, as in `remove tombstones`.
    func query(_ query: SQLFragment, _ action: String, each: (Row) -> Bool) throws(StoreError)

    /// Calls `each` with every row of queries about some keys.
    ///
    /// - Parameter query: makes a query from the end of a condition that a key is one of these, or one of a part of them.
    func rows(about keys: [Int64], _ query: (String) -> String, each: (Row) -> Void) throws(StoreError)

    /// Runs a statement and returns the number of rows that it changed.
    @discardableResult
    func change(_ statement: SQLFragment, _ action: String) throws(StoreError) -> Int

    /// Runs a statement, at the latest with the commit.
    func execute(_ statement: SQLFragment) throws(StoreError)

    /// Stores values of the store itself under their keys.
    func putMetadata(_ values: [String: String]) throws(StoreError)
}

extension SQLWriterSession {
    /// Returns the results of `body` for all rows.
    package func all<Result>(
        _ query: SQLFragment, _ action: String, _ body: (Row) -> Result
    ) throws(StoreError) -> [Result] {
        var results: [Result] = []
        try self.query(query, action) { row in
            results.append(body(row))
            return true
        }
        return results
    }

    /// Returns the first column of the first row, or nil where there is none or it is null.
    package func number(_ query: SQLFragment, _ action: String) throws(StoreError) -> Int64? {
        var number: Int64?
        try self.query(query, action) { row in
            number = row.optionalInteger(0)
            return false
        }
        return number
    }

    // MARK: Notes

    package func putSentDeadLetter(_ id: Int64, topic: String) throws(StoreError) {
        try putMetadata([DeadLetter.cursorKey(topic): "\(id)"])
    }

    package func putNote(_ key: String, _ text: String) throws(StoreError) { try putMetadata([key: text]) }

    // MARK: Tombstones

    /// Reads the identities that have a tombstone, unless there are too many.
    package func readTombstoneFilter() throws(StoreError) {
        let most = TombstoneFilter.maximumCount + 1
        let count = try number("SELECT count(*) FROM (SELECT 1 FROM _tombstone LIMIT \(most)) t", "read the store") ?? 0
        tombstoneFilter.begin(count: Int(count))
        if !tombstoneFilter.isRead { return }
        try query("SELECT entity, identity FROM _tombstone", "read the store") { row in
            if let root = model.entity(named: row.text(0)) { tombstoneFilter.insert(row.value(1), of: root) }
            return true
        }
    }

    // MARK: Dead letters

    /// Returns the statements that count repeats of letters, and remove the repeats where any was counted.
    ///
    /// Where reading goes back, as in a topic that lost its end, the same letters come again. The first of each stays, with
    /// the new reason and the last known timestamp. Another record at the place, as in a topic that was made again, is
    /// another letter.
    ///
    /// - Parameter last: the last letter before those that have come.
    package func repeats(after last: SQLFragment) -> (counting: SQLFragment, removal: SQLFragment) {
        let place = ["topic", "partition", "\"offset\""].map { "kept.\($0) = fresh.\($0)" }
        let record = ["\"valueBytes\"", "key", "headers", "value"].map { column in
            "NOT kept.\(column) \(Dialect.isDistinct) fresh.\(column)"
        }
        let isSame = (place + ["kept.id < fresh.id"] + record).joined(separator: " AND ")
        let kept = "_dead_letter kept\(Dialect.indexed(by: "_dead_letter_place"))"
        let timestamp = SQLText.quoted(DeadLetter.timestampColumn)
        return (
            """
            UPDATE _dead_letter AS d SET attempts = d.attempts + repeats.times, stage = l.stage, code = l.code, \
            reason = l.reason, \(timestamp) = coalesce(t.\(timestamp), d.\(timestamp)) \
            FROM (SELECT earliest, count(*) AS times, max(id) AS latest, \
            max(CASE WHEN \(timestamp) IS NOT NULL THEN id END) AS timed FROM \
            (SELECT fresh.id, fresh.\(timestamp), min(kept.id) AS earliest \
            FROM _dead_letter fresh \(Dialect.orderedJoin) \(kept) \
            ON \(isSame) WHERE fresh.id > \(last) GROUP BY fresh.id, fresh.\(timestamp)) f GROUP BY earliest) repeats \
            JOIN _dead_letter l ON l.id = repeats.latest LEFT JOIN _dead_letter t ON t.id = repeats.timed \
            WHERE d.id = repeats.earliest
            """,
            """
            DELETE FROM _dead_letter AS fresh WHERE fresh.id > \(last) \
            AND EXISTS (SELECT 1 FROM \(kept) WHERE \(isSame))
            """
        )
    }

    // MARK: Cursors

    package func putCursor(name: String, token: Int64, time: Int64) throws(StoreError) {
        try execute(
            """
            INSERT INTO _cursor (name, token, time) VALUES (\(bind: name), \(bind: token), \(bind: time)) \
            ON CONFLICT (name) DO UPDATE SET token = excluded.token, time = excluded.time
            """)
    }

    package func removeCursor(name: String) throws(StoreError) -> Bool {
        try change("DELETE FROM _cursor WHERE name = \(bind: name)", "remove a cursor") > 0
    }

    // MARK: Audit

    package func put(_ entry: AuditEntry) throws(StoreError) -> Int64 {
        if entry.id != 0 {
            try execute("UPDATE _audit SET result = \(bind: .text(entry.result)) WHERE id = \(bind: entry.id)")
            return entry.id
        }
        return try number(
            """
            INSERT INTO _audit (\(Dialect.names(of: .audit))) \
            SELECT coalesce(max(id), 0) + 1, \(bind: entry.time), \(bind: entry.actor), \(bind: entry.action), \
            \(bind: entry.request), \(bind: .text(entry.idempotencyKey)), \(bind: .text(entry.result)) FROM _audit \
            RETURNING id
            """, "save an audit entry") ?? 0
    }

    package func removeAuditEntries(before time: Int64, limit: Int) throws(StoreError) -> Int {
        try change(
            """
            DELETE FROM _audit WHERE id IN \
            (SELECT id FROM _audit WHERE time < \(bind: time) ORDER BY id LIMIT \(bind: Int64(limit)))
            """, "remove audit entries")
    }

    package func removeConflicts(through id: Int64) throws(StoreError) -> Int {
        try change("DELETE FROM _conflict WHERE id <= \(bind: id)", "remove conflicts")
    }

    // MARK: Answers to a repair

    package func danglingKeys(
        _ relationship: Relationship, of entity: Entity, limit: Int
    ) throws(StoreError) -> [Int64] {
        let column = "e.\(SQLText.quoted(relationship.columnName))"
        return try all(
            """
            SELECT e.pk FROM \(SQLText.quoted(entity.viewName)) e WHERE \(column) IS NOT NULL \
            AND \(isMissing(relationship.destinationIndex, column)) ORDER BY e.pk LIMIT \(bind: Int64(limit))
            """, "repair the store"
        ) { $0.integer(0) }
    }

    package func orphanedLinks(_ join: JoinTable, limit: Int) throws(StoreError) -> [Pair] {
        try all(
            """
            SELECT j.owner, j.destination FROM \(join.quotedName) j WHERE \(isMissing(join.ownerEntity, "j.owner")) \
            OR \(isMissing(join.destinationEntity, "j.destination")) ORDER BY 1, 2 LIMIT \(bind: Int64(limit))
            """, "repair the store"
        ) { Pair(owner: $0.integer(0), destination: $0.integer(1)) }
    }

    private func isMissing(_ entity: Int, _ column: String) -> String {
        "NOT EXISTS (SELECT 1 FROM \(SQLText.quoted(model.entities[entity].viewName)) d WHERE d.pk = \(column))"
    }

    package func keys(of entity: Entity, after key: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try all(
            """
            SELECT pk FROM \(SQLText.quoted(entity.viewName)) WHERE pk > \(bind: key) ORDER BY pk \
            LIMIT \(bind: Int64(limit))
            """, "repair the store"
        ) { $0.integer(0) }
    }
}

// The history and its readers.
extension SQLiteSnapshot {
    func lastToken() throws -> Int64? {
        try first("SELECT max(token) FROM _history_transaction") { $0.value(0).integer } ?? nil
    }

    func purgedToken() throws -> Int64 { try metadata("purgedToken").flatMap { Int64($0) } ?? 0 }

    func transactions(_ selection: HistorySelection, limit: Int) throws -> [StoredTransaction] {
        let query = HistoryQuery(selection)
        let sql = "\(query.transactions) ORDER BY t.token LIMIT ?"
        return try all(sql, query.transactionBindings + [.integer(Int64(limit))]) { StoredTransaction($0) }
    }

    func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange] {
        let query = HistoryQuery(try narrowed(selection))
        let columns = "c.id, c.token, c.entity, c.object, c.identity, c.change, c.properties, c.tombstone"
        let sql = "SELECT \(columns) \(query.changes) ORDER BY c.id LIMIT ?"
        return try all(sql, query.changeBindings + [.integer(Int64(limit))]) { StoredChange($0) }
    }

    func ranges(_ selection: HistorySelection, each: (StoredRange) throws -> Bool) throws {
        let query = HistoryQuery(try narrowed(selection))
        let columns = "r.id, r.token, r.entity, r.first, r.last, r.count, r.objects, r.change, r.properties"
        try step("SELECT \(columns) \(query.ranges) ORDER BY r.id", query.rangeBindings) { try each(StoredRange($0)) }
    }

    func changeCount(_ selection: HistorySelection) throws -> Int {
        let query = HistoryQuery(try narrowed(selection))
        return Int(try integer("SELECT count(*) \(query.changes)", query.changeBindings))
    }

    func rangeChangeCount(_ selection: HistorySelection) throws -> Int {
        let query = HistoryQuery(try narrowed(selection))
        return Int(try integer("SELECT coalesce(sum(r.count), 0) \(query.ranges)", query.rangeBindings))
    }

    /// Lets a selection of transactions begin with the id of the first change that it can have.
    private func narrowed(_ selection: HistorySelection) throws -> HistorySelection {
        guard var token = selection.after else { return selection }
        if let since = selection.since {
            // The index by time tells where to begin; the order stays that of the tokens.
            let sql = "SELECT min(token) FROM _history_transaction WHERE time >= ?"
            let earliest = try first(sql, [.integer(since)]) { $0.value(0).integer } ?? nil
            token = max(token, (earliest ?? .max) - 1)
        }
        let sql = "SELECT firstChange FROM _history_transaction WHERE token > ? ORDER BY token LIMIT 1"
        let first = try first(sql, [.integer(token)]) { $0.integer(0) } ?? .max
        var narrowed = selection
        narrowed.ids = max(selection.ids.lowerBound, min(first, selection.ids.upperBound))..<selection.ids.upperBound
        return narrowed
    }

    // MARK: Identities

    func primaryKeys(_ entity: Entity, identity: Value) throws -> [Int64] {
        let kinds = model.kindNames(entity)
        let sql = """
            SELECT pk FROM \(SQLText.quoted(entity.viewName)) WHERE \(SQLText.quoted(entity.identity.columnName)) = ? \
            UNION SELECT object FROM _history_change \
            WHERE change = 2 AND entity IN (\(SQLText.literals(kinds))) AND identity = ?
            """
        return try all(sql, [identity, identity]) { $0.integer(0) }
    }

    func identities(_ entity: Entity, in range: HistoryRange) throws -> [Int64: Value] {
        let selection = "SELECT e.pk, e.\(SQLText.quoted(entity.identity.columnName)) FROM"
        let table = SQLText.quoted(entity.viewName)
        if range.objects == nil {
            return try identities(
                "\(selection) \(table) e WHERE e.pk BETWEEN ? AND ?", [.integer(range.first), .integer(range.last)])
        }
        // The list as it was read: SQLite fails at a text that is no JSON.
        return try identities(
            "\(selection) json_each(?) o CROSS JOIN \(table) e ON e.pk = o.value",
            [.text(HistoryRange.list(range.keys[...]))])
    }

    func deletedIdentities(_ entities: [String], in range: HistoryRange, after id: Int64) throws -> [Int64: Value] {
        // The list as it was read: SQLite fails at a text that is no JSON.
        let (objects, bounds): (String, [Value]) =
            range.objects == nil
            ? ("BETWEEN ? AND ?", [.integer(range.first), .integer(range.last)])
            : ("IN (SELECT value FROM json_each(?))", [.text(HistoryRange.list(range.keys[...]))])
        return try identities(
            """
            SELECT object, identity FROM _history_change \
            WHERE change = 2 AND object \(objects) AND id > ? AND entity IN (\(SQLText.parameters(entities.count)))
            """, bounds + [.integer(id)] + entities.map { .text($0) })
    }

    private func identities(_ sql: String, _ bindings: [Value]) throws -> [Int64: Value] {
        var identities: [Int64: Value] = [:]
        try step(sql, bindings) { row in
            identities[row.integer(0)] = row.value(1)
            return true
        }
        return identities
    }

    // MARK: Readers

    func cursors() throws -> [StoredCursor] {
        try all("SELECT name, token, time FROM _cursor ORDER BY name") {
            StoredCursor($0)
        }
    }

    func unread(after token: Int64) throws -> (count: Int64, oldestTime: Int64?) {
        let count = try integer("SELECT count(*) FROM _history_transaction WHERE token > ?", [.integer(token)])
        let sql = "SELECT time FROM _history_transaction WHERE token > ? ORDER BY token LIMIT 1"
        return (count, try first(sql, [.integer(token)]) { $0.integer(0) })
    }
}

/// The SQL of a selection of the history.
private struct HistoryQuery {
    private let selection: HistorySelection
    private var conditions: [String] = []
    /// The values of the conditions on transactions, which come first.
    private(set) var transactionBindings: [Value] = []

    init(_ selection: HistorySelection) {
        self.selection = selection
        add("t.token > ?", selection.after.map { .integer($0) })
        add("t.time >= ?", selection.since.map { .integer($0) })
        add("t.time < ?", selection.before.map { .integer($0) })
        add("t.author = ?", selection.author.map { .text($0) })
        add("t.context = ?", selection.context.map { .text($0) })
    }

    private mutating func add(_ condition: String, _ value: Value?) {
        guard let value else { return }
        conditions.append(condition)
        transactionBindings.append(value)
    }

    /// The rows of a table, behind FROM; without conditions on transactions theirs are not looked at.
    private func rows(_ table: String, _ alias: String, _ parts: [String]) -> String {
        let join = "CROSS JOIN _history_transaction t ON t.token = \(alias).token "
        return "FROM \(table) \(alias) \(selection.selectsTransactions ? join : "")WHERE "
            + (conditions + parts).joined(separator: " AND ")
    }

    private func changeConditions(_ alias: String) -> [String] {
        var parts: [String] = []
        if let kinds = selection.kinds {
            let numbers = kinds.map { String($0.rawValue) }.sorted().joined(separator: ", ")
            parts.append("\(alias).change IN (\(numbers))")
        }
        if !selection.entities.isEmpty { parts.append("\(alias).entity IN (\(SQLText.literals(selection.entities)))") }
        return parts
    }

    // MARK: Changes with a row of their own

    private var ownConditions: [String] {
        guard let keys = selection.keys else { return changeConditions("c") }
        // Numbers, not values from outside.
        return changeConditions("c") + ["c.object IN (\(keys.map { String($0) }.joined(separator: ", ")))"]
    }

    var changes: String { rows("_history_change", "c", ["c.id >= ?", "c.id < ?"] + ownConditions) }

    var changeBindings: [Value] {
        transactionBindings + [.integer(selection.ids.lowerBound), .integer(selection.ids.upperBound)]
    }

    // MARK: Ranges

    private var rangeConditions: [String] {
        guard let keys = selection.keys else { return changeConditions("r") }
        let choices = keys.map { key in
            """
            (r.first <= \(key) AND r.last >= \(key) AND (r.objects IS NULL \
            OR EXISTS (SELECT 1 FROM json_each(iif(json_valid(r.objects), r.objects, '[]')) o WHERE o.value = \(key))))
            """
        }
        return changeConditions("r") + [choices.isEmpty ? "0" : "(\(choices.joined(separator: " OR ")))"]
    }

    var ranges: String {
        rows("_history_range", "r", ["r.id > ?", "r.id < ?", "r.id + r.count > ?"] + rangeConditions)
    }

    var rangeBindings: [Value] {
        let first = selection.ids.lowerBound
        return transactionBindings + [
            .integer(first - Int64(HistoryRange.maximumCount)), .integer(selection.ids.upperBound), .integer(first),
        ]
    }

    // MARK: Transactions

    /// Transactions that have a selected change.
    var transactions: String {
        var parts = conditions
        if selection.selectsChanges {
            func exists(_ table: String, _ alias: String, _ conditions: [String]) -> String {
                let inside = "\(alias).id >= t.firstChange AND \(alias).id < t.firstChange + t.changeCount"
                return "EXISTS (SELECT 1 FROM \(table) \(alias) WHERE "
                    + ([inside] + conditions).joined(separator: " AND ") + ")"
            }
            parts.append(
                "(\(exists("_history_change", "c", ownConditions)) OR \(exists("_history_range", "r", rangeConditions)))"
            )
        }
        let columns = "t.token, t.time, t.author, t.context, t.source, t.firstChange, t.changeCount, t.trace"
        return "SELECT \(columns) FROM _history_transaction t WHERE "
            + (parts.isEmpty ? "1" : parts.joined(separator: " AND "))
    }
}

// The history and its readers.
extension SQLSnapshot {
    package func lastToken() throws -> Int64? {
        try first("SELECT max(token) FROM _history_transaction") { $0.optionalInteger(0) } ?? nil
    }

    package func purgedToken() throws -> Int64 { try metadata("purgedToken").flatMap { Int64($0) } ?? 0 }

    package func transactions(_ selection: HistorySelection, limit: Int) throws -> [StoredTransaction] {
        let transactions = SQLHistoryQuery<Dialect>(selection).transactions
        return try all("\(transactions) ORDER BY t.token LIMIT \(bind: Int64(limit))") { StoredTransaction($0) }
    }

    package func changes(_ selection: HistorySelection, limit: Int) throws -> [StoredChange] {
        let source = SQLHistoryQuery<Dialect>(try narrowed(selection)).changes
        return try all(
            """
            SELECT c.id, c.token, c.entity, c.object, c.identity, c.change, c.properties, c.tombstone \
            \(source) ORDER BY c.id LIMIT \(bind: Int64(limit))
            """
        ) { StoredChange($0) }
    }

    package func ranges(_ selection: HistorySelection, each: (StoredRange) throws -> Bool) throws {
        let query = SQLHistoryQuery<Dialect>(try narrowed(selection))
        // So many ranges are in memory at a time; each has a list of keys.
        let pageSize = 1000
        var last: Int64?
        while true {
            let page = try all(
                """
                SELECT r.id, r.token, r.entity, r.first, r.last, r.count, r.objects, r.change, r.properties \
                \(query.ranges(after: last)) ORDER BY r.id LIMIT \(pageSize)
                """
            ) { StoredRange($0) }
            for range in page where try !each(range) { return }
            if page.count < pageSize { return }
            last = page.last?.id
        }
    }

    package func changeCount(_ selection: HistorySelection) throws -> Int {
        Int(try integer("SELECT count(*) \(SQLHistoryQuery<Dialect>(try narrowed(selection)).changes)"))
    }

    package func rangeChangeCount(_ selection: HistorySelection) throws -> Int {
        let source = SQLHistoryQuery<Dialect>(try narrowed(selection)).ranges()
        return Int(try integer("SELECT \(Dialect.whole("coalesce(sum(r.count), 0)")) \(source)"))
    }

    // MARK: Identities

    package func primaryKeys(_ entity: Entity, identity: Value) throws -> [Int64] {
        let column = SQLText.quoted(entity.identity.columnName)
        return try all(
            """
            SELECT pk FROM \(SQLText.quoted(entity.viewName)) \
            WHERE \(column) = \(bind: .column(identity, entity.identity.type)) \
            UNION SELECT object FROM _history_change WHERE change = 2 \
            AND entity \(Dialect.isOneOf(model.kindNames(entity))) AND identity = \(bind: .recorded(identity)) ORDER BY 1
            """
        ) { $0.integer(0) }
    }

    package func identities(_ entity: Entity, in range: HistoryRange) throws -> [Int64: Value] {
        let column = "e.\(SQLText.quoted(entity.identity.columnName))"
        let found = try all(
            """
            SELECT e.pk, \(Dialect.selected(column, entity.identity.type)) FROM \(SQLText.quoted(entity.viewName)) e \
            WHERE e.pk \(Self.isOf(range))
            """
        ) { ($0.integer(0), $0.value(1, entity.identity.type)) }
        return Dictionary(found) { first, _ in first }
    }

    package func deletedIdentities(
        _ entities: [String], in range: HistoryRange, after id: Int64
    ) throws -> [Int64: Value] {
        let found = try all(
            """
            SELECT object, identity FROM _history_change WHERE change = 2 AND object \(Self.isOf(range)) \
            AND id > \(bind: id) AND entity \(Dialect.isOneOf(entities)) ORDER BY id
            """
        ) { ($0.integer(0), $0.value(1)) }
        return Dictionary(found) { _, last in last }
    }

    /// The end of a condition that a key is of a range.
    private static func isOf(_ range: HistoryRange) -> SQLFragment {
        // The list as it was read: an engine fails at a text that is no JSON.
        range.objects == nil
            ? "BETWEEN \(bind: range.first) AND \(bind: range.last)" : Dialect.isOneOf(range.keys)
    }

    // MARK: Readers

    package func cursors() throws -> [StoredCursor] {
        try all("SELECT name, token, time FROM _cursor ORDER BY name") { StoredCursor($0) }
    }

    package func unread(after token: Int64) throws -> (count: Int64, oldestTime: Int64?) {
        let unread: SQLFragment = "FROM _history_transaction WHERE token > \(bind: token)"
        let count = try integer("SELECT count(*) \(unread)")
        return (count, try first("SELECT time \(unread) ORDER BY token LIMIT 1") { $0.integer(0) })
    }
}

/// The SQL of a selection of the history.
struct SQLHistoryQuery<Dialect: SQLDialect> {
    private let selection: HistorySelection
    private let ofTransactions: [SQLFragment]

    init(_ selection: HistorySelection) {
        self.selection = selection
        let conditions: [SQLFragment?] = [
            selection.after.map { "t.token > \(bind: $0)" }, selection.since.map { "t.time >= \(bind: $0)" },
            selection.before.map { "t.time < \(bind: $0)" }, selection.author.map { "t.author = \(bind: $0)" },
            selection.context.map { "t.context = \(bind: $0)" },
        ]
        ofTransactions = conditions.compactMap(\.self)
    }

    /// The selected changes with a row of their own, from FROM on.
    var changes: SQLFragment {
        let ids = selection.ids
        return rows(
            "_history_change", "c",
            ["c.id >= \(bind: ids.lowerBound)", "c.id < \(bind: ids.upperBound)"] + ofChanges("c"))
    }

    /// The ranges behind one that may have a selected change, from FROM on.
    func ranges(after last: Int64? = nil) -> SQLFragment {
        let ids = selection.ids
        let start = max(last ?? .min, ids.lowerBound - Int64(HistoryRange.maximumCount))
        return rows(
            "_history_range", "r",
            [
                "r.id > \(bind: start)", "r.id < \(bind: ids.upperBound)",
                "r.id + r.count > \(bind: ids.lowerBound)",
            ] + ofChanges("r"))
    }

    /// The transactions that have a selected change.
    var transactions: SQLFragment {
        var conditions = ofTransactions
        if selection.selectsChanges {
            func exists(_ table: String, _ alias: String) -> SQLFragment {
                let parts = [SQLFragment(Dialect.isOfTransaction(alias))] + ofChanges(alias)
                return "EXISTS (SELECT 1 FROM \(table) \(alias) WHERE \(parts.conjunction))"
            }
            conditions.append("(\(exists("_history_change", "c")) OR \(exists("_history_range", "r")))")
        }
        return """
            SELECT t.token, t.time, t.author, t.context, t.source, t."firstChange", t."changeCount", t.trace \
            FROM _history_transaction t WHERE \(conditions.conjunction)
            """
    }

    /// The rows of a table; without conditions on transactions theirs are not looked at.
    private func rows(_ table: String, _ alias: String, _ conditions: [SQLFragment]) -> SQLFragment {
        let join = " \(Dialect.orderedJoin) _history_transaction t ON t.token = \(alias).token"
        return """
            FROM \(table) \(alias)\(selection.selectsTransactions ? join : "") \
            WHERE \((ofTransactions + conditions).conjunction)
            """
    }

    /// The conditions on changes with the alias `c`, or on ranges with the alias `r`.
    private func ofChanges(_ alias: String) -> [SQLFragment] {
        var parts: [SQLFragment] = []
        if let kinds = selection.kinds {
            parts.append("\(alias).change \(Dialect.isOneOf(kinds.map { Int64($0.rawValue) }.sorted()))")
        }
        if !selection.entities.isEmpty { parts.append("\(alias).entity \(Dialect.isOneOf(selection.entities))") }
        guard let keys = selection.keys else { return parts }
        if alias == "c" {
            // The index gives the changes of one object in their order: a list would have them sorted for each page.
            let isOfOne: SQLFragment? = keys.count == 1 ? keys.first.map { "c.object = \(bind: $0)" } : nil
            return parts + [isOfOne ?? "c.object \(Dialect.isOneOf(keys))"]
        }
        return parts + [
            """
            EXISTS (SELECT 1 FROM \(Dialect.table(of: keys)) WHERE k.value BETWEEN r.first AND r.last \
            AND (r.objects IS NULL OR \(Dialect.list("r.objects", holds: "k.value"))))
            """
        ]
    }
}

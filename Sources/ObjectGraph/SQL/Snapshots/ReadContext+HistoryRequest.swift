import GRDB

extension ReadContext {
    /// The token of everything that is saved by now.
    ///
    /// Read together with objects in one ``Store/read(_:)`` it is the token of exactly those: what changes them later
    /// comes after it.
    public func historyToken() throws -> HistoryToken {
        HistoryToken(store: try metadata("storeID") ?? "", number: try lastToken())
    }

    /// Returns a page of the history.
    ///
    /// - Throws: ``StoreError``: `history.expired` where transactions after the token were purged,
    ///   `history.foreign_token`, `history.token_ahead`; `predicate.unknown_entity` is a ``FetchPredicateError``.
    public func history(_ request: HistoryRequest) throws -> HistoryResult {
        let start = try check(request)
        let query = try query(request, after: start)
        return try changes(query, start)
    }

    /// Tells whether the history has anything that a request asks for.
    ///
    /// - Throws: as ``history(_:)``.
    public func hasHistory(_ request: HistoryRequest = HistoryRequest()) throws -> Bool {
        let query = try query(request, after: try check(request))
        let sql = "SELECT EXISTS (\(query.transactions) LIMIT 1)"
        return try Bool.fetchOne(database, sql: sql, arguments: query.transactionArguments) ?? false
    }

    /// Returns the number of changes that a request asks for, whatever its limit.
    ///
    /// - Throws: as ``history(_:)``.
    public func historyCount(_ request: HistoryRequest = HistoryRequest()) throws -> Int {
        let query = try query(request, after: try check(request))
        let count = try Int.fetchOne(database, sql: query.plainCount, arguments: query.plainArguments) ?? 0
        if query.keys != nil { return count + (try expanded(query, before: .max).count) }
        return count + (try Int.fetchOne(database, sql: query.rangeCount, arguments: query.rangeArguments) ?? 0)
    }

    private func query(_ request: HistoryRequest, after start: Int64) throws -> HistoryQuery {
        HistoryQuery(
            request, after: start, firstChange: try firstChange(request, after: start), keys: try keys(request),
            entities: request.entity.flatMap(model.entity(named:)).map(kinds) ?? [])
    }

    /// Returns the number of the token that the request begins after.
    private func check(_ request: HistoryRequest) throws -> Int64 {
        if let name = request.entity, model.entity(named: name) == nil {
            throw FetchPredicateError(
                .unknownEntity, "The model has no entity '\(name)'", at: nil,
                remedy: ClosestName.remedy(name, among: model.entities.map(\.name)))
        }
        if request.identity != nil, request.entity == nil {
            throw FetchPredicateError(
                .unknownEntity, "An object is named without its entity", at: nil, remedy: "Name the entity too")
        }
        guard let token = request.after else { return try purgedToken() }
        guard token.store == (try metadata("storeID")) else {
            throw StoreError(
                .historyForeignToken, "The history token is of another store",
                remedy: "Read this store itself, then go on from the token that it has")
        }
        try checkNotExpired(token.number)
        let last = try lastToken()
        if token.number > last {
            throw StoreError(
                .historyTokenAhead, "The history ends at token \(last), token \(token.number) is ahead of it",
                remedy: "The store was restored from an older copy: read it anew, then go on from the token it has")
        }
        return token.number
    }

    /// The id of the first change that can be asked for: what comes before it is not looked at.
    private func firstChange(_ request: HistoryRequest, after token: Int64) throws -> Int64 {
        var token = token
        if let since = request.since {
            // The index by time tells where to begin; the order stays that of the tokens.
            let sql = "SELECT min(token) FROM _history_transaction WHERE time >= ?"
            token = max(token, (try Int64.fetchOne(database, sql: sql, arguments: [since]) ?? .max) - 1)
        }
        let sql = "SELECT firstChange FROM _history_transaction WHERE token > ? ORDER BY token LIMIT 1"
        return max(request.firstChange, try Int64.fetchOne(database, sql: sql, arguments: [token]) ?? .max)
    }

    /// The names of an entity and of those below it.
    private func kinds(_ entity: Entity) -> [String] {
        [entity.name] + entity.subentityIndexes.map { model.entities[$0].name }
    }

    /// The primary keys that the named object has or had: a deleted object that comes again gets another.
    private func keys(_ request: HistoryRequest) throws -> [Int64]? {
        guard let identity = request.identity, let entity = request.entity.flatMap(model.entity(named:)) else {
            return nil
        }
        let sql = """
            SELECT pk FROM \(SQLText.quoted(entity.viewName)) WHERE \(SQLText.quoted(entity.identity.columnName)) = ? \
            UNION SELECT object FROM _history_change \
            WHERE change = 2 AND entity IN (\(SQLText.literals(kinds(entity)))) AND identity = ?
            """
        return try Int64.fetchAll(database, sql: sql, arguments: [identity.databaseValue, identity.databaseValue])
    }

    /// Returns a page of the transactions that have a change that a request asks for; the limit counts transactions.
    ///
    /// - Throws: as ``history(_:)``.
    public func historyTransactions(_ request: HistoryRequest = HistoryRequest()) throws -> HistoryTransactions {
        let query = try query(request, after: try check(request))
        let limit = query.request.pageLimit
        let sql = "\(query.transactions) ORDER BY t.token LIMIT \(limit + 1)"
        let rows = try Row.fetchAll(database, sql: sql, arguments: query.transactionArguments)
        let page = rows.prefix(limit).map {
            HistoryTransactions.Head(
                token: $0[0], time: $0[1], author: $0[2], context: $0[3], source: $0[4], changeCount: $0[6])
        }
        let store = try metadata("storeID") ?? ""
        var next: HistoryRequest?
        var token = try historyToken()
        if rows.count > limit, let last = page.last {
            token = HistoryToken(store: store, number: last.token)
            next = query.request
            next?.after = token
        }
        return HistoryTransactions(transactions: page, token: token, next: next)
    }

    private static func head(_ row: Row, changes: [HistoryChange], changeCount: Int) -> HistoryTransaction {
        HistoryTransaction(
            token: row[0], time: row[1], author: row[2], context: row[3], source: row[4], changes: changes,
            changeCount: changeCount)
    }

    private func changes(_ query: HistoryQuery, _ start: Int64) throws -> HistoryResult {
        let limit = query.request.pageLimit
        let found = try page(query, limit: limit + 1)
        let page = found.prefix(limit).map(\.change)
        var token = try historyToken()
        var next: HistoryRequest?
        if found.count > limit, let rest = found.last {
            // The transaction of the first change that is not on the page is not finished.
            token = HistoryToken(store: token.store, number: max(start, rest.change.token - 1))
            next = query.request
            next?.after = token
            next?.firstChange = rest.id
        }
        return HistoryResult(transactions: try grouped(page), token: token, next: next)
    }

    private func grouped(_ changes: [HistoryChange]) throws -> [HistoryTransaction] {
        var transactions: [HistoryTransaction] = []
        var rest = changes[...]
        while let first = rest.first {
            let part = rest.prefix { $0.token == first.token }
            rest = rest.dropFirst(part.count)
            let row = try Row.fetchOne(
                database.cachedStatement(
                    sql: "SELECT \(Self.transactionColumns) FROM _history_transaction t WHERE t.token = ?"),
                arguments: [first.token])
            if let row { transactions.append(Self.head(row, changes: Array(part), changeCount: part.count)) }
        }
        return transactions
    }

    // MARK: Changes in their order

    private typealias Numbered = (id: Int64, change: HistoryChange)

    private func page(_ query: HistoryQuery, limit: Int) throws -> [Numbered] {
        let sql = "\(query.plain) ORDER BY c.id LIMIT \(limit)"
        let plain = try Row.fetchAll(database, sql: sql, arguments: query.plainArguments)
            .map { (id: $0[0] as Int64, change: Self.change($0)) }
        let end = plain.count < limit ? Int64.max : plain.last?.id ?? .max
        let expanded = try expanded(query, before: end, limit: limit)
        if expanded.isEmpty { return plain }
        return Array((plain + expanded).sorted { $0.id < $1.id }.prefix(limit))
    }

    /// The changes that batch requests wrote as ranges, in their order.
    private func expanded(_ query: HistoryQuery, before end: Int64, limit: Int = .max) throws -> [Numbered] {
        var result: [Numbered] = []
        let ranges = try Row.fetchCursor(
            database, sql: "\(query.ranges) ORDER BY r.id", arguments: query.rangeArguments)
        while let row = try ranges.next(), result.count < limit {
            if row[0] as Int64 >= end { break }
            for (id, change) in try expand(row) where id >= query.firstChange && id < end {
                if query.keys?.contains(change.pk) ?? true { result.append((id, change)) }
            }
        }
        return result
    }
}

/// The SQL of a request of the history. Conditions on transactions come first among the arguments.
private struct HistoryQuery {
    let request: HistoryRequest
    let firstChange: Int64
    /// The primary keys of the named object, or nil where none is named.
    let keys: [Int64]?
    /// The names of the entities whose changes are asked for; empty for all.
    private let entities: [String]
    private var conditions: [String]
    private var values: [DatabaseValue]

    init(_ request: HistoryRequest, after token: Int64, firstChange: Int64, keys: [Int64]?, entities: [String]) {
        self.entities = entities
        self.request = request
        self.firstChange = firstChange
        self.keys = keys
        conditions = ["t.token > ?"]
        values = [token.databaseValue]
        add("t.time >= ?", request.since?.databaseValue)
        add("t.time < ?", request.before?.databaseValue)
        add("t.author = ?", request.author?.databaseValue)
        add("t.context = ?", request.context?.databaseValue)
    }

    private mutating func add(_ condition: String, _ value: DatabaseValue?) {
        guard let value else { return }
        conditions.append(condition)
        values.append(value)
    }

    private func condition(_ parts: [String]) -> String { (conditions + parts).joined(separator: " AND ") }

    private func changeConditions(_ alias: String) -> [String] {
        var parts: [String] = []
        if let kinds = request.kinds {
            let numbers = kinds.map { String($0.rawValue) }.sorted().joined(separator: ", ")
            parts.append("\(alias).change IN (\(numbers))")
        }
        if !entities.isEmpty { parts.append("\(alias).entity IN (\(SQLText.literals(entities)))") }
        return parts
    }

    // MARK: Plain rows

    private var plainConditions: [String] {
        guard let keys else { return changeConditions("c") }
        // Numbers, not values from outside.
        return changeConditions("c") + ["c.object IN (\(keys.map { String($0) }.joined(separator: ", ")))"]
    }

    private var plainSource: String {
        "FROM _history_change c CROSS JOIN _history_transaction t ON t.token = c.token WHERE "
            + condition(["c.id >= ?"] + plainConditions)
    }

    var plain: String { "SELECT \(ReadContext.changeColumns) \(plainSource)" }
    var plainCount: String { "SELECT count(*) \(plainSource)" }
    var plainArguments: StatementArguments { StatementArguments(values + [firstChange.databaseValue]) }

    // MARK: Ranges

    private var rangeConditions: [String] {
        guard let keys else { return changeConditions("r") }
        let choices = keys.map { key in
            """
            (r.first <= \(key) AND r.last >= \(key) AND (r.objects IS NULL \
            OR EXISTS (SELECT 1 FROM json_each(iif(json_valid(r.objects), r.objects, '[]')) o WHERE o.value = \(key))))
            """
        }
        return changeConditions("r") + [choices.isEmpty ? "0" : "(\(choices.joined(separator: " OR ")))"]
    }

    private var rangeSource: String {
        "FROM _history_range r CROSS JOIN _history_transaction t ON t.token = r.token WHERE "
            + condition(["r.id > ?", "r.id + r.count > ?"] + rangeConditions)
    }

    var ranges: String { "SELECT \(ReadContext.rangeColumns) \(rangeSource)" }
    var rangeCount: String { "SELECT coalesce(sum(r.count), 0) \(rangeSource)" }
    var rangeArguments: StatementArguments {
        let earliest = firstChange - Int64(HistoryRange.maximumCount)
        return StatementArguments(values + [earliest.databaseValue, firstChange.databaseValue])
    }

    // MARK: Transactions

    /// Transactions that have a change of what is asked for.
    var transactions: String {
        var parts: [String] = []
        if request.filtersChanges {
            func exists(_ table: String, _ alias: String, _ conditions: [String]) -> String {
                let inside = "\(alias).id >= t.firstChange AND \(alias).id < t.firstChange + t.changeCount"
                return "EXISTS (SELECT 1 FROM \(table) \(alias) WHERE "
                    + ([inside] + conditions).joined(separator: " AND ") + ")"
            }
            parts.append(
                "(\(exists("_history_change", "c", plainConditions)) OR \(exists("_history_range", "r", rangeConditions)))"
            )
        }
        return "SELECT \(ReadContext.transactionColumns) FROM _history_transaction t WHERE \(condition(parts))"
    }

    var transactionArguments: StatementArguments { StatementArguments(values) }
}

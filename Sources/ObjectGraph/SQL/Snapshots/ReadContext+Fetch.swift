import Foundation
import GRDB
import GRDBSQLite

extension ReadContext {
    /// Returns the objects that a request asks for.
    ///
    /// ``Store/read(_:)`` makes a ``StoreError`` of every error: to tell what is wrong with a request, check it before.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func fetch(_ request: FetchRequest) throws -> [FetchedObject] {
        var objects: [FetchedObject] = []
        try fetch(request) { object in
            objects.append(object)
            return true
        }
        return objects
    }

    /// Returns the objects that a checked request asks for.
    ///
    /// - Throws: ``StoreError``; ``FetchPredicateError`` where the request is one for rows, or leads over too many
    ///   relationships.
    public func fetch(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        var objects: [FetchedObject] = []
        try fetch(request) { object in
            objects.append(object)
            return true
        }
        return objects
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``, and what `each` throws.
    public func fetch(_ request: FetchRequest, each: (FetchedObject) throws -> Bool) throws {
        let (checked, plan) = try planned(request)
        try run(try ofObjects(checked), .objects(withOrder: false), plan) { query, statement, lists in
            try each(try query.object(statement, lists))
        }
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: as `fetch(_:)`, and what `each` throws.
    public func fetch(_ request: CheckedFetchRequest, each: (FetchedObject) throws -> Bool) throws {
        try run(try ofObjects(request), .objects(withOrder: false)) { query, statement, lists in
            try each(try query.object(statement, lists))
        }
    }

    /// Calls `each` with the primary key of one object after the other and the values that it is sorted by.
    ///
    /// - Throws: as `fetch(_:)`, and what `each` throws.
    func positions(_ request: CheckedFetchRequest, each: (Int64, [Value]) throws -> Void) throws {
        try run(try ofObjects(request), .objects(withOrder: true)) { query, statement, _ in
            try each(statement.integer(0), query.order(statement))
            return true
        }
    }

    // MARK: Pages

    /// Returns one page of objects, and the position after it.
    ///
    /// The position holds while objects come and go: the next page begins behind the last object of this one, whatever
    /// happened before it. See docs/reference/fetching.md.
    ///
    /// - Throws: as `fetch(_:)`.
    public func page(_ request: FetchRequest) throws -> FetchedPage {
        try page(try planned(request).request)
    }

    /// Returns one page of objects, and the position after it.
    ///
    /// - Throws: as `fetch(_:)`.
    public func page(_ request: CheckedFetchRequest) throws -> FetchedPage {
        var wider = try ofObjects(request)
        // One more tells whether there is more.
        wider.limit = request.limit.map { $0 == .max ? $0 : $0 + 1 }
        var objects: [FetchedObject] = []
        var last: [Value] = []
        var hasMore = false
        try run(wider, .objects(withOrder: true)) { query, statement, lists in
            if objects.count == request.limit {
                hasMore = true
                return false
            }
            objects.append(try query.object(statement, lists))
            last = query.order(statement)
            return true
        }
        guard hasMore, let object = objects.last else { return FetchedPage(objects: objects, next: nil) }
        let cursor = FetchCursor(fingerprint: request.fingerprint, pk: object.pk, values: last)
        return FetchedPage(objects: objects, next: cursor.text)
    }

    // MARK: Rows

    /// Returns the rows that a request asks for: dictionaries of its properties, grouped and without repeats where it
    /// says so.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func rows(_ request: FetchRequest) throws -> [FetchedRow] {
        try rows(try planned(request).request)
    }

    /// Returns the rows that a checked request asks for.
    ///
    /// - Throws: ``StoreError``; ``FetchPredicateError`` where the request leads over too many relationships, or a property
    ///   is a list.
    public func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] {
        if let list = request.shape.columns.first(where: \.isToMany) {
            throw FetchPredicateError(
                .unsupported, "'\(list.name)' is a list, rows have single values", at: nil,
                remedy: "Use \(list.name).@count, or fetch objects")
        }
        var rows: [FetchedRow] = []
        try run(request, .rows) { query, statement, _ in
            rows.append(try query.row(statement))
            return true
        }
        return rows
    }

    /// Returns how many objects or rows a request asks for, its limit and offset regarded, its cursor not.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func count(_ request: FetchRequest) throws -> Int {
        try count(try planned(request).request)
    }

    /// Returns how many objects or rows a checked request asks for, its limit and offset regarded, its cursor not.
    ///
    /// - Throws: ``StoreError``.
    public func count(_ request: CheckedFetchRequest) throws -> Int {
        var total = 0
        try step(try FetchQuery(checkedModel(request), output: .count, now: now(request))) { statement in
            total = Int(statement.integer(0))
            return false
        }
        return min(max(0, total - request.offset), request.limit ?? .max)
    }

    // MARK: Running

    /// Returns a request checked, with the plan that the connection has of it, if it keeps any.
    private func planned(
        _ request: FetchRequest
    ) throws(FetchPredicateError) -> (request: CheckedFetchRequest, plan: FetchPlan?) {
        guard let plan = try caches?.plans.plan(request, model) else { return (try request.checked(with: model), nil) }
        return (try plan.request(at: request), plan)
    }

    func now(_ request: CheckedFetchRequest) -> Int64 {
        request.now ?? Int64((Date().timeIntervalSince1970 * 1_000_000).rounded())
    }

    /// Positions in a request mean what they mean in its own model.
    func checkedModel(_ request: CheckedFetchRequest) throws(StoreError) -> CheckedFetchRequest {
        guard request.model === model else {
            throw StoreError(
                .modelMismatch, "The fetch request was checked with another model",
                remedy: "Check it with the store's own model")
        }
        return request
    }

    func ofObjects(_ request: CheckedFetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        if request.isOfRows {
            throw FetchPredicateError(
                .unsupported, "The request asks for rows, not for objects", at: nil,
                remedy: "Read its rows, or leave out groups, aggregates and 'distinct'")
        }
        return request
    }

    func connection() throws(StoreError) -> OpaquePointer {
        guard let connection = database.sqliteConnection else {
            throw StoreError(.unavailable, "The store is closed", remedy: "Open it again")
        }
        return connection
    }

    /// Runs a request's query, then the one of the objects that a descending order ends with, where a cursor needs it.
    ///
    /// - Parameter plan: the plan of the request's objects, if there is one.
    func run(
        _ request: CheckedFetchRequest, _ output: FetchQuery.Output, _ plan: FetchPlan? = nil,
        each: (FetchQuery, PreparedStatement, [PreparedStatement]) throws -> Bool
    ) throws {
        var request = try checkedModel(request)
        let now = now(request)
        let query = try plan?.query(request, now: now) ?? FetchQuery(request, output: output, now: now)
        let lists = try listStatements(query)
        defer { giveBack(lists, query) }
        var count = 0
        let goesOn = try step(query) { statement in
            count += 1
            return try each(query, statement, lists)
        }
        guard goesOn, request.needsMissing, request.limit.map({ count < $0 }) ?? true else { return }
        request.limit = request.limit.map { $0 - count }
        let missing = try FetchQuery(request, output: output, now: now, onlyMissing: true)
        try step(missing) { try each(missing, $0, lists) }
    }

    func listStatements(_ query: FetchQuery) throws(StoreError) -> [PreparedStatement] {
        var statements: [PreparedStatement] = []
        for sql in query.listStatements { statements.append(try statement(sql)) }
        return statements
    }

    /// Keeps the statements of a query's lists for the next read; they may be in use no more.
    func giveBack(_ lists: [PreparedStatement], _ query: FetchQuery) {
        guard let caches else { return }
        for (statement, sql) in zip(lists, query.listStatements) { caches.statements.giveBack(statement, sql) }
    }

    /// Returns a prepared statement of this connection; one that it has kept, where there is one.
    func statement(_ sql: String) throws(StoreError) -> PreparedStatement {
        let connection = try connection()
        if let caches { return try caches.statements.take(sql, connection) }
        return try PreparedStatement(connection, sql: sql)
    }

    /// Calls `each` with a statement on each row; false where it ended the rows early.
    @discardableResult
    private func step(_ query: FetchQuery, each: (PreparedStatement) throws -> Bool) throws -> Bool {
        let statement = try statement(query.sql)
        defer { caches?.statements.giveBack(statement, query.sql) }
        for (index, value) in query.bindings.enumerated() { statement.bind(index + 1, value) }
        while try statement.step() {
            if try !each(statement) { return false }
        }
        return true
    }
}

extension CheckedFetchRequest {
    /// Tells whether objects without a value come behind the cursor's, which a query of their own reads.
    var needsMissing: Bool {
        guard let cursor = after, let first = sort.first, let value = cursor.values.first else { return false }
        return first.isDescending && !value.isNull
    }
}

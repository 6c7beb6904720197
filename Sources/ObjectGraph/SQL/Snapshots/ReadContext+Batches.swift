extension ReadContext {
    /// Calls `body` with an iterator of a request's objects in batches of `size`.
    ///
    /// In memory are the objects of one batch; besides, where no index serves the order, SQLite keeps the values that
    /// the objects are sorted by, never their other properties. All batches are of one snapshot, that of this context.
    ///
    /// For example:
    ///
    ///     try context.batches(FetchRequest("Message"), size: 500) { batches in
    ///         while let messages = try batches.next() { send(messages) }
    ///     }
    ///
    /// - Parameters:
    ///   - request: which objects, in which order.
    ///   - size: the objects in a batch, from 1 to 10,000.
    ///   - body: what reads the batches; the iterator does not outlive it.
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``, and what `body` throws.
    public func batches<Result>(
        _ request: FetchRequest, size: Int, _ body: (FetchedBatches) throws -> Result
    ) throws -> Result {
        try batches(try request.checked(with: model), size: size, body)
    }

    /// Calls `body` with an iterator of a checked request's objects in batches of `size`.
    ///
    /// - Throws: as for the request itself.
    public func batches<Result>(
        _ request: CheckedFetchRequest, size: Int, _ body: (FetchedBatches) throws -> Result
    ) throws -> Result {
        guard (1...10_000).contains(size) else {
            throw FetchPredicateError(
                .range, "The batch size \(size) is outside of 1 to 10,000", at: nil, remedy: "Use one inside")
        }
        let batches = try FetchedBatches(self, try checkedModel(try ofObjects(request)), size: size)
        // The statements hold the snapshot open: they end with the call, whoever keeps the iterator.
        defer { batches.close() }
        return try body(batches)
    }
}

/// The objects of a request in batches; valid while the call that made it runs.
///
/// A first statement walks the primary keys in order, a second reads the objects of a batch of keys: the properties of
/// objects are read batch by batch, also where all had to be sorted.
public final class FetchedBatches {
    private let context: ReadContext
    private let request: CheckedFetchRequest
    private let size: Int
    private let now: Int64
    private var keys: PreparedStatement?
    private var isMissingDone: Bool
    private var remaining: Int?
    private var full: (query: FetchQuery, statement: PreparedStatement, lists: [PreparedStatement])?

    init(_ context: ReadContext, _ request: CheckedFetchRequest, size: Int) throws {
        self.context = context
        self.request = request
        self.size = size
        now = context.now(request)
        remaining = request.limit
        isMissingDone = !request.needsMissing
        keys = try statement(try FetchQuery(request, output: .keys, now: now))
    }

    /// Returns the next batch, as many objects as its size but for the last; nil at the end.
    ///
    /// - Throws: ``StoreError``.
    public func next() throws -> [FetchedObject]? {
        let keys = try nextKeys()
        return keys.isEmpty ? nil : try objects(keys)
    }

    func close() {
        keys = nil
        full = nil
    }

    private func statement(_ query: FetchQuery) throws -> PreparedStatement {
        let statement = try PreparedStatement(try context.connection(), sql: query.sql)
        for (index, value) in query.bindings.enumerated() { statement.bind(index + 1, value) }
        return statement
    }

    private func nextKeys() throws -> [Int64] {
        var found: [Int64] = []
        while found.count < size, let statement = keys {
            if try statement.step() {
                found.append(statement.integer(0))
                remaining = remaining.map { $0 - 1 }
            } else {
                keys = try missing()
            }
        }
        return found
    }

    /// The keys of the objects that a descending order ends with, once.
    private func missing() throws -> PreparedStatement? {
        guard !isMissingDone, remaining != 0 else { return nil }
        isMissingDone = true
        var rest = request
        rest.limit = remaining
        return try statement(try FetchQuery(rest, output: .keys, now: now, onlyMissing: true))
    }

    private func objects(_ keys: [Int64]) throws -> [FetchedObject] {
        let (query, statement, lists) = try reader(keys.count)
        for (index, key) in keys.enumerated() { statement.bind(query.bindings.count + index + 1, key) }
        var objects: [Int64: FetchedObject] = [:]
        while try statement.step() {
            let object = try query.object(statement, lists)
            objects[object.pk] = object
        }
        return keys.compactMap { objects[$0] }
    }

    /// The statement of a full batch is kept; the last batch, which is shorter, has its own.
    private func reader(
        _ count: Int
    ) throws -> (query: FetchQuery, statement: PreparedStatement, lists: [PreparedStatement]) {
        if count == size, let full { return full }
        let query = try FetchQuery(objectsOf: request, count: count, now: now)
        let made = (query, try statement(query), try context.listStatements(query))
        if count == size { full = made }
        return made
    }
}

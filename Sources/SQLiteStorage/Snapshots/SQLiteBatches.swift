/// The objects of a request in batches.
///
/// A first statement walks the primary keys in order, and a second one reads the objects of a batch of keys. So the
/// properties are read batch by batch, even where all objects had to be sorted.
final class SQLiteBatches: ObjectBatches {
    private let snapshot: SQLiteSnapshot
    private let request: CheckedFetchRequest
    private let size: Int
    private let now: Int64
    private var keys: PreparedStatement?
    private var isMissingDone: Bool
    private var remaining: Int?
    private var full: (query: FetchQuery, statement: PreparedStatement, lists: [PreparedStatement])?

    init(_ snapshot: SQLiteSnapshot, _ request: CheckedFetchRequest, size: Int) throws {
        self.snapshot = snapshot
        self.request = request
        self.size = size
        now = request.time
        remaining = request.limit
        isMissingDone = !request.needsMissing
        keys = try statement(try FetchQuery(request, output: .keys, now: now))
    }

    func next() throws -> [FetchedObject]? {
        let keys = try nextKeys()
        return keys.isEmpty ? nil : try objects(keys)
    }

    func close() {
        keys = nil
        full = nil
    }

    private func statement(_ query: FetchQuery) throws -> PreparedStatement {
        let statement = try PreparedStatement(try snapshot.connection(), sql: query.sql)
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
        let made = (query, try statement(query), try snapshot.listStatements(query))
        if count == size { full = made }
        return made
    }
}

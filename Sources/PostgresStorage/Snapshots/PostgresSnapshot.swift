/// A transaction of a connection that reads: a snapshot of a store in PostgreSQL.
///
/// The evaluator asks for one object at a time. The snapshot then loads the answers for all objects that are in hand.
final class PostgresSnapshot: SQLSnapshot {
    typealias Dialect = PostgresDialect

    let model: ObjectModel
    let tables: [PostgresTable]
    let connection: PostgresConnection
    private let interruption: ReadInterruption?
    /// The rows in hand, by the position of their root entity and by key; nil of a key without row.
    private(set) var loaded: [[Int64: StoredRow?]]
    private var loadedCount = 0
    /// The rows that are judged next.
    private var batch: ArraySlice<StoredRow> = []
    /// The destinations of owners in hand.
    var lists: [RelationshipKey: [Int64: DestinationList]] = [:]
    /// The to-one relationship that was followed last: its destinations are asked for next.
    private var lastStep: Relationship?

    /// So many destinations are read at a time.
    var pageLength = 5000

    /// The number of rows in hand above which the snapshot keeps the rows of the batch only.
    private static let loadedLimit = 20_000
    /// So many keys are asked for at a time.
    static let keyLimit = 5000

    /// - Parameter interruption: ends the snapshot's reads between two statements; nil for never.
    init(
        _ connection: PostgresConnection, _ model: ObjectModel, _ tables: [PostgresTable],
        _ interruption: ReadInterruption? = nil
    ) {
        self.connection = connection
        self.interruption = interruption
        self.model = model
        self.tables = tables
        loaded = Array(repeating: [:], count: model.entities.count)
    }

    func deadLettersHaveTimestamps() throws -> Bool { try connection.deadLettersHaveTimestamps("read the store") }

    // MARK: Statements

    /// Ends the transaction, and begins one that sees the last commit.
    func renew() throws(StoreError) {
        _ = try run(PostgresStatement("COMMIT"))
        connection.enqueue(.beginReading)
    }

    func run(_ statement: PostgresStatement) throws(StoreError) -> PostgresResult {
        // The interruption knows why, and says so instead.
        if interruption?.isRequested == true { throw .disconnected("read the store") }
        return try connection.run(statement, "read the store")
    }

    /// Calls `each` with the rows of a statement as they arrive.
    ///
    /// - Parameter each: may not use the snapshot.
    func stream(_ statement: PostgresStatement, each: (PostgresRow) -> Void) throws(StoreError) {
        if interruption?.isRequested == true { throw .disconnected("read the store") }
        try connection.stream(statement, "read the store", each: each)
    }

    func run(_ query: PostgresQuery, _ sql: String) throws(StoreError) -> PostgresResult {
        try run(try query.statement(sql))
    }

    func step(_ query: SQLFragment, each: (PostgresRow) throws -> Bool) throws {
        for row in try run(PostgresStatement(query)).rows where try !each(row) { return }
    }

    /// Returns the results of `body` for all rows.
    func all<Result>(
        _ query: PostgresQuery, _ sql: String, _ body: (PostgresRow) -> Result
    ) throws(StoreError) -> [Result] {
        try run(query, sql).rows.map(body)
    }

    /// Returns the number in the first column of the first row; 0 where there is none.
    func integer(_ query: PostgresQuery, _ sql: String) throws(StoreError) -> Int64 {
        try run(query, sql).first?.integer(0) ?? 0
    }

    // MARK: Rows

    func storedRows(_ entity: Entity, primaryKeys: [Int64]) throws -> [StoredRow] {
        let table = tables[entity.index]
        let keys = Dialect.isOneOf(primaryKeys)
        return try all("SELECT \(table.selection("t")) FROM \(table.name) t WHERE t.pk \(keys)") { table.row($0) }
    }

    func destinations(
        _ relationship: Relationship, of owners: [Int64]
    ) throws -> [(owner: Int64, row: StoredRow)] {
        let (table, source) = (tables[relationship.destinationIndex], self.source(relationship))
        let order = (source.place.map { ["\($0) NULLS LAST"] } ?? []) + [source.key]
        var found: [Int64: [StoredRow]] = [:]
        try step(
            """
            SELECT \(table.selection("d")), \(source.owner) FROM \(source.from) \
            WHERE \(source.owner) \(Dialect.isOneOf(owners)) ORDER BY \(order.joined(separator: ", "))
            """
        ) { row in
            found[row.integer(table.width), default: []].append(table.row(row))
            return true
        }
        return owners.flatMap { owner in (found[owner] ?? []).map { (owner, $0) } }
    }
}

// MARK: - What the evaluator asks

extension PostgresSnapshot: RowSource {
    func prepare(_ rows: ArraySlice<StoredRow>) {
        batch = rows
        makeRoom()
        for row in rows { keep(row) }
    }

    /// Forgets the rows in hand, except the rows of the batch, where there are too many.
    func makeRoom() {
        if loadedCount <= Self.loadedLimit { return }
        loaded = Array(repeating: [:], count: model.entities.count)
        lists = [:]
        loadedCount = 0
        for row in batch { keep(row) }
    }

    func keep(_ row: StoredRow) {
        if loaded[row.entity.rootIndex].updateValue(row, forKey: row.pk) == nil { loadedCount += 1 }
    }

    func object(_ entity: Int, _ pk: Int64) throws -> StoredRow? {
        let root = model.entities[entity].rootIndex
        if let known = loaded[root][pk] { return known }
        makeRoom()
        var keys: Set<Int64> = [pk]
        if let step = lastStep, let slot = step.slot, model.entities[step.destinationIndex].rootIndex == root {
            for row in loaded[model.entities[step.entityIndex].rootIndex].values where keys.count < Self.keyLimit {
                if case .integer(let key)? = row?.values[slot], loaded[root][key] == nil { keys.insert(key) }
            }
        }
        for key in keys { loaded[root].updateValue(nil, forKey: key) }
        for row in try storedRows(model.entities[root], primaryKeys: keys.sorted()) { keep(row) }
        return loaded[root][pk] ?? nil
    }

    func reference(_ relationship: Relationship, of object: StoredRow) -> Value {
        lastStep = relationship
        return relationship.slot.map { object.values[$0] } ?? .null
    }
}

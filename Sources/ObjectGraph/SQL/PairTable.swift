/// A link of a join table.
struct Pair: Hashable {
    let owner: Int64
    let destination: Int64
}

/// The bulk primitives on a join table.
final class PairTable {
    let join: JoinTable
    private let connection: OpaquePointer
    private let name: String
    private var lookUps: [String: PreparedStatement] = [:]
    private var insertion: PreparedStatement?
    private var deletion: PreparedStatement?

    init(_ join: JoinTable, connection: OpaquePointer) {
        self.join = join
        self.connection = connection
        name = SQLText.quoted(join.name)
    }

    /// Lets go of all prepared statements: a connection with one cannot be closed.
    func releaseStatements() {
        lookUps.removeAll()
        insertion = nil
        deletion = nil
    }

    /// Reads the links of objects on one side, at most `limit` of them.
    func pairs(keys: [Int64], onOwnerSide: Bool, limit: Int?, each: (Pair) -> Void) throws(StoreError) {
        let column = onOwnerSide ? "owner" : "destination"
        let keys = keys.map { Value.integer($0) }
        var remaining = limit ?? .max
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)]
            let width = KeyList.width(for: part.count)
            let statement = try lookUp(
                "SELECT owner, destination FROM \(name) WHERE \(column) IN (\(SQLText.parameters(width)))")
            KeyList.bind(part, to: statement)
            while try statement.step() {
                guard remaining > 0 else {
                    statement.reset()
                    return
                }
                remaining -= 1
                each(Pair(owner: statement.integer(0), destination: statement.integer(1)))
            }
        }
    }

    /// Reads which of some links exist.
    func existing(_ pairs: [Pair], each: (Pair) -> Void) throws(StoreError) {
        let widest = KeyList.maximumWidth / 2
        for start in stride(from: 0, to: pairs.count, by: widest) {
            let part = pairs[start..<min(start + widest, pairs.count)]
            let width = min(KeyList.width(for: part.count), widest)
            let rows = Array(repeating: "(?,?)", count: width).joined(separator: ",")
            // CROSS JOIN keeps the order: each wanted pair is one seek in the primary key.
            let statement = try lookUp(
                """
                WITH wanted(owner, destination) AS (VALUES \(rows)) SELECT w.owner, w.destination \
                FROM wanted w CROSS JOIN \(name) j ON j.owner = w.owner AND j.destination = w.destination
                """)
            var position = 1
            for pair in part {
                statement.bind(position, pair.owner)
                statement.bind(position + 1, pair.destination)
                position += 2
            }
            while position <= width * 2 {
                statement.bindNull(position)
                position += 1
            }
            while try statement.step() {
                each(Pair(owner: statement.integer(0), destination: statement.integer(1)))
            }
        }
    }

    private func lookUp(_ sql: String) throws(StoreError) -> PreparedStatement {
        if let statement = lookUps[sql] { return statement }
        let statement = try PreparedStatement(connection, sql: sql)
        lookUps[sql] = statement
        return statement
    }

    func insert(_ pair: Pair) throws(StoreError) {
        let statement: PreparedStatement
        if let insertion {
            statement = insertion
        } else {
            statement = try PreparedStatement(
                connection,
                sql: "INSERT INTO \(name) (owner, destination) VALUES (?, ?) ON CONFLICT DO NOTHING")
            insertion = statement
        }
        statement.bind(1, pair.owner)
        statement.bind(2, pair.destination)
        try statement.run()
    }

    func delete(_ pair: Pair) throws(StoreError) {
        let statement: PreparedStatement
        if let deletion {
            statement = deletion
        } else {
            statement = try PreparedStatement(
                connection, sql: "DELETE FROM \(name) WHERE owner = ? AND destination = ?")
            deletion = statement
        }
        statement.bind(1, pair.owner)
        statement.bind(2, pair.destination)
        try statement.run()
    }
}

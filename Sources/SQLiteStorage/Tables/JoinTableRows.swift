import StoreSQL

/// The bulk primitives on a join table.
final class JoinTableRows {
    let join: JoinTable
    private let connection: OpaquePointer
    private let name: String
    private var lookUps: [String: PreparedStatement] = [:]
    private var insertion: PreparedStatement?
    private var deletion: PreparedStatement?
    /// The columns of places, with a comma before each.
    private let places: String

    init(_ join: JoinTable, connection: OpaquePointer) {
        self.join = join
        self.connection = connection
        name = SQLText.quoted(join.name)
        places = join.positionColumns.map { ", \($0)" }.joined()
    }

    /// Releases all prepared statements: a connection with one cannot be closed.
    func releaseStatements() {
        lookUps.removeAll()
        insertion = nil
        deletion = nil
    }

    /// Reads the links of objects on one side with their places, at most `limit` of them.
    func placedPairs(
        keys: [Int64], onOwnerSide: Bool, limit: Int?, each: (Pair, PairPlaces) -> Void
    ) throws(StoreError) {
        let column = onOwnerSide ? "owner" : "destination"
        let keys = keys.map { PackedValue.integer($0) }
        var remaining = limit ?? .max
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)]
            let width = KeyList.width(for: part.count)
            let statement = try lookUp(
                "SELECT owner, destination\(places) FROM \(name) WHERE \(column) IN (\(SQLText.parameters(width)))")
            KeyList.bind(part, to: statement)
            while try statement.step() {
                guard remaining > 0 else {
                    statement.reset()
                    return
                }
                remaining -= 1
                each(Pair(owner: statement.integer(0), destination: statement.integer(1)), self.places(statement))
            }
        }
    }

    private func places(_ row: PreparedStatement) -> PairPlaces {
        var places = PairPlaces()
        var column = 2
        if join.ordersDestinations {
            places.destination = row.isNull(column) ? nil : row.integer(column)
            column += 1
        }
        if join.ordersOwners { places.owner = row.isNull(column) ? nil : row.integer(column) }
        return places
    }

    /// Reads the greatest place in the lists of objects on one side.
    func greatestPlaces(keys: [Int64], onOwnerSide: Bool, each: (Int64, Int64) -> Void) throws(StoreError) {
        let near = onOwnerSide ? "owner" : "destination"
        try KeyList.forEachPart(of: keys) { list throws(StoreError) in
            try lookUp(
                """
                SELECT \(near), max(\(JoinTable.positionColumn(isOwner: onOwnerSide))) FROM \(name) \
                WHERE \(near) IN (\(list)) GROUP BY \(near)
                """)
        } body: { statement throws(StoreError) in
            while try statement.step() {
                if !statement.isNull(1) { each(statement.integer(0), statement.integer(1)) }
            }
        }
    }

    /// Reads which of some links exist.
    func existing(_ pairs: [Pair], each: (Pair, PairPlaces) -> Void) throws(StoreError) {
        let widest = KeyList.maximumWidth / 2
        for start in stride(from: 0, to: pairs.count, by: widest) {
            let part = pairs[start..<min(start + widest, pairs.count)]
            let width = min(KeyList.width(for: part.count), widest)
            let rows = Array(repeating: "(?,?)", count: width).joined(separator: ",")
            // CROSS JOIN keeps the order: each wanted pair is one seek in the primary key.
            let statement = try lookUp(
                """
                WITH wanted(owner, destination) AS (VALUES \(rows)) SELECT w.owner, w.destination\(places) \
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
                each(Pair(owner: statement.integer(0), destination: statement.integer(1)), self.places(statement))
            }
        }
    }

    private func lookUp(_ sql: String) throws(StoreError) -> PreparedStatement {
        if let statement = lookUps[sql] { return statement }
        let statement = try PreparedStatement(connection, sql: sql)
        lookUps[sql] = statement
        return statement
    }

    /// Writes a link; one that is there gets the places.
    func insert(_ pair: Pair, _ places: PairPlaces = PairPlaces()) throws(StoreError) {
        let statement: PreparedStatement
        if let insertion {
            statement = insertion
        } else {
            let columns = join.positionColumns
            let update = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            let conflict = columns.isEmpty ? "NOTHING" : "UPDATE SET \(update)"
            statement = try PreparedStatement(
                connection,
                sql: """
                    INSERT INTO \(name) (owner, destination\(self.places)) \
                    VALUES (\(SQLText.parameters(2 + columns.count))) ON CONFLICT DO \(conflict)
                    """)
            insertion = statement
        }
        statement.bind(1, pair.owner)
        statement.bind(2, pair.destination)
        var position = 3
        if join.ordersDestinations {
            statement.bind(position, places.destination)
            position += 1
        }
        if join.ordersOwners { statement.bind(position, places.owner) }
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

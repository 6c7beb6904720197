import StoreSQL

/// Answers read plans, each in one round trip.
struct PostgresReadPlan {
    /// The kind of answer that the statements return.
    enum Form {
        case rows
        /// The rows, with a hash behind each.
        case hashedRows
        /// The number of the rows, and one number for all their hashes.
        case digest
    }

    let model: ObjectModel
    let tables: [PostgresTable]
    var form = Form.rows
    /// Needed for hashes.
    var columns: SharedColumns?

    /// The columns of a statement of the form.
    private func output(_ selection: String, hash: @autoclosure () -> String) -> String {
        switch form {
        case .rows: selection
        case .hashedRows: "\(selection), \(hash())"
        case .digest: "count(*), coalesce(bit_xor(\(hash())), 0)"
        }
    }

    private func output(_ join: JoinTable) -> String {
        let names = (["owner", "destination"] + join.positionColumns).map { "j.\(SQLText.quoted($0))" }
        return output(join.selection("j"), hash: SharedColumns.hash(names))
    }

    /// Returns one statement for each request.
    func statements(_ plan: [ReadRequest]) throws(StoreError) -> [PostgresStatement] {
        var statements: [PostgresStatement] = []
        for request in plan { statements.append(try statement(request)) }
        return statements
    }

    /// Hands over the answers of the results to a plan's statements.
    ///
    /// - Parameter hash: takes the position of a request in the plan, and the hash of one of its rows.
    func answer(
        _ plan: [ReadRequest], _ results: [PostgresResult], in arena: ValueArena, each: (Int, ReadAnswer) -> Void,
        hash: (Int, Int64) -> Void = { _, _ in }
    ) {
        if form == .hashedRows {
            for (position, (request, result)) in zip(plan, results).enumerated() {
                let last = width(request)
                for row in result.rows { hash(position, row.integer(last)) }
            }
        }
        for (position, (request, result)) in zip(plan, results).enumerated() {
            for row in result.rows {
                if let answer = answer(request, row, in: arena) { each(position, answer) }
            }
        }
    }

    /// Returns the answer in a row of the result to a request; nil of a row without one.
    func answer(_ request: ReadRequest, _ row: PostgresRow, in arena: ValueArena) -> ReadAnswer? {
        switch request {
        case .rows(let entity, _, _): return .row(PackedRow(tables[entity].row(row), in: arena))
        case .links(let table, _, _, _), .existingLinks(let table, _):
            let link = model.joinTables[table].link(row)
            return .link(link.pair, link.places)
        case .greatestPlaces:
            return row.isNull(1) ? nil : .place(owner: row.integer(0), greatest: row.integer(1))
        case .tombstones:
            guard let root = model.entity(named: row.text(0))?.index else { return nil }
            let tombstone = Tombstone(version: row.value(2, .anyValue), time: row.optionalInteger(3))
            return .tombstone(root: root, identity: row.value(1, .anyValue), tombstone)
        }
    }

    /// The number of columns before the hash.
    private func width(_ request: ReadRequest) -> Int {
        switch request {
        case .rows(let entity, _, _): tables[entity].width
        case .links(let table, _, _, _), .existingLinks(let table, _): 2 + model.joinTables[table].positionColumns.count
        case .greatestPlaces: 2
        case .tombstones: 4
        }
    }

    private func statement(_ request: ReadRequest) throws(StoreError) -> PostgresStatement {
        switch request {
        case .rows(let entity, let keys, let limit): return try rows(tables[entity], keys, limit)
        case .links(let table, let keys, let isOwnerSide, let limit):
            let join = model.joinTables[table]
            let column = isOwnerSide ? "owner" : "destination"
            var statement = PostgresStatement(
                """
                SELECT \(output(join)) FROM \(join.quotedName) j WHERE j.\(column) = ANY($1::int8[]) \
                LIMIT $2::int8
                """)
            statement.bind(keys, limit.map { Int64($0) })
            return statement
        case .existingLinks(let table, let pairs):
            let join = model.joinTables[table]
            var statement = PostgresStatement(
                """
                SELECT \(output(join)) FROM unnest($1::int8[], $2::int8[]) AS p(o, d) \
                JOIN \(join.quotedName) j ON j.owner = p.o AND j.destination = p.d
                """)
            statement.bind(pairs.map(\.owner), pairs.map(\.destination))
            return statement
        case .greatestPlaces(let relationship, let owners): return greatestPlaces(relationship, owners)
        case .tombstones(let lists): return try tombstones(lists)
        }
    }

    private func tombstones(_ lists: [(root: Int, identities: [PackedValue])]) throws(StoreError) -> PostgresStatement {
        let columns = ["entity", "identity", "version", "time"]
        // Without statistics the server would read all tombstones of the entity for `identity = ANY(…)`.
        let selections = lists.indices.map { index in
            """
            SELECT t.* FROM unnest($\(2 * index + 2)::bytea[]) AS k(wanted) CROSS JOIN LATERAL \
            (SELECT * FROM _tombstone WHERE entity = $\(2 * index + 1)::text AND identity = k.wanted LIMIT 1) AS t
            """
        }
        var statement = PostgresStatement(
            """
            SELECT \(output(columns.joined(separator: ", "), hash: SharedColumns.hash(columns))) \
            FROM (\(selections.joined(separator: " UNION ALL "))) AS t
            """)
        for (root, identities) in lists {
            statement.bind(model.entities[root].rootName)
            try statement.bind(identities.lazy.map(\.value), as: .anyValue)
        }
        return statement
    }

    private func rows(_ table: PostgresTable, _ keys: RowKeys, _ limit: Int?) throws(StoreError) -> PostgresStatement {
        let head = "SELECT \(output(table.selection("t"), hash: columns?.hash(table, "t") ?? "0")) FROM \(table.name) t"
        // Without an order, which would let the server walk the primary keys of the whole table.
        func lookUp(_ column: String, _ kind: ColumnKind) -> PostgresStatement {
            PostgresStatement("\(head) WHERE t.\(column) = ANY(\(kind.comparableList(1))) LIMIT $2::int8")
        }
        var statement: PostgresStatement
        switch keys {
        case .primaryKeys(let keys):
            statement = lookUp("pk", .bigint)
            statement.bind(keys)
        case .identities(let identities):
            let slot = table.root.identitySlot
            statement = lookUp(table.columns[slot], table.kinds[slot])
            try statement.bind(identities.lazy.map(\.value), as: table.kinds[slot])
        case .values(let values, let slot):
            statement = lookUp(table.columns[slot], table.kinds[slot])
            try statement.bind(values.lazy.map(\.value), as: table.kinds[slot])
        case .unique(let tuples, let constraint):
            let declaring = model.entities[constraint.entityIndex]
            let names = constraint.slots.indices.map { "c\($0)" }
            let lists = constraint.slots.enumerated().map { table.kinds[$1].list($0 + 1) }
            let conditions = constraint.slots.enumerated().map { position, slot in
                "t.\(table.columns[slot]) = \(table.kinds[slot].stored("k.c\(position)"))"
            }
            let kind =
                declaring.parentIndex == nil ? [] : [model.kindCondition(declaring, alias: "t.")]
            statement = PostgresStatement(
                """
                \(head) JOIN unnest(\(lists.joined(separator: ", "))) AS k(\(names.joined(separator: ", "))) \
                ON \((conditions + kind).joined(separator: " AND ")) LIMIT $\(lists.count + 1)::int8
                """)
            for (position, slot) in constraint.slots.enumerated() {
                try statement.bind(tuples.map { $0[position] }, as: table.kinds[slot])
            }
        }
        statement.bind(limit.map { Int64($0) })
        return statement
    }

    private func greatestPlaces(_ relationship: Relationship, _ owners: [Int64]) -> PostgresStatement {
        var sql = "SELECT NULL::int8, NULL::int8 WHERE false AND $1::int8[] IS NULL"
        switch relationship.storage {
        case .column: break
        case .inverseColumn(let slot):
            guard let place = relationship.positionSlot else { break }
            let table = tables[relationship.destinationIndex]
            sql = """
                SELECT t.\(table.columns[slot]), max(t.\(table.columns[place])) FROM \(table.name) t \
                WHERE t.\(table.columns[slot]) = ANY($1::int8[]) GROUP BY 1
                """
        case .join(let index, let isOwner):
            let join = model.joinTables[index]
            let place = SQLText.quoted(JoinTable.positionColumn(isOwner: isOwner))
            if isOwner ? !join.ordersDestinations : !join.ordersOwners { break }
            let near = isOwner ? "owner" : "destination"
            sql = """
                SELECT j.\(near), max(j.\(place)) FROM \(join.quotedName) j \
                WHERE j.\(near) = ANY($1::int8[]) GROUP BY 1
                """
        }
        if form != .rows {
            sql = "SELECT \(output("a, b", hash: SharedColumns.hash(["a", "b"]))) FROM (\(sql)) AS q(a, b)"
        }
        var statement = PostgresStatement(sql)
        statement.bind(owners)
        return statement
    }
}

/// Reads rows of the last commit on a connection of its own.
final class PostgresRowReader: RowReader {
    private let storage: PostgresStorage
    private(set) var connection: PostgresConnection
    private let plans: PostgresReadPlan

    init(_ storage: PostgresStorage) throws(StoreError) {
        self.storage = storage
        connection = try storage.connect(.reader)
        plans = PostgresReadPlan(model: storage.model, tables: storage.tables)
    }

    func load(
        _ plan: [ReadRequest], in arena: ValueArena, each: (Int, ReadAnswer) -> Void
    ) throws(StoreError) {
        if connection.isLost { connection = try storage.connect(.reader) }
        connection.enqueue(.beginReading)
        do throws(StoreError) {
            let results = try connection.run(
                try plans.statements(plan) + [PostgresStatement("COMMIT")], "read the store")
            plans.answer(plan, results, in: arena, each: each)
        } catch {
            connection.undo()
            throw error
        }
    }
}

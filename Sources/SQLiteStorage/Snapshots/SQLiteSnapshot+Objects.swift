import StoreSQL

// Objects and rows of fetch requests.
extension SQLiteSnapshot {
    func objects(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        var objects: [FetchedObject] = []
        try run(request, .objects(withOrder: false), caches?.plans.plan(request)) { query, row, lists in
            objects.append(try query.object(row, lists))
            return true
        }
        return objects
    }

    func objects(
        _ request: CheckedFetchRequest, withOrder: Bool, each: (FetchedObject, [Value]) throws -> Bool
    ) throws {
        let plan = withOrder ? nil : caches?.plans.plan(request)
        try run(request, .objects(withOrder: withOrder), plan) { query, row, lists in
            try each(try query.object(row, lists), withOrder ? query.order(row) : [])
        }
    }

    /// Runs a request's query, then the one of the objects that a descending order ends with, where a cursor needs it.
    ///
    /// - Parameter plan: the plan of the request's objects, if there is one.
    private func run(
        _ request: CheckedFetchRequest, _ output: FetchQuery.Output, _ plan: FetchPlan?,
        each: (FetchQuery, PreparedStatement, [PreparedStatement]) throws -> Bool
    ) throws {
        let query = try plan?.query(request) ?? FetchQuery(request, output: output, now: request.time)
        let lists = try listStatements(query)
        defer { giveBack(lists, query) }
        var count = 0
        let goesOn = try step(query.sql, query.bindings) { row in
            count += 1
            return try each(query, row, lists)
        }
        guard goesOn, request.needsMissing, request.limit.map({ count < $0 }) ?? true else { return }
        var rest = request
        rest.limit = request.limit.map { $0 - count }
        let missing = try FetchQuery(rest, output: output, now: request.time, onlyMissing: true)
        try step(missing.sql, missing.bindings) { try each(missing, $0, lists) }
    }

    func batches(_ request: CheckedFetchRequest, size: Int) throws -> any ObjectBatches {
        try SQLiteBatches(self, request, size: size)
    }

    func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] {
        let query = try FetchQuery(request, output: .rows, now: request.time)
        return try all(query.sql, query.bindings) { try query.row($0) }
    }

    func count(_ request: CheckedFetchRequest) throws -> Int {
        let query = try FetchQuery(request, output: .count, now: request.time)
        return Int(try all(query.sql, query.bindings) { $0.integer(0) }.first ?? 0)
    }

    // MARK: Lists

    func listStatements(_ query: FetchQuery) throws(StoreError) -> [PreparedStatement] {
        var statements: [PreparedStatement] = []
        for sql in query.listStatements { statements.append(try statement(sql)) }
        return statements
    }

    /// Keeps the statements of a query's lists for the next read; they may be in use no more.
    private func giveBack(_ lists: [PreparedStatement], _ query: FetchQuery) {
        guard let caches else { return }
        for (statement, sql) in zip(lists, query.listStatements) { caches.statements.giveBack(statement, sql) }
    }

    // MARK: Rows of primary keys

    func storedRows(_ entity: Entity, primaryKeys: [Int64]) throws -> [StoredRow] {
        var rows: [StoredRow] = []
        try table(entity).storedRows(.primaryKeys(primaryKeys), model: model) { rows.append($0) }
        return rows
    }

    private func table(_ entity: Entity) throws(StoreError) -> EntityTable {
        EntityTable(model.entities[entity.rootIndex], model: model, connection: try connection())
    }

    func destinations(
        _ relationship: Relationship, of owners: [Int64]
    ) throws -> [(owner: Int64, row: StoredRow)] {
        var found: [(owner: Int64, place: Int64?, row: StoredRow)] = []
        let table = try table(model.entities[relationship.destinationIndex])
        switch relationship.storage {
        case .column(let slot), .inverseColumn(let slot):
            let place = relationship.positionSlot
            try table.storedRows(.values(owners.map { .integer($0) }, slot: slot), model: model) { row in
                guard case .integer(let owner) = row.values[slot] else { return }
                found.append((owner, place.flatMap { row.values[$0].integer }, row))
            }
        case .join(let index, let isOwner):
            var links: [(owner: Int64, destination: Int64, place: Int64?)] = []
            let join = JoinTableRows(model.joinTables[index], connection: try connection())
            try join.placedPairs(keys: owners, onOwnerSide: isOwner, limit: nil) { pair, places in
                links.append(
                    isOwner
                        ? (pair.owner, pair.destination, places.destination)
                        : (pair.destination, pair.owner, places.owner))
            }
            var rows: [Int64: StoredRow] = [:]
            let keys = Set(links.map(\.destination)).sorted()
            try table.storedRows(.primaryKeys(keys), model: model) { rows[$0.pk] = $0 }
            found = links.compactMap { link in rows[link.destination].map { (link.owner, link.place, $0) } }
        }
        return found.sorted { ($0.owner, $0.place ?? .max, $0.row.pk) < ($1.owner, $1.place ?? .max, $1.row.pk) }
            .map { ($0.owner, $0.row) }
    }
}

extension CheckedFetchRequest {
    /// Tells whether objects without a value come behind the cursor's, which a query of their own reads.
    var needsMissing: Bool {
        guard let cursor = after, let first = sort.first, let value = cursor.values.first else { return false }
        return first.isDescending && !value.isNull
    }
}

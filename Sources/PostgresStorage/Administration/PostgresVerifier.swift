/// Checks a store in PostgreSQL. It relies on nothing that the writer computes with: counts and sums are its own.
struct PostgresVerifier: StoreChecks {
    let model: ObjectModel
    let snapshot: PostgresSnapshot

    private static let savepoint = "checks"
    /// So many rows are in memory at a time.
    private static let pageSize: Int64 = 1000

    private let slices: VerificationSlices
    let progress: VerificationProgress

    init(
        _ context: ReadContext, _ slices: VerificationSlices, _ progress: VerificationProgress
    ) throws(StoreError) {
        guard let snapshot = context.session as? PostgresSnapshot else {
            throw StoreError(.unavailable, "The store is not in PostgreSQL", remedy: "Ask a store in PostgreSQL")
        }
        self.snapshot = snapshot
        self.slices = slices
        self.progress = progress
        model = context.model
        try save()
    }

    /// A failed statement ends all that follows in its transaction.
    private func save() throws(StoreError) { _ = try snapshot.run(PostgresStatement("SAVEPOINT \(Self.savepoint)")) }

    /// Each check has a snapshot of its own: the server keeps old rows for as long as one lasts.
    func renew() throws(StoreError) {
        if !slices.renewsSnapshots { return }
        try snapshot.renew()
        try save()
    }

    func recover() throws(StoreError) {
        _ = try snapshot.run(PostgresStatement("ROLLBACK TO \(Self.savepoint)"))
    }

    // MARK: Reading

    /// Calls `each` with every row of a query, whose parameters are whole numbers.
    func rows(
        _ sql: String, _ numbers: Int64..., each: (PostgresRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        var statement = PostgresStatement(sql)
        for number in numbers { statement.bind(number) }
        for row in try snapshot.run(statement).rows { try each(row) }
    }

    /// Calls `each` with every row of a query, a page at a time. The first column is a whole number that rows are paged by.
    ///
    /// - Parameter sql: returns the SQL of the rows whose first column is greater than one parameter, limited by another.
    func pages(
        _ sql: (_ after: String, _ limit: String) -> String, each: (PostgresRow) -> Void
    ) throws(StoreError) {
        let text = sql("$1::int8", "$2::int8")
        var last = Int64?.some(.min)
        while let start = last {
            last = nil
            var statement = PostgresStatement(text)
            statement.bind(start, Self.pageSize)
            // The rows of a page are streamed: an owner may have millions of members.
            try snapshot.stream(statement) { row in
                each(row)
                last = row.integer(0)
            }
        }
    }

    /// Calls `each` with every row of a hierarchy.
    func eachRow(_ root: Entity, _ each: (StoredRow) -> Void) throws(StoreError) {
        do {
            var request = FetchRequest(root.name)
            request.includesPlaceholders = true
            try snapshot.candidates(try request.checked(with: model)) { rows in
                for row in rows { each(row) }
                return true
            }
        } catch {
            throw StoreError(error, action: "verify the store")
        }
    }

    /// Returns the first column of the first row, or nil where there is none or it is null.
    func integer(_ sql: String) throws(StoreError) -> Int64? {
        try snapshot.run(PostgresStatement(sql)).first?.optionalInteger(0)
    }

    func text(_ sql: String) throws(StoreError) -> String? {
        try snapshot.run(PostgresStatement(sql)).first?.optionalText(0)
    }

    func rowCount(_ entity: Entity) throws(StoreError) -> Int64 {
        try integer("SELECT count(*) FROM \(table(entity))") ?? 0
    }

    func kind(_ slot: Int, of entity: Entity) -> ColumnKind { snapshot.tables[entity.index].kinds[slot] }

    /// A column as a query returns it.
    func selected(_ slot: Int, of entity: Entity, _ alias: String) -> String {
        kind(slot, of: entity).selected("\(alias).\(SQLText.quoted(entity.columnNames[slot]))")
    }

    /// The identity of an object of the alias, as a query returns it.
    func identityColumn(_ entity: Entity, _ alias: String) -> String {
        selected(entity.identitySlot, of: entity, alias)
    }

    /// The text of an identity in a column of a result.
    func identity(_ row: PostgresRow, _ column: Int, _ entity: Entity) -> String {
        entity.identity.type.text(of: row.value(column, kind(entity.identitySlot, of: entity)))
    }

    /// The condition that no row of an entity has the key that a column holds.
    func isMissing(_ entity: Entity, _ column: String) -> String {
        "NOT EXISTS (SELECT 1 FROM \(table(entity)) x WHERE x.pk = \(column))"
    }

    // MARK: The schema

    /// The server checks its files by itself; an index that was not built is left in its catalogue.
    func checkIntegrity(_ check: inout Check) throws(StoreError) {
        check.checkedCount = 1
        try rows(
            """
            SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid \
            WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT (i.indisvalid AND i.indisready) ORDER BY 1
            """
        ) { row in check.report("store", nil, nil, "the index \(row.text(0)) is not valid") }
    }

    /// Looks after the references that SQLite declares as foreign keys.
    func checkForeignKeys(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities { check.checkedCount += try rowCount(entity) }
        func find(_ table: String, _ key: String, _ column: String, _ destination: Entity) throws(StoreError) {
            try rows(
                "SELECT e.\(key) FROM \(table) e WHERE \(isMissing(destination, column)) AND \(column) IS NOT NULL"
            ) { row in
                let problem = StoreProblem.brokenKey(row: row.integer(0), table: destination.tableName)
                check.report(table.filter { $0 != "\"" }, nil, nil, problem)
            }
        }
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                if model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true { continue }
                let destination = model.entities[model.entities[relationship.destinationIndex].rootIndex]
                try find(SQLText.quoted(entity.tableName), "pk", "e.\(column)", destination)
            }
        }
        for join in model.joinTables {
            for (column, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)] {
                let root = model.entities[model.entities[index].rootIndex]
                try find(join.quotedName, column, "e.\(column)", root)
            }
        }
    }

    // MARK: Objects

    func checkIdentities(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            let column = "e.\(SQLText.quoted(entity.identity.columnName))"
            let name = entity.identity.name
            try rows("SELECT e.pk FROM \(table(entity)) e WHERE \(column) IS NULL ORDER BY 1") { row in
                check.report(entity.name, nil, name, StoreProblem.noIdentity(key: row.integer(0)))
            }
            try rows(
                """
                SELECT \(identityColumn(entity, "e")), count(*) FROM \(table(entity)) e WHERE \(column) IS NOT NULL \
                GROUP BY \(column) HAVING count(*) > 1
                """
            ) { row in
                let problem = StoreProblem.sharedIdentity(count: row.integer(1))
                check.report(entity.name, identity(row, 0, entity), name, problem)
            }
        }
    }

    /// Reports the objects of an entity that have no value in some of its required slots.
    func checkPresence(of slots: [Int], _ entity: Entity, _ check: inout Check) throws(StoreError) {
        check.checkedCount += try rowCount(entity)
        if slots.isEmpty { return }
        let columns = slots.map { "e.\(SQLText.quoted(entity.columnNames[$0])) IS NULL" }
        try rows(
            """
            SELECT \(identityColumn(entity, "e")), \(columns.joined(separator: ", ")) FROM \(table(entity)) e \
            WHERE NOT e._placeholder AND (\(columns.joined(separator: " OR "))) ORDER BY e.pk
            """
        ) { row in
            for (index, slot) in slots.enumerated() where row.flag(index + 1) {
                check.report(entity.name, identity(row, 0, entity), entity.slotNames[slot], StoreProblem.required)
            }
        }
    }
}

import StoreSQL

/// Checks a store in PostgreSQL.
struct PostgresVerifier: SQLChecks {
    typealias Dialect = PostgresDialect

    let model: ObjectModel
    let snapshot: PostgresSnapshot

    private static let savepoint = "checks"

    let slices: VerificationSlices
    /// The server counts the rows of a table as long as it checks them, so nothing is rehearsed.
    let rehearsal: VerificationRehearsal? = nil
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

    /// The server keeps old rows for as long as a snapshot lasts.
    func renew() throws(StoreError) {
        if !slices.renewsSnapshots { return }
        try snapshot.renew()
        try save()
    }

    func recover() throws(StoreError) {
        _ = try snapshot.run(PostgresStatement("ROLLBACK TO \(Self.savepoint)"))
    }

    // MARK: Reading

    /// The rows are streamed: an owner may have millions of members.
    func read(_ query: SQLFragment, each: (PostgresRow) -> Void) throws(StoreError) {
        try snapshot.stream(PostgresStatement(query), each: each)
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

    // MARK: Numbers

    func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        // A sum of `numeric` cannot overflow.
        let value = "d.\(SQLText.quoted(summed.columnName))::numeric"
        let sum = "(SELECT sum(\(value)) FROM \(links.from) WHERE \(links.owner) = o.pk)"
        try compare(attribute, entity, with: Dialect.bounded("coalesce(\(sum), 0)", attribute.type), &check)
    }

    func checkTokens(through last: Int64, _ check: inout Check) throws(StoreError) {
        let given = try integer("SELECT token FROM _token") ?? 0
        if given < last { check.report("_token", nil, "token", StoreProblem.usedKey(greatest: last, next: given + 1)) }
    }
}

import GRDB
import GRDBSQLite

extension SQLiteStorage: StorageAdministration {
    func verify(
        _ snapshot: ReadContext, _ slices: VerificationSlices, progress: (VerificationStep) -> Void
    ) throws -> VerificationReport {
        try withoutActuallyEscaping(progress) { progress in
            try StoreVerifier(snapshot, slices, progress: VerificationProgress(progress)).verify()
        }
    }
}

/// Checks a store. It relies on nothing that the writer computes with: counts and sums are its own.
struct StoreVerifier: StoreChecks {
    let model: ObjectModel
    private let connection: OpaquePointer
    let slices: VerificationSlices
    private(set) var progress: VerificationProgress
    /// The rows that a check would pass: with it, a verifier asks the store for nothing else.
    private(set) var rehearsal: VerificationRehearsal?

    init(
        _ context: ReadContext, _ slices: VerificationSlices = .ofOneSnapshot,
        progress: VerificationProgress = VerificationProgress()
    ) throws(StoreError) {
        self.slices = slices
        self.progress = progress
        model = context.model
        connection = try context.connection()
    }

    func recover() {}

    func rehearsing(_ rehearsal: VerificationRehearsal) -> Self? {
        var copy = self
        copy.rehearsal = rehearsal
        copy.progress = VerificationProgress()
        return copy
    }

    // MARK: Reading

    func statement(_ sql: String) throws(StoreError) -> PreparedStatement {
        try PreparedStatement(connection, sql: sql)
    }

    /// Calls `each` with every row of a query.
    func rows(
        _ sql: String, _ bindings: [Value] = [], each: (PreparedStatement) throws(StoreError) -> Void
    ) throws(StoreError) {
        if rehearsal != nil { return }
        let statement = try statement(sql)
        for (index, value) in bindings.enumerated() { statement.bind(index + 1, value) }
        while try statement.step() { try each(statement) }
    }

    /// Returns the first column of the first row, or nil where there is none or it is null.
    func integer(_ sql: String, _ bindings: [Value] = []) throws(StoreError) -> Int64? {
        var result: Int64?
        try rows(sql, bindings) { row in if !row.isNull(0), result == nil { result = row.integer(0) } }
        return result
    }

    func rowCount(_ entity: Entity) throws(StoreError) -> Int64 {
        try integer("SELECT count(*) FROM \(table(entity))") ?? 0
    }

    func identity(_ value: Value, _ entity: Entity) -> String { entity.identity.type.text(of: value) }

    // MARK: The file

    /// In one snapshot the whole file; else one table after another, which leaves out the list of the file's free pages.
    func checkIntegrity(_ check: inout Check) throws(StoreError) {
        // A migration verifies a copy beside which the old store is attached.
        check.checkedCount = 1
        let arguments = slices.renewsSnapshots ? try tables() + ["sqlite_master"] : ["1000"]
        for argument in arguments {
            try rows("PRAGMA main.integrity_check(\(argument))") { row in
                let line = row.text(0)
                if line != "ok" { check.report("store", nil, nil, line) }
            }
            progress.pass(rowCount: 0, of: check)
            try renew()
        }
    }

    private func tables() throws(StoreError) -> [String] {
        var names: [String] = []
        try rows("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name") { row in
            names.append(SQLText.quoted(row.text(0)))
        }
        return names
    }

    func checkForeignKeys(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities { check.checkedCount += try rowCount(entity) }
        for table in try tables() {
            try rows("PRAGMA main.foreign_key_check(\(table))") { row in
                check.report(
                    row.text(0), nil, nil, StoreProblem.brokenKey(row: row.integer(1), table: row.text(2)))
            }
            try renew()
        }
    }

    // MARK: Objects

    func checkIdentities(_ check: inout Check) throws(StoreError) {
        for entity in model.rootEntities {
            check.checkedCount += try rowCount(entity)
            let column = SQLText.quoted(entity.identity.columnName)
            let name = entity.identity.name
            try rows("SELECT pk FROM \(table(entity)) WHERE \(column) IS NULL") { row in
                check.report(entity.name, nil, name, StoreProblem.noIdentity(key: row.integer(0)))
            }
            try eachSlice(of: table(entity), by: column, &check) { slice, check throws(StoreError) in
                try rows(
                    """
                    SELECT \(column), count(*) FROM \(table(entity)) WHERE \(slice.holds(column)) GROUP BY \(column) \
                    HAVING count(*) > 1
                    """, slice.bounds
                ) { row in
                    check.report(
                        entity.name, identity(row.value(0), entity), name,
                        StoreProblem.sharedIdentity(count: row.integer(1)))
                }
            }
        }
    }

    /// Reports the objects of an entity that have no value in some of its required slots.
    func checkPresence(of slots: [Int], _ entity: Entity, _ check: inout Check) throws(StoreError) {
        let columns = slots.map { "\(SQLText.quoted(entity.columnNames[$0])) IS NULL" }
        try eachSlice(of: entity, &check) { slice, check throws(StoreError) in
            if slots.isEmpty { return }
            try rows(
                """
                SELECT \(SQLText.quoted(entity.identity.columnName)), \(columns.joined(separator: ", ")) FROM \(table(entity)) \
                WHERE _placeholder = 0 AND (\(columns.joined(separator: " OR "))) AND \(slice.holds("pk"))
                """, slice.bounds
            ) { row in
                for (index, slot) in slots.enumerated() where row.integer(index + 1) != 0 {
                    let name = entity.slotNames[slot]
                    check.report(entity.name, identity(row.value(0), entity), name, StoreProblem.required)
                }
            }
        }
    }

    // MARK: Relationships

    /// To-one columns lead to rows; the model lets those dangle whose inverse has the delete rule 'no action'.
    func checkReferences(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                let mayDangle = model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true
                let destination = model.entities[relationship.destinationIndex]
                try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                    check.checkedCount += try count(table(entity), column, in: slice)
                    if mayDangle { return }
                    try rows(
                        """
                        SELECT e.\(SQLText.quoted(entity.identity.columnName)) FROM \(table(entity)) e \
                        WHERE e.\(column) IS NOT NULL AND \(slice.holds("e.pk")) \
                        AND NOT EXISTS (SELECT 1 FROM \(table(destination)) d WHERE d.pk = e.\(column))
                        """, slice.bounds
                    ) { row in
                        check.report(
                            entity.name, identity(row.value(0), entity), relationship.name,
                            StoreProblem.dangling(destination.name))
                    }
                }
            }
        }
    }

    /// Rows of join tables lead to rows, and those of a relationship that is its own inverse come in both directions.
    func checkLinks(_ check: inout Check) throws(StoreError) {
        for join in model.joinTables {
            let name = SQLText.quoted(join.name)
            try eachSlice(of: name, by: "owner", &check) { slice, check throws(StoreError) in
                check.checkedCount += try count(name, in: slice, by: "owner")
                for (column, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)] {
                    try checkEnds(join, column, model.entities[index], slice, &check)
                }
                if join.isOwnInverse { try checkSymmetry(join, slice, &check) }
            }
        }
    }

    private func checkEnds(
        _ join: JoinTable, _ column: String, _ entity: Entity, _ slice: Slice, _ check: inout Check
    ) throws(StoreError) {
        try rows(
            """
            SELECT j.owner, j.destination FROM \(SQLText.quoted(join.name)) j WHERE \(slice.holds("j.owner")) \
            AND NOT EXISTS (SELECT 1 FROM \(table(entity)) e WHERE e.pk = j.\(column))
            """, slice.bounds
        ) { row in
            let pair = Pair(owner: row.integer(0), destination: row.integer(1))
            check.report(join.name, nil, column, StoreProblem.danglingLink(pair, entity.name))
        }
    }

    private func checkSymmetry(_ join: JoinTable, _ slice: Slice, _ check: inout Check) throws(StoreError) {
        let entity = model.entities[join.ownerEntity]
        let name = SQLText.quoted(join.name)
        let relationship = entity.relationships[join.ownerRelationship].name
        try rows(
            """
            SELECT e.\(SQLText.quoted(entity.identity.columnName)) FROM \(name) l LEFT JOIN \(table(entity)) e ON e.pk = l.owner \
            WHERE \(slice.holds("l.owner")) \
            AND NOT EXISTS (SELECT 1 FROM \(name) b WHERE b.owner = l.destination AND b.destination = l.owner)
            """, slice.bounds
        ) { row in
            check.report(
                entity.name, identity(row.value(0), entity), relationship,
                StoreProblem.oneWayLink)
        }
    }

    /// Both ends of a one-to-one relationship lead to each other.
    func checkInverses(_ check: inout Check) throws(StoreError) {
        for entity in model.entities {
            for (relationship, column) in columns(entity) {
                guard let inverse = model.inverse(of: relationship), inverse.slot != nil else { continue }
                let destination = model.entities[relationship.destinationIndex]
                try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
                    check.checkedCount += try count(table(entity), column, in: slice)
                    try rows(
                        """
                        SELECT e.\(SQLText.quoted(entity.identity.columnName)) FROM \(table(entity)) e \
                        JOIN \(table(destination)) d ON d.pk = e.\(column) \
                        WHERE d.\(SQLText.quoted(inverse.columnName)) IS NOT e.pk AND \(slice.holds("e.pk"))
                        """, slice.bounds
                    ) { row in
                        check.report(
                            entity.name, identity(row.value(0), entity), relationship.name,
                            StoreProblem.noWayBack(destination.name, inverse.name))
                    }
                }
            }
        }
    }
}

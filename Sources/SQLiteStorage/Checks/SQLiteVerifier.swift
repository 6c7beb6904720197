import GRDBSQLite
import StoreSQL

/// Checks a store. It relies on nothing that the writer computes with: counts and sums are its own.
struct SQLiteVerifier: SQLChecks {
    typealias Dialect = SQLiteDialect

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

    func read(_ query: SQLFragment, each: (PreparedStatement) -> Void) throws(StoreError) {
        let statement = try PreparedStatement(connection, sql: query.sql)
        statement.bind(query.parameters)
        while try statement.step() { each(statement) }
    }

    func hasTable(_ name: String) throws(StoreError) -> Bool {
        var isThere = false
        try read("SELECT 1 FROM sqlite_master WHERE name = \(bind: name)") { _ in isThere = true }
        return isThere
    }

    func renew() throws(StoreError) {
        if !slices.renewsSnapshots || rehearsal != nil { return }
        for sql in ["COMMIT", "BEGIN"] { try PreparedStatement(connection, sql: sql).run() }
    }

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

    // MARK: Sums

    func checkWholeSum(
        _ attribute: Attribute, _ entity: Entity, _ relationship: Relationship, _ summed: Attribute,
        _ check: inout Check
    ) throws(StoreError) {
        let links = destinations(relationship)
        let column = "d.\(SQLText.quoted(summed.columnName))"
        // In halves of 32 bits no sum can overflow.
        func half(_ part: String) -> String {
            "coalesce((SELECT sum(\(part)) FROM \(links.from) WHERE \(links.owner) = o.pk), 0)"
        }
        let halves = "\(half("\(column) >> 32")) || ' ' || \(half("\(column) & 4294967295"))"
        try compare(attribute, entity, with: halves, &check) { halves in
            let parts = (halves.text ?? "").split(separator: " ").compactMap { Int64($0) }
            guard parts.count == 2 else { return .null }
            let (high, overflows) = parts[0].multipliedReportingOverflow(by: 1 << 32)
            let (sum, isOver) = high.addingReportingOverflow(parts[1])
            // A sum beyond the type stays at its bound.
            let unbounded: Int64 = overflows || isOver ? (parts[0] < 0 ? .min : .max) : sum
            let range = attribute.type.integerRange ?? Int64.min...Int64.max
            return .integer(min(max(unbounded, range.lowerBound), range.upperBound))
        }
    }
}

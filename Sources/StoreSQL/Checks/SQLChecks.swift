/// The checks of a store in a SQL engine. They rely on nothing that a writer computes with: counts and sums are their own.
///
/// Each looks at its rows in slices, so that a snapshot lasts no longer than one slice takes.
package protocol SQLChecks: StoreChecks {
    associatedtype Dialect: SQLDialect
    associatedtype Row: SQLRow

    var slices: VerificationSlices { get }
    /// The rows that a check would pass: with it, checks ask the store for nothing else.
    var rehearsal: VerificationRehearsal? { get }

    /// Calls `each` with every row of a query.
    ///
    /// - Parameter each: may not use the connection.
    func read(_ query: SQLFragment, each: (Row) -> Void) throws(StoreError)

    /// Tells whether a store that nobody has opened for writing since has a table that this version adds.
    func hasTable(_ name: String) throws(StoreError) -> Bool

    /// Checks the numbers that the store gives to transactions, of which the last has a token.
    func checkTokens(through last: Int64, _ check: inout Check) throws(StoreError)
}

/// A slice of a table: the rows whose key is above one value and at most another.
package struct SQLSlice {
    fileprivate var above: SQLParameter?
    fileprivate var through: SQLParameter?

    /// The condition that a column is in the slice.
    package func holds(_ column: String) -> SQLFragment {
        let conditions: [SQLFragment?] = [
            above.map { "\(column) > \(bind: $0)" }, through.map { "\(column) <= \(bind: $0)" },
        ]
        let bounds = conditions.compactMap(\.self)
        return bounds.isEmpty ? "\(column) IS NOT NULL" : bounds.conjunction
    }

    /// The condition that a column may be in a slice of recorded values, by the bounds that have the form of its type. The
    /// form of recorded values sorts as the columns do.
    func holds(_ column: String, of type: AttributeType) -> SQLFragment {
        func bound(_ parameter: SQLParameter?) -> SQLParameter? {
            guard case .recorded(let value)? = parameter, type.holds(value), value.text?.utf8.contains(0) != true else {
                return nil
            }
            return .column(value, type)
        }
        return SQLSlice(above: bound(above), through: bound(through)).holds(column)
    }
}

/// The key that slices are cut by: a column of an attribute's type, or one of the store's own that holds identities.
package enum SQLSliceKey {
    case number(String)
    case attribute(String, AttributeType)
    case recorded(String)

    fileprivate var column: String {
        switch self {
        case .number(let column), .attribute(let column, _), .recorded(let column): column
        }
    }

    fileprivate func bound(_ row: some SQLRow) -> SQLParameter {
        switch self {
        // A damaged store may have a text there: as a number it would begin the slices again.
        case .number: .column(row.value(0, .integer64), .integer64)
        case .attribute(_, let type): .column(row.value(0, type), type)
        case .recorded: .recorded(row.value(0))
        }
    }
}

extension SQLChecks {
    package func hasTable(_ name: String) throws(StoreError) -> Bool { true }

    package func checkTokens(through last: Int64, _ check: inout Check) throws(StoreError) {}

    // MARK: Reading

    package func rows(_ query: SQLFragment, each: (Row) -> Void) throws(StoreError) {
        if rehearsal == nil { try read(query, each: each) }
    }

    /// Returns the first column of the first row, or nil where there is none or it is null.
    package func integer(_ query: SQLFragment) throws(StoreError) -> Int64? {
        var result: Int64?
        try rows(query) { row in result = result ?? row.optionalInteger(0) }
        return result
    }

    package func rowCount(_ entity: Entity) throws(StoreError) -> Int64 {
        try integer("SELECT count(*) FROM \(table(entity))") ?? 0
    }

    /// An attribute's column as a query returns it, of the table under an alias.
    func selected(_ attribute: Attribute, _ alias: String) -> String {
        Dialect.selected(column(attribute, alias), attribute.type)
    }

    func column(_ attribute: Attribute, _ alias: String) -> String {
        "\(alias).\(SQLText.quoted(attribute.columnName))"
    }

    /// The text of the identity in the first column of a row.
    func identity(_ row: Row, _ entity: Entity) -> String {
        entity.identity.type.text(of: row.value(0, entity.identity.type))
    }

    /// The condition that no row of an entity has the key that a column holds.
    package func isMissing(_ entity: Entity, _ column: String) -> String {
        "NOT EXISTS (SELECT 1 FROM \(table(entity)) x WHERE x.pk = \(column))"
    }

    // MARK: Slices

    /// Calls `body` with slices that hold together all rows of a table whose key is not null.
    ///
    /// - Parameters:
    ///   - from: the table, or a query in parentheses with an alias.
    ///   - key: the column that the slices are cut by; it has an index. Rows of one key are in one slice.
    package func eachSlice(
        of from: String, by key: SQLSliceKey = .number("pk"), _ check: inout Check,
        _ body: (SQLSlice, inout Check) throws(StoreError) -> Void
    ) throws(StoreError) {
        if let rehearsal {
            try read("SELECT count(\(key.column)) FROM \(from)") { rehearsal.rowCount += $0.integer(0) }
            return
        }
        var slice = SQLSlice()
        while true {
            slice = SQLSlice(above: slice.through)
            var end: SQLParameter?
            try rows(
                """
                SELECT \(selected(key)) AS bound FROM \(from) WHERE \(slice.holds(key.column)) ORDER BY \(key.column) \
                LIMIT 1 OFFSET \(bind: Int64(slices.rowCount - 1))
                """
            ) { end = key.bound($0) }
            slice.through = end
            try body(slice, &check)
            if end == nil { return }
            progress.pass(rowCount: slices.rowCount, of: check)
            try renew()
        }
    }

    private func selected(_ key: SQLSliceKey) -> String {
        if case .attribute(let column, let type) = key { return Dialect.selected(column, type) }
        return key.column
    }

    /// Calls `body` with slices of an entity's rows, whose number it adds to the check.
    func eachSlice(
        of entity: Entity, _ check: inout Check, _ body: (SQLSlice, inout Check) throws(StoreError) -> Void
    ) throws(StoreError) {
        try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
            check.checkedCount += try count(table(entity), in: slice)
            try body(slice, &check)
        }
    }

    /// Returns the number of rows of a slice, or the number of its rows that have a value in a column.
    func count(_ from: String, _ column: String = "*", in slice: SQLSlice, by key: String = "pk") throws(StoreError)
        -> Int64
    {
        try integer("SELECT count(\(column)) FROM \(from) WHERE \(slice.holds(key))") ?? 0
    }
}

// Slices of a table by ranges of keys.
extension StoreVerifier {
    /// The rows of a slice: those whose key is above one value and at most another.
    struct Slice {
        fileprivate(set) var above: Value?
        fileprivate(set) var through: Value?

        /// The condition that a column is in the slice. It has a parameter for each of ``bounds``.
        func holds(_ column: String) -> String {
            let conditions = [above.map { _ in "\(column) > ?" }, through.map { _ in "\(column) <= ?" }]
            return conditions.contains { $0 != nil }
                ? conditions.compactMap(\.self).joined(separator: " AND ") : "\(column) IS NOT NULL"
        }

        var bounds: [Value] { [above, through].compactMap(\.self) }
    }

    /// Calls `body` with slices that hold together all rows of a table whose key is not null.
    ///
    /// - Parameters:
    ///   - from: the table, or a query in parentheses.
    ///   - key: the column that the slices are cut by; it has an index. Rows of one key are in one slice.
    func eachSlice(
        of from: String, by key: String = "pk", _ check: inout VerificationReport.Check,
        _ body: (Slice, inout VerificationReport.Check) throws(StoreError) -> Void
    ) throws(StoreError) {
        if let rehearsal { return rehearsal.rowCount += try rowCount(of: from, by: key) }
        var slice = Slice()
        while true {
            slice = Slice(above: slice.through)
            let sql = "SELECT \(key) FROM \(from) WHERE \(slice.holds(key)) ORDER BY \(key) LIMIT 1 OFFSET ?"
            var end: Value?
            try rows(sql, slice.bounds + [.integer(Int64(slices.rowCount - 1))]) { row in end = row.value(0) }
            slice.through = end
            try body(slice, &check)
            if end == nil { return }
            progress.pass(rowCount: slices.rowCount, of: check)
            try renew()
        }
    }

    /// Calls `body` with slices of an entity's rows, whose number it adds to the check.
    func eachSlice(
        of entity: Entity, _ check: inout VerificationReport.Check,
        _ body: (Slice, inout VerificationReport.Check) throws(StoreError) -> Void
    ) throws(StoreError) {
        try eachSlice(of: table(entity), &check) { slice, check throws(StoreError) in
            check.checkedCount += try count(table(entity), in: slice)
            try body(slice, &check)
        }
    }

    /// The number of rows of a slice, or of those that have a value in a column.
    func count(_ from: String, _ column: String = "*", in slice: Slice, by key: String = "pk") throws(StoreError)
        -> Int64
    {
        try integer("SELECT count(\(column)) FROM \(from) WHERE \(slice.holds(key))", slice.bounds) ?? 0
    }

    private func rowCount(of from: String, by key: String) throws(StoreError) -> Int64 {
        let statement = try statement("SELECT count(\(key)) FROM \(from)")
        return try statement.step() ? statement.integer(0) : 0
    }

    func renew() throws(StoreError) {
        if !slices.renewsSnapshots || rehearsal != nil { return }
        try statement("COMMIT").run()
        try statement("BEGIN").run()
    }
}

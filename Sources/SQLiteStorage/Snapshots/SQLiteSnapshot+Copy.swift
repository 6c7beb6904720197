import StoreSQL

extension SQLiteSnapshot: CopySource {
    func rows(of table: StoreTable, each: ([Value]) throws -> Void) throws {
        let known = try columnNames(of: table.name)
        let names = table.columns.map { known.contains($0.name) ? SQLText.quoted($0.name) : "NULL" }
            .joined(separator: ", ")
        try step("SELECT \(names) FROM \(SQLText.quoted(table.name))", []) { row in
            try each(table.columns.indices.map { row.value($0) })
            return true
        }
    }

    /// A store that nobody has opened for writing since may lack a column that this version adds.
    func columnNames(of table: String) throws -> Set<String> {
        Set(try all("SELECT name FROM pragma_table_info(\(bind: table))") { $0.text(0) })
    }

    func rowCount(of table: StoreTable) throws -> Int {
        Int(try integer("SELECT count(*) FROM \(SQLText.quoted(table.name))"))
    }

    func lastNumber(of table: String) throws -> Int64 {
        try integer("SELECT max(seq) FROM sqlite_sequence WHERE name = \(bind: table)")
    }
}

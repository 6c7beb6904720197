extension SQLiteSnapshot: CopySource {
    func rows(of table: StoreTable, each: ([Value]) throws -> Void) throws {
        let names = table.columns.map { SQLText.quoted($0.name) }.joined(separator: ", ")
        try step("SELECT \(names) FROM \(SQLText.quoted(table.name))", []) { row in
            try each(table.columns.indices.map { row.value($0) })
            return true
        }
    }

    func rowCount(of table: StoreTable) throws -> Int {
        Int(try integer("SELECT count(*) FROM \(SQLText.quoted(table.name))", []))
    }

    func lastNumber(of table: String) throws -> Int64 {
        try integer("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", [.text(table)])
    }
}

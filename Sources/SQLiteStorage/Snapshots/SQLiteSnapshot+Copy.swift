extension SQLiteSnapshot: CopySource {
    func rows(of table: String, _ columns: [String], each: ([Value]) throws -> Void) throws {
        let names = columns.map(SQLText.quoted).joined(separator: ", ")
        try step("SELECT \(names) FROM \(SQLText.quoted(table))", []) { row in
            try each(columns.indices.map { row.value($0) })
            return true
        }
    }

    func lastNumber(of table: String) throws -> Int64 {
        try integer("SELECT max(seq) FROM sqlite_sequence WHERE name = ?", [.text(table)])
    }
}

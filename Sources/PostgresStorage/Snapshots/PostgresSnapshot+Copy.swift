import StoreSQL

extension PostgresSnapshot: CopySource {
    /// So many rows come with one round trip.
    private static let batchSize = 2000

    func rows(of table: StoreTable, each: ([Value]) throws -> Void) throws {
        let columns = table.kinds(model)
        let known = try connection.columnNames(of: table.name, "copy the table \(table.name)")
        let list = columns.map { column in
            known.contains(column.name)
                ? column.kind.selected(SQLText.quoted(column.name)) : "NULL::\(column.kind.declaration)"
        }.joined(separator: ", ")
        let cursor = "DECLARE copied NO SCROLL CURSOR FOR SELECT \(list) FROM \(SQLText.quoted(table.name))"
        _ = try run(PostgresStatement(cursor))
        while true {
            let batch = try run(PostgresStatement("FETCH \(Self.batchSize) FROM copied"))
            for row in batch.rows { try each(columns.indices.map { row.value($0, columns[$0].kind) }) }
            if batch.count < Self.batchSize { break }
        }
        _ = try run(PostgresStatement("CLOSE copied"))
    }

    func rowCount(of table: StoreTable) throws -> Int {
        Int(try integer("SELECT count(*) FROM \(SQLText.quoted(table.name))"))
    }

    func lastNumber(of table: String) throws -> Int64 {
        let column = ["_history_transaction": "token", "_dead_letter": "\"deadLetter\"", "_conflict": "conflict"][table]
        guard let column else { return 0 }
        return try integer("SELECT \(column) FROM _token")
    }
}

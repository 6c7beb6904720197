import StoreSQL

/// Unique values that objects of one request pass on to each other.
///
/// SQLite checks each row as it is written. So a value that another object of the request is about to give up counts as a
/// collision. The request then runs once more. A temporary table takes the new values, and the unique columns become null,
/// which does not collide. Then each object gets its value.
extension BatchUpdate {
    /// The columns by which objects may collide on the way although they would not at the end. A constant is not among them:
    /// objects that collide by it collide at the end, too.
    private var vacated: [BatchAssignments.Column] {
        assignments.columns.filter { column in
            guard case .computed = column.source else { return false }
            return entity.constraintSlots.contains(column.attribute.slot)
        }
    }

    /// Tells whether a collision may be one of the way only.
    var mayPassValuesOn: Bool { !vacated.isEmpty }

    private var asideName: String { "_batch_\(entity.index)" }

    /// The columns whose new values the temporary table holds, by their positions among all.
    private var asidePositions: [Int] {
        assignments.columns.indices.filter { position in
            if case .constant = assignments.columns[position].source { false } else { true }
        }
    }

    /// Keeps the objects' new values in a temporary table, and empties their unique columns.
    func vacate(_ keys: KeySet) throws(StoreError) {
        if vacated.isEmpty { return }
        try dropAside()
        let positions = asidePositions
        let names = positions.map { "c\($0)" }.joined(separator: ", ")
        try store.runOnce("CREATE TEMP TABLE \(asideName) (pk INTEGER PRIMARY KEY, \(names))")
        let (table, list) = (SQLText.quoted(entity.tableName), "SELECT value FROM json_each(?\(constants.count + 1))")
        let aside = try PreparedStatement(
            store.connection,
            sql: """
                INSERT INTO temp.\(asideName) (pk, \(names)) \
                SELECT \(selection.alias).pk, \(positions.map { columns[$0].value }.joined(separator: ", ")) \
                FROM \(table) AS \(selection.alias) WHERE \(selection.alias).pk IN (\(list))
                """)
        let emptied = vacated.map { "\(SQLText.quoted($0.attribute.columnName)) = NULL" }.joined(separator: ", ")
        let emptying = try PreparedStatement(
            store.connection, sql: "UPDATE \(table) SET \(emptied) WHERE pk IN (\(list))")
        try keys.forEachChunk(of: HistoryRange.maximumCount) { chunk throws(StoreError) in
            for statement in [aside, emptying] {
                bindConstants(statement)
                statement.bind(constants.count + 1, HistoryRange.list(chunk[...]))
                try statement.run()
            }
        }
    }

    /// The statement that gives objects their new values from the temporary table.
    func settingFromAside(_ condition: String) throws(StoreError) -> PreparedStatement {
        let aside = Set(asidePositions)
        let set = columns.indices.map { position in
            "\(columns[position].name) = \(aside.contains(position) ? "aside.c\(position)" : columns[position].value)"
        }
        return try PreparedStatement(
            store.connection,
            sql: """
                UPDATE \(SQLText.quoted(entity.tableName)) AS \(selection.alias) SET \(set.joined(separator: ", ")) \
                FROM temp.\(asideName) AS aside WHERE aside.pk = \(selection.alias).pk AND \(condition)
                """)
    }

    func dropAside() throws(StoreError) { try store.runOnce("DROP TABLE IF EXISTS temp.\(asideName)") }
}

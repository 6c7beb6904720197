// The tables of a store as statements make them. Each engine has its own words for names, types and keys.
extension SQLDialect {
    /// The statement that makes a table.
    ///
    /// - Parameters:
    ///   - condition: `IF NOT EXISTS` for a table that may be there.
    ///   - slot: the words behind the name of a slot's column.
    package static func creation(
        of table: StoreTable, _ condition: String = "", slot: (Int) -> String = { _ in "" }
    ) -> String {
        let columns = table.columns.map { declaration($0, of: table, slot) }
        let names = table.key.map { ownName($0.name) }.joined(separator: ", ")
        let key = table.key.count > 1 ? ["PRIMARY KEY (\(names))"] : []
        let name = table.root == nil ? ownName(table.name) : SQLText.quoted(table.name)
        return "CREATE TABLE \(condition)\(name) (\((columns + key).joined(separator: ", ")))\(end(of: table))"
    }

    private static func declaration(
        _ column: StoreTable.Column, of table: StoreTable, _ slot: (Int) -> String
    ) -> String {
        if case .slot(let index) = column.form { return "\(SQLText.quoted(column.name)) \(slot(index))" }
        let isKey = table.key.count == 1 && table.key.first?.name == column.name
        let rules: [String?] = [
            columnType(column.form), isKey ? key(of: table) : nil, column.isUnique ? "UNIQUE" : nil,
            column.isOptional || isKey ? nil : "NOT NULL", column.initial.map { "DEFAULT \($0)" },
        ]
        let former = formerDeclarations["\(table.name).\(column.name)"] ?? formerDeclarations[column.name]
        let words = former.map { [$0] } ?? rules.compactMap(\.self)
        return ([ownName(column.name)] + words).joined(separator: " ")
    }

    /// The statements that add columns to a table that was made without them.
    package static func additions(of names: [String], to table: StoreTable) -> [String] {
        table.columns.filter { names.contains($0.name) }.map { column in
            "ALTER TABLE \(table.name) ADD COLUMN \(declaration(column, of: table) { _ in "" })"
        }
    }

    /// The columns of a table as a query names them.
    package static func names(of table: StoreTable) -> String {
        table.columns.map { ownName($0.name) }.joined(separator: ", ")
    }

    // MARK: The store's own tables

    package static var ownTables: [String] {
        ([.metadata] + StoreTable.own).map { creation(of: $0) } + historyIndexes + [deadLetterIndex]
    }

    package static var historyIndexes: [String] {
        [
            "CREATE INDEX _history_transaction_time ON _history_transaction (time)",
            // Finds what became of the objects of a range. Without the entity an entry takes half the bytes, and the few
            // objects of other entities that share a key are passed over.
            "CREATE INDEX _history_change_deletion ON _history_change (object) WHERE change = 2",
        ]
    }

    /// Finds the letters of a record's place.
    package static var deadLetterIndex: String {
        "CREATE INDEX IF NOT EXISTS _dead_letter_place ON _dead_letter (topic, partition, \(ownName("offset")))"
    }

    /// Gives a store that is older than them the trace contexts and epochs of transactions, and the audit.
    package static var auditAdditions: [String] {
        additions(of: ["trace", "epoch"], to: .transactions) + [creation(of: .audit)]
    }

    /// Gives a store of an earlier version the column with the timestamps of records. Earlier programs write such a store
    /// all the same: they name the columns that they fill.
    package static var timestampAdditions: [String] {
        additions(of: [DeadLetter.timestampColumn], to: .deadLetters)
    }
}

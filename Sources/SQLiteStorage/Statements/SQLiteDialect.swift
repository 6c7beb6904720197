/// The words in which SQLite differs.
enum SQLiteDialect: SQLDialect {
    static let isDistinct = "IS NOT"
    static let orderedJoin = "CROSS JOIN"

    static func indexed(by name: String) -> String { " INDEXED BY \(name)" }

    // MARK: Tables

    /// SQLite keeps the text of a table's definition, and stores compare it: it has no quotes.
    static func ownName(_ name: String) -> String { name }

    static func columnType(_ form: StoreTable.Form) -> String? {
        switch form {
        case .integer, .number32, .number16, .flag, .slot: "INTEGER"
        case .text: "TEXT"
        case .bytes: "BLOB"
        case .anyValue: nil
        }
    }

    static func key(of table: StoreTable) -> String {
        StoreTable.numbered.contains(table.name) ? "PRIMARY KEY AUTOINCREMENT" : "PRIMARY KEY"
    }

    /// A key of one number is the row's own.
    static func end(of table: StoreTable) -> String {
        if table.key.count == 1, case .integer? = table.key.first?.form { return "" }
        return " WITHOUT ROWID"
    }

    static let formerDeclarations = [
        "_dead_letter.attempts": "INTEGER NOT NULL DEFAULT 1", "_tombstone.saved": "INTEGER",
        "_placeholder": "INTEGER NOT NULL DEFAULT 0",
    ]

    // MARK: Views

    /// ISO-8601 as ``Timestamp/text(_:)`` writes it; the remainder is taken so that instants before 1970 come out right.
    static func time(_ column: String) -> String {
        let remainder = "((\(column) % 1000000 + 1000000) % 1000000)"
        return """
            CASE WHEN \(column) IS NULL THEN NULL ELSE \
            strftime('%Y-%m-%dT%H:%M:%S', (\(column) - \(remainder)) / 1000000, 'unixepoch') || \
            CASE WHEN \(remainder) = 0 THEN 'Z' WHEN \(remainder) % 1000 = 0 THEN printf('.%03dZ', \(remainder) / 1000) \
            ELSE printf('.%06dZ', \(remainder)) END END
            """
    }

    static func readable(_ column: String, _ type: AttributeType) -> String {
        switch type {
        case .date: time(column)
        case .uuid: hyphenated(column)
        default: column
        }
    }

    private static func hyphenated(_ column: String) -> String {
        let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
        let text = parts.map { "substr(hex(\(column)), \($0.0), \($0.1))" }.joined(separator: " || '-' || ")
        return "CASE WHEN \(column) IS NULL THEN NULL ELSE lower(\(text)) END"
    }

    static func identity(of column: String) -> String { column }

    static func identity(ofRecorded column: String) -> String { column }

    static func elements(of column: String) -> (join: String, element: String) {
        ("CROSS JOIN json_each(\(column)) o", "o.value")
    }

    static func list(of identity: String, _ rows: DestinationRows) -> String {
        """
        (SELECT json_group_array(identity) FROM (SELECT \(identity) AS identity FROM \(rows.from) \
        WHERE \(rows.owner) = e.pk ORDER BY \(rows.place?.filter { $0 != "\"" } ?? "1")))
        """
    }

    // MARK: Columns and lists

    static func selected(_ column: String, _ type: AttributeType) -> String { column }

    static func ordered(_ expression: String, _ type: AttributeType) -> String {
        type == .decimal ? "\(expression) COLLATE \(DecimalCollation.name)" : expression
    }

    /// A decimal is a text in the store.
    static func bounded(_ number: String, _ type: AttributeType) -> String {
        type == .decimal ? "CAST(\(number) AS TEXT)" : "min(\(number), \(type.integerRange?.upperBound ?? .max))"
    }

    static func recorded(_ column: String, _ type: AttributeType) -> String { column }

    static func whole(_ sum: String) -> String { sum }

    static func sortedKey(_ key: String) -> String { key }

    static func owners(_ table: String, _ keys: String) -> String { "\(table) o WHERE o.pk \(keys)" }

    static func isOneOf(_ numbers: [Int64]) -> SQLFragment {
        "IN (SELECT value FROM json_each(\(bind: .integers(numbers))))"
    }

    static func isOneOf(_ texts: [String]) -> SQLFragment {
        "IN (\(texts.map { "\(bind: $0)" as SQLFragment }.joined(", ")))"
    }

    static func table(of numbers: [Int64]) -> SQLFragment { "json_each(\(bind: .integers(numbers))) k" }

    static func count(ofList column: String) -> String {
        "CASE WHEN json_valid(\(column)) THEN json_array_length(\(column)) ELSE 0 END"
    }

    static func list(_ column: String, holds number: String) -> String {
        """
        EXISTS (SELECT 1 FROM json_each(iif(json_valid(\(column)), \(column), '[]')) o WHERE o.value = \(number))
        """
    }

    static func contains(_ text: String, part: String) -> SQLFragment {
        "instr(lower(\(text)), lower(\(bind: part))) > 0"
    }

    static func isOfTransaction(_ alias: String) -> String {
        "\(alias).id >= t.firstChange AND \(alias).id < t.firstChange + t.changeCount"
    }
}

extension SQLFragment {
    /// The text with SQLite's parameters.
    var sql: String { text { _, _ in "?" } }
}

extension PreparedStatement: SQLRow {
    func value(_ column: Int, _ type: AttributeType) -> Value { value(column) }

    /// Binds the values of a fragment.
    func bind(_ parameters: [SQLParameter]) {
        for (index, parameter) in parameters.enumerated() {
            let position = index + 1
            switch parameter {
            case .integer(let number): bind(position, number)
            case .text(let text): bind(position, text)
            case .column(let value, _), .recorded(let value): bind(position, value)
            case .integers(let numbers): bind(position, HistoryRange.list(numbers[...]))
            // SQLite has no lists: each text is a parameter.
            case .texts: bindNull(position)
            }
        }
    }
}

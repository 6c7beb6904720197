/// The words in which PostgreSQL differs.
enum PostgresDialect: SQLDialect {
    static let isDistinct = "IS DISTINCT FROM"
    static let orderedJoin = "JOIN"

    static func indexed(by name: String) -> String { "" }

    // MARK: Tables

    static func ownName(_ name: String) -> String { SQLText.quoted(name) }

    static func columnType(_ form: StoreTable.Form) -> String? { ColumnKind(form)?.declaration }

    static func key(of table: StoreTable) -> String { "PRIMARY KEY" }

    static func end(of table: StoreTable) -> String { "" }

    static let formerDeclarations = [
        "_metadata.value": "text NOT NULL", "_placeholder": "boolean NOT NULL DEFAULT false",
    ]

    // MARK: Views

    static func time(_ column: String) -> String { "timestamptz 'epoch' + \(column) * interval '1 microsecond'" }

    static func readable(_ column: String, _ type: AttributeType) -> String { column }

    static func identity(of column: String) -> String { "\(column)::text AS identity" }

    static func identity(ofRecorded column: String) -> String { "\(text(ofRecorded: column)) AS identity" }

    /// The text of an identity in a column of values of any form; a UUID has hyphens.
    static func text(ofRecorded column: String) -> String {
        let rest = "substr(\(column), 2)"
        // The sign of whole numbers is turned over, so that their bytes sort.
        let number = "(('x' || encode(\(rest), 'hex'))::bit(64)::bigint # (-9223372036854775808))::text"
        return """
            CASE get_byte(\(column), 0) WHEN \(ColumnKind.Tag.integer) THEN \(number) \
            WHEN \(ColumnKind.Tag.text) THEN convert_from(\(rest), 'UTF8') \
            WHEN \(ColumnKind.Tag.blob) THEN encode(\(rest), 'hex')::uuid::text END
            """
    }

    static func elements(of column: String) -> (join: String, element: String) {
        ("CROSS JOIN jsonb_array_elements_text(\(column)::jsonb) o(pk)", "o.pk::bigint")
    }

    static func list(of identity: String, _ rows: DestinationRows) -> String {
        let order = rows.place.map { "\($0), d.pk" } ?? "d.pk"
        return """
            (SELECT coalesce(jsonb_agg(\(identity) ORDER BY \(order)), '[]') \
            FROM \(rows.from) WHERE \(rows.owner) = e.pk)
            """
    }

    // MARK: Columns and lists

    static func selected(_ column: String, _ type: AttributeType) -> String { ColumnKind(type).selected(column) }

    static func ordered(_ expression: String, _ type: AttributeType) -> String { expression }

    static func bounded(_ number: String, _ type: AttributeType) -> String {
        let declaration = ColumnKind(type).declaration
        guard let range = type.integerRange else { return "\(number)::\(declaration)" }
        return "least(greatest(\(number), \(range.lowerBound)), \(range.upperBound))::\(declaration)"
    }

    static func recorded(_ column: String, _ type: AttributeType) -> String { ColumnKind(type).tagged(column) }

    static func whole(_ sum: String) -> String { "(\(sum))::int8" }

    /// By a bare key the server would walk the primary keys of the whole table.
    static func sortedKey(_ key: String) -> String { "\(key) + 0" }

    static func owners(_ table: String, _ keys: String) -> String { "unnest($1::int8[]) AS o(pk)" }

    static func isOneOf(_ numbers: [Int64]) -> SQLFragment { "= ANY(\(bind: .integers(numbers)))" }

    static func isOneOf(_ texts: [String]) -> SQLFragment { "= ANY(\(bind: .texts(texts)))" }

    static func table(of numbers: [Int64]) -> SQLFragment { "unnest(\(bind: .integers(numbers))) k(value)" }

    /// The server may judge both sides of an AND: a list is looked into only where it is one.
    static func count(ofList column: String) -> String {
        """
        CASE WHEN \(column) ~ '^\\[(-?[0-9]+(, ?-?[0-9]+)*)?\\]$' THEN jsonb_array_length(\(column)::jsonb) ELSE 0 END
        """
    }

    static func list(_ column: String, holds number: String) -> String {
        "\(column)::jsonb @> to_jsonb(\(number))"
    }

    /// In this collation the case of ASCII letters alone is folded.
    static func contains(_ text: String, part: String) -> SQLFragment {
        "strpos(lower(\(text)), lower(\(bind: part) COLLATE \"C\")) > 0"
    }

    static func isOfTransaction(_ alias: String) -> String { "\(alias).token = t.token" }
}

extension PostgresStatement {
    /// Makes a statement of a fragment.
    ///
    /// - Throws: as ``bind(_:as:)``.
    init(_ fragment: SQLFragment) throws(StoreError) {
        self.init(
            fragment.text { number, parameter in
                switch parameter {
                case .integer: "$\(number)::int8"
                case .text: "$\(number)::text"
                case .column(_, let type): ColumnKind(type).parameter(number)
                case .recorded: ColumnKind.anyValue.parameter(number)
                case .integers: "$\(number)::int8[]"
                case .texts: "$\(number)::text[]"
                }
            })
        for parameter in fragment.parameters {
            switch parameter {
            case .integer(let number): bind(number)
            case .text(let text): bind(text)
            case .column(let value, let type): try bind(value, as: ColumnKind(type))
            case .recorded(let value): try bind(value, as: .anyValue)
            case .integers(let numbers): bind(numbers)
            case .texts(let texts): bind(texts)
            }
        }
    }
}

extension PostgresRow: SQLRow {
    func value(_ column: Int, _ type: AttributeType) -> Value { value(column, ColumnKind(type)) }
}

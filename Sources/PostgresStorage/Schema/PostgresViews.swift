/// The part of a store for people with `psql`: the views `_history` and `ENTITY_readable`, and comments.
///
/// Views have the names and columns of SQLite's, and the server's types. One whose name PostgreSQL would cut is left out.
struct PostgresViews {
    static let historyName = "_history"

    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    /// Makes the views again, and states all comments.
    var statements: [String] {
        ["DROP VIEW IF EXISTS \(Self.historyName)", historyView] + model.entities.flatMap(readableView)
            + PostgresComments(model).statements
    }

    /// The statements without removals: views of others may rest on the store's, and rights on them stay. The server refuses
    /// them where a view loses or renames a column.
    var replacements: [String] {
        statements.filter { !$0.hasPrefix("DROP VIEW ") }.map { statement in
            statement.hasPrefix("CREATE VIEW ") ? "CREATE OR REPLACE" + statement.dropFirst(6) : statement
        }
    }

    // MARK: The history

    /// A row for each changed object. An object of a range is found in its table, or among the later deletions.
    private var historyView: String {
        let head = """
            t.token, timestamptz 'epoch' + t.time * interval '1 microsecond' AS time, t.author, t.source
            """
        func change(_ alias: String) -> String {
            "CASE \(alias).change WHEN 0 THEN 'insert' WHEN 1 THEN 'update' ELSE 'delete' END AS change"
        }
        func part(_ entity: String, _ identity: String, _ from: String) -> String {
            "SELECT \(head), \(entity).entity, \(identity) AS identity, \(change(entity)), \(entity).properties, \(from)"
        }
        let ranges = "NULL FROM _history_range r JOIN _history_transaction t USING (token)"
        let list = "CROSS JOIN jsonb_array_elements_text(r.objects::jsonb) o(pk)"
        var parts = [
            part(
                "c", Self.identity("c.identity"),
                "c.tombstone FROM _history_change c JOIN _history_transaction t USING (token)")
        ]
        for entity in model.entities {
            let identity = "e.\(SQLText.quoted(entity.identity.columnName))::text"
            let table = "JOIN \(SQLText.quoted(entity.viewName)) e ON e.pk"
            let condition = "WHERE r.entity = \(SQLText.literal(entity.name)) AND r.objects IS"
            parts.append(part("r", identity, "\(ranges) \(table) BETWEEN r.first AND r.last \(condition) NULL"))
            parts.append(part("r", identity, "\(ranges) \(list) \(table) = o.pk::bigint \(condition) NOT NULL"))
        }
        let table = """
            JOIN _history_change d ON d.change = 2 AND (\(model.kinshipCondition)) AND d.id > r.id AND d.object
            """
        let gone = Self.identity("d.identity")
        parts.append(part("r", gone, "\(ranges) \(table) BETWEEN r.first AND r.last WHERE r.objects IS NULL"))
        parts.append(part("r", gone, "\(ranges) \(list) \(table) = o.pk::bigint WHERE r.objects IS NOT NULL"))
        return "CREATE VIEW \(Self.historyName) AS " + parts.joined(separator: " UNION ALL ")
    }

    /// The text of an identity in a column of values of any form; a UUID has hyphens.
    static func identity(_ column: String) -> String {
        let rest = "substr(\(column), 2)"
        // The sign of whole numbers is turned over, so that their bytes sort.
        let number = "(('x' || encode(\(rest), 'hex'))::bit(64)::bigint # (-9223372036854775808))::text"
        return """
            CASE get_byte(\(column), 0) WHEN \(ColumnKind.Tag.integer) THEN \(number) \
            WHEN \(ColumnKind.Tag.text) THEN convert_from(\(rest), 'UTF8') \
            WHEN \(ColumnKind.Tag.blob) THEN encode(\(rest), 'hex')::uuid::text END
            """
    }

    // MARK: Objects

    private func readableView(_ entity: Entity) -> [String] {
        let columns = ReadableColumn.all(entity, model)
        let names = [entity.readableViewName] + columns.map(\.title)
        if names.contains(where: { $0.utf8.count > PostgresSchema.maximumNameLength }) { return [] }
        var shown = ["e.pk"]
        for column in columns {
            let value =
                switch column.content {
                case .attribute(let attribute): "e.\(SQLText.quoted(attribute.columnName))"
                case .relationship(let relationship): readable(relationship)
                }
            shown.append("\(value) AS \(SQLText.quoted(column.title))")
        }
        if entity.sharesTable { shown.append("e._entity") }
        shown.append("e._placeholder")
        let name = SQLText.quoted(entity.readableViewName)
        return [
            "DROP VIEW IF EXISTS \(name)",
            """
            CREATE VIEW \(name) AS SELECT \(shown.joined(separator: ", ")) \
            FROM \(SQLText.quoted(entity.viewName)) e
            """,
        ]
    }

    /// The destination's identity, or a JSON list of the destinations' identities.
    private func readable(_ relationship: Relationship) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let table = SQLText.quoted(destination.viewName)
        let identity = "d.\(SQLText.quoted(destination.identity.columnName))"
        switch relationship.storage {
        case .column, .inverseColumn:
            return
                "(SELECT \(identity) FROM \(table) d WHERE d.pk = e.\(SQLText.quoted(relationship.columnName)))"
        case .join:
            let rows = DestinationRows(relationship, in: table, model)
            let order = rows.place.map { "\($0), d.pk" } ?? "d.pk"
            return """
                (SELECT coalesce(jsonb_agg(\(identity) ORDER BY \(order)), '[]') \
                FROM \(rows.from) WHERE \(rows.owner) = e.pk)
                """
        }
    }
}

// The views for people: the history, and objects with readable values. They have the same columns in all engines.
extension SQLDialect {
    /// The view with a row for each changed object. An object of a range is found in its table, or among the later deletions.
    package static func historyView(_ model: ObjectModel) -> String {
        let head = "t.token, \(time("t.time")) AS time, t.author, t.source"
        func part(_ alias: String, _ identity: String, _ from: String) -> String {
            """
            SELECT \(head), \(alias).entity, \(identity), CASE \(alias).change WHEN 0 THEN 'insert' WHEN 1 THEN 'update' \
            ELSE 'delete' END AS change, \(alias).properties, \(from)
            """
        }
        let ranges = "NULL FROM _history_range r JOIN _history_transaction t USING (token)"
        let list = elements(of: "r.objects")
        var parts = [
            part(
                "c", identity(ofRecorded: "c.identity"),
                "c.tombstone FROM _history_change c JOIN _history_transaction t USING (token)")
        ]
        func add(_ identity: String, _ table: String, _ condition: String) {
            parts.append(part("r", identity, "\(ranges) \(table) BETWEEN r.first AND r.last WHERE \(condition) NULL"))
            parts.append(
                part("r", identity, "\(ranges) \(list.join) \(table) = \(list.element) WHERE \(condition) NOT NULL"))
        }
        for entity in model.entities {
            add(
                identity(of: "e.\(SQLText.quoted(entity.identity.columnName))"),
                "\(orderedJoin) \(SQLText.quoted(entity.viewName)) e ON e.pk",
                "r.entity = \(SQLText.literal(entity.name)) AND r.objects IS")
        }
        // Named, for SQLite would rather make an index of all deletions for each query.
        let deletions = "\(orderedJoin) _history_change d\(indexed(by: "_history_change_deletion"))"
        add(
            identity(ofRecorded: "d.identity"),
            "\(deletions) ON d.change = 2 AND (\(model.kinshipCondition)) AND d.id > r.id AND d.object", "r.objects IS")
        return "CREATE VIEW _history AS " + union(parts)
    }

    /// Unites selections; SQLite unites 500 in one statement at most.
    private static func union(_ selections: [String]) -> String {
        let (most, length) = (500, 400)
        let groups =
            selections.count <= most
            ? selections
            : stride(from: 0, to: selections.count, by: length).map { start in
                let group = selections[start..<min(start + length, selections.count)]
                return "SELECT * FROM (\(group.joined(separator: " UNION ALL ")))"
            }
        return groups.joined(separator: " UNION ALL ")
    }

    // MARK: Objects

    package static func readableView(_ entity: Entity, _ model: ObjectModel) -> String {
        var columns = ["e.pk"]
        for column in ReadableColumn.all(entity, model) {
            let value =
                switch column.content {
                case .attribute(let attribute): readable(attribute, "e")
                case .relationship(let relationship): readable(relationship, model)
                }
            columns.append("\(value) AS \(SQLText.quoted(column.title))")
        }
        if entity.sharesTable { columns.append("e._entity") }
        columns.append("e._placeholder")
        return """
            CREATE VIEW \(SQLText.quoted(entity.readableViewName)) AS \
            SELECT \(columns.joined(separator: ", ")) FROM \(SQLText.quoted(entity.viewName)) e
            """
    }

    private static func readable(_ attribute: Attribute, _ alias: String) -> String {
        readable("\(alias).\(SQLText.quoted(attribute.columnName))", attribute.type)
    }

    /// The destination's identity, or a JSON list of the destinations' identities.
    private static func readable(_ relationship: Relationship, _ model: ObjectModel) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let (table, identity) = (SQLText.quoted(destination.viewName), readable(destination.identity, "d"))
        switch relationship.storage {
        case .column, .inverseColumn:
            return "(SELECT \(identity) FROM \(table) d WHERE d.pk = e.\(SQLText.quoted(relationship.columnName)))"
        case .join: return list(of: identity, DestinationRows(relationship, in: table, model))
        }
    }
}

extension ReadContext {
    /// Writes the store as a text that depends on nothing but its content: no primary keys, no tokens, no times of
    /// writing. Stores that read the same events are equal when their dumps are.
    ///
    /// Entities come by name, objects by identity; properties as `name=value` in the model's order, relationships as
    /// the identities they lead to (a to-many one whose links are the destinations' columns is shown there, and here too
    /// where it is ordered); then
    /// tombstones, positions and dead letters. One object is in memory at a time.
    ///
    /// - Parameter write: is given the text in pieces, whole lines each.
    /// - Throws: ``StoreError``.
    public func canonicalDump(write: (String) -> Void) throws {
        let dump = try CanonicalDump(self)
        for entity in model.entities.sorted(by: { $0.name < $1.name }) { try dump.write(entity, to: write) }
        try dump.writeTombstones(to: write)
        try dump.writePositions(to: write)
        try dump.writeDeadLetters(to: write)
    }
}

/// Writes a store as text, for comparing it with another.
private struct CanonicalDump {
    let model: ObjectModel
    private let connection: OpaquePointer

    init(_ context: ReadContext) throws(StoreError) {
        model = context.model
        connection = try context.connection()
    }

    // MARK: Objects

    /// A to-one or many-to-many relationship with the query of its identities, given a primary key.
    private struct Links {
        let relationship: Relationship
        let statement: PreparedStatement
        let type: AttributeType
    }

    func write(_ entity: Entity, to write: (String) -> Void) throws(StoreError) {
        write("entity \(entity.name)\n")
        let links = try links(of: entity)
        let columns = entity.columnNames.map(SQLText.quoted).joined(separator: ", ")
        let own = entity.sharesTable ? "WHERE _entity = \(SQLText.literal(entity.name)) " : ""
        let statement = try PreparedStatement(
            connection,
            sql: """
                SELECT pk, _placeholder, \(columns) FROM \(SQLText.quoted(entity.tableName)) \
                \(own)ORDER BY \(SQLText.quoted(entity.identity.columnName))
                """)
        while try statement.step() {
            var text =
                "object \(entity.name) \(self.text(statement.value(entity.identitySlot + 2), entity.identity.type))"
            text += statement.integer(1) != 0 ? " placeholder\n" : "\n"
            for attribute in entity.attributes {
                text += "  \(attribute.name)=\(self.text(statement.value(attribute.slot + 2), attribute.type))\n"
            }
            let pk = statement.integer(0)
            for link in links { try append(link, pk, statement, to: &text) }
            write(text)
        }
    }

    private func links(of entity: Entity) throws(StoreError) -> [Links] {
        var links: [Links] = []
        for relationship in entity.relationships {
            let destination = model.entities[relationship.destinationIndex]
            let sql: String
            switch relationship.storage {
            case .inverseColumn where !relationship.isOrdered: continue
            case .inverseColumn: sql = FetchQuery.identities(relationship, model)
            case .join: sql = FetchQuery.identities(relationship, model)
            case .column:
                let identity = SQLText.quoted(destination.identity.columnName)
                sql = "SELECT \(identity) FROM \(SQLText.quoted(destination.viewName)) WHERE pk = ?"
            }
            links.append(
                Links(
                    relationship: relationship, statement: try PreparedStatement(connection, sql: sql),
                    type: destination.identity.type))
        }
        return links
    }

    private func append(
        _ link: Links, _ pk: Int64, _ row: PreparedStatement, to text: inout String
    ) throws(StoreError) {
        text += "  \(link.relationship.name)="
        guard let slot = link.relationship.slot else {
            let identities = try FetchQuery.values(link.statement, pk).map { self.text($0, link.type) }
            text += "[\(identities.joined(separator: ", "))]\n"
            return
        }
        guard case .integer(let destination) = row.value(slot + 2) else {
            text += "null\n"
            return
        }
        let identity = try FetchQuery.values(link.statement, destination).first
        text += (identity.map { self.text($0, link.type) } ?? "dangling") + "\n"
    }

    /// Texts in quotes, so that every object keeps its lines and null is not 'null'.
    private func text(_ value: Value, _ type: AttributeType) -> String {
        if case .text(let text) = value, type != .decimal { return JSONText.string(text) }
        return type.text(of: value)
    }

    // MARK: The store's own tables

    func writeTombstones(to write: (String) -> Void) throws(StoreError) {
        write("tombstones\n")
        let statement = try PreparedStatement(
            connection, sql: "SELECT entity, identity, version FROM _tombstone ORDER BY entity, identity")
        while try statement.step() {
            let name = statement.text(0)
            let entity = model.entity(named: name)
            let versionType = entity?.versionSlot.flatMap { entity?.attributes[$0].type } ?? .string
            let identity = text(statement.value(1), entity?.identity.type ?? .string)
            write("  \(name) \(identity) version=\(text(statement.value(2), versionType))\n")
        }
    }

    func writePositions(to write: (String) -> Void) throws(StoreError) {
        write("positions\n")
        let statement = try PreparedStatement(
            connection, sql: "SELECT topic, partition, nextOffset FROM _position ORDER BY topic, partition")
        while try statement.step() {
            let topic = JSONText.string(statement.text(0))
            write("  \(topic) partition=\(statement.integer(1)) nextOffset=\(statement.integer(2))\n")
        }
    }

    func writeDeadLetters(to write: (String) -> Void) throws(StoreError) {
        write("deadLetters\n")
        let statement = try PreparedStatement(
            connection,
            sql: "SELECT topic, partition, offset, code FROM _dead_letter ORDER BY topic, partition, offset, code")
        while try statement.step() {
            let (topic, code) = (JSONText.string(statement.text(0)), JSONText.string(statement.text(3)))
            write("  \(topic) partition=\(statement.integer(1)) offset=\(statement.integer(2)) code=\(code)\n")
        }
    }
}

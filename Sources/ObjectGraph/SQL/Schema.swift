/// The SQL that lays a store out for a model.
struct Schema {
    /// The layout's own version, kept in `_metadata`; a store with a greater one is refused.
    static let formatVersion = 1

    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        Self.ownTables + model.entities.flatMap { [table($0)] + indexes($0) } + model.joinTables.flatMap(joinTable)
            + model.entities.map(readableView)
    }

    private static let ownTables = [
        "CREATE TABLE _metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "CREATE TABLE _sequence (entity TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE _history_transaction (token INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, \
        author TEXT NOT NULL, context TEXT, source TEXT, firstChange INTEGER NOT NULL, changeCount INTEGER NOT NULL)
        """,
        """
        CREATE TABLE _history_change (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, entity TEXT NOT NULL, \
        object INTEGER NOT NULL, identity, change INTEGER NOT NULL, properties TEXT, tombstone TEXT)
        """,
        """
        CREATE TABLE _position (topic TEXT NOT NULL, partition INTEGER NOT NULL, nextOffset INTEGER NOT NULL, \
        detail TEXT, PRIMARY KEY (topic, partition)) WITHOUT ROWID
        """,
        """
        CREATE TABLE _dead_letter (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, topic TEXT NOT NULL, \
        partition INTEGER NOT NULL, offset INTEGER NOT NULL, line INTEGER, stage TEXT NOT NULL, code TEXT NOT NULL, \
        reason TEXT NOT NULL, key BLOB, value BLOB, valueBytes INTEGER, headers TEXT, \
        attempts INTEGER NOT NULL DEFAULT 1)
        """,
        """
        CREATE TABLE _tombstone (entity TEXT NOT NULL, identity NOT NULL, version, time INTEGER, \
        token INTEGER NOT NULL, PRIMARY KEY (entity, identity)) WITHOUT ROWID
        """,
        "CREATE TABLE _cursor (name TEXT PRIMARY KEY, token INTEGER NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID",
        """
        CREATE TABLE _lease (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL, \
        expires INTEGER NOT NULL)
        """,
        """
        CREATE VIEW _history AS SELECT t.token, \(isoDate("t.time")) AS time, t.author, t.source, c.entity, \
        c.identity, CASE c.change WHEN 0 THEN 'insert' WHEN 1 THEN 'update' ELSE 'delete' END AS change, \
        c.properties, c.tombstone FROM _history_change c JOIN _history_transaction t USING (token)
        """,
    ]

    // MARK: Entities

    private func table(_ entity: Entity) -> String {
        var columns = ["pk INTEGER PRIMARY KEY"]
        columns += entity.attributes.map { "\(SQLText.quoted($0.name)) \($0.type.columnType)" }
        columns += entity.relationships.filter { $0.slot != nil }.map(column)
        columns.append("_placeholder INTEGER NOT NULL DEFAULT 0")
        return "CREATE TABLE \(SQLText.quoted(entity.name)) (\(columns.joined(separator: ", ")))"
    }

    private func column(_ relationship: Relationship) -> String {
        let name = "\(SQLText.quoted(relationship.name)) INTEGER"
        let destination = model.entities[relationship.destinationIndex]
        let reference = " REFERENCES \(SQLText.quoted(destination.name))(pk)"
        guard let inverse = relationship.inverseIndex else {
            // Nobody clears the column of a relationship without inverse, so SQLite does: it later reads null.
            return name + reference + " ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"
        }
        // The rule 'no action' leaves references dangling by the model's own word: no key can be declared.
        if destination.relationships[inverse].deleteRule == .noAction { return name }
        return name + reference + " DEFERRABLE INITIALLY DEFERRED"
    }

    private func indexes(_ entity: Entity) -> [String] {
        var covered: Set<String> = []
        var statements: [String] = []
        var known: Set<String> = []
        func add(_ names: [String], unique: Bool = false) {
            covered.insert(names[0])
            // A point is no part of any name in a model, so no table and no other index is called the same.
            let name = ([entity.name] + names).joined(separator: ".")
            guard known.insert(name).inserted else { return }
            let columns = names.map(SQLText.quoted).joined(separator: ", ")
            statements.append(
                "CREATE \(unique ? "UNIQUE " : "")INDEX \(SQLText.quoted(name)) "
                    + "ON \(SQLText.quoted(entity.name)) (\(columns))")
        }
        add([entity.identity.name], unique: true)
        for attribute in entity.attributes where attribute.isUnique && attribute.slot != entity.identitySlot {
            add([attribute.name], unique: true)
        }
        for names in entity.indexes { add(names) }
        // A to-one column is searched from the other side, and by SQLite when a destination is deleted.
        let searched =
            entity.attributes.filter(\.isIndexed).map(\.name)
            + entity.relationships.filter { $0.slot != nil }.map(\.name)
        for name in searched where !covered.contains(name) { add([name]) }
        let table = SQLText.quoted(entity.name)
        statements.append(
            "CREATE INDEX \(SQLText.quoted(entity.name + "._placeholder")) ON \(table) (pk) WHERE _placeholder")
        return statements
    }

    private func joinTable(_ join: JoinTable) -> [String] {
        let name = SQLText.quoted(join.name)
        let owner = SQLText.quoted(model.entities[join.ownerEntity].name)
        let destination = SQLText.quoted(model.entities[join.destinationEntity].name)
        return [
            """
            CREATE TABLE \(name) (\
            owner INTEGER NOT NULL REFERENCES \(owner)(pk) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            destination INTEGER NOT NULL REFERENCES \(destination)(pk) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            PRIMARY KEY (owner, destination)) WITHOUT ROWID
            """,
            "CREATE INDEX \(SQLText.quoted(join.name + ".destination")) ON \(name) (destination, owner)",
        ]
    }

    // MARK: Views for people

    private func readableView(_ entity: Entity) -> String {
        var columns = ["e.pk"]
        columns += entity.attributes.map { "\(readable($0)) AS \(SQLText.quoted($0.name))" }
        columns += entity.relationships.compactMap(readable)
        columns.append("e._placeholder")
        return """
            CREATE VIEW \(SQLText.quoted(entity.name + "_readable")) AS \
            SELECT \(columns.joined(separator: ", ")) FROM \(SQLText.quoted(entity.name)) e
            """
    }

    private func readable(_ attribute: Attribute, alias: String = "e") -> String {
        let column = "\(alias).\(SQLText.quoted(attribute.name))"
        switch attribute.type {
        case .date: return Self.isoDate(column)
        case .uuid: return Self.hyphenated(column)
        default: return column
        }
    }

    private func readable(_ relationship: Relationship) -> String? {
        let destination = model.entities[relationship.destinationIndex]
        let table = SQLText.quoted(destination.name)
        let identity = readable(destination.identity, alias: "d")
        let name = SQLText.quoted(relationship.name)
        switch relationship.storage {
        case .column:
            return "(SELECT \(identity) FROM \(table) d WHERE d.pk = e.\(name)) AS \(name)"
        case .inverseColumn:
            // The destinations show the link; a list here could hold millions.
            return nil
        case .join(let index, let isOwner):
            let join = SQLText.quoted(model.joinTables[index].name)
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            return """
                (SELECT json_group_array(identity) FROM (SELECT \(identity) AS identity FROM \(join) j \
                JOIN \(table) d ON d.pk = j.\(far) WHERE j.\(near) = e.pk ORDER BY 1)) AS \(name)
                """
        }
    }

    /// ISO-8601 as ``Timestamp/text(_:)`` writes it; the remainder is taken so that instants before 1970 come out right.
    static func isoDate(_ column: String) -> String {
        let remainder = "((\(column) % 1000000 + 1000000) % 1000000)"
        return """
            CASE WHEN \(column) IS NULL THEN NULL ELSE \
            strftime('%Y-%m-%dT%H:%M:%S', (\(column) - \(remainder)) / 1000000, 'unixepoch') || \
            CASE WHEN \(remainder) = 0 THEN 'Z' WHEN \(remainder) % 1000 = 0 THEN printf('.%03dZ', \(remainder) / 1000) \
            ELSE printf('.%06dZ', \(remainder)) END END
            """
    }

    static func hyphenated(_ column: String) -> String {
        let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
        let text = parts.map { "substr(hex(\(column)), \($0.0), \($0.1))" }.joined(separator: " || '-' || ")
        return "CASE WHEN \(column) IS NULL THEN NULL ELSE lower(\(text)) END"
    }
}

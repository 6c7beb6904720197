/// The SQL that lays a store out for a model.
struct Schema {
    /// The layout's own version, kept in `_metadata`; a store with a greater one is refused.
    static let formatVersion = 4

    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        Self.ownTables + [historyView] + entityTables + model.joinTables.flatMap(joinTable)
            + model.entities.filter { $0.parentIndex != nil }.map(model.view) + model.entities.map(readableView)
    }

    /// Each hierarchy's table with the indexes of all its entities.
    private var entityTables: [String] {
        model.rootEntities.flatMap { root in
            var indexes = IndexList()
            for entity in model.entities where entity.rootIndex == root.index { add(entity, to: &indexes) }
            return [table(root)] + indexes.statements + entityIndexes(root)
        }
    }

    private static let ownTables =
        [
            "CREATE TABLE _metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
            "CREATE TABLE _sequence (entity TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID",
            """
            CREATE TABLE _history_transaction (token INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, \
            author TEXT NOT NULL, context TEXT, source TEXT, firstChange INTEGER NOT NULL, changeCount INTEGER NOT NULL, \
            \(transactionAdditions.joined(separator: ", ")))
            """,
            """
            CREATE TABLE _history_change (id INTEGER PRIMARY KEY, token INTEGER NOT NULL, entity TEXT NOT NULL, \
            object INTEGER NOT NULL, identity, change INTEGER NOT NULL, properties TEXT, tombstone TEXT)
            """,
        ] + historyAdditions + [
            """
            CREATE TABLE _position (topic TEXT NOT NULL, partition INTEGER NOT NULL, nextOffset INTEGER NOT NULL, \
            detail TEXT, PRIMARY KEY (topic, partition)) WITHOUT ROWID
            """,
            """
            CREATE TABLE _dead_letter (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, topic TEXT NOT NULL, \
            partition INTEGER NOT NULL, offset INTEGER NOT NULL, line INTEGER, stage TEXT NOT NULL, code TEXT NOT NULL, \
            reason TEXT NOT NULL, key BLOB, value BLOB, valueBytes INTEGER, headers TEXT, \
            attempts INTEGER NOT NULL DEFAULT 1, \(deadLetterTimestamp))
            """,
            deadLetterIndex,
            """
            CREATE TABLE _tombstone (entity TEXT NOT NULL, identity NOT NULL, version, time INTEGER, \
            token INTEGER NOT NULL, saved INTEGER, PRIMARY KEY (entity, identity)) WITHOUT ROWID
            """,
            "CREATE TABLE _cursor (name TEXT PRIMARY KEY, token INTEGER NOT NULL, time INTEGER NOT NULL) WITHOUT ROWID",
            conflictTable,
        ] + auditTables + [
            """
            CREATE TABLE _lease (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL, \
            expires INTEGER NOT NULL)
            """
        ]

    /// The tables and indexes of the history beyond its first layout: changes of batch requests, many to a row, and its indexes.
    private static let historyAdditions = [
        """
        CREATE TABLE _history_range (id INTEGER PRIMARY KEY, count INTEGER NOT NULL, token INTEGER NOT NULL, \
        entity TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, objects TEXT, change INTEGER NOT NULL, \
        properties TEXT)
        """,
        "CREATE INDEX _history_transaction_time ON _history_transaction (time)",
        // Finds what became of the objects of a range. Without the entity an entry takes half the bytes, and the few
        // objects of other entities that share a key are passed over.
        "CREATE INDEX _history_change_deletion ON _history_change (object) WHERE change = 2",
    ]

    /// The columns of a transaction beyond the third layout: the trace context of its first record, and the store's epoch.
    private static let transactionAdditions = ["trace TEXT", "epoch INTEGER NOT NULL DEFAULT 0"]

    /// The administrative requests, with their answers.
    private static let auditTables = [
        """
        CREATE TABLE _audit (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, \
        request TEXT NOT NULL, idempotencyKey TEXT UNIQUE, result TEXT)
        """
    ]

    /// Makes a store of the third layout one of the fourth.
    static var upgradeFromThird: [String] {
        transactionAdditions.map { "ALTER TABLE _history_transaction ADD COLUMN \($0)" } + auditTables
    }

    /// Makes a store of the first layout one of the second.
    static var upgradeFromFirst: [String] {
        historyAdditions + [
            "ALTER TABLE _tombstone ADD COLUMN saved INTEGER",
            // When the old ones were saved is not known: their time begins now.
            "UPDATE _tombstone SET saved = CAST(strftime('%s', 'now') AS INTEGER) * 1000000",
        ]
    }

    /// A row for each changed object. An object of a batch request is found in its table, or among the later deletions.
    var historyView: String {
        let head = "t.token, \(Self.isoDate("t.time")) AS time, t.author, t.source"
        func change(_ alias: String) -> String {
            "CASE \(alias).change WHEN 0 THEN 'insert' WHEN 1 THEN 'update' ELSE 'delete' END AS change"
        }
        var parts = [
            """
            SELECT \(head), c.entity, c.identity, \(change("c")), c.properties, c.tombstone \
            FROM _history_change c JOIN _history_transaction t USING (token)
            """
        ]
        let ranges = "FROM _history_range r JOIN _history_transaction t USING (token)"
        let list = "CROSS JOIN json_each(r.objects) o"
        for entity in model.entities {
            let identity = SQLText.quoted(entity.identity.columnName)
            let selection = "SELECT \(head), r.entity, e.\(identity), \(change("r")), r.properties, NULL \(ranges)"
            let condition = "WHERE r.entity = \(SQLText.literal(entity.name)) AND r.objects IS"
            let table = "CROSS JOIN \(SQLText.quoted(entity.viewName)) e ON e.pk"
            parts.append("\(selection) \(table) BETWEEN r.first AND r.last \(condition) NULL")
            parts.append("\(selection) \(list) \(table) = o.value \(condition) NOT NULL")
        }
        let selection = "SELECT \(head), r.entity, d.identity, \(change("r")), r.properties, NULL \(ranges)"
        // Named, for SQLite would rather make an index of all deletions for each query.
        let table = """
            CROSS JOIN _history_change d INDEXED BY _history_change_deletion \
            ON d.change = 2 AND (\(model.kinshipCondition)) AND d.id > r.id AND d.object
            """
        parts.append("\(selection) \(table) BETWEEN r.first AND r.last WHERE r.objects IS NULL")
        parts.append("\(selection) \(list) \(table) = o.value WHERE r.objects IS NOT NULL")
        return "CREATE VIEW _history AS " + parts.joined(separator: " UNION ALL ")
    }

    /// The index that finds the changes of one object; it costs a quarter of the time of writing, so it is made on request.
    static let historyObjectIndex =
        "CREATE INDEX IF NOT EXISTS \(historyObjectIndexName) ON _history_change (entity, object)"

    static let historyObjectIndexName = "_history_change_object"

    // MARK: Entities

    private func table(_ root: Entity) -> String {
        let members = model.entities.filter { $0.rootIndex == root.index }
        var columns = ["pk INTEGER PRIMARY KEY"]
        for slot in root.columnNames.indices {
            let name = SQLText.quoted(root.columnNames[slot])
            let relationship = members.flatMap(\.ownRelationships).first { $0.slot == slot }
            if let relationship {
                columns.append(column(relationship))
            } else {
                let attribute = members.first { $0.attributes.hasAttribute(at: slot) }?.attributes[slot]
                columns.append("\(name) \(attribute?.type.columnType ?? "INTEGER")")
            }
        }
        if root.sharesTable { columns.append("_entity TEXT NOT NULL") }
        columns.append("_placeholder INTEGER NOT NULL DEFAULT 0")
        return "CREATE TABLE \(SQLText.quoted(root.tableName)) (\(columns.joined(separator: ", ")))"
    }

    private func column(_ relationship: Relationship) -> String {
        let name = "\(SQLText.quoted(relationship.columnName)) INTEGER"
        let destination = model.entities[relationship.destinationIndex]
        let reference = " REFERENCES \(SQLText.quoted(destination.tableName))(pk)"
        guard let inverse = relationship.inverseIndex else {
            // For programs that enforce the key. The worker clears the column itself: ``StoredReference``.
            return name + reference + " ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"
        }
        if destination.relationships[inverse].deleteRule.leavesDanglingReferences { return name }
        return name + reference + " DEFERRABLE INITIALLY DEFERRED"
    }

    /// The indexes of one table, each once.
    private struct IndexList {
        var statements: [String] = []
        /// The columns that an index begins with.
        var covered: Set<String> = []
        /// The names without case, each with those that were asked for.
        private var known: [String: [String]] = [:]

        mutating func add(
            _ name: String, on table: String, _ terms: [String], where condition: String? = nil, unique: Bool = false
        ) {
            let others = known[name.lowercased(), default: []]
            if others.contains(name) { return }
            known[name.lowercased()] = others + [name]
            let name = others.isEmpty ? name : "\(name)$\(others.count + 1)"
            if condition == nil { covered.insert(terms[0]) }
            statements.append(
                "CREATE \(unique ? "UNIQUE " : "")INDEX \(SQLText.quoted(name)) ON \(SQLText.quoted(table)) "
                    + "(\(terms.joined(separator: ", ")))\(condition.map { " WHERE \($0)" } ?? "")")
        }
    }

    private func add(_ entity: Entity, to list: inout IndexList) {
        // A point is no part of any name in a model, so no table and no other index is called the same.
        func name(_ names: [String]) -> String { ([entity.viewName] + names).joined(separator: ".") }
        func quoted(_ names: [String]) -> [String] { names.map(SQLText.quoted) }
        if entity.parentIndex == nil {
            let identity = entity.identity.columnName
            list.add(name([identity]), on: entity.tableName, quoted([identity]), unique: true)
        }
        for constraint in entity.ownUniquenessConstraints {
            // A sub-entity's constraint does not bind the objects beside it.
            let condition = entity.parentIndex.map { _ in model.kindCondition(entity) }
            let columns = constraint.slots.map { entity.columnNames[$0] }
            list.add(
                name(columns.count > 1 ? columns + ["unique"] : columns), on: entity.tableName, quoted(columns),
                where: condition, unique: true)
        }
        for index in entity.indexes {
            let columns = index.properties.compactMap { entity.columnName(of: $0) }
            let predicate = index.predicate.flatMap { try? IndexCondition($0, entity: entity, model: model).sql }
            list.add(
                index.isPlain
                    ? name(columns) : index.name.map { "\(entity.viewName):\($0)" } ?? name([index.text]),
                on: entity.tableName, index.elements.map { term($0, entity) }, where: predicate)
        }
        for names in extremes(entity) { list.add(name(names), on: entity.tableName, quoted(names)) }
        // A to-one column is searched from the other side, and when a destination is deleted.
        for relationship in entity.ownRelationships {
            if let slot = model.inverse(of: relationship)?.positionSlot {
                list.add(
                    name([relationship.columnName, "position"]), on: entity.tableName,
                    quoted([relationship.columnName, entity.columnNames[slot]]))
            }
        }
        let searched =
            entity.ownAttributes.filter(\.isIndexed).map(\.columnName)
            + entity.ownRelationships.filter { $0.slot != nil }.map(\.columnName)
        for column in searched where !list.covered.contains(SQLText.quoted(column)) {
            list.add(name([column]), on: entity.tableName, quoted([column]))
        }
    }

    /// The terms by which an index orders rows. SQLite's own functions change the case of ASCII letters only; a function of ours
    /// would make a store that the `sqlite3` program cannot write.
    private func term(_ element: EntityIndex.Element, _ entity: Entity) -> String {
        let column = SQLText.quoted(entity.columnName(of: element.property) ?? element.property)
        let term =
            element.function.map { "\($0.sqliteFunction)(\(column))" } ?? column
        return element.isDescending ? "\(term) DESC" : term
    }

    private func entityIndexes(_ root: Entity) -> [String] {
        let table = SQLText.quoted(root.tableName)
        let placeholders =
            "CREATE INDEX \(SQLText.quoted(root.tableName + "._placeholder")) ON \(table) (pk) WHERE _placeholder"
        guard root.sharesTable else { return [placeholders] }
        return [placeholders, "CREATE INDEX \(SQLText.quoted(root.tableName + "._entity")) ON \(table) (_entity)"]
    }

    /// The columns by which the least and greatest values of an owner are one seek each.
    private func extremes(_ entity: Entity) -> [[String]] {
        var found: [[String]] = []
        for owner in model.entities {
            for attribute in owner.ownAttributes {
                guard case .aggregate(let function, let index, let slot)? = attribute.derivation,
                    function == .minimum || function == .maximum
                else { continue }
                let relationship = owner.relationships[index]
                // Decimals are ordered by an order of the worker's own, which no index is to depend on.
                guard relationship.destinationIndex == entity.index, entity.attributes[slot].type != .decimal,
                    case .inverseColumn(let column) = relationship.storage
                else { continue }
                found.append([entity.columnNames[column], entity.columnNames[slot]])
            }
        }
        return found
    }

    private func joinTable(_ join: JoinTable) -> [String] {
        let name = SQLText.quoted(join.name)
        let owner = SQLText.quoted(model.entities[join.ownerEntity].tableName)
        let destination = SQLText.quoted(model.entities[join.destinationEntity].tableName)
        let positions = join.positionColumns.map { "\($0) INTEGER, " }.joined()
        return [
            """
            CREATE TABLE \(name) (\
            owner INTEGER NOT NULL REFERENCES \(owner)(pk) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            destination INTEGER NOT NULL REFERENCES \(destination)(pk) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, \
            \(positions)PRIMARY KEY (owner, destination)) WITHOUT ROWID
            """,
            "CREATE INDEX \(SQLText.quoted(join.name + ".destination")) ON \(name) (destination, owner)",
        ]
    }

    // MARK: Views for people

    private func readableView(_ entity: Entity) -> String {
        var columns = ["e.pk"]
        for column in ReadableColumn.all(entity, model) {
            let value =
                switch column.content {
                case .attribute(let attribute): readable(attribute)
                case .relationship(let relationship): readable(relationship)
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

    private func readable(_ attribute: Attribute, alias: String = "e") -> String {
        let column = "\(alias).\(SQLText.quoted(attribute.columnName))"
        switch attribute.type {
        case .date: return Self.isoDate(column)
        case .uuid: return Self.hyphenated(column)
        default: return column
        }
    }

    private func readable(_ relationship: Relationship) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let table = SQLText.quoted(destination.viewName)
        let identity = readable(destination.identity, alias: "d")
        switch relationship.storage {
        case .column, .inverseColumn:
            let column = SQLText.quoted(relationship.columnName)
            return "(SELECT \(identity) FROM \(table) d WHERE d.pk = e.\(column))"
        case .join(let index, let isOwner):
            let join = model.joinTables[index].quotedName
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let order = relationship.isOrdered ? "j.\(JoinTable.positionColumn(isOwner: isOwner))" : "1"
            return """
                (SELECT json_group_array(identity) FROM (SELECT \(identity) AS identity FROM \(join) j \
                JOIN \(table) d ON d.pk = j.\(far) WHERE j.\(near) = e.pk ORDER BY \(order)))
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

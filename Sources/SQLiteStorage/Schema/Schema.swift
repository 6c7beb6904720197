import StoreSQL

/// The SQL that lays a store out for a model.
struct Schema {
    /// The layout's own version, kept in `_metadata`; a store with a greater one is refused.
    static let formatVersion = 4

    private let model: ObjectModel

    init(_ model: ObjectModel) { self.model = model }

    var statements: [String] {
        SQLiteDialect.ownTables + [Self.lease, SQLiteDialect.historyView(model)] + entityTables
            + model.joinTables.flatMap(joinTable) + model.entities.filter { $0.parentIndex != nil }.map(model.view)
            + model.entities.map { SQLiteDialect.readableView($0, model) }
    }

    /// Each hierarchy's table with the indexes of all its entities.
    private var entityTables: [String] {
        model.rootEntities.flatMap { root in
            var indexes = IndexList()
            for entity in model.entities where entity.rootIndex == root.index { add(entity, to: &indexes) }
            return [table(root)] + indexes.statements + entityIndexes(root)
        }
    }

    private static let lease = """
        CREATE TABLE _lease (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, holder TEXT NOT NULL, \
        expires INTEGER NOT NULL)
        """

    /// Makes a store of the first layout one of the second.
    static var upgradeFromFirst: [String] {
        [SQLiteDialect.creation(of: .ranges)] + SQLiteDialect.historyIndexes + [
            "ALTER TABLE _tombstone ADD COLUMN saved INTEGER",
            // When the old ones were saved is not known: their time begins now.
            "UPDATE _tombstone SET saved = CAST(strftime('%s', 'now') AS INTEGER) * 1000000",
        ]
    }

    /// The index that finds the changes of one object; it costs a quarter of the time of writing, so it is made on request.
    static let historyObjectIndex =
        "CREATE INDEX IF NOT EXISTS \(historyObjectIndexName) ON _history_change (entity, object)"

    static let historyObjectIndexName = "_history_change_object"

    // MARK: Entities

    private func table(_ root: Entity) -> String {
        let members = model.entities.filter { $0.rootIndex == root.index }
        return SQLiteDialect.creation(of: StoreTable(root)) { slot in
            if let relationship = members.flatMap(\.ownRelationships).first(where: { $0.slot == slot }) {
                return "INTEGER" + reference(relationship)
            }
            let attribute = members.first { $0.attributes.hasAttribute(at: slot) }?.attributes[slot]
            return attribute?.type.columnType ?? "INTEGER"
        }
    }

    private func reference(_ relationship: Relationship) -> String {
        let destination = model.entities[relationship.destinationIndex]
        let reference = " REFERENCES \(SQLText.quoted(destination.tableName))(pk)"
        guard let inverse = relationship.inverseIndex else {
            // For programs that enforce the key. The worker clears the column itself: ``StoredReference``.
            return reference + " ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"
        }
        if destination.relationships[inverse].deleteRule.leavesDanglingReferences { return "" }
        return reference + " DEFERRABLE INITIALLY DEFERRED"
    }

    /// The indexes of one table, each once.
    private struct IndexList {
        var statements: [String] = []
        /// The columns that an index begins with.
        var covered: Set<String> = []
        /// The names without case, each with the requested names that equal it.
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
}

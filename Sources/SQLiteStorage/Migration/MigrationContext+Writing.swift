import GRDB
import StoreSQL

// The writes of a stage's closure.
extension MigrationContext {
    /// Writes stored values of an object's attributes, or keys of its to-one relationships.
    ///
    /// - Throws: ``StoreError``, also for a name that is no stored property, or a value that is not of the property's
    ///   type.
    public func update(_ entity: String, pk: Int64, _ values: [String: Value]) throws {
        let entity = try self.entity(entity)
        let changes = try checked(values, of: entity)
        if changes.isEmpty { return }
        let assignments = changes.map { "\(SQLText.quoted($0.column)) = ?" }.joined(separator: ", ")
        try database.execute(
            sql: "UPDATE \(SQLText.quoted(entity.tableName)) SET \(assignments) WHERE pk = ? AND \(kind(entity))",
            arguments: StatementArguments(changes.map { $0.value.databaseValue } + [pk.databaseValue]))
    }

    /// Makes an object, with defaults for attributes that are not given; returns its key.
    ///
    /// - Throws: ``StoreError``, also where the entity is abstract, the identity is missing or taken.
    @discardableResult
    public func insert(_ entity: String, _ values: [String: Value]) throws -> Int64 {
        let entity = try self.entity(entity)
        if entity.isAbstract { throw refusal("\(entity.name) is abstract", "Name one of its sub-entities") }
        var row = Dictionary(
            entity.attributes.filter { !$0.isDerived && !$0.defaultValue.isNull }
                .map { ($0.columnName, $0.defaultValue) },
            uniquingKeysWith: { first, _ in first })
        if entity.identity.name == HiddenIdentity.name { row[HiddenIdentity.name] = .blob(UUIDText.random()) }
        for (column, value) in try checked(values, of: entity) { row[column] = value }
        if row[entity.identity.columnName]?.isNull ?? true {
            throw refusal("A new \(entity.name) has no \(entity.identity.name)", "Give it one: it is the identity")
        }
        let key =
            try Int64.fetchOne(
                database, sql: "SELECT next FROM _sequence WHERE entity = ?", arguments: [entity.rootName]) ?? 1
        try database.execute(
            sql: """
                INSERT INTO _sequence (entity, next) VALUES (?, ?) \
                ON CONFLICT (entity) DO UPDATE SET next = excluded.next
                """, arguments: [entity.rootName, key + 1])
        if entity.sharesTable { row["_entity"] = .text(entity.name) }
        row["pk"] = .integer(key)
        let fields = row.sorted { $0.key < $1.key }
        try database.execute(
            sql: """
                INSERT INTO \(SQLText.quoted(entity.tableName)) (\(fields.map { SQLText.quoted($0.key) }.joined(separator: ", "))) \
                VALUES (\(SQLText.parameters(fields.count)))
                """, arguments: StatementArguments(fields.map { $0.value.databaseValue }))
        return key
    }

    /// Removes an object; what led to it leads nowhere.
    ///
    /// - Throws: ``StoreError``.
    public func delete(_ entity: String, pk: Int64) throws {
        let entity = try self.entity(entity)
        for relationship in model.entities.flatMap(\.ownRelationships) where relationship.slot != nil {
            guard model.entities[relationship.destinationIndex].rootIndex == entity.rootIndex else { continue }
            let table = SQLText.quoted(model.entities[relationship.entityIndex].tableName)
            let column = SQLText.quoted(relationship.columnName)
            try database.execute(sql: "UPDATE \(table) SET \(column) = NULL WHERE \(column) = ?", arguments: [pk])
        }
        for join in model.joinTables {
            for (side, index) in [("owner", join.ownerEntity), ("destination", join.destinationEntity)]
            where model.entities[index].rootIndex == entity.rootIndex {
                try database.execute(
                    sql: "DELETE FROM \(SQLText.quoted(join.name)) WHERE \(side) = ?", arguments: [pk])
            }
        }
        try database.execute(
            sql: "DELETE FROM \(SQLText.quoted(entity.tableName)) WHERE pk = ? AND \(kind(entity))", arguments: [pk])
    }

    /// Adds a destination to a relationship of an object; to an ordered one at its end. A to-one relationship leads to
    /// the destination then.
    ///
    /// - Throws: ``StoreError``, also for a name that is no relationship.
    public func link(_ entity: String, pk: Int64, _ relationship: String, to destination: Int64) throws {
        let entity = try self.entity(entity)
        guard let relationship = entity.relationship(named: relationship) else {
            throw refusal(
                "\(entity.name) has no relationship '\(relationship)' at this stage",
                "Name one of: \(entity.relationships.map(\.name).joined(separator: ", "))")
        }
        switch relationship.storage {
        case .column:
            let owner = model.entities[relationship.entityIndex]
            let inverse = model.inverse(of: relationship)
            try point(owner, pk, relationship.columnName, to: destination)
            // An object without a place in an order is put at its end after the closure.
            if let place = inverse?.positionSlot { try point(owner, pk, owner.columnNames[place], to: nil) }
            if let inverse, inverse.slot != nil {
                try point(model.entities[inverse.entityIndex], destination, inverse.columnName, to: pk)
            }
        case .inverseColumn(let slot):
            let other = model.entities[relationship.destinationIndex]
            try point(other, destination, other.columnNames[slot], to: pk)
            if let place = relationship.positionSlot {
                try point(other, destination, other.columnNames[place], to: nil)
            }
        case .join(let index, let isOwner):
            try pair(model.joinTables[index], isOwner ? (pk, destination) : (destination, pk))
        }
    }

    private func point(_ entity: Entity, _ key: Int64, _ column: String, to destination: Int64?) throws {
        try database.execute(
            sql: "UPDATE \(SQLText.quoted(entity.tableName)) SET \(SQLText.quoted(column)) = ? WHERE pk = ?",
            arguments: [destination, key])
    }

    private func pair(_ join: JoinTable, _ keys: (owner: Int64, destination: Int64)) throws {
        let name = SQLText.quoted(join.name)
        var columns = ["owner", "destination"]
        var terms = ["?1", "?2"]
        for column in join.positionColumns {
            let (side, key) =
                column == JoinTable.positionColumn(isOwner: true) ? ("owner", "?1") : ("destination", "?2")
            columns.append(column)
            terms.append("(SELECT coalesce(max(\(column)) + 1, 0) FROM \(name) WHERE \(side) = \(key))")
        }
        let list = columns.joined(separator: ", ")
        try database.execute(
            sql: "INSERT OR IGNORE INTO \(name) (\(list)) SELECT \(terms.joined(separator: ", "))",
            arguments: [keys.owner, keys.destination])
        if join.isOwnInverse, keys.owner != keys.destination {
            try database.execute(
                sql: "INSERT OR IGNORE INTO \(name) (\(list)) SELECT \(terms.joined(separator: ", "))",
                arguments: [keys.destination, keys.owner])
        }
    }

    // MARK: Checking

    private func refusal(_ message: String, _ remedy: String) -> StoreError {
        StoreError(.database, message, remedy: remedy)
    }

    private func checked(_ values: [String: Value], of entity: Entity) throws -> [(column: String, value: Value)] {
        let known = Set(names(entity))
        return try values.sorted { $0.key < $1.key }.map { name, value in
            guard known.contains(name), let column = entity.columnName(of: name) else {
                throw refusal(
                    "\(entity.name) has no stored property '\(name)' at this stage",
                    "Name one of: \(known.sorted().joined(separator: ", "))")
            }
            let type = entity.attribute(named: name)?.type ?? .integer64
            guard value.isNull || type.holds(value) else {
                throw refusal(
                    "The value for \(entity.name).\(name) is not what a \(type.rawValue) is stored as",
                    "Give \(type.expectation) in its stored form")
            }
            return (column, value)
        }
    }
}

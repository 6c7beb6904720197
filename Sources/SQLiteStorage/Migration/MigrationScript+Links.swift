import StoreSQL

// Rows that are copied, and links whose place in the store changes: from a column to a join table, or the other way round.
extension MigrationScript {
    /// The rows of one old entity that become rows of a new one.
    struct Part {
        let entity: Entity
        let old: Entity
        let names: [String]
        let values: [String]
        let from: String

        /// The statement that copies the rows; it ends in a condition over the old row `s`.
        var insertion: String {
            """
            INSERT INTO main.\(SQLText.quoted(entity.tableName)) (\(names.joined(separator: ", "))) \
            SELECT \(values.joined(separator: ", ")) FROM \(from) s WHERE \(MigrationChecks.kind(old))
            """
        }
    }

    /// All rows that are copied.
    var parts: [Part] {
        tables.filter { $0.method == .rebuild }.flatMap { table in
            table.parts.compactMap { entity, source in
                guard let old = source.entity else { return nil }
                let list = columns.columns(of: entity, from: source)
                var names = ["pk"] + list.map { SQLText.quoted($0.name) } + ["_placeholder"]
                var values = ["s.pk"] + list.map(\.source.sql) + ["s._placeholder"]
                if table.root.sharesTable {
                    names.append("_entity")
                    values.append(SQLText.literal(entity.name))
                }
                return Part(
                    entity: entity, old: old, names: names, values: values, from: oldTable(old.tableName))
            }
        }
    }

    /// The links that a relationship of the new model gets from the old store.
    struct Links {
        let relationship: Relationship
        /// The old table whose column holds them, or nil where a join table does.
        let oldTable: String?
        /// A query of four columns, seen from the relationship: owner, destination, the destination's place in the owner's
        /// list, and the owner's place in the destination's. A place is null where there was no order.
        let selection: String
    }

    /// The links of all relationships that the new store keeps elsewhere than the old one.
    var links: [Links] {
        mapping.new.entities.flatMap(\.ownRelationships).compactMap { relationship in
            switch relationship.storage {
            case .inverseColumn: return nil
            case .column:
                let source = mapping.source(of: mapping.new.entities[relationship.entityIndex])
                if columns.directColumn(of: relationship, source) != nil { return nil }
            case .join(let table, let isOwner):
                if !isOwner || joins.first(where: { $0.join.index == table })?.isKept == true { return nil }
            }
            return source(of: relationship)
        }
    }

    /// Returns where the old store has the links of a relationship: its own links, or the links of its present inverse.
    func source(of relationship: Relationship) -> Links? {
        if let before = mapping.source(of: relationship) { return links(relationship, before, isReversed: false) }
        guard let inverse = mapping.new.inverse(of: relationship), let before = mapping.source(of: inverse) else {
            return nil
        }
        return links(relationship, before, isReversed: true)
    }

    private func links(_ relationship: Relationship, _ before: Relationship, isReversed: Bool) -> Links {
        let old = mapping.old
        let entity = old.entities[before.entityIndex]
        let destination = old.entities[before.destinationIndex]
        var oldName: String?
        var (near, far, position, back, from) = ("", "", "NULL", "NULL", "")
        switch before.storage {
        case .column(let slot):
            oldName = entity.tableName
            (near, far) = ("pk", SQLText.quoted(entity.columnNames[slot]))
            from = oldTable(entity.tableName)
            if let place = old.inverse(of: before)?.positionSlot { back = SQLText.quoted(entity.columnNames[place]) }
        case .inverseColumn(let slot):
            oldName = destination.tableName
            (near, far) = (SQLText.quoted(destination.columnNames[slot]), "pk")
            position = before.positionSlot.map { SQLText.quoted(destination.columnNames[$0]) } ?? "NULL"
            from = oldTable(destination.tableName)
        case .join(let index, let isOwner):
            (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            if before.isOrdered { position = JoinTable.positionColumn(isOwner: isOwner) }
            if old.inverse(of: before)?.isOrdered == true, !old.joinTables[index].isOwnInverse {
                back = JoinTable.positionColumn(isOwner: !isOwner)
            }
            from = oldJoin(old.joinTables[index].name)
        }
        if isReversed {
            swap(&near, &far)
            swap(&position, &back)
        }
        let selection = """
            SELECT \(near) AS owner, \(far) AS destination, \(position) AS position, \(back) AS back FROM \(from) \
            WHERE \(near) IS NOT NULL AND \(far) IS NOT NULL
            """
        return Links(relationship: relationship, oldTable: oldName, selection: selection)
    }

    /// The statements that put links where the new store keeps them.
    func fill(_ links: Links) -> [String] {
        let relationship = links.relationship
        let model = mapping.new
        switch relationship.storage {
        case .inverseColumn: return []
        case .column:
            let table = SQLText.quoted(model.entities[relationship.entityIndex].tableName)
            let entity = model.entities[relationship.entityIndex]
            var assignments = "\(SQLText.quoted(relationship.columnName)) = l.destination"
            if let place = model.inverse(of: relationship)?.positionSlot {
                assignments += ", \(SQLText.quoted(entity.columnNames[place])) = l.back"
            }
            return [
                """
                UPDATE \(table) AS _row SET \(assignments) FROM (\(links.selection)) l WHERE l.owner = _row.pk
                """
            ]
        case .join(let index, let isOwner):
            let join = model.joinTables[index]
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            var names = [near, far]
            var values = ["owner", "destination"]
            if relationship.isOrdered {
                names.append(JoinTable.positionColumn(isOwner: isOwner))
                values.append(
                    "row_number() OVER (PARTITION BY owner ORDER BY position IS NULL, position, destination) - 1")
            }
            if let inverse = model.inverse(of: relationship), inverse.isOrdered, !join.isOwnInverse {
                names.append(JoinTable.positionColumn(isOwner: !isOwner))
                values.append(
                    "row_number() OVER (PARTITION BY destination ORDER BY back IS NULL, back, owner) - 1")
            }
            return [
                """
                INSERT OR IGNORE INTO \(SQLText.quoted(join.name)) (\(names.joined(separator: ", "))) \
                SELECT \(values.joined(separator: ", ")) FROM (\(links.selection))
                """
            ]
        }
    }

    /// The statements that number the destinations of relationships that were not ordered before.
    var orderings: [String] {
        mapping.new.entities.flatMap(\.ownRelationships).compactMap { relationship in
            guard let slot = relationship.positionSlot, let inverse = mapping.new.inverse(of: relationship) else {
                return nil
            }
            let destination = mapping.new.entities[relationship.destinationIndex]
            let table = SQLText.quoted(destination.tableName)
            let (owner, column) = (SQLText.quoted(inverse.columnName), SQLText.quoted(destination.columnNames[slot]))
            return """
                UPDATE \(table) AS _row SET \(column) = o.place FROM (SELECT pk, row_number() OVER (PARTITION BY \(owner) \
                ORDER BY \(column) IS NULL, \(column), pk) - 1 AS place FROM \(table) WHERE \(owner) IN \
                (SELECT \(owner) FROM \(table) WHERE \(owner) IS NOT NULL AND \(column) IS NULL)) o \
                WHERE o.pk = _row.pk
                """
        }
    }

    /// The statements that fill the second column of one-to-one relationships from the first.
    var mirrors: [String] {
        mapping.new.entities.flatMap(\.ownRelationships).compactMap { relationship in
            guard relationship.slot != nil, mapping.source(of: relationship) == nil,
                let inverse = mapping.new.inverse(of: relationship), inverse.slot != nil,
                mapping.source(of: inverse)?.slot != nil
            else { return nil }
            let table = SQLText.quoted(mapping.new.entities[relationship.entityIndex].tableName)
            let other = SQLText.quoted(mapping.new.entities[inverse.entityIndex].tableName)
            return """
                UPDATE \(table) AS _row SET \(SQLText.quoted(relationship.columnName)) = (SELECT o.pk FROM \(other) o \
                WHERE o.\(SQLText.quoted(inverse.columnName)) = _row.pk)
                """
        }
    }
}

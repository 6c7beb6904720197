import GRDB
import StoreSQL

// The losses of a migration: rows of removed entities, links that end, values of removed attributes.
extension MigrationChecks {
    func losses() throws -> MigrationLosses {
        var losses = MigrationLosses()
        for entity in mapping.removedEntities where !entity.isAbstract {
            losses.rows[entity.name] = try count(
                "SELECT count(*) FROM \(SQLText.quoted(entity.tableName)) s WHERE \(Self.kind(entity))")
        }
        losses.links = try droppedLinks()
        losses.values = try droppedValues()
        return losses
    }

    private func count(_ sql: String) throws -> Int64 { try Int64.fetchOne(database, sql: sql) ?? 0 }

    /// Counts the values of the attributes that the new model does not keep, by the names that the difference has. A
    /// derived value is none of them, nor is one that a mapping reads, or that goes with its object's entity.
    private func droppedValues() throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for change in difference.changes where change.dropsValues {
            guard let name = change.property else { continue }
            for old in mapping.old.entities where !old.isAbstract {
                guard let attribute = old.attribute(named: name), !attribute.isDerived,
                    let now = mapping.target(of: old)
                else { continue }
                let declaring = mapping.old.entities[attribute.entityIndex]
                let isKept = mapping.source(of: now).attributes.values.contains { $0.name == name }
                if isKept || isRead(name, for: now)
                    || (mapping.target(of: declaring) ?? declaring).name != change.entity
                {
                    continue
                }
                let sql = """
                    SELECT count(s.\(SQLText.quoted(attribute.columnName))) FROM \(SQLText.quoted(old.tableName)) s \
                    WHERE \(Self.kind(old))
                    """
                counts[change.name, default: 0] += try count(sql)
            }
        }
        return counts
    }

    /// Tells whether an expression computes something of an attribute's values, so that they are not merely dropped.
    private func isRead(_ name: String, for now: Entity) -> Bool {
        now.attributes.contains {
            script.columns.expressions?.expression(for: $0, of: now)?.names.contains(name) == true
        }
    }

    // MARK: Links

    /// Counts links of relationships that the new model does not keep, and links to objects of removed entities.
    private func droppedLinks() throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for old in mapping.old.entities where !old.isAbstract {
            let now = mapping.target(of: old)
            for before in old.relationships {
                guard let (selection, destination) = links(of: before, old, now) else { continue }
                let isKept = now.map { isLinked(before, $0) } ?? false
                let condition = isKept ? removal(of: destination, before) : "\(destination) IS NOT NULL"
                guard let condition else { continue }
                let lost = try count("SELECT count(*) \(selection) AND \(condition)")
                if lost > 0 { counts[name(of: before, old, now), default: 0] += lost }
            }
        }
        return counts
    }

    /// Returns the links that the store keeps with an entity's objects, and the column of their destinations. It is nil
    /// where the store keeps them elsewhere, or in rows that go.
    private func links(of before: Relationship, _ old: Entity, _ now: Entity?) -> (sql: String, destination: String)? {
        let objects = "\(SQLText.quoted(old.tableName)) s"
        switch before.storage {
        case .inverseColumn: return nil
        case .column(let slot):
            // The second column of a pair of one-to-one relationships repeats the first.
            if now == nil || isSecondColumn(before, old) { return nil }
            return ("FROM \(objects) WHERE \(Self.kind(old))", "s.\(SQLText.quoted(old.columnNames[slot]))")
        case .join(let index, let isOwner):
            if !isOwner { return nil }
            let table = SQLText.quoted(mapping.old.joinTables[index].name)
            return (
                "FROM \(table) j WHERE j.owner IN (SELECT pk FROM \(objects) WHERE \(Self.kind(old)))", "j.destination"
            )
        }
    }

    private func isSecondColumn(_ before: Relationship, _ old: Entity) -> Bool {
        guard let inverse = mapping.old.inverse(of: before), inverse.slot != nil else { return false }
        // Where the objects of one side go, the other side has the links that end.
        let other = mapping.old.entities[inverse.entityIndex]
        if mapping.target(of: other) == nil { return false }
        return (inverse.entityIndex, inverse.index) < (before.entityIndex, before.index)
    }

    /// Tells whether the links of an old relationship have a place in the new model: in itself, or in its inverse.
    private func isLinked(_ before: Relationship, _ now: Entity) -> Bool {
        func isSame(_ other: Relationship, _ relationship: Relationship) -> Bool {
            other.entityIndex == relationship.entityIndex && other.index == relationship.index
        }
        if mapping.source(of: now).relationships.values.contains(where: { isSame($0, before) }) { return true }
        guard let inverse = mapping.old.inverse(of: before) else { return false }
        return mapping.sources.contains { $0.relationships.values.contains { isSame($0, inverse) } }
    }

    /// Returns the condition on links to objects that are removed; nil where none are.
    private func removal(of destination: String, _ before: Relationship) -> String? {
        let former = mapping.old.entities[before.destinationIndex]
        let removed = mapping.removedEntities.filter { $0.isKind(of: former) && !$0.isAbstract }
        if removed.isEmpty { return nil }
        if !former.sharesTable { return "\(destination) IS NOT NULL" }
        let names = removed.map { SQLText.literal($0.name) }.joined(separator: ", ")
        return """
            \(destination) IN (SELECT pk FROM \(SQLText.quoted(former.tableName)) WHERE _entity IN (\(names)))
            """
    }

    /// The name that the difference of the models has for a relationship.
    private func name(of before: Relationship, _ old: Entity, _ now: Entity?) -> String {
        let kept = now.flatMap { entity in
            mapping.source(of: entity).relationships.first {
                $0.value.entityIndex == before.entityIndex && $0.value.index == before.index
            }
        }
        let declaring = mapping.old.entities[before.entityIndex]
        return "\((mapping.target(of: declaring) ?? declaring).name).\(kept?.key ?? before.name)"
    }
}

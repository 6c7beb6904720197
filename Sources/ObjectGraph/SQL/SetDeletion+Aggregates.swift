// Derived values of survivors whose destinations are deleted.
extension SetDeletion {
    struct Affected {
        let entity: Entity
        let attribute: Attribute
        let owners: [Int64]
    }

    /// Returns the surviving owners whose aggregates lose deleted objects, before the rows go.
    func affectedOwners() throws(StoreError) -> [Affected] {
        var affected: [Affected] = []
        for entity in model.entities {
            for attribute in entity.attributes {
                guard let index = attribute.derivation?.aggregatedRelationship else { continue }
                let relationship = entity.relationships[index]
                let owners = try owners(losing: relationship)
                if !owners.isEmpty { affected.append(Affected(entity: entity, attribute: attribute, owners: owners)) }
            }
        }
        return affected
    }

    private func owners(losing relationship: Relationship) throws(StoreError) -> [Int64] {
        let gone = "SELECT pk FROM temp.\(doomed(relationship.destinationIndex))"
        let staying = "NOT IN (SELECT pk FROM temp.\(doomed(relationship.entityIndex)))"
        let sql: String
        switch relationship.storage {
        case .column: return []
        case .inverseColumn(let slot):
            let column = SQLText.quoted(model.entities[relationship.destinationIndex].columnNames[slot])
            sql = """
                SELECT DISTINCT \(column) FROM \(table(relationship.destinationIndex)) \
                WHERE pk IN (\(gone)) AND \(column) \(staying)
                """
        case .join(let index, _) where relationship.inverseIndex == nil:
            // Such links go with the rows, later.
            sql = """
                SELECT DISTINCT owner FROM \(SQLText.quoted(model.joinTables[index].name)) \
                WHERE destination IN (\(gone)) AND owner \(staying)
                """
        case .join:
            // The links are gone already; the history of this save tells whose they were.
            let entity = model.entities[relationship.entityIndex]
            let statement = try PreparedStatement(
                store.connection,
                sql: """
                    SELECT DISTINCT object FROM _history_change WHERE token = ?1 AND entity = ?2 AND properties = ?3 \
                    AND id >= (SELECT firstChange FROM _history_transaction WHERE token = ?1)
                    """)
            guard let token = history.token else { return [] }
            statement.bind(1, token)
            statement.bind(2, entity.name)
            statement.bind(3, relationship.name)
            return try column(statement)
        }
        return try column(PreparedStatement(store.connection, sql: sql))
    }

    private func column(_ statement: PreparedStatement) throws(StoreError) -> [Int64] {
        var keys: [Int64] = []
        while try statement.step() {
            if !statement.isNull(0) { keys.append(statement.integer(0)) }
        }
        return keys
    }

    func recompute(_ affected: [Affected], into tally: inout ChangeTally) throws(StoreError) {
        for group in affected {
            let sums = try store.sums(of: group.attribute, entity: group.entity, owners: group.owners)
            var rows: [StoredRow] = []
            try store.entities[group.entity.index].rows(primaryKeys: group.owners) { rows.append($0) }
            for row in rows {
                var values = row.values
                values[group.attribute.slot] = sums[row.pk] ?? group.attribute.zero
                for slot in group.entity.derivedOrder {
                    guard case .arithmetic(let expression)? = group.entity.attributes[slot].derivation else { continue }
                    values[slot] = expression.value(values, of: group.entity.attributes[slot])
                }
                let changed = values.indices.filter { values[$0] != row.values[$0] }
                if changed.isEmpty { continue }
                try store.entities[group.entity.index].update(
                    pk: row.pk, slots: changed, values: values, isPlaceholder: nil)
                try history.append(
                    entity: group.entity, pk: row.pk, identity: values[group.entity.identitySlot], kind: .update,
                    properties: changed.map { group.entity.columnNames[$0] }.joined(separator: ","))
                tally.note(.update, entity: group.entity.index)
            }
        }
    }
}

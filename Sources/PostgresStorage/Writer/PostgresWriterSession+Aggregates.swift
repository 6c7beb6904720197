// Aggregates that the server computes, so that no member of an owner is held in memory.
extension PostgresWriterSession {
    func aggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        let entity = model.entities[node.entity]
        let derived = entity.attributes[node.slot]
        switch derived.derivation {
        case .count(let index): return try counts(derived, entity.relationships[index], owners)
        case .aggregate(let function, let index, let slot) where function == .minimum || function == .maximum:
            return try extremes(function, slot, entity.relationships[index], owners)
        default: return try addedAggregates(of: node, owners: owners)
        }
    }

    func values(
        at slot: Int, of relationship: Relationship, owners: [Int64], each: (Int64, Value) -> Void
    ) throws(StoreError) {
        // A draft has to see the store as it was before its own writes.
        if draft?.statements.isEmpty == false { throw .conflict }
        if !isInTransaction { try reconnectIfLost() }
        let members = members(relationship)
        let (column, kind) = value(at: slot, of: relationship)
        // By a bare key the server would walk the primary keys of the whole table.
        var statement = PostgresStatement(
            """
            SELECT \(members.owner), \(kind.selected(column)) FROM \(members.from) \
            WHERE \(members.owner) = ANY($1::int8[]) ORDER BY d.pk + 0
            """)
        statement.bind(owners)
        try connection.stream(statement, "read the store") { row in each(row.integer(0), row.value(1, kind)) }
    }

    private func counts(
        _ derived: Attribute, _ relationship: Relationship, _ owners: [Int64]
    ) throws(StoreError) -> [Int64: Value] {
        let members = members(relationship)
        var statement = PostgresStatement(
            """
            SELECT \(members.owner), count(*) FROM \(members.from) WHERE \(members.owner) = ANY($1::int8[]) GROUP BY 1
            """)
        statement.bind(owners)
        let rows = try connection.run(statement, "count objects").rows
        return Dictionary(rows.map { ($0.integer(0), derived.value(ofCount: $0.integer(1))) }) { first, _ in first }
    }

    /// An owner's extreme is one seek where the index of its reference holds the value too.
    private func extremes(
        _ function: AggregateFunction, _ slot: Int, _ relationship: Relationship, _ owners: [Int64]
    ) throws(StoreError) -> [Int64: Value] {
        let members = members(relationship)
        let (column, kind) = value(at: slot, of: relationship)
        let extreme = "\(function == .minimum ? "min" : "max")(\(column))"
        var statement = PostgresStatement(
            """
            SELECT o.pk, (SELECT \(kind.selected(extreme)) FROM \(members.from) WHERE \(members.owner) = o.pk) \
            FROM unnest($1::int8[]) AS o(pk)
            """)
        statement.bind(owners)
        let rows = try connection.run(statement, "find the least or greatest value").rows
        return Dictionary(rows.map { ($0.integer(0), $0.value(1, kind)) }) { first, _ in first }
    }

    private func value(at slot: Int, of relationship: Relationship) -> (column: String, kind: ColumnKind) {
        let table = tables[relationship.destinationIndex]
        return ("d.\(table.columns[slot])", table.kinds[slot])
    }

    private func members(_ relationship: Relationship) -> DestinationRows {
        DestinationRows(relationship, in: tables[relationship.destinationIndex].name, model)
    }
}

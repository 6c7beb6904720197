// Aggregates that the engine computes, so that no destination of an owner is held in memory.
extension SQLWriterSession {
    /// Computes an aggregate of some owners from the rows.
    ///
    /// Sums and averages of binary fractions are added up in the order of the primary keys, so that the same rows give
    /// the same sum. Owners without destinations may be absent from the result.
    package func aggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        let entity = model.entities[node.entity]
        let derived = entity.attributes[node.slot]
        var values: [Int64: Value] = [:]
        switch derived.derivation {
        case .count(let index):
            let members = members(entity.relationships[index])
            try rows(about: owners) { keys in
                "SELECT \(members.owner), count(*) FROM \(members.from) WHERE \(members.owner) \(keys) GROUP BY 1"
            } each: {
                values[$0.integer(0)] = derived.value(ofCount: $0.integer(1))
            }
        case .aggregate(let function, let index, let slot) where function == .minimum || function == .maximum:
            let relationship = entity.relationships[index]
            let (members, source) = (members(relationship), source(slot, relationship))
            let value = Dialect.ordered("d.\(SQLText.quoted(source.columnName))", source.type)
            let extreme = Dialect.selected("\(function == .minimum ? "min" : "max")(\(value))", source.type)
            // An owner's extreme is one seek where the index of its reference holds the value too.
            try rows(about: owners) { keys in
                """
                SELECT o.pk, (SELECT \(extreme) FROM \(members.from) WHERE \(members.owner) = o.pk) \
                FROM \(Dialect.owners(SQLText.quoted(entity.tableName), keys))
                """
            } each: {
                values[$0.integer(0)] = $0.value(1, source.type)
            }
        default: return try addedAggregates(of: node, owners: owners)
        }
        return values
    }

    package func values(
        at slot: Int, of relationship: Relationship, owners: [Int64], each: (Int64, Value) -> Void
    ) throws(StoreError) {
        let (members, source) = (members(relationship), source(slot, relationship))
        let value = Dialect.selected("d.\(SQLText.quoted(source.columnName))", source.type)
        try rows(about: owners) { keys in
            """
            SELECT \(members.owner), \(value) FROM \(members.from) WHERE \(members.owner) \(keys) \
            ORDER BY \(Dialect.sortedKey("d.pk"))
            """
        } each: {
            each($0.integer(0), $0.value(1, source.type))
        }
    }

    private func source(_ slot: Int, _ relationship: Relationship) -> Attribute {
        model.entities[relationship.destinationIndex].attributes[slot]
    }

    private func members(_ relationship: Relationship) -> DestinationRows {
        let destination = model.entities[relationship.destinationIndex]
        return DestinationRows(relationship, in: SQLText.quoted(destination.tableName), model)
    }
}

extension WriterConnection {
    /// Computes an aggregate of some owners from the rows, all of them in one statement.
    ///
    /// Sums and averages of binary fractions are added up in the order of the primary keys, so that the same rows give
    /// the same sum. Owners without destinations may be absent from the result.
    func aggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        let entity = model.entities[node.entity]
        let derived = entity.attributes[node.slot]
        switch derived.derivation {
        case .count(let index): return try counts(entity.relationships[index], derived, owners)
        case .aggregate(let function, let index, let slot) where function == .minimum || function == .maximum:
            let relationship = entity.relationships[index]
            let source = model.entities[relationship.destinationIndex].attributes[slot]
            return try extremes(function, source, relationship, owners)
        default: return try addedAggregates(of: node, owners: owners)
        }
    }

    private func counts(
        _ relationship: Relationship, _ derived: Attribute, _ owners: [Int64]
    ) throws(StoreError) -> [Int64: Value] {
        var counts: [Int64: Value] = [:]
        let members = members(relationship, selecting: "count(*)")
        try forEachPage(owners, { "\(members) IN (\($0)) GROUP BY 1" }) { statement in
            counts[statement.integer(0)] = derived.value(ofCount: statement.integer(1))
        }
        return counts
    }

    /// An owner's extreme is one seek where the index of its reference holds the value too.
    private func extremes(
        _ function: AggregateFunction, _ source: Attribute, _ relationship: Relationship, _ owners: [Int64]
    ) throws(StoreError) -> [Int64: Value] {
        var value = "d." + SQLText.quoted(source.columnName)
        if source.type == .decimal {
            value += " COLLATE \(DecimalCollation.name)"
        }
        let name = function == .minimum ? "min" : "max"
        let owner = SQLText.quoted(model.entities[relationship.entityIndex].tableName)
        let members = members(relationship, selecting: "\(name)(\(value))", isOfOneOwner: true)
        var extremes: [Int64: Value] = [:]
        try forEachPage(owners, { "SELECT o.pk, (\(members) = o.pk) FROM \(owner) o WHERE o.pk IN (\($0))" }) {
            extremes[$0.integer(0)] = $0.value(1)
        }
        return extremes
    }

    func values(
        at slot: Int, of relationship: Relationship, owners: [Int64], each: (Int64, Value) -> Void
    ) throws(StoreError) {
        let source = model.entities[relationship.destinationIndex].attributes[slot]
        let members = members(relationship, selecting: "d." + SQLText.quoted(source.columnName))
        try forEachPage(owners, { "\(members) IN (\($0)) ORDER BY d.pk" }) {
            each($0.integer(0), $0.value(1))
        }
    }

    private func forEachPage(
        _ keys: [Int64], _ sql: (String) -> String, _ each: (PreparedStatement) -> Void
    ) throws(StoreError) {
        let keys = keys.map { Value.integer($0) }
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)]
            let statement = try statement(sql(SQLText.parameters(KeyList.width(for: part.count))))
            KeyList.bind(part, to: statement)
            while try statement.step() { each(statement) }
        }
    }

    /// A query of owners and members `d`, up to the condition on the owner's key.
    private func members(_ relationship: Relationship, selecting value: String, isOfOneOwner: Bool = false) -> String {
        let table = SQLText.quoted(model.entities[relationship.destinationIndex].tableName)
        let rows = DestinationRows(relationship, in: table, model)
        return "SELECT \(isOfOneOwner ? value : "\(rows.owner), \(value)") FROM \(rows.from) WHERE \(rows.owner)"
    }
}

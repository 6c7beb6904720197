extension WriterConnection {
    /// Computes an aggregate of some owners from the rows: sums are added up in the order of the primary keys, so that
    /// the same rows give the same sum of binary fractions.
    ///
    /// Owners without destinations are absent from the result.
    func sums(of derived: Attribute, entity: Entity, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        guard let relationship = derived.derivation?.aggregatedRelationship else { return [:] }
        let sql = sumSelection(derived, entity.relationships[relationship])
        var sums: [Int64: RunningSum] = [:]
        let keys = owners.map { Value.integer($0) }
        for start in stride(from: 0, to: keys.count, by: KeyList.maximumWidth) {
            let part = keys[start..<min(start + KeyList.maximumWidth, keys.count)]
            let list = SQLText.parameters(KeyList.width(for: part.count))
            let statement = try statement("\(sql.select) IN (\(list)) ORDER BY \(sql.order)")
            KeyList.bind(part, to: statement)
            while try statement.step() {
                sums[statement.integer(0), default: RunningSum(for: derived.type)].add(statement.value(1))
            }
        }
        return sums.mapValues(\.value)
    }

    /// Calls `each` for every owner with its aggregate as the rows have it, for checking a whole store.
    func allSums(of derived: Attribute, entity: Entity, each: (Int64, Value) -> Void) throws(StoreError) {
        guard let relationship = derived.derivation?.aggregatedRelationship else { return }
        let sql = sumSelection(derived, entity.relationships[relationship])
        let statement = try statement("\(sql.select) IS NOT NULL ORDER BY 1, \(sql.order)")
        var current: (owner: Int64, sum: RunningSum)?
        while try statement.step() {
            let owner = statement.integer(0)
            if let done = current, done.owner != owner {
                each(done.owner, done.sum.value)
                current = nil
            }
            var sum = current?.sum ?? RunningSum(for: derived.type)
            sum.add(statement.value(1))
            current = (owner, sum)
        }
        if let current { each(current.owner, current.sum.value) }
    }

    private func sumSelection(_ derived: Attribute, _ relationship: Relationship) -> (select: String, order: String) {
        let destination = model.entities[relationship.destinationIndex]
        var summed = "1"
        if case .sum(_, let slot)? = derived.derivation {
            summed = "d." + SQLText.quoted(destination.columnNames[slot])
        }
        let table = SQLText.quoted(destination.name)
        switch relationship.storage {
        case .join(let index, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let join = SQLText.quoted(model.joinTables[index].name)
            return (
                "SELECT j.\(near), \(summed) FROM \(join) j JOIN \(table) d ON d.pk = j.\(far) WHERE j.\(near)", "d.pk"
            )
        case .column(let slot), .inverseColumn(let slot):
            let column = "d." + SQLText.quoted(destination.columnNames[slot])
            return ("SELECT \(column), \(summed) FROM \(table) d WHERE \(column)", "d.pk")
        }
    }
}

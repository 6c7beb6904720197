// Aggregates of owners, computed from the rows of their destinations.
extension WriterSession {
    package func values(
        at slot: Int, of relationship: Relationship, owners: [Int64], each: (Int64, Value) -> Void
    ) throws(StoreError) {
        let destination = relationship.destinationIndex
        var members: [(key: Int64, owner: Int64, value: Value)] = []
        switch relationship.storage {
        case .column(let column), .inverseColumn(let column):
            try rows(of: destination, .values(owners.map { .integer($0) }, slot: column)) { row in
                if case .integer(let owner) = row.values[column] { members.append((row.pk, owner, row.values[slot])) }
            }
        case .join(let table, let isOwner):
            var links: [(near: Int64, far: Int64)] = []
            try self.links(in: table, of: owners, isOwnerSide: isOwner) { pair, _ in
                links.append(pair.ends(isOwner: isOwner))
            }
            var values: [Int64: Value] = [:]
            try rows(of: destination, .primaryKeys(Set(links.map(\.far)).sorted())) { values[$0.pk] = $0.values[slot] }
            for link in links {
                if let value = values[link.far] { members.append((link.far, link.near, value)) }
            }
        }
        members.sort { $0.key < $1.key }
        for member in members { each(member.owner, member.value) }
    }

    package func aggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        try addedAggregates(of: node, owners: owners)
    }

    /// Computes an aggregate of some owners, value by value. The order of the values fixes the sum of binary fractions.
    package func addedAggregates(of node: DerivedNode, owners: [Int64]) throws(StoreError) -> [Int64: Value] {
        let entity = model.entities[node.entity]
        let derived = entity.attributes[node.slot]
        switch derived.derivation {
        case .count(let index):
            let relationship = entity.relationships[index]
            let identity = model.entities[relationship.destinationIndex].identitySlot
            var counts: [Int64: Int64] = [:]
            try values(at: identity, of: relationship, owners: owners) { owner, _ in counts[owner, default: 0] += 1 }
            return counts.mapValues { derived.value(ofCount: $0) }
        case .aggregate(let function, let index, let slot):
            let relationship = entity.relationships[index]
            let type = model.entities[relationship.destinationIndex].attributes[slot].type
            guard let beginning = RunningAggregate(function, of: type, for: derived.type) else {
                var extremes: [Int64: ExtremeChange] = [:]
                try values(at: slot, of: relationship, owners: owners) { owner, value in
                    extremes[owner, default: ExtremeChange()].add(value, function, type)
                }
                return extremes.mapValues { $0.value(after: .null, function, type) ?? .null }
            }
            var sums: [Int64: RunningAggregate] = [:]
            try values(at: slot, of: relationship, owners: owners) { sums[$0, default: beginning].add($1) }
            return sums.mapValues(\.value)
        case .keyPath, .arithmetic, .now, nil: return [:]
        }
    }
}

extension Attribute {
    /// Returns a number of objects as a value of the attribute.
    package func value(ofCount count: Int64) -> Value {
        var sum = RunningSum(for: type)
        sum.add(.integer(count))
        return sum.value
    }
}

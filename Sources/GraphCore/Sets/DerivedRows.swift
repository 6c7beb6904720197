/// The rule by which derived values follow from rows, attribute after attribute. A conforming type carries it out: in the
/// graph's memory, or inside a store.
package protocol DerivedRows: DerivedComputation {
    var session: any WriterSession { get }
    var plan: DerivedPlan { get }
    /// The time of the save, for `now()`.
    var time: Int64 { get }

    /// Marks an attribute of some objects.
    func mark(_ node: DerivedNode, _ keys: [Int64]) throws(StoreError)

    /// Marks the objects whose key path passes, after `depth` steps, through one of the given objects.
    func markReaders(path: Int, depth: Int, of keys: [Int64]) throws(StoreError)

    /// Marks the owners whose aggregate takes some objects in.
    func markOwners(of node: DerivedNode, among keys: [Int64]) throws(StoreError)

    /// Calls `body` with the keys of the objects whose attribute is marked, so many at a time, and takes the marks away.
    func forEachPage(
        of node: DerivedNode, length: Int, _ body: ([Int64]) throws(StoreError) -> Void
    ) throws(StoreError)

    /// Returns the values at the end of a key path, by the primary keys of the rows that it begins at.
    func values(of path: DerivedPlan.Path, from rows: [StoredRow]) throws(StoreError) -> [Int64: Value]

    /// Notes for the history that slots of an object have changed.
    func note(_ row: StoredRow, _ slots: [Int]) throws(StoreError)
}

extension DerivedRows {
    /// Marks what a save has found; the links that lead to readers are still there.
    package func mark(_ marks: DerivedMarks) throws(StoreError) {
        for (node, owners) in marks.owners { try mark(node, owners.sorted()) }
        for (path, depth, keys) in marks.sources { try markReaders(path: path, depth: depth, of: keys) }
    }

    /// Marks all that reads a value of some objects.
    private func markReaders(of value: DerivedNode, _ keys: [Int64]) throws(StoreError) {
        if keys.isEmpty { return }
        for reader in plan.readers(of: value) {
            switch reader {
            case .own(let node): try mark(node, keys)
            case .path(let index): try markReaders(path: index, depth: plan.paths[index].steps.count, of: keys)
            case .aggregate(let node): try markOwners(of: node, among: keys)
            }
        }
    }

    /// Computes the marked values and the values that follow from them.
    ///
    /// `plan.order` has each attribute after the attributes that it reads: `Chat.messageCount` before `Board.total`. So
    /// a page that changes counts marks boards that are still to come, and no attribute is computed twice. An object
    /// whose value stays marks nothing, so the computation ends where nothing changes.
    ///
    /// - Parameter absorb: takes each object's changed slots and its values; true where the caller writes the history.
    package func run(absorb: (Int, Int64, [Int], [Value]) -> Bool) throws(StoreError) {
        for node in plan.order {
            try forEachPage(of: node, length: 512) { keys throws(StoreError) in try compute(node, keys, absorb) }
        }
    }

    private func compute(
        _ node: DerivedNode, _ keys: [Int64], _ absorb: (Int, Int64, [Int], [Value]) -> Bool
    ) throws(StoreError) {
        let model = session.model
        let entity = model.entities[node.entity]
        let attribute = entity.attributes[node.slot]
        var found: [StoredRow] = []
        try session.rows(of: node.entity, .primaryKeys(keys)) { found.append($0) }
        let computed = try values(of: node, keys, found)
        var written = RowChanges(entityCount: model.entities.count)
        var changed: [Int64] = []
        // Also of attributes that a sub-entity declares.
        var changedTimes: [DerivedNode: [Int64]] = [:]
        // A count over an inherited relationship belongs to the sub-entity that declares it.
        for row in found where row.entity.isKind(of: entity) {
            var values = row.values
            values[node.slot] =
                computed.map { $0[row.pk] ?? attribute.initialDerivedValue } ?? attribute.ownDerivedValue(row.values)
            if values[node.slot] == row.values[node.slot] { continue }
            let times = plan.timeSlots[row.entity.index]
            for slot in times {
                values[slot] = .integer(time)
                changedTimes[row.entity.node(of: slot), default: []].append(row.pk)
            }
            let slots = ([node.slot] + times).filter { values[$0] != row.values[$0] }
            written.update(entity.rootIndex, key: row.pk, slots: slots.sorted(), values)
            if !absorb(node.entity, row.pk, slots, values) { try note(row, slots) }
            changed.append(row.pk)
        }
        try session.write(written)
        withExtendedLifetime(written) {}
        try markReaders(of: node, changed)
        for (time, keys) in changedTimes { try markReaders(of: time, keys) }
    }

    /// Returns the values of some objects by primary key, or nil where they follow from the objects' own values.
    private func values(
        of node: DerivedNode, _ keys: [Int64], _ found: [StoredRow]
    ) throws(StoreError) -> [Int64: Value]? {
        switch session.model.entities[node.entity].attributes[node.slot].derivation {
        case .count, .aggregate: return try session.aggregates(of: node, owners: keys)
        case .keyPath(let path) where !path.relationships.isEmpty:
            guard let path = plan.paths.first(where: { $0.node == node }) else { return nil }
            return try values(of: path, from: found)
        default: return nil
        }
    }
}

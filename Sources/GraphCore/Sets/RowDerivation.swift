/// Computes derived values again from the rows that a storage returns, and all that reads them, attribute after attribute.
///
/// It asks the storage for rows, links and aggregates, so it serves each storage that does not compute by itself. It keeps
/// the keys of all marked objects in memory, and the rows of those that are computed together, without their members.
package final class RowDerivation: DerivedComputation {
    /// The objects that are computed together.
    private static let batchSize = 512

    private let session: any WriterSession
    private let plan: DerivedPlan
    /// The time of the save, for `now()`.
    private let time: Int64
    /// The objects that go, by the position of their root: their values are not computed.
    private let leaving: [Set<Int64>]
    private var marked: [DerivedNode: Set<Int64>] = [:]
    /// The changes that nobody absorbed, by the position of the root entity and by primary key.
    private var changes: [Int: [Int64: Change]] = [:]

    private struct Change {
        let entity: Entity
        let identity: Value
        var slots: Set<Int>
    }

    private var model: ObjectModel { session.model }

    init(_ session: any WriterSession, _ marks: DerivedMarks, _ work: SetWork) throws(StoreError) {
        self.session = session
        plan = work.plan
        time = work.history.time
        leaving = work.leaving
        for (node, owners) in marks.owners { mark(node, owners) }
        for (path, depth, keys) in marks.sources { try markReaders(path: path, depth: depth, of: keys) }
    }

    // MARK: Marking

    private func mark(_ node: DerivedNode, _ keys: some Sequence<Int64>) {
        if leaving.isEmpty { return marked[node, default: []].formUnion(keys) }
        let root = model.entities[node.entity].rootIndex
        marked[node, default: []].formUnion(keys.filter { !leaving[root].contains($0) })
    }

    /// Marks the objects whose key path passes through some objects, so many steps away: from the far end back to them.
    private func markReaders(path index: Int, depth: Int, of keys: [Int64]) throws(StoreError) {
        var keys = keys
        for step in plan.paths[index].steps[..<depth].reversed() {
            if keys.isEmpty { return }
            var readers: [Int64] = []
            try session.rows(of: step.entity, .values(keys.map { .integer($0) }, slot: step.slot)) { row in
                readers.append(row.pk)
            }
            keys = readers
        }
        mark(plan.paths[index].node, keys)
    }

    /// Marks all that reads a value of some objects.
    private func markReaders(of value: DerivedNode, _ keys: [Int64]) throws(StoreError) {
        if keys.isEmpty { return }
        for reader in plan.readers(of: value) {
            switch reader {
            case .own(let node): mark(node, keys)
            case .path(let index): try markReaders(path: index, depth: plan.paths[index].steps.count, of: keys)
            case .aggregate(let node): mark(node, try owners(of: node, among: keys))
            }
        }
    }

    /// Returns the owners whose aggregate takes some objects in.
    private func owners(of node: DerivedNode, among keys: [Int64]) throws(StoreError) -> Set<Int64> {
        let entity = model.entities[node.entity]
        var owners: Set<Int64> = []
        guard let index = entity.attributes[node.slot].derivation?.aggregatedRelationship else { return owners }
        let relationship = entity.relationships[index]
        switch relationship.storage {
        case .column(let slot), .inverseColumn(let slot):
            try session.rows(of: relationship.destinationIndex, .primaryKeys(keys)) { row in
                if case .integer(let owner) = row.values[slot] { owners.insert(owner) }
            }
        case .join(let table, let isOwner):
            try session.links(in: table, of: keys, isOwnerSide: !isOwner) { pair, _ in
                owners.insert(pair.ends(isOwner: isOwner).near)
            }
        }
        return owners
    }

    // MARK: Computing

    package func run(absorb: (Int, Int64, [Int], [Value]) -> Bool) throws(StoreError) {
        for node in plan.order {
            guard let keys = marked.removeValue(forKey: node)?.sorted() else { continue }
            for batch in Pages(keys, length: Self.batchSize) { try compute(node, batch, absorb) }
        }
    }

    private func compute(
        _ node: DerivedNode, _ keys: [Int64], _ absorb: (Int, Int64, [Int], [Value]) -> Bool
    ) throws(StoreError) {
        let entity = model.entities[node.entity]
        let attribute = entity.attributes[node.slot]
        var rows: [StoredRow] = []
        try session.rows(of: node.entity, .primaryKeys(keys)) { rows.append($0) }
        let computed = try values(of: node, keys, rows)
        var written = RowChanges(entityCount: model.entities.count)
        var changed: [Int64] = []
        // Also of attributes that a sub-entity declares.
        var changedTimes: [DerivedNode: [Int64]] = [:]
        // A count over an inherited relationship is that of the sub-entity that declares it.
        for row in rows where row.entity.isKind(of: entity) {
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
            if !absorb(node.entity, row.pk, slots, values) { note(row, slots) }
            changed.append(row.pk)
        }
        try session.write(written)
        try markReaders(of: node, changed)
        for (time, keys) in changedTimes { try markReaders(of: time, keys) }
    }

    /// Returns the values of some objects by primary key, or nil where they follow from the objects' own values.
    private func values(
        of node: DerivedNode, _ keys: [Int64], _ rows: [StoredRow]
    ) throws(StoreError) -> [Int64: Value]? {
        switch model.entities[node.entity].attributes[node.slot].derivation {
        case .count, .aggregate: return try session.aggregates(of: node, owners: keys)
        case .keyPath(let path) where !path.relationships.isEmpty:
            guard let path = plan.paths.first(where: { $0.node == node }) else { return nil }
            return try pathValues(path, rows)
        default: return nil
        }
    }

    private func pathValues(_ path: DerivedPlan.Path, _ rows: [StoredRow]) throws(StoreError) -> [Int64: Value] {
        var ends = Dictionary(rows.map { ($0.pk, $0) }) { first, _ in first }
        for step in path.steps {
            let keys = ends.compactMapValues { $0.values[step.slot].integer }
            var found: [Int64: StoredRow] = [:]
            try session.rows(of: step.destination, .primaryKeys(Set(keys.values).sorted())) { found[$0.pk] = $0 }
            ends = keys.compactMapValues { found[$0] }
        }
        return ends.mapValues { end in
            let value = end.values[path.slot]
            return path.transformation?.apply(value) ?? value
        }
    }

    // MARK: History

    private func note(_ row: StoredRow, _ slots: [Int]) {
        let identity = row.values[row.entity.identitySlot]
        changes[row.entity.rootIndex, default: [:]][
            row.pk, default: Change(entity: row.entity, identity: identity, slots: [])
        ].slots.formUnion(slots)
    }

    package func writeHistory(_ history: HistoryWriter, into tally: inout ChangeTally) throws(StoreError) {
        for (root, changes) in changes.sorted(by: { $0.key < $1.key }) {
            for (key, change) in changes.sorted(by: { $0.key < $1.key }) {
                let names = plan.derivedSlots[root].filter(change.slots.contains).map { change.entity.slotNames[$0] }
                try history.append(
                    .row(change.entity, key: key, identity: change.identity), kind: .update,
                    properties: names.joined(separator: ","))
                tally.note(.update, entity: change.entity.index)
            }
        }
        changes.removeAll()
    }
}

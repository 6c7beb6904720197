/// Computes derived values again from the rows that a storage returns.
///
/// It asks the storage for rows, links and aggregates, so it serves each storage that does not compute by itself. It
/// keeps the keys of all marked objects in memory, and the rows of the objects that it computes together, without their
/// members.
package final class RowDerivation: DerivedRows {
    package let session: any WriterSession
    package let plan: DerivedPlan
    package let time: Int64
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
        try mark(marks)
    }

    // MARK: Marking

    package func mark(_ node: DerivedNode, _ keys: [Int64]) {
        if leaving.isEmpty { return marked[node, default: []].formUnion(keys) }
        let root = model.entities[node.entity].rootIndex
        marked[node, default: []].formUnion(keys.filter { !leaving[root].contains($0) })
    }

    /// It follows the path backwards.
    package func markReaders(path index: Int, depth: Int, of keys: [Int64]) throws(StoreError) {
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

    package func markOwners(of node: DerivedNode, among keys: [Int64]) throws(StoreError) {
        let entity = model.entities[node.entity]
        var owners: Set<Int64> = []
        guard let index = entity.attributes[node.slot].derivation?.aggregatedRelationship else { return }
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
        mark(node, Array(owners))
    }

    // MARK: Computing

    package func forEachPage(
        of node: DerivedNode, length: Int, _ body: ([Int64]) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let keys = marked.removeValue(forKey: node)?.sorted() else { return }
        for page in Pages(keys, length: length) { try body(page) }
    }

    package func values(of path: DerivedPlan.Path, from found: [StoredRow]) throws(StoreError) -> [Int64: Value] {
        var ends = Dictionary(found.map { ($0.pk, $0) }) { first, _ in first }
        for step in path.steps {
            let keys = ends.compactMapValues { $0.values[step.slot].integer }
            var next: [Int64: StoredRow] = [:]
            try session.rows(of: step.destination, .primaryKeys(Set(keys.values).sorted())) { next[$0.pk] = $0 }
            ends = keys.compactMapValues { next[$0] }
        }
        return ends.mapValues { end in
            let value = end.values[path.slot]
            return path.transformation?.apply(value) ?? value
        }
    }

    // MARK: History

    package func note(_ row: StoredRow, _ slots: [Int]) {
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

import StoreSQL

/// Computes derived values again inside the store.
///
/// The table `derive_E_S` holds the keys of the objects to compute for slot S of entity E. The table `derived_R` holds those
/// that changed of root entity R, with a bit for each derived attribute. Both are temporary. So memory is bounded by pages
/// of rows, and each object gets one change in the history however many of its values changed.
final class DerivedPropagation: DerivedRows {
    let store: SQLiteWriterSession
    let plan: DerivedPlan
    let time: Int64
    private var marked: Set<DerivedNode> = []
    private var changedRoots: Set<Int> = []

    var session: any WriterSession { store }
    private var model: ObjectModel { store.model }

    /// - Parameter time: the time of the save, in microseconds since 1970 UTC.
    init(store: SQLiteWriterSession, plan: DerivedPlan, time: Int64) {
        self.store = store
        self.plan = plan
        self.time = time
    }

    private func table(_ entity: Int) -> String { SQLText.quoted(model.entities[entity].tableName) }

    private func column(_ entity: Int, _ slot: Int) -> String {
        SQLText.quoted(model.entities[entity].columnNames[slot])
    }

    // MARK: Marking

    private func keyTable(_ node: DerivedNode) throws(StoreError) -> String {
        let name = "temp.derive_\(node.entity)_\(node.slot)"
        if marked.insert(node).inserted {
            // An earlier save may have made the table, and a rollback may have removed it.
            try store.runOnce(
                "CREATE TEMP TABLE IF NOT EXISTS derive_\(node.entity)_\(node.slot) (pk INTEGER PRIMARY KEY)")
            try store.runOnce("DELETE FROM \(name)")
        }
        return name
    }

    func mark(_ node: DerivedNode, _ keys: [Int64]) throws(StoreError) {
        if keys.isEmpty { return }
        let statement = try store.statement("INSERT OR IGNORE INTO \(try keyTable(node)) (pk) VALUES (?)")
        for key in keys {
            try statement.run(key)
        }
    }

    /// Marks an attribute of the objects whose keys a query gives, as its only column.
    func mark(_ node: DerivedNode, selection: String) throws(StoreError) {
        try store.runOnce(
            "INSERT OR IGNORE INTO \(try keyTable(node)) (pk) SELECT * FROM (\(selection)) WHERE 1")
    }

    private func mark(_ node: DerivedNode, keys: [Int64], selection: (String) -> String) throws(StoreError) {
        let target = try keyTable(node)
        try KeyList.forEachPart(of: keys) { list throws(StoreError) in
            try store.statement("INSERT OR IGNORE INTO \(target) (pk) \(selection(list))")
        } body: { statement throws(StoreError) in
            try statement.run()
        }
    }

    func markReaders(path: Int, depth: Int, of keys: [Int64]) throws(StoreError) {
        try mark(plan.paths[path].node, keys: keys) { readers(path: path, depth: depth, among: $0) }
    }

    func markOwners(of node: DerivedNode, among keys: [Int64]) throws(StoreError) {
        try mark(node, keys: keys) { owners(of: node, among: $0) }
    }

    /// Returns a query of the objects whose key path passes, after `depth` steps, through an object of `keys`, a list
    /// or query of keys.
    func readers(path index: Int, depth: Int, among keys: String) -> String {
        let steps = plan.paths[index].steps
        // From the far end back to the objects: each step is a look-up in the index of a column.
        var from = "\(table(steps[depth - 1].entity)) e\(depth - 1)"
        var position = depth - 1
        while position > 0 {
            let step = steps[position - 1]
            from += """
                 CROSS JOIN \(table(step.entity)) e\(position - 1) \
                ON e\(position - 1).\(column(step.entity, step.slot)) = e\(position).pk
                """
            position -= 1
        }
        let last = steps[depth - 1]
        return "SELECT e0.pk FROM \(from) WHERE e\(depth - 1).\(column(last.entity, last.slot)) IN (\(keys))"
    }

    /// A query of the owners whose aggregate takes in the objects of a list or query of keys.
    func owners(of node: DerivedNode, among keys: String) -> String {
        let entity = model.entities[node.entity]
        guard let index = entity.attributes[node.slot].derivation?.aggregatedRelationship else {
            return "SELECT 1 WHERE 0"
        }
        let relationship = entity.relationships[index]
        switch relationship.storage {
        case .column(let slot), .inverseColumn(let slot):
            let column = column(relationship.destinationIndex, slot)
            return """
                SELECT \(column) FROM \(table(relationship.destinationIndex)) \
                WHERE pk IN (\(keys)) AND \(column) IS NOT NULL
                """
        case .join(let table, let isOwner):
            let (near, far) = isOwner ? ("owner", "destination") : ("destination", "owner")
            let join = model.joinTables[table].quotedName
            return "SELECT \(near) FROM \(join) WHERE \(far) IN (\(keys))"
        }
    }

    /// Marks all that reads a value of the objects whose keys a query gives.
    ///
    /// - Parameter own: whether also what these objects read of themselves.
    func markReaders(of value: DerivedNode, selection: String, own: Bool = true) throws(StoreError) {
        for reader in plan.readers(of: value) {
            switch reader {
            case .own(let node): if own { try mark(node, selection: selection) }
            case .path(let index):
                let readers = readers(path: index, depth: plan.paths[index].steps.count, among: selection)
                try mark(plan.paths[index].node, selection: readers)
            case .aggregate(let node): try mark(node, selection: owners(of: node, among: selection))
            }
        }
    }

    // MARK: Computing

    /// Computes the marked values and the values that follow from them; nothing is held in memory.
    func run() throws(StoreError) { try run { _, _, _, _ in false } }

    func forEachPage(
        of node: DerivedNode, length: Int, _ body: ([Int64]) throws(StoreError) -> Void
    ) throws(StoreError) {
        if !marked.contains(node) { return }
        let statement = try store.statement(
            "SELECT pk FROM \(try keyTable(node)) WHERE pk > ? ORDER BY pk LIMIT \(length)")
        var last = Int64.min
        while true {
            statement.bind(1, last)
            var keys: [Int64] = []
            while try statement.step() { keys.append(statement.integer(0)) }
            guard let end = keys.last else { break }
            try body(keys)
            last = end
        }
        try store.runOnce("DELETE FROM \(try keyTable(node))")
    }

    func values(of path: DerivedPlan.Path, from found: [StoredRow]) throws(StoreError) -> [Int64: Value] {
        var from = "\(table(path.node.entity)) e0"
        for (index, step) in path.steps.enumerated() {
            from += """
                 CROSS JOIN \(table(step.destination)) e\(index + 1) \
                ON e\(index + 1).pk = e\(index).\(column(step.entity, step.slot))
                """
        }
        let end = path.steps.last?.destination ?? path.node.entity
        var values: [Int64: Value] = [:]
        let selection = "SELECT e0.pk, e\(path.steps.count).\(column(end, path.slot)) FROM \(from) WHERE e0.pk"
        try store.rows(about: found.map(\.pk)) {
            "\(selection) \($0)"
        } each: { row in
            let value = row.value(1)
            values[row.integer(0)] = path.transformation?.apply(value) ?? value
        }
        return values
    }

    // MARK: History

    func note(_ row: StoredRow, _ slots: [Int]) throws(StoreError) {
        let root = row.entity.rootIndex
        if changedRoots.insert(root).inserted {
            try store.runOnce(
                "CREATE TEMP TABLE IF NOT EXISTS derived_\(root) (pk INTEGER PRIMARY KEY, slots INTEGER NOT NULL)")
            try store.runOnce("DELETE FROM temp.derived_\(root)")
        }
        var bits: Int64 = 0
        for (position, slot) in plan.derivedSlots[root].enumerated() where slots.contains(slot) {
            bits |= 1 << Int64(position)
        }
        try store.run(
            """
            INSERT INTO temp.derived_\(root) (pk, slots) VALUES (?, ?) \
            ON CONFLICT (pk) DO UPDATE SET slots = slots | excluded.slots
            """, row.pk, bits)
    }

    /// Appends one change for each object that nobody absorbed, in the order of entities and keys.
    func writeHistory(_ history: HistoryWriter, into tally: inout ChangeTally) throws(StoreError) {
        for index in changedRoots.sorted() {
            let root = model.entities[index]
            let kind = root.sharesTable ? "e._entity" : SQLText.literal(root.name)
            var names: [Int64: String] = [:]
            let statement = try store.statement(
                """
                SELECT c.pk, c.slots, e.\(SQLText.quoted(root.identity.columnName)), \(kind) \
                FROM temp.derived_\(index) c CROSS JOIN \(table(index)) e ON e.pk = c.pk ORDER BY c.pk
                """)
            while try statement.step() {
                let bits = statement.integer(1)
                let properties = names[bits] ?? self.names(bits, root)
                names[bits] = properties
                let entity = model.entity(named: statement.text(3)) ?? root
                try history.append(
                    .row(entity, key: statement.integer(0), identity: statement.value(2)), kind: .update,
                    properties: properties)
                tally.note(.update, entity: entity.index)
            }
            try store.runOnce("DELETE FROM temp.derived_\(index)")
        }
        changedRoots.removeAll()
        marked.removeAll()
    }

    private func names(_ bits: Int64, _ entity: Entity) -> String {
        plan.derivedSlots[entity.index].enumerated().filter { bits & 1 << Int64($0.offset) != 0 }
            .map { entity.slotNames[$0.element] }.joined(separator: ",")
    }
}

/// Computes derived values again from the rows, then the derived values that read them, level after level.
///
/// The table `derive_E_S` holds the keys of the objects to compute for slot S of entity E. The table `derived_R` holds those
/// that changed of root entity R, with a bit for each derived attribute. Both are temporary. So memory is bounded by pages
/// of rows, and each object gets one change in the history however many of its values changed.
final class DerivedPropagation: DerivedComputation {
    /// The objects that are computed together.
    private static let pageLength = 512

    let store: WriterConnection
    let plan: DerivedPlan
    /// The time of the save, for `now()`.
    private let time: Int64
    private var marked: Set<DerivedNode> = []
    private var changedRoots: Set<Int> = []

    private var model: ObjectModel { store.model }

    /// - Parameter time: the time of the save, in microseconds since 1970 UTC.
    init(store: WriterConnection, plan: DerivedPlan, time: Int64) {
        self.store = store
        self.plan = plan
        self.time = time
    }

    private func table(_ entity: Int) -> String { SQLText.quoted(model.entities[entity].tableName) }

    private func column(_ entity: Int, _ slot: Int) -> String {
        SQLText.quoted(model.entities[entity].columnNames[slot])
    }

    private func attribute(_ node: DerivedNode) -> Attribute { model.entities[node.entity].attributes[node.slot] }

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

    /// Marks an attribute of some objects.
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
        let values = keys.map { Value.integer($0) }
        for start in stride(from: 0, to: values.count, by: KeyList.maximumWidth) {
            let part = values[start..<min(start + KeyList.maximumWidth, values.count)]
            let list = SQLText.parameters(KeyList.width(for: part.count))
            let statement = try store.statement("INSERT OR IGNORE INTO \(target) (pk) \(selection(list))")
            KeyList.bind(part, to: statement)
            try statement.run()
        }
    }

    /// Marks the objects whose key path passes through some objects, so many steps away.
    func markReaders(path: Int, depth: Int, of keys: [Int64]) throws(StoreError) {
        try mark(plan.paths[path].node, keys: keys) { readers(path: path, depth: depth, among: $0) }
    }

    /// A query of the objects whose key path passes through those of a list or query of keys, so many steps away.
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

    /// Marks all that reads a value of some objects.
    func markReaders(of value: DerivedNode, _ keys: [Int64]) throws(StoreError) {
        if keys.isEmpty { return }
        for reader in plan.readers(of: value) {
            switch reader {
            case .own(let node): try mark(node, keys)
            case .path(let index): try markReaders(path: index, depth: plan.paths[index].steps.count, of: keys)
            case .aggregate(let node):
                try mark(node, keys: keys) { owners(of: node, among: $0) }
            }
        }
    }

    /// Marks all that reads a value of the objects whose keys a query gives.
    func markReaders(of value: DerivedNode, selection: String) throws(StoreError) {
        for reader in plan.readers(of: value) {
            switch reader {
            case .own(let node): try mark(node, selection: selection)
            case .path(let index):
                let readers = readers(path: index, depth: plan.paths[index].steps.count, among: selection)
                try mark(plan.paths[index].node, selection: readers)
            case .aggregate(let node): try mark(node, selection: owners(of: node, among: selection))
            }
        }
    }

    // MARK: Computing

    /// Computes what is marked and what follows from it; nothing is held in memory.
    func run() throws(StoreError) { try run { _, _, _, _ in false } }

    /// Computes what is marked and what follows from it.
    ///
    /// `plan.order` has each attribute after those that it reads: `Chat.messageCount` before `Board.total`. So a page that
    /// changes counts marks boards that are still to come, and no attribute is computed twice. An object whose value stays
    /// marks nothing, so the computation ends where nothing changes.
    ///
    /// - Parameter absorb: takes each object's changed slots and its values; true where the caller writes the history.
    func run(absorb: (Int, Int64, [Int], [Value]) -> Bool) throws(StoreError) {
        for node in plan.order where marked.contains(node) {
            var last = Int64.min
            while true {
                let page = try page(of: node, after: last)
                guard let end = page.last else { break }
                try compute(node, page, absorb)
                last = end
            }
            try store.runOnce("DELETE FROM \(try keyTable(node))")
        }
    }

    private func page(of node: DerivedNode, after last: Int64) throws(StoreError) -> [Int64] {
        let statement = try store.statement(
            "SELECT pk FROM \(try keyTable(node)) WHERE pk > ? ORDER BY pk LIMIT \(Self.pageLength)")
        statement.bind(1, last)
        var keys: [Int64] = []
        while try statement.step() { keys.append(statement.integer(0)) }
        return keys
    }

    private func compute(
        _ node: DerivedNode, _ keys: [Int64], _ absorb: (Int, Int64, [Int], [Value]) -> Bool
    ) throws(StoreError) {
        let entity = model.entities[node.entity]
        var rows: [StoredRow] = []
        try store.entities[node.entity].rows(primaryKeys: keys) { rows.append($0) }
        let computed = try values(of: node, keys)
        var changed: [Int64] = []
        // Also of attributes that a sub-entity declares.
        var changedTimes: [DerivedNode: [Int64]] = [:]
        // A count over an inherited relationship is that of the sub-entity that declares it.
        for row in rows where row.entity.isKind(of: entity) {
            let value = computed?[row.pk] ?? attribute(node).initialDerivedValue
            var values = row.values
            values[node.slot] = computed == nil ? attribute(node).ownDerivedValue(row.values) : value
            if values[node.slot] == row.values[node.slot] { continue }
            let times = plan.timeSlots[row.entity.index]
            for slot in times {
                values[slot] = .integer(time)
                changedTimes[row.entity.node(of: slot), default: []].append(row.pk)
            }
            let slots = ([node.slot] + times).filter { values[$0] != row.values[$0] }
            try store.entities[node.entity].update(pk: row.pk, slots: slots, values: values)
            if !absorb(node.entity, row.pk, slots, values) { try noteChange(entity, row.pk, slots) }
            changed.append(row.pk)
        }
        try markReaders(of: node, changed)
        for (time, keys) in changedTimes { try markReaders(of: time, keys) }
    }

    /// Returns the values of some objects, or nil where they follow from the objects' own values.
    private func values(of node: DerivedNode, _ keys: [Int64]) throws(StoreError) -> [Int64: Value]? {
        switch attribute(node).derivation {
        case .count, .aggregate: return try store.aggregates(of: node, owners: keys)
        case .keyPath(let path) where !path.relationships.isEmpty:
            guard let path = plan.paths.first(where: { $0.node == node }) else { return nil }
            return try pathValues(path, keys)
        default: return nil
        }
    }

    private func pathValues(_ path: DerivedPlan.Path, _ keys: [Int64]) throws(StoreError) -> [Int64: Value] {
        var from = "\(table(path.node.entity)) e0"
        for (index, step) in path.steps.enumerated() {
            from += """
                 CROSS JOIN \(table(step.destination)) e\(index + 1) \
                ON e\(index + 1).pk = e\(index).\(column(step.entity, step.slot))
                """
        }
        let end = path.steps.last?.destination ?? path.node.entity
        var values: [Int64: Value] = [:]
        let keys = keys.map { Value.integer($0) }
        let statement = try store.statement(
            """
            SELECT e0.pk, e\(path.steps.count).\(column(end, path.slot)) FROM \(from) \
            WHERE e0.pk IN (\(SQLText.parameters(KeyList.width(for: keys.count))))
            """)
        KeyList.bind(keys[...], to: statement)
        while try statement.step() {
            let value = statement.value(1)
            values[statement.integer(0)] = path.transformation?.apply(value) ?? value
        }
        return values
    }

    // MARK: History

    private func noteChange(_ entity: Entity, _ pk: Int64, _ slots: [Int]) throws(StoreError) {
        let root = entity.rootIndex
        if changedRoots.insert(root).inserted {
            try store.runOnce(
                "CREATE TEMP TABLE IF NOT EXISTS derived_\(root) (pk INTEGER PRIMARY KEY, slots INTEGER NOT NULL)")
            try store.runOnce("DELETE FROM temp.derived_\(root)")
        }
        var bits: Int64 = 0
        for (position, slot) in plan.derivedSlots[entity.index].enumerated() where slots.contains(slot) {
            bits |= 1 << Int64(position)
        }
        try store.run(
            """
            INSERT INTO temp.derived_\(root) (pk, slots) VALUES (?, ?) \
            ON CONFLICT (pk) DO UPDATE SET slots = slots | excluded.slots
            """, pk, bits)
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

/// Repairs a store, a chunk at a time.
struct StoreRepair {
    let writer: WriterContext
    let chunkLength: Int
    var report = RepairReport()
    private let model: ObjectModel
    private let plan: DerivedPlan

    init(writer: WriterContext, chunkLength: Int) {
        self.writer = writer
        self.chunkLength = chunkLength
        model = writer.store.model
        plan = DerivedPlan(model)
    }

    mutating func run(progress: (String) -> Void) throws(StoreError) {
        progress("references")
        for entity in model.entities {
            for relationship in entity.ownRelationships where relationship.slot != nil {
                try clearDangling(relationship, of: entity)
            }
        }
        progress("links")
        for join in model.joinTables { while try removeOrphans(join) {} }
        progress("derived")
        for entity in model.entities { try derive(entity) }
    }

    /// Runs one chunk in a transaction, with its history; the result says whether there is more.
    private mutating func chunk<Result>(
        _ body: (WriterConnection, HistoryWriter, inout ChangeTally, inout RepairReport) throws -> Result
    ) throws(StoreError) -> Result {
        let time = writer.now
        let entityCount = model.entities.count
        var report = report
        let result = try writer.write("mend the store") { connection in
            let history = HistoryWriter(
                connection, time: time, author: "verify", context: "repair", source: nil,
                nextChange: try connection.nextChangeID())
            var tally = ChangeTally(entityCount: entityCount)
            let result = try body(connection, history, &tally, &report)
            if try history.close() != nil { report.transactionCount += 1 }
            return result
        }
        self.report = report
        return result
    }

    private func table(_ entity: Entity) -> String { SQLText.quoted(entity.tableName) }

    // MARK: References

    /// Clears references to rows that are not there, but for those that the model lets dangle.
    private mutating func clearDangling(_ relationship: Relationship, of entity: Entity) throws(StoreError) {
        if model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true { return }
        guard let slot = relationship.slot else { return }
        let plan = plan
        let destination = table(model.entities[relationship.destinationIndex])
        let column = "e." + SQLText.quoted(entity.columnNames[slot])
        let sql = """
            SELECT e.pk FROM \(table(entity)) e WHERE \(column) IS NOT NULL \
            AND NOT EXISTS (SELECT 1 FROM \(destination) d WHERE d.pk = \(column)) LIMIT \(chunkLength)
            """
        var hasMore = true
        while hasMore {
            let limit = chunkLength
            hasMore = try chunk { connection, history, tally, report in
                let keys = try connection.keys(sql)
                for key in keys { try connection.clear(slot, plan, entity, key, history) }
                report.danglingReferenceCount += keys.count
                tally.note(.update, entity: entity.index, count: keys.count)
                return keys.count == limit
            }
        }
    }

    // MARK: Links

    private mutating func removeOrphans(_ join: JoinTable) throws(StoreError) -> Bool {
        let owner = model.entities[join.ownerEntity]
        let destination = model.entities[join.destinationEntity]
        let name = SQLText.quoted(join.name)
        let sql = """
            SELECT owner, destination FROM \(name) WHERE owner NOT IN (SELECT pk FROM \(table(owner))) \
            OR destination NOT IN (SELECT pk FROM \(table(destination))) LIMIT \(chunkLength)
            """
        let plan = plan
        let limit = chunkLength
        return try chunk { connection, history, tally, report in
            let pairs = try connection.pairs(sql)
            for pair in pairs { try connection.joins[join.index].delete(pair) }
            report.orphanedLinkCount += pairs.count
            let owners = Set(pairs.map(\.owner)).sorted()
            var name = owner.relationships[join.ownerRelationship].name
            var count = try connection.noteLoss(name, owner, owners, plan, history)
            tally.note(.update, entity: owner.index, count: count)
            guard let back = join.destinationRelationship, !join.isOwnInverse else { return pairs.count == limit }
            name = destination.relationships[back].name
            count = try connection.noteLoss(
                name, destination, Set(pairs.map(\.destination)).sorted(), plan, history)
            tally.note(.update, entity: destination.index, count: count)
            return pairs.count == limit
        }
    }

    // MARK: Derived values

    /// Computes the derived values that an entity declares, of its objects and those of its sub-entities.
    private mutating func derive(_ entity: Entity) throws(StoreError) {
        let nodes = plan.order.filter { node in
            if case .now? = entity.attributes.hasAttribute(at: node.slot)
                ? entity.attributes[node.slot].derivation : nil
            {
                return false
            }
            return node.entity == entity.index
        }
        if nodes.isEmpty { return }
        let plan = plan
        let source = SQLText.quoted(entity.viewName)
        let limit = chunkLength
        let time = writer.now
        var last: Int64? = .min
        while let start = last {
            last = try chunk { connection, history, tally, report in
                let page = "SELECT pk FROM \(source) WHERE pk > \(start) ORDER BY pk LIMIT \(limit)"
                guard let end = try connection.maximum("SELECT max(pk) FROM (\(page))") else { return nil }
                let propagation = DerivedPropagation(store: connection, plan: plan, time: time)
                for node in nodes { try propagation.mark(node, selection: page) }
                try propagation.run()
                let before = tally.total
                try propagation.writeHistory(history, into: &tally)
                report.derivedObjectCount += tally.total - before
                return end
            }
        }
    }
}

extension WriterConnection {
    fileprivate func keys(_ sql: String) throws(StoreError) -> [Int64] {
        let statement = try PreparedStatement(connection, sql: sql)
        var keys: [Int64] = []
        while try statement.step() { keys.append(statement.integer(0)) }
        return keys
    }

    fileprivate func pairs(_ sql: String) throws(StoreError) -> [Pair] {
        let statement = try PreparedStatement(connection, sql: sql)
        var pairs: [Pair] = []
        while try statement.step() {
            pairs.append(Pair(owner: statement.integer(0), destination: statement.integer(1)))
        }
        return pairs
    }

    fileprivate func maximum(_ sql: String) throws(StoreError) -> Int64? {
        let statement = try PreparedStatement(connection, sql: sql)
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.integer(0)
    }

    /// Clears a column of one object and writes that into the history.
    fileprivate func clear(
        _ slot: Int, _ plan: DerivedPlan, _ entity: Entity, _ key: Int64, _ history: HistoryWriter
    ) throws(StoreError) {
        try setValues([slot: .null], plan, entity, key, history, also: [])
    }

    /// Writes into the history which objects lost links; returns how many there are.
    fileprivate func noteLoss(
        _ relationship: String, _ entity: Entity, _ keys: [Int64], _ plan: DerivedPlan, _ history: HistoryWriter
    ) throws(StoreError) -> Int {
        var count = 0
        for key in keys where try setValues([:], plan, entity, key, history, also: [relationship]) { count += 1 }
        return count
    }

    @discardableResult
    private func setValues(
        _ changes: [Int: Value], _ plan: DerivedPlan, _ entity: Entity, _ key: Int64, _ history: HistoryWriter,
        also names: [String]
    ) throws(StoreError) -> Bool {
        var found: StoredRow?
        try entities[entity.index].rows(primaryKeys: [key]) { found = $0 }
        guard let row = found else { return false }
        var values = row.values
        for (slot, value) in changes { values[slot] = value }
        for slot in plan.timeSlots[row.entity.index] { values[slot] = .integer(history.time) }
        let slots = values.indices.filter { values[$0] != row.values[$0] }
        if !slots.isEmpty {
            try entities[entity.index].update(pk: key, slots: slots, values: values)
        }
        try history.append(
            entity: row.entity, pk: key, identity: values[entity.identitySlot], kind: .update,
            properties: (slots.map { entity.slotNames[$0] } + names).joined(separator: ","))
        return true
    }
}

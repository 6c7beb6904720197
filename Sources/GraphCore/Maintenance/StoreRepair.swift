/// The questions of a repair to a storage, inside the open transaction of its writer.
package protocol RepairQueries: WriterSession {
    /// Returns the keys of at most `limit` objects of an entity whose to-one relationship leads to no row.
    func danglingKeys(_ relationship: Relationship, of entity: Entity, limit: Int) throws(StoreError) -> [Int64]

    /// Returns at most `limit` links of a join table of which an end is no row.
    func orphanedLinks(_ join: JoinTable, limit: Int) throws(StoreError) -> [Pair]

    /// Returns the keys of the next objects of an entity and its sub-entities, ascending.
    func keys(of entity: Entity, after key: Int64, limit: Int) throws(StoreError) -> [Int64]
}

extension StorageAdministration {
    /// Repairs derived values, and removes references and links that lead nowhere, in chunks of `chunkLength` rows.
    ///
    /// - Parameters:
    ///   - writer: the writer of a store in this storage.
    ///   - progress: takes the name of each step before it begins.
    func repair(_ writer: WriterContext, chunkLength: Int, progress: (String) -> Void) throws -> RepairReport {
        var repair = try StoreRepair(writer: writer, chunkLength: chunkLength)
        try repair.run(progress: progress)
        return repair.report
    }
}

/// Repairs a store, a chunk at a time.
private struct StoreRepair {
    let writer: WriterContext
    let chunkLength: Int
    var report = RepairReport()
    private let model: ObjectModel
    private let plan: DerivedPlan
    private let validators: Validators

    init(writer: WriterContext, chunkLength: Int) throws {
        self.writer = writer
        self.chunkLength = chunkLength
        model = writer.store.model
        plan = DerivedPlan(model)
        validators = try Validators([:], model: model)
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
        _ body: (any RepairQueries, HistoryWriter, inout ChangeTally, inout RepairReport) throws -> Result
    ) throws(StoreError) -> Result {
        let time = writer.now
        let entityCount = model.entities.count
        var report = report
        let result = try writer.change("repair the store") { session in
            guard let session = session as? any RepairQueries else {
                throw StoreError(.unavailable, "The storage has no repair", remedy: "Keep the store in a file")
            }
            let history = HistoryWriter(
                session, time: time, author: "verify", context: "repair", source: nil,
                nextChange: try session.counters().nextChange)
            var tally = ChangeTally(entityCount: entityCount)
            let result = try body(session, history, &tally, &report)
            if try history.close() != nil { report.transactionCount += 1 }
            return result
        }
        writer.registry.aggregateMemory?.removeAll()
        self.report = report
        return result
    }

    // MARK: References

    /// Clears references to rows that are not there, except where the model lets references dangle.
    private mutating func clearDangling(_ relationship: Relationship, of entity: Entity) throws(StoreError) {
        if model.inverse(of: relationship)?.deleteRule.leavesDanglingReferences == true { return }
        guard let slot = relationship.slot else { return }
        let (plan, limit) = (plan, chunkLength)
        var hasMore = true
        while hasMore {
            hasMore = try chunk { session, history, tally, report in
                let keys = try session.danglingKeys(relationship, of: entity, limit: limit)
                _ = try session.change(entity, keys, clearing: slot, plan, history)
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
        let (plan, limit) = (plan, chunkLength)
        return try chunk { session, history, tally, report in
            let pairs = try session.orphanedLinks(join, limit: limit)
            var removal = RowChanges(entityCount: session.model.entities.count)
            removal.removedLinks = pairs.map { RowChanges.Link(table: join.index, pair: $0, places: PairPlaces()) }
            try session.write(removal)
            report.orphanedLinkCount += pairs.count
            func note(_ relationship: Int, _ entity: Entity, _ keys: Set<Int64>) throws(StoreError) {
                let name = entity.relationships[relationship].name
                let count = try session.change(entity, keys.sorted(), losing: name, plan, history)
                tally.note(.update, entity: entity.index, count: count)
            }
            try note(join.ownerRelationship, owner, Set(pairs.map(\.owner)))
            if let back = join.destinationRelationship, !join.isOwnInverse {
                try note(back, destination, Set(pairs.map(\.destination)))
            }
            return pairs.count == limit
        }
    }

    // MARK: Derived values

    /// Computes the derived values that an entity declares, for its objects and its sub-entities' objects.
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
        let (plan, limit, validators) = (plan, chunkLength, validators)
        var last: Int64? = .min
        while let start = last {
            last = try chunk { session, history, tally, report in
                let keys = try session.keys(of: entity, after: start, limit: limit)
                guard let end = keys.last else { return nil }
                var marks = DerivedMarks()
                for node in nodes { marks.owners[node] = Set(keys) }
                let work = SetWork(history: history, plan: plan, validators: validators)
                let computation = try session.sets.recomputation(of: marks, work)
                try computation.run { _, _, _, _ in false }
                let before = tally.total
                try computation.writeHistory(history, into: &tally)
                report.derivedObjectCount += tally.total - before
                return end
            }
        }
    }
}

extension RepairQueries {
    /// Clears a column of objects, or notes that they lost links, with history; returns how many there are.
    fileprivate func change(
        _ entity: Entity, _ keys: [Int64], clearing slot: Int? = nil, losing relationship: String? = nil,
        _ plan: DerivedPlan, _ history: HistoryWriter
    ) throws(StoreError) -> Int {
        var rows: [StoredRow] = []
        try self.rows(of: entity.index, .primaryKeys(keys)) { rows.append($0) }
        var changes = RowChanges(entityCount: model.entities.count)
        for row in rows.sorted(by: { $0.pk < $1.pk }) {
            var values = row.values
            if let slot { values[slot] = .null }
            for slot in plan.timeSlots[row.entity.index] { values[slot] = .integer(history.time) }
            let slots = values.indices.filter { values[$0] != row.values[$0] }
            if !slots.isEmpty { changes.update(entity.rootIndex, key: row.pk, slots: slots, values) }
            try history.append(
                .row(row.entity, key: row.pk, identity: values[entity.identitySlot]), kind: .update,
                properties: (slots.map { entity.slotNames[$0] } + (relationship.map { [$0] } ?? []))
                    .joined(separator: ","))
        }
        try write(changes)
        return rows.count
    }
}

// Derived values that follow from the chunk's objects in memory. Counts and sums follow from additions and removals, extremes
// from new values, key paths from loaded objects. The saver marks the rest for a ``DerivedComputation``.
extension Saver {
    struct Link {
        let table: Int
        let pair: Pair
        let state: JoinTableRegistry.State
        var isLinked: Bool { state.current }
        /// Tells whether the link is there before and after, at another place.
        var isMoved: Bool { state.current && state.original }
        var row: RowChanges.Link { RowChanges.Link(table: table, pair: pair, places: state.places) }
    }

    struct DerivedChanges {
        /// The sums to add to owners' aggregates.
        var sums: [AggregateKey: RunningSum] = [:]
        /// The values that come to and go from owners' extremes.
        var extremes: [AggregateKey: (function: AggregateFunction, change: ExtremeChange)] = [:]
        /// The values that come to and go from averages, and from sums of binary fractions.
        var running: [AggregateKey: RunningChange] = [:]
        /// The owners whose value is to be computed again from the rows.
        private(set) var recomputed: [DerivedNode: Set<Int64>] = [:]

        mutating func recompute(_ node: DerivedNode, _ owners: some Sequence<Int64>) {
            recomputed[node, default: []].formUnion(owners)
        }
    }

    /// Computes all derived values in memory and notes what is left for the rows.
    ///
    /// Example: `Chat.messageCount` counts messages, and `Board.total` sums `messageCount`. A new message changes the
    /// count in one level; the sum's level then finds the chat among the changed objects. So one pass over the levels is
    /// enough, and a chat with a million messages costs as much as one with ten.
    ///
    /// Losses are different: the greatest value is gone, and only the rows know the next. Those owners are marked.
    func derive(_ links: [Link]) throws(StoreError) -> DerivedChanges {
        var changes = DerivedChanges()
        collectGained(&changes)
        for level in plan.levels {
            if level.hasColumnFeeds { collect(level, &changes) }
            if level.hasJoinFeeds {
                collect(links, level, &changes)
                try collectLosses(level, &changes)
                try collectChangedValues(level, &changes)
            }
            try applySums(&changes)
            try applyExtremes(&changes)
            try applyRunning(&changes)
            if !level.paths.isEmpty { try computePaths(level) }
            if level.hasOwnSlots { computeOwn(level) }
            if level.hasTimeSlots { setTimes(level) }
        }
        return changes
    }

    /// A stored object that became one of a sub-entity has further aggregates, which have no value yet.
    private func collectGained(_ changes: inout DerivedChanges) {
        for object in registry.listed
        where object.entity !== object.originalEntity && !object.isNew && object.isAlive {
            for attribute in object.entity.attributes
            where attribute.derivation?.aggregatedRelationship != nil
                && !object.originalEntity.isKind(of: registry.model.entities[attribute.entityIndex])
            {
                changes.recompute(object.entity.node(of: attribute.slot), CollectionOfOne(object.pk))
            }
        }
    }

    // MARK: What feeds aggregates

    private func collect(_ level: DerivedPlan.Level, _ changes: inout DerivedChanges) {
        for object in registry.listed where !object.state.isVoid {
            for feed in level.columnFeeds[object.entity.index] {
                let old = object.isNew ? nil : object.original.packed(feed.slot).integer
                let new = object.isAlive ? object.state.values.packed(feed.slot).integer : nil
                for aggregate in feed.aggregates { note(aggregate, object, old: old, new: new, &changes) }
            }
        }
    }

    private func note(
        _ aggregate: DerivedPlan.Aggregate, _ object: ContextObject, old: Int64?, new: Int64?,
        _ changes: inout DerivedChanges
    ) {
        let oldValue = aggregate.valueSlot.map { object.original[$0] } ?? .integer(1)
        let newValue = aggregate.valueSlot.map { object.state.values[$0] } ?? .integer(1)
        if old == new, oldValue == newValue { return }
        if let old { add(oldValue, times: -1, of: object, aggregate, owner: old, &changes) }
        if let new { add(newValue, times: 1, of: object, aggregate, owner: new, &changes) }
    }

    private func add(
        _ value: Value, times factor: Int64, of member: ContextObject, _ aggregate: DerivedPlan.Aggregate, owner: Int64,
        _ changes: inout DerivedChanges
    ) {
        let key = aggregateKey(aggregate, owner: owner)
        if case .sum = aggregate.upkeep {
            changes.sums[key, default: RunningSum(for: aggregate.type)].add(value, times: factor)
            return
        }
        switch aggregate.upkeep {
        case .sum: break
        case .extreme(let function):
            var entry = changes.extremes[key] ?? (function, ExtremeChange())
            if factor > 0 { entry.change.add(value, function, aggregate.type) } else { entry.change.remove(value) }
            changes.extremes[key] = entry
        case .running where registry.aggregateMemory != nil:
            if value.isNull { return }
            changes.running[key, default: RunningChange(aggregate)].add(value, times: factor, of: member)
        case .running, .rows: changes.recompute(aggregate.node, CollectionOfOne(owner))
        }
    }

    private func collect(_ links: [Link], _ level: DerivedPlan.Level, _ changes: inout DerivedChanges) {
        for link in links where !link.isMoved {
            let feed = level.joinFeeds[link.table]
            if feed.isEmpty { continue }
            let (owner, destination) = ends(link)
            let factor: Int64 = link.isLinked ? 1 : -1
            for (end, other, aggregates) in [(owner, destination, feed.owner), (destination, owner, feed.destination)] {
                guard let end, let other, end.isAlive else { continue }
                for aggregate in aggregates {
                    add(.integer(1), times: factor, of: other, aggregate, owner: end.pk, &changes)
                }
            }
        }
    }

    /// Links without inverse go with the rows of their destinations; aggregates over them are computed again.
    private func collectLosses(_ level: DerivedPlan.Level, _ changes: inout DerivedChanges) throws(StoreError) {
        for (table, feed) in level.joinFeeds.enumerated() {
            let join = registry.pairs[table].join
            if join.destinationRelationship != nil || feed.owner.isEmpty { continue }
            let kin = registry.model.kin(of: join.destinationEntity)
            let deleted = registry.listed.filter {
                kin.contains($0.entity.index) && !$0.isNew && !$0.isAlive
            }
            try recompute(feed.owner, table, linkedTo: deleted, isOwner: true, &changes)
        }
    }

    /// An aggregate over a join table changes with the value of any object that is linked.
    private func collectChangedValues(_ level: DerivedPlan.Level, _ changes: inout DerivedChanges) throws(StoreError) {
        for (table, feed) in level.joinFeeds.enumerated() {
            let join = registry.pairs[table].join
            for (aggregates, isOwner) in [(feed.owner, true), (feed.destination, false)] {
                for aggregate in aggregates {
                    guard let slot = aggregate.valueSlot else { continue }
                    let kin = registry.model.kin(of: isOwner ? join.destinationEntity : join.ownerEntity)
                    let changed = registry.listed.filter {
                        kin.contains($0.entity.index) && !$0.isNew && $0.isAlive
                            && !$0.keeps(slot)
                    }
                    try recompute([aggregate], table, linkedTo: changed, isOwner: isOwner, &changes)
                }
            }
        }
    }

    private func recompute(
        _ aggregates: [DerivedPlan.Aggregate], _ table: Int, linkedTo objects: [ContextObject], isOwner: Bool,
        _ changes: inout DerivedChanges
    ) throws(StoreError) {
        var owners: Set<Int64> = []
        try registry.reader.links(in: table, of: objects.map(\.pk), isOwnerSide: !isOwner) { pair, _ in
            owners.insert(pair.ends(isOwner: isOwner).near)
        }
        if owners.isEmpty { return }
        for aggregate in aggregates { changes.recompute(aggregate.node, owners) }
    }

    // MARK: Aggregates by what changed

    private func applySums(_ changes: inout DerivedChanges) throws(StoreError) {
        if changes.sums.isEmpty { return }
        let sums = changes.sums
        changes.sums = [:]
        for (owner, slot, sum) in try owners(of: sums) where !sum.isZero {
            var total = RunningSum(for: owner.entity.attributes[slot].type)
            total.add(owner.state.values[slot])
            let isExact = total.isExact
            total.add(sum)
            // A sum at its bound cannot be added to: the rows give the new one.
            guard isExact, total.isExact else {
                changes.recompute(owner.entity.node(of: slot), CollectionOfOne(owner.pk))
                continue
            }
            owner[slot] = total.value
            registry.list(owner)
        }
    }

    private func applyExtremes(_ changes: inout DerivedChanges) throws(StoreError) {
        if changes.extremes.isEmpty { return }
        let extremes = changes.extremes
        changes.extremes = [:]
        for (owner, slot, entry) in try owners(of: extremes) {
            let current = owner.state.values[slot]
            let type = owner.entity.attributes[slot].type
            guard let value = entry.change.value(after: current, entry.function, type) else {
                changes.recompute(owner.entity.node(of: slot), CollectionOfOne(owner.pk))
                continue
            }
            if value == current { continue }
            owner[slot] = value
            registry.list(owner)
        }
    }

    /// The living owners of some aggregates with what changes them, loaded together, in a fixed order.
    func owners<Change>(
        of changes: [AggregateKey: Change]
    ) throws(StoreError) -> [(owner: ContextObject, slot: Int, change: Change)] {
        let sorted = changes.sorted { left, right in
            (left.key.entity, left.key.pk, left.key.slot) < (right.key.entity, right.key.pk, right.key.slot)
        }
        // A key path into a generic type would be made again at each call.
        for (entity, changes) in Dictionary(grouping: sorted, by: { $0.key.entity }) {
            try registry.load(entity: entity, primaryKeys: changes.map { $0.key.pk })
        }
        return sorted.compactMap { key, change in
            // A count over an inherited relationship belongs to the sub-entity that declares it.
            guard let owner = registry.known(key.entity, pk: key.pk), owner.isAlive, !work.isLeaving(owner),
                owner.entity.hasDerived(at: key.slot)
            else { return nil }
            return (owner, key.slot, change)
        }
    }

    // MARK: Values of single objects

    /// Follows the key paths of objects that are new or whose own reference changed.
    private func computePaths(_ level: DerivedPlan.Level) throws(StoreError) {
        for index in level.paths {
            let path = plan.paths[index]
            let slot = path.steps[0].slot
            let kin = registry.model.kin(of: path.node.entity)
            let objects = registry.listed.filter {
                kin.contains($0.entity.index) && $0.isAlive
                    && ($0.isNew || $0.entity !== $0.originalEntity || !$0.keeps(slot))
            }
            if objects.isEmpty { continue }
            var ends: [ContextObject?] = objects
            for step in path.steps {
                let keys = ends.map { $0?.state.values.packed(step.slot).integer }
                try registry.load(entity: step.destination, primaryKeys: Array(Set(keys.compactMap { $0 })))
                ends = keys.map { key in
                    key.flatMap { registry.known(step.destination, pk: $0) }.flatMap { $0.isAlive ? $0 : nil }
                }
            }
            for (object, end) in zip(objects, ends) {
                let value = end?.state.values[path.slot] ?? .null
                object[path.node.slot] = path.transformation?.apply(value) ?? value
            }
        }
    }

    private func computeOwn(_ level: DerivedPlan.Level) {
        for object in registry.listed where object.isAlive {
            for slot in level.ownSlots[object.entity.index] {
                object[slot] = object.entity.attributes[slot].ownDerivedValue(object.state.values)
            }
        }
    }

    private func setTimes(_ level: DerivedPlan.Level) {
        for object in registry.listed {
            let slots = level.timeSlots[object.entity.index]
            guard !slots.isEmpty, object.isAlive, Self.changeKind(object) != nil else { continue }
            for slot in slots { object[slot] = .integer(history.time) }
        }
    }

    // MARK: Values that need the rows

    /// Returns the derived values to compute from the rows. The caller finds their objects through the stored references,
    /// before it writes rows.
    ///
    /// The stored references lead from a changed object to too many readers rather than too few. If this chunk changed a
    /// reader's reference, its value was computed in memory, and is computed once more.
    func marks(of changes: DerivedChanges) -> DerivedMarks {
        var sources: [PathKey: [Int64]] = [:]
        for object in registry.listed where !plan.paths.isEmpty && !object.isNew {
            for reader in plan.pathReaders[object.entity.index]
            where !object.isAlive || !object.keeps(reader.slot) {
                sources[PathKey(path: reader.path, depth: reader.depth), default: []].append(object.pk)
            }
        }
        return DerivedMarks(
            owners: changes.recomputed, sources: sources.map { ($0.key.path, $0.key.depth, $0.value) })
    }

    private struct PathKey: Hashable {
        let path: Int
        let depth: Int
    }
}

extension Entity {
    /// Tells whether a slot belongs to a derived attribute that objects of the entity have.
    fileprivate func hasDerived(at slot: Int) -> Bool {
        attributes.hasAttribute(at: slot) && attributes[slot].isDerived
    }
}

extension Attribute {
    /// Computes a derived value that follows from the object's own values.
    package func ownDerivedValue(_ values: some SlotReadable) -> Value {
        switch derivation {
        case .arithmetic(let expression): return expression.value(values, of: self)
        case .keyPath(let path): return path.transformation?.apply(values[path.slot]) ?? values[path.slot]
        default: return values[slot]
        }
    }
}

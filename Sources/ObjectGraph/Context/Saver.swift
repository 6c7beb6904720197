/// Writes what a chunk changed: derived values, rows, links, history, tombstones.
struct Saver {
    let registry: ObjectRegistry
    let plan: DerivedPlan
    let history: HistoryWriter

    private var store: WriterConnection { registry.store }

    func save(into tally: inout ChangeTally) throws(StoreError) {
        clearReferencesToDeleted()
        var aggregates = AggregateChanges()
        let links = changedLinks()
        collect(&aggregates)
        collect(links, &aggregates)
        try collectLosses(&aggregates)
        try apply(&aggregates)
        computeArithmetic(registry.listed)
        try writeRows(links)
        try recompute(aggregates, links)
        try writeHistory(&tally)
        try writeTombstones()
        try writeSequences()
    }

    /// Clears new references without inverse to objects that the chunk deleted; SQLite clears those it has stored.
    private func clearReferencesToDeleted() {
        for object in registry.listed where object.isAlive {
            for relationship in object.entity.relationships where relationship.inverseIndex == nil {
                guard let slot = relationship.slot, object.isNew || object.original[slot] != object.state.values[slot]
                else { continue }
                if registry.readsNull(object, slot) { object.state.values[slot] = .null }
            }
        }
    }

    // MARK: Links

    private typealias Link = (table: Int, pair: Pair, isLinked: Bool)

    /// Returns the links to write, in a fixed order; links of deleted objects go with their rows.
    private func changedLinks() -> [Link] {
        var links: [Link] = []
        for table in registry.pairs.indices {
            for (pair, isLinked) in registry.pairs[table].changes { links.append((table, pair, isLinked)) }
        }
        links.sort {
            ($0.table, $0.pair.owner, $0.pair.destination) < ($1.table, $1.pair.owner, $1.pair.destination)
        }
        return links.filter { link in
            let (owner, destination) = ends(link)
            guard let owner, let destination else { return false }
            let join = registry.pairs[link.table].join
            owner.changedLinks.insert(join.ownerRelationship)
            if let back = join.destinationRelationship { destination.changedLinks.insert(back) }
            return owner.isAlive && destination.isAlive || !link.isLinked
        }
    }

    private func ends(_ link: Link) -> (ContextObject?, ContextObject?) {
        let join = registry.pairs[link.table].join
        return (
            registry.byKey[join.ownerEntity][link.pair.owner],
            registry.byKey[join.destinationEntity][link.pair.destination]
        )
    }

    // MARK: Aggregates

    private struct OwnerKey: Hashable {
        let entity: Int
        let pk: Int64
    }

    private struct AggregateKey: Hashable {
        let entity: Int
        let slot: Int
    }

    private struct AggregateChanges {
        /// What to add to owners' aggregates, by owner and slot.
        var deltas: [OwnerKey: [Int: RunningSum]] = [:]
        /// The owners whose aggregate is to be computed anew.
        var recomputed: [AggregateKey: Set<Int64>] = [:]
    }

    private func collect(_ changes: inout AggregateChanges) {
        for object in registry.listed where !object.state.isVoid {
            for feed in plan.columnFeeds[object.entity.index] {
                let old = object.isNew ? nil : object.original[feed.slot].integer
                let new = object.isAlive ? object.state.values[feed.slot].integer : nil
                for aggregate in feed.aggregates { note(aggregate, object, old: old, new: new, &changes) }
            }
        }
    }

    private func note(
        _ aggregate: DerivedPlan.Aggregate, _ object: ContextObject, old: Int64?, new: Int64?,
        _ changes: inout AggregateChanges
    ) {
        let oldValue = aggregate.summedSlot.map { object.original[$0] } ?? .integer(1)
        let newValue = aggregate.summedSlot.map { object.state.values[$0] } ?? .integer(1)
        if old == new, oldValue == newValue { return }
        if let old { add(oldValue, times: -1, aggregate, owner: old, &changes) }
        if let new { add(newValue, times: 1, aggregate, owner: new, &changes) }
    }

    private func add(
        _ value: Value, times factor: Int64, _ aggregate: DerivedPlan.Aggregate, owner: Int64,
        _ changes: inout AggregateChanges
    ) {
        guard aggregate.isIncremental else {
            let key = AggregateKey(entity: aggregate.ownerEntity, slot: aggregate.derivedSlot)
            changes.recomputed[key, default: []].insert(owner)
            return
        }
        let key = OwnerKey(entity: aggregate.ownerEntity, pk: owner)
        let type = registry.model.entities[aggregate.ownerEntity].attributes[aggregate.derivedSlot].type
        changes.deltas[key, default: [:]][aggregate.derivedSlot, default: RunningSum(for: type)]
            .add(value, times: factor)
    }

    private func collect(_ links: [Link], _ changes: inout AggregateChanges) {
        for link in links {
            let (owner, destination) = ends(link)
            let feeds = plan.joinFeeds[link.table]
            let factor: Int64 = link.isLinked ? 1 : -1
            for (end, aggregates) in [(owner, feeds.owner), (destination, feeds.destination)] {
                guard let end, end.isAlive else { continue }
                for aggregate in aggregates {
                    if aggregate.summedSlot == nil {
                        add(.integer(1), times: factor, aggregate, owner: end.pk, &changes)
                    } else {
                        let key = AggregateKey(entity: aggregate.ownerEntity, slot: aggregate.derivedSlot)
                        changes.recomputed[key, default: []].insert(end.pk)
                    }
                }
            }
        }
    }

    /// Links without inverse go with the rows of their destinations; aggregates over them are computed anew.
    private func collectLosses(_ changes: inout AggregateChanges) throws(StoreError) {
        for (table, feeds) in plan.joinFeeds.enumerated() {
            let join = registry.pairs[table].join
            if join.destinationRelationship != nil || feeds.owner.isEmpty { continue }
            let deleted = registry.listed.filter {
                $0.entity.index == join.destinationEntity && !$0.isNew && !$0.isAlive
            }
            var owners: Set<Int64> = []
            try store.joins[table].pairs(keys: deleted.map(\.pk), onOwnerSide: false, limit: nil) {
                owners.insert($0.owner)
            }
            if owners.isEmpty { continue }
            for aggregate in feeds.owner {
                let key = AggregateKey(entity: aggregate.ownerEntity, slot: aggregate.derivedSlot)
                changes.recomputed[key, default: []].formUnion(owners)
            }
        }
    }

    private func apply(_ changes: inout AggregateChanges) throws(StoreError) {
        let deltas = changes.deltas
        let owners = deltas.keys.sorted { ($0.entity, $0.pk) < ($1.entity, $1.pk) }
        for (entity, keys) in Dictionary(grouping: owners, by: \.entity) {
            try registry.load(entity: entity, primaryKeys: keys.map(\.pk))
        }
        for key in owners {
            guard let owner = registry.byKey[key.entity][key.pk], owner.isAlive, let sums = deltas[key] else {
                continue
            }
            for (slot, sum) in sums where !sum.isZero {
                var total = RunningSum(for: owner.entity.attributes[slot].type)
                total.add(owner.state.values[slot])
                let isExact = total.isExact
                total.add(sum)
                // What is or was beyond the bounds cannot be added to: it is computed anew from the rows.
                guard isExact, total.isExact else {
                    changes.recomputed[AggregateKey(entity: key.entity, slot: slot), default: []].insert(key.pk)
                    continue
                }
                owner.state.values[slot] = total.value
                registry.list(owner)
            }
        }
    }

    private func computeArithmetic(_ objects: [ContextObject]) {
        for object in objects where object.isAlive {
            for slot in object.entity.derivedOrder {
                let attribute = object.entity.attributes[slot]
                guard case .arithmetic(let expression)? = attribute.derivation else { continue }
                object.state.values[slot] = expression.value(object.state.values, of: attribute)
            }
        }
    }

    // MARK: Aggregates that are computed anew

    private func recompute(_ changes: AggregateChanges, _ links: [Link]) throws(StoreError) {
        var recomputed = changes.recomputed
        try addOwnersOfChangedValues(&recomputed)
        for (key, owners) in recomputed.sorted(by: { ($0.key.entity, $0.key.slot) < ($1.key.entity, $1.key.slot) }) {
            try registry.load(entity: key.entity, primaryKeys: Array(owners))
            let entity = registry.model.entities[key.entity]
            let objects = owners.sorted().compactMap { registry.byKey[key.entity][$0] }.filter(\.isAlive)
            let sums = try store.sums(of: entity.attributes[key.slot], entity: entity, owners: objects.map(\.pk))
            for object in objects {
                let before = object.state.values
                object.state.values[key.slot] = sums[object.pk] ?? entity.attributes[key.slot].zero
                computeArithmetic([object])
                let changed = before.indices.filter { before[$0] != object.state.values[$0] }
                if changed.isEmpty { continue }
                registry.list(object)
                try store.entities[key.entity].update(
                    pk: object.pk, slots: changed, values: object.state.values, isPlaceholder: nil)
            }
        }
    }

    /// A sum over a join table changes with the summed value of any object that is linked.
    private func addOwnersOfChangedValues(_ recomputed: inout [AggregateKey: Set<Int64>]) throws(StoreError) {
        for (table, feeds) in plan.joinFeeds.enumerated() {
            let join = registry.pairs[table].join
            for (aggregates, isOwner) in [(feeds.owner, true), (feeds.destination, false)] {
                for aggregate in aggregates {
                    guard let slot = aggregate.summedSlot else { continue }
                    let summed = isOwner ? join.destinationEntity : join.ownerEntity
                    let changed = registry.listed.filter {
                        $0.entity.index == summed && !$0.isNew && $0.isAlive
                            && $0.original[slot] != $0.state.values[slot]
                    }
                    let key = AggregateKey(entity: aggregate.ownerEntity, slot: aggregate.derivedSlot)
                    var owners: Set<Int64> = []
                    try store.joins[table].pairs(keys: changed.map(\.pk), onOwnerSide: !isOwner, limit: nil) {
                        owners.insert(isOwner ? $0.owner : $0.destination)
                    }
                    if !owners.isEmpty { recomputed[key, default: []].formUnion(owners) }
                }
            }
        }
    }

    // MARK: Rows

    /// Writes rows in an order in which no unique value is taken twice: deletions, changes, insertions.
    private func writeRows(_ links: [Link]) throws(StoreError) {
        for link in links where !link.isLinked { try store.joins[link.table].delete(link.pair) }
        for object in registry.listed where !object.isNew && !object.isAlive {
            try store.entities[object.entity.index].delete(pk: object.pk)
        }
        try vacateUniqueValues()
        for object in registry.listed where !object.isNew && object.isAlive {
            let slots = changedSlots(object)
            let flag = object.wasPlaceholder == object.state.isPlaceholder ? nil : object.state.isPlaceholder
            if slots.isEmpty, flag == nil { continue }
            try store.entities[object.entity.index].update(
                pk: object.pk, slots: slots, values: object.state.values, isPlaceholder: flag)
        }
        for object in registry.listed where object.isNew && object.isAlive {
            try store.entities[object.entity.index].insert(
                pk: object.pk, values: object.state.values, isPlaceholder: object.state.isPlaceholder)
        }
        for link in links where link.isLinked { try store.joins[link.table].insert(link.pair) }
    }

    /// Clears unique values that pass from one object to another, for rows are written one by one.
    private func vacateUniqueValues() throws(StoreError) {
        var taken: [ObjectRegistry.Unique: Set<Value>] = [:]
        for object in registry.listed where object.isAlive {
            for slot in object.entity.uniqueSlots
            where object.isNew || object.original[slot] != object.state.values[slot] {
                taken[ObjectRegistry.Unique(entity: object.entity.index, slot: slot), default: []]
                    .insert(object.state.values[slot])
            }
        }
        if taken.isEmpty { return }
        for object in registry.listed where !object.isNew && object.isAlive {
            let slots = object.entity.uniqueSlots.filter { slot in
                let key = ObjectRegistry.Unique(entity: object.entity.index, slot: slot)
                return !object.original[slot].isNull && object.original[slot] != object.state.values[slot]
                    && taken[key]?.contains(object.original[slot]) == true
            }
            if slots.isEmpty { continue }
            let nothing = [Value](repeating: .null, count: object.entity.slotCount)
            try store.entities[object.entity.index].update(
                pk: object.pk, slots: slots, values: nothing, isPlaceholder: nil)
        }
    }

    private func changedSlots(_ object: ContextObject) -> [Int] {
        object.original.indices.filter { object.original[$0] != object.state.values[$0] }
    }

    // MARK: History

    private func writeHistory(_ tally: inout ChangeTally) throws(StoreError) {
        for object in registry.listed {
            guard let kind = changeKind(object) else { continue }
            tally.note(kind, entity: object.entity.index)
            try history.append(
                entity: object.entity, pk: object.pk, identity: object.identity, kind: kind,
                properties: kind == .update ? changedNames(object) : nil,
                tombstone: kind == .delete ? object.entity.preservedValues(object.state.values) : nil)
        }
    }

    private func changeKind(_ object: ContextObject) -> ChangeKind? {
        if object.isNew { return object.isAlive ? .insert : nil }
        if !object.isAlive { return .delete }
        let isChanged =
            !object.changedLinks.isEmpty || object.wasPlaceholder != object.state.isPlaceholder
            || object.original != object.state.values
        return isChanged ? .update : nil
    }

    private func changedNames(_ object: ContextObject) -> String {
        let columns = changedSlots(object).map { object.entity.columnNames[$0] }
        let links = object.changedLinks.sorted().map { object.entity.relationships[$0].name }
        return (columns + links).joined(separator: ",")
    }

    // MARK: Tombstones and sequences

    private func writeTombstones() throws(StoreError) {
        for (index, entries) in registry.tombstones.enumerated() {
            let entity = registry.model.entities[index].name
            for (identity, entry) in entries where entry.isChanged {
                if let tombstone = entry.current {
                    registry.storeHasTombstones = true
                    // A deletion of something unknown is no change of the graph: it gets the token of the save, or 0.
                    try store.putTombstone(
                        entity: entity, identity: identity, tombstone, token: history.token ?? 0, saved: history.time)
                } else if entry.stored != nil {
                    try store.removeTombstone(entity: entity, identity: identity)
                }
            }
        }
    }

    private func writeSequences() throws(StoreError) {
        let isGrown = Set(registry.listed.filter(\.isNew).map(\.entity.index))
        for index in isGrown.sorted() {
            try store.putSequence(entity: registry.model.entities[index].name, next: registry.nextKeys[index])
        }
    }
}

/// How many objects a save changed, by entity and kind.
public struct ChangeTally: Sendable {
    private var counts: [[Int]]

    init(entityCount: Int) { counts = Array(repeating: [0, 0, 0], count: entityCount) }

    mutating func note(_ kind: ChangeKind, entity: Int, count: Int = 1) { counts[entity][kind.rawValue] += count }

    /// Returns how many objects of an entity were changed in a way.
    public func count(_ kind: ChangeKind, entity: Int) -> Int { counts[entity][kind.rawValue] }

    /// Returns how many objects were changed in a way.
    public func count(_ kind: ChangeKind) -> Int { counts.reduce(0) { $0 + $1[kind.rawValue] } }

    /// The number of all changes.
    public var total: Int { counts.reduce(0) { $0 + $1.reduce(0, +) } }

    /// Adds the counts of another save.
    public mutating func add(_ other: ChangeTally) {
        for entity in counts.indices {
            for kind in counts[entity].indices { counts[entity][kind] += other.counts[entity][kind] }
        }
    }
}

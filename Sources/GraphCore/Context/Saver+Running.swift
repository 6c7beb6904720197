// Averages, and sums of binary fractions: changes are added to the sums that the writer remembers.
extension Saver {
    /// Adds the values that come and go to running aggregates. An aggregate that cannot be added to is computed again
    /// from the rows.
    func applyRunning(_ changes: inout DerivedChanges) throws(StoreError) {
        guard !changes.running.isEmpty, let memory = registry.aggregateMemory else { return }
        let running = changes.running
        changes.running = [:]
        let owners = try owners(of: running)
        let stored = try storedAggregates(owners, memory)
        for (owner, slot, change) in owners {
            let key = aggregateKey(change.aggregate, owner: owner.pk)
            guard change.canBeAdded, var aggregate = memory[key] ?? stored[key] ?? change.aggregate.beginning else {
                memory[key] = nil
                changes.recompute(change.aggregate.node, CollectionOfOne(owner.pk))
                continue
            }
            change.add(to: &aggregate)
            memory[key] = aggregate
            let value = aggregate.value
            if value == owner.state.values[slot] { continue }
            owner[slot] = value
            registry.list(owner)
        }
    }

    /// Reads the aggregates of owners that are not remembered from the rows, which this chunk has not changed yet.
    private func storedAggregates(
        _ owners: [(owner: ContextObject, slot: Int, change: RunningChange)], _ memory: AggregateMemory
    ) throws(StoreError) -> [AggregateKey: RunningAggregate] {
        var unknown: [DerivedNode: (aggregate: DerivedPlan.Aggregate, owners: [Int64])] = [:]
        for (owner, _, change) in owners where !owner.isNew && change.canBeAdded {
            if memory[aggregateKey(change.aggregate, owner: owner.pk)] != nil { continue }
            unknown[change.aggregate.node, default: (change.aggregate, [])].owners.append(owner.pk)
        }
        var stored: [AggregateKey: RunningAggregate] = [:]
        for (node, (aggregate, owners)) in unknown {
            let entity = registry.model.entities[node.entity]
            guard let slot = aggregate.valueSlot, let beginning = aggregate.beginning,
                let index = entity.attributes[node.slot].derivation?.aggregatedRelationship
            else { continue }
            try session.values(at: slot, of: entity.relationships[index], owners: owners) { owner, value in
                stored[aggregateKey(aggregate, owner: owner), default: beginning].add(value)
            }
        }
        return stored
    }

    func aggregateKey(_ aggregate: DerivedPlan.Aggregate, owner: Int64) -> AggregateKey {
        AggregateKey(entity: aggregate.root, pk: owner, slot: aggregate.node.slot)
    }
}

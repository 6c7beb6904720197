/// Writes the changes of a chunk: derived values, rows, links, history, tombstones.
package struct Saver {
    let registry: ObjectRegistry
    let session: any WriterSession
    let work: SetWork

    package init(registry: ObjectRegistry, session: any WriterSession, work: SetWork) {
        self.registry = registry
        self.session = session
        self.work = work
    }

    var plan: DerivedPlan { work.plan }
    var history: HistoryWriter { work.history }

    /// Writes the chunk's changes inside the open transaction.
    ///
    /// Example: a chunk moves a message from one chat to another and renames its author. Both chats' counts follow from
    /// the move. The author's other messages, which show the name and are not in memory, have to be found in the rows.
    ///
    /// That fixes the order. `recomputation(of:_:)` follows the stored references, which `write` replaces. The computation
    /// runs after `write`, because it reads the new rows. The history comes after both, so that each object has one change.
    /// The tombstones follow, because they carry the token that the history's first change opens.
    package func save(into tally: inout ChangeTally) throws(StoreError) {
        clearReferencesToDeleted()
        let links = changedLinks()
        if registry.hasOrder { noteReorderings() }
        let marks = marks(of: try derive(links))
        let recomputation = marks.isEmpty ? nil : try session.sets.recomputation(of: marks, work)
        let changes = rowChanges(links)
        try session.write(changes)
        withExtendedLifetime(changes) {}
        try recomputation?.run { entity, pk, slots, values in absorb(entity, pk, slots, values) }
        try writeHistory(&tally)
        try recomputation?.writeHistory(history, into: &tally)
        try writeTombstones()
        try session.write(nextKeys: grownSequences())
    }

    /// Copies values that were computed from the rows to an object in memory, so that the history has one change of the
    /// object.
    private func absorb(_ entity: Int, _ pk: Int64, _ slots: [Int], _ values: [Value]) -> Bool {
        guard let object = registry.known(entity, pk: pk), object.isAlive else { return false }
        for slot in slots { object[slot] = values[slot] }
        object.savedSlots = nil
        registry.list(object)
        return true
    }

    /// Clears new references without inverse to objects that the chunk deleted; those in rows go with these objects' rows.
    private func clearReferencesToDeleted() {
        for object in registry.listed where object.isAlive {
            for link in object.entity.linkColumns where !link.hasInverse {
                guard object.isNew || !object.keeps(link.slot) else { continue }
                if registry.readsNull(object, link.slot) { object[link.slot] = .null }
            }
        }
    }

    // MARK: Links

    /// Returns the links to write, in a fixed order; links of deleted objects go with their rows.
    private func changedLinks() -> [Link] {
        var links: [Link] = []
        for table in registry.pairs.indices {
            for (pair, state) in registry.pairs[table].changes {
                links.append(Link(table: table, pair: pair, state: state))
            }
        }
        links.sort {
            ($0.table, $0.pair.owner, $0.pair.destination) < ($1.table, $1.pair.owner, $1.pair.destination)
        }
        return links.filter { link in
            let (owner, destination) = ends(link)
            guard let owner, let destination else { return false }
            let join = registry.pairs[link.table].join
            if !link.isMoved || link.state.places.destination != link.state.originalPlaces.destination {
                owner.changedLinks.insert(join.ownerRelationship)
            }
            if let back = join.destinationRelationship,
                !link.isMoved || link.state.places.owner != link.state.originalPlaces.owner
            {
                destination.changedLinks.insert(back)
            }
            return owner.isAlive && destination.isAlive || !link.isLinked
        }
    }

    func ends(_ link: Link) -> (ContextObject?, ContextObject?) {
        let join = registry.pairs[link.table].join
        return (
            registry.known(join.ownerEntity, pk: link.pair.owner),
            registry.known(join.destinationEntity, pk: link.pair.destination)
        )
    }

    // MARK: Rows

    private func rowChanges(_ links: [Link]) -> RowChanges {
        var changes = RowChanges(
            entityCount: registry.model.entities.count, keepsFormerValues: session.sharesStore,
            joinsUpdates: session.joinsUpdates)
        for link in links where !link.isLinked { changes.removedLinks.append(link.row) }
        vacateUniqueValues(&changes)
        for object in registry.listed {
            if object.isNew {
                if object.isAlive { changes.insert(object) }
            } else if object.isAlive {
                let slots = object.changedSlots
                object.savedSlots = slots
                let setsPlaceholder = object.wasPlaceholder != object.state.isPlaceholder
                if !slots.isEmpty || setsPlaceholder {
                    changes.update(
                        object, slots, setsPlaceholder: setsPlaceholder,
                        values: session.joinsUpdates ? valuesAfterDeletions(object) : nil)
                }
                if object.entity !== object.originalEntity { changes.entityChanges.append((object.pk, object.entity)) }
            } else {
                changes.deletedKeys[object.entity.rootIndex, default: []].append(object.pk)
            }
        }
        for link in links where link.isLinked { changes.links.append(link.row) }
        return changes
    }

    /// The values of a row without the references that the save's deletions clear in the store. A joined update writes
    /// slots that the object does not change, and must not bring such a reference back.
    private func valuesAfterDeletions(_ object: ContextObject) -> SlotValues? {
        let cleared = object.entity.linkColumns.filter { !$0.hasInverse && registry.readsNull(object, $0.slot) }
        return cleared.isEmpty ? nil : object.values(clearing: cleared.map(\.slot))
    }

    /// Clears unique values that pass from one object to another, for rows are written one by one.
    private func vacateUniqueValues(_ changes: inout RowChanges) {
        if registry.model.uniquenessConstraints.isEmpty { return }
        var taken: Set<ObjectRegistry.Unique> = []
        for object in registry.listed where object.isAlive {
            for constraint in object.entity.uniquenessConstraints {
                guard let key = registry.uniqueKey(object.state.values, constraint) else { continue }
                // A constraint of an entity below the former one is new to the row.
                let isBound = !object.isNew && object.entity === object.originalEntity
                if !isBound || registry.uniqueKey(object.original, constraint) != key { taken.insert(key) }
            }
        }
        if taken.isEmpty { return }
        for object in registry.listed where !object.isNew && object.isAlive {
            var slots: Set<Int> = []
            for constraint in object.entity.uniquenessConstraints {
                guard let former = registry.uniqueKey(object.original, constraint), taken.contains(former),
                    registry.uniqueKey(object.state.values, constraint) != former
                else { continue }
                // A null in one of them is enough.
                slots.formUnion(constraint.slots.filter { !object.keeps($0) }.prefix(1))
            }
            if !slots.isEmpty { changes.vacate(object.entity, key: object.pk, slots: Array(slots)) }
        }
    }

    // MARK: History

    private func writeHistory(_ tally: inout ChangeTally) throws(StoreError) {
        // A storage may sort the changes of one save, which has one change for each object. It may not sort the changes
        // of several saves together.
        try history.flush()
        for object in registry.listed {
            guard let kind = Self.changeKind(object) else { continue }
            tally.note(kind, entity: object.entity.index)
            try history.append(
                .object(object), kind: kind,
                properties: kind == .update ? registry.changedNames.text(of: object) : nil,
                preservedValues: kind == .delete ? object.entity.preservedValues(object.state.values) : nil)
        }
    }

    /// Returns the kind of change that the save makes to an object, or nil for none.
    package static func changeKind(_ object: ContextObject) -> ChangeKind? {
        if object.isNew { return object.isAlive ? .insert : nil }
        if !object.isAlive { return .delete }
        let isChanged =
            !object.changedLinks.isEmpty || object.wasPlaceholder != object.state.isPlaceholder
            || object.entity !== object.originalEntity || hasChangedProperties(object)
        return isChanged ? .update : nil
    }

    /// Places in ordered relationships are no properties of the objects that stand there.
    private static func hasChangedProperties(_ object: ContextObject) -> Bool {
        object.changedSlots.hasSlot(below: object.entity.propertySlotCount)
    }

    /// Notes the owners whose ordered destinations stayed and stand in another order.
    private func noteReorderings() {
        for object in registry.listed where !object.isNew && object.isAlive {
            for relationship in object.entity.relationships {
                guard let slot = relationship.slot, let inverse = registry.model.inverse(of: relationship),
                    let place = inverse.positionSlot, object.keeps(slot),
                    !object.keeps(place), case .integer(let pk) = object.original[slot],
                    let owner = registry.known(relationship.destinationIndex, pk: pk)
                else { continue }
                owner.changedLinks.insert(inverse.index)
                registry.list(owner)
            }
        }
    }

    // MARK: Tombstones and sequences

    private func writeTombstones() throws(StoreError) {
        var changes = TombstoneChanges()
        for (index, identities) in registry.byIdentity.enumerated() where identities.hasTombstones {
            let entity = registry.model.entities[index]
            identities.forEachTombstone { identity, entry in
                if !entry.isChanged { return }
                if let tombstone = entry.current {
                    changes.written.append((entity, identity, tombstone))
                } else if entry.stored != nil {
                    changes.removed.append((entity, identity))
                }
            }
        }
        if changes.written.isEmpty, changes.removed.isEmpty { return }
        if !changes.written.isEmpty { registry.storeHasTombstones = true }
        changes.token = try history.flush() ?? 0
        changes.time = history.time
        try session.write(changes)
    }

    private func grownSequences() -> [(root: Int, key: Int64)] {
        var isGrown = Array(repeating: false, count: registry.roots.count)
        for object in registry.listed where object.isNew { isGrown[object.entity.rootIndex] = true }
        return isGrown.indices.filter { isGrown[$0] }.map { ($0, registry.nextKeys[$0]) }
    }
}

/// Reads what a chunk's events will ask for, in one look-up per entity and per relationship.
///
/// Correctness does not hang on it: whatever was not foreseen is read when it is asked for.
struct Prefetch {
    let registry: ObjectRegistry

    func load(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        try loadObjects(events)
        try loadTombstones(events)
        try loadUniqueHolders(events)
        try loadReplacedDestinations(events)
        try loadDeletionReach(events)
        try loadPairs(events)
    }

    // MARK: Objects and tombstones

    private func loadObjects(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        var wanted: [Set<Value>] = Array(repeating: [], count: registry.model.entities.count)
        forEachIdentity(events) { entity, identity in
            if registry.byIdentity[entity][identity] == nil { wanted[entity].insert(identity) }
        }
        for (entity, identities) in wanted.enumerated() where !identities.isEmpty {
            let target = registry.model.entities[entity]
            try registry.store.entities[entity].rows(identities: Array(identities)) {
                registry.register($0, entity: target)
            }
        }
    }

    private func loadTombstones(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        guard registry.storeHasTombstones else { return }
        var wanted: [Set<Value>] = Array(repeating: [], count: registry.model.entities.count)
        forEachIdentity(events) { entity, identity in
            if registry.tombstones[entity][identity] != nil { return }
            // A placeholder's own event may still be older than the deletion of its predecessor.
            if registry.byIdentity[entity][identity]?.state.isPlaceholder ?? true { wanted[entity].insert(identity) }
        }
        for (entity, identities) in wanted.enumerated() where !identities.isEmpty {
            let target = registry.model.entities[entity]
            try registry.store.tombstones(entity: target, identities: Array(identities)) { identity, tombstone in
                registry.tombstones[entity][identity] = ObjectRegistry.TombstoneEntry(
                    stored: tombstone, current: tombstone)
            }
        }
    }

    private func forEachIdentity(_ events: ArraySlice<GraphEvent>, _ body: (Int, Value) -> Void) {
        for event in events {
            for operation in event.operations {
                body(operation.entity, operation.identity)
                let relationships = registry.model.entities[operation.entity].relationships
                for change in operation.relationships {
                    let destination = relationships[change.relationship].destinationIndex
                    if case .one(let identity) = change.change {
                        if !identity.isNull { body(destination, identity) }
                    } else {
                        for identity in change.change.identities { body(destination, identity) }
                    }
                }
            }
        }
    }

    private func loadUniqueHolders(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        var wanted: [ObjectRegistry.Unique: Set<Value>] = [:]
        for event in events {
            for operation in event.operations {
                let entity = registry.model.entities[operation.entity]
                if entity.uniqueSlots.isEmpty { continue }
                for attribute in operation.attributes
                where entity.uniqueSlots.contains(attribute.slot) && !attribute.value.isNull {
                    wanted[ObjectRegistry.Unique(entity: entity.index, slot: attribute.slot), default: []]
                        .insert(attribute.value)
                }
                for slot in entity.uniqueSlots where !entity.defaults[slot].isNull {
                    wanted[ObjectRegistry.Unique(entity: entity.index, slot: slot), default: []]
                        .insert(entity.defaults[slot])
                }
            }
        }
        for (key, values) in wanted {
            let entity = registry.model.entities[key.entity]
            try registry.store.entities[key.entity].rows(slot: key.slot, keys: Array(values), limit: nil) {
                registry.register($0, entity: entity)
            }
        }
    }

    // MARK: Links

    private struct RelationshipKey: Hashable {
        let entity: Int
        let relationship: Int
    }

    private func loadReplacedDestinations(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        var owners: [RelationshipKey: [ContextObject]] = [:]
        for event in events {
            for operation in event.operations {
                for change in operation.relationships {
                    guard case .replace = change.change,
                        let owner = registry.byIdentity[operation.entity][operation.identity]
                    else { continue }
                    let key = RelationshipKey(entity: operation.entity, relationship: change.relationship)
                    owners[key, default: []].append(owner)
                }
            }
        }
        for (key, objects) in owners {
            let relationship = registry.model.entities[key.entity].relationships[key.relationship]
            _ = try loadDestinations(of: objects, relationship, limit: ObjectRegistry.maximumListedDestinations)
        }
    }

    /// Follows the delete rules from the objects that the events delete, a level at a time.
    private func loadDeletionReach(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        var level: [ContextObject] = []
        var seen: Set<ObjectIdentifier> = []
        for event in events {
            for operation in event.operations where operation.kind == .delete {
                guard let object = registry.byIdentity[operation.entity][operation.identity], !object.isNew else {
                    continue
                }
                if seen.insert(ObjectIdentifier(object)).inserted { level.append(object) }
            }
        }
        while !level.isEmpty, seen.count <= registry.setDeletionThreshold {
            let byEntity = Dictionary(grouping: level) { $0.entity.index }
            level = []
            for (entity, objects) in byEntity.sorted(by: { $0.key < $1.key }) {
                for relationship in registry.model.entities[entity].relationships {
                    guard try loadDestinations(of: objects, relationship, limit: registry.setDeletionThreshold) else {
                        continue
                    }
                    guard relationship.deleteRule == .cascade else { continue }
                    for object in objects {
                        let found = (try? registry.destinations(of: object, relationship)) ?? []
                        level += found.filter { seen.insert(ObjectIdentifier($0)).inserted }
                    }
                }
            }
        }
    }

    func loadDestinations(
        of objects: [ContextObject], _ relationship: Relationship, limit: Int?
    ) throws(StoreError) -> Bool {
        switch relationship.storage {
        case .column(let slot):
            let keys = objects.compactMap { $0.state.values[slot].integer }
            try registry.load(entity: relationship.destinationIndex, primaryKeys: keys)
            return true
        case .inverseColumn(let slot):
            return try registry.loadMembers(of: objects, relationship, slot: slot, limit: limit)
        case .join(let table, let isOwner):
            return try registry.loadPairs(
                of: objects, table: table, isOwner: isOwner, destination: relationship.destinationIndex, limit: limit)
        }
    }

    /// Looks up the links that events add or remove one by one.
    private func loadPairs(_ events: ArraySlice<GraphEvent>) throws(StoreError) {
        guard !registry.pairs.isEmpty else { return }
        var wanted: [Set<Pair>] = Array(repeating: [], count: registry.pairs.count)
        for event in events {
            for operation in event.operations {
                guard let object = registry.byIdentity[operation.entity][operation.identity], !object.isNew else {
                    continue
                }
                for change in operation.relationships {
                    let relationship = registry.model.entities[operation.entity].relationships[change.relationship]
                    guard case .join(let table, let isOwner) = relationship.storage else { continue }
                    for identity in change.change.identities {
                        guard let other = registry.byIdentity[relationship.destinationIndex][identity], !other.isNew
                        else { continue }
                        let (owner, destination) = isOwner ? (object, other) : (other, object)
                        wanted[table].insert(Pair(owner: owner.pk, destination: destination.pk))
                        if registry.pairs[table].join.isOwnInverse {
                            wanted[table].insert(Pair(owner: destination.pk, destination: owner.pk))
                        }
                    }
                }
            }
        }
        for (table, pairs) in wanted.enumerated() where !pairs.isEmpty {
            try registry.loadPairStates(pairs.filter { registry.pairs[table].state($0) == nil }, table: table)
        }
    }
}

extension ObjectRegistry {
    /// Asks the store which of some links exist.
    func loadPairStates(_ wanted: some Collection<Pair>, table: Int) throws(StoreError) {
        if wanted.isEmpty { return }
        var found: [Pair] = []
        try store.joins[table].existing(Array(wanted)) { found.append($0) }
        for pair in found { pairs[table].noteStored(pair) }
        for pair in wanted { pairs[table].noteAbsent(pair) }
    }

    /// Returns whether a link exists; `isNew` says that an end is new, so that the store cannot have it.
    func pairState(_ pair: Pair, table: Int, isNew: Bool) throws(StoreError) -> PairRegistry.State {
        if let known = pairs[table].state(pair) { return known }
        if isNew {
            pairs[table].noteAbsent(pair)
        } else {
            try loadPairStates([pair], table: table)
        }
        return pairs[table].state(pair) ?? PairRegistry.State(original: false, current: false)
    }
}

/// Reads what a chunk's events will ask for, in one look-up per entity and per relationship.
///
/// Correctness does not hang on it: whatever was not foreseen is read when it is asked for.
struct Prefetch {
    let registry: ObjectRegistry

    func load(_ events: ArraySlice<ChangeSet>) throws(StoreError) {
        let survey = Survey(events, registry)
        try loadNamed()
        try loadUniqueHolders(events)
        try loadReplacedDestinations(survey.replacements, events)
        try loadDeletionReach(survey.deletions, events)
        try loadPairs(survey.links, events)
        if registry.hasOrder { try loadPlaces(events) }
    }

    /// The findings of one pass over the events, which names their identities to the registry. Few events replace
    /// destinations, delete, or change links in join tables: the steps for these take only the operations that do.
    private struct Survey {
        /// The operations that replace the destinations of a relationship.
        var replacements: [Place] = []
        var deletions: [Place] = []
        /// The operations that change links in join tables.
        var links: [Place] = []

        /// An operation of an event, by their positions.
        struct Place {
            let event: Int
            let operation: Int
        }

        init(_ events: ArraySlice<ChangeSet>, _ registry: ObjectRegistry) {
            for event in events.indices {
                events[event].operations.withUnsafeBufferPointer { operations in
                    guard let first = operations.baseAddress else { return }
                    for index in operations.indices where operations[index].kind != .truncate {
                        take(first + index, Place(event: event, operation: index), registry)
                    }
                }
            }
        }

        private mutating func take(_ operation: OperationPointer, _ place: Place, _ registry: ObjectRegistry) {
            let entity = operation.pointee.entity
            registry.byIdentity[registry.roots[entity]].name(operation.pointee.identity)
            if operation.pointee.kind == .delete { deletions.append(place) }
            var (replaces, links) = (false, false)
            for index in operation.pointee.relationships.indices {
                let shape = registry.shape(entity, operation.pointee.relationships[index].relationship)
                links = links || shape.isInJoinTable
                let destinations = registry.byIdentity[shape.destinationRoot]
                switch operation.pointee.relationships[index].change {
                case .one(let identity): if !identity.isNull { destinations.name(identity) }
                case .replace(let list):
                    replaces = true
                    for identity in list { destinations.name(identity) }
                case .edit(let added, let removed):
                    for identity in added { destinations.name(identity) }
                    for identity in removed { destinations.name(identity) }
                }
            }
            if replaces { replacements.append(place) }
            if links { self.links.append(place) }
        }
    }

    // MARK: Objects and tombstones

    /// Reads the objects and the tombstones of identities, which stand at the position of their root.
    func load(_ identities: [some Collection<Value>]) throws(StoreError) {
        for (entity, identities) in identities.enumerated() {
            for identity in identities { registry.byIdentity[entity].name(identity) }
        }
        // A placeholder's own event may still be older than the deletion of its predecessor.
        let placeholders = identities.enumerated().map { entity, identities in
            identities.filter { identity in
                registry.tombstones[entity][identity] == nil
                    && registry.byIdentity[entity][identity]?.state.isPlaceholder ?? false
            }
        }
        try loadNamed(placeholders)
    }

    /// Reads the objects and the tombstones of the identities that were named to the registry, all in one plan.
    ///
    /// - Parameter known: further identities whose tombstones are wanted, at the position of their root.
    private func loadNamed(_ known: [[Value]] = []) throws(StoreError) {
        var plan: [ReadRequest] = []
        for entity in registry.byIdentity.indices {
            let named = registry.byIdentity[entity].takeNamed()
            if !named.isEmpty { plan.append(.rows(entity: entity, .identities(named))) }
            let buried = known.isEmpty ? named : named + known[entity]
            if registry.storeHasTombstones, !buried.isEmpty { plan.append(.tombstones(entity: entity, buried)) }
        }
        try registry.reader.load(plan) { position, answer in
            switch answer {
            case .row(let row): registry.register(row)
            case .tombstone(let identity, let tombstone):
                guard case .tombstones(let entity, _) = plan[position] else { return }
                registry.tombstones[entity][identity] = ObjectRegistry.TombstoneEntry(
                    stored: tombstone, current: tombstone)
            case .link, .place: break
            }
        }
    }

    /// Looks up who holds the unique values that objects will have, each event's values put upon those before.
    func loadUniqueHolders(_ events: ArraySlice<ChangeSet>) throws(StoreError) {
        if registry.model.uniquenessConstraints.isEmpty { return }
        struct Key: Hashable {
            let root: Int
            let identity: Value
        }
        var values: [Key: [Value]] = [:]
        var wanted: Set<ObjectRegistry.Unique> = []
        for event in events {
            for operation in event.operations where operation.kind == .upsert {
                let entity = registry.model.entities[operation.entity]
                let known = registry.known(operation.entity, operation.identity)
                let own = known.map { $0.entity.isKind(of: entity) ? $0.entity : entity } ?? entity
                if own.uniquenessConstraints.isEmpty { continue }
                let key = Key(root: entity.rootIndex, identity: operation.identity)
                var expected = values[key] ?? known?.state.values ?? own.defaults
                if known?.state.isPlaceholder == true, values[key] == nil {
                    for slot in expected.indices where expected[slot].isNull { expected[slot] = own.defaults[slot] }
                }
                expected[entity.identitySlot] = operation.identity
                for attribute in operation.attributes { expected[attribute.slot] = attribute.value }
                for change in operation.relationships {
                    let relationship = entity.relationships[change.relationship]
                    guard let slot = relationship.slot, case .one(let identity) = change.change else { continue }
                    // An unknown destination gets a new key, which nobody holds.
                    let destination = registry.known(relationship.destinationIndex, identity)
                    expected[slot] = destination.map { .integer($0.pk) } ?? .null
                }
                values[key] = expected
                for constraint in own.uniquenessConstraints {
                    if let key = registry.uniqueKey(expected, constraint) { wanted.insert(key) }
                }
            }
        }
        try registry.loadHolders(Array(wanted))
    }

    /// Reads the last places of the ordered relationships that events add to.
    private func loadPlaces(_ events: ArraySlice<ChangeSet>) throws(StoreError) {
        var owners: [RelationshipKey: [ContextObject]] = [:]
        func want(_ relationship: Relationship, _ object: ContextObject?) {
            guard let object, relationship.isOrdered else { return }
            let key = RelationshipKey(entity: relationship.entityIndex, relationship: relationship.index)
            owners[key, default: []].append(object)
        }
        for event in events {
            for operation in event.operations where operation.kind == .upsert {
                for change in operation.relationships {
                    let relationship = registry.model.entities[operation.entity].relationships[change.relationship]
                    want(relationship, registry.known(operation.entity, operation.identity))
                    guard let inverse = registry.model.inverse(of: relationship), inverse.isOrdered else { continue }
                    for identity in change.change.identities {
                        want(inverse, registry.known(relationship.destinationIndex, identity))
                    }
                }
            }
        }
        for (key, objects) in owners {
            try registry.loadPlaces(
                in: registry.model.entities[key.entity].relationships[key.relationship], of: objects)
        }
    }

    // MARK: Links

    private struct RelationshipKey: Hashable {
        let entity: Int
        let relationship: Int
    }

    private func loadReplacedDestinations(
        _ places: [Survey.Place], _ events: ArraySlice<ChangeSet>
    ) throws(StoreError) {
        var owners: [RelationshipKey: [ContextObject]] = [:]
        for place in places {
            let operation = events[place.event].operations[place.operation]
            guard let owner = registry.known(operation.entity, operation.identity) else { continue }
            for change in operation.relationships {
                guard case .replace = change.change else { continue }
                let key = RelationshipKey(entity: operation.entity, relationship: change.relationship)
                owners[key, default: []].append(owner)
            }
        }
        for (key, objects) in owners {
            let relationship = registry.model.entities[key.entity].relationships[key.relationship]
            _ = try loadDestinations(of: objects, relationship, limit: ObjectRegistry.maximumListedDestinations)
        }
    }

    /// Follows the delete rules from the objects that the events delete, a level at a time.
    private func loadDeletionReach(
        _ places: [Survey.Place], _ events: ArraySlice<ChangeSet>
    ) throws(StoreError) {
        var level: [ContextObject] = []
        var seen: Set<ObjectIdentifier> = []
        for place in places {
            let operation = events[place.event].operations[place.operation]
            guard let object = registry.known(operation.entity, operation.identity), !object.isNew else { continue }
            if seen.insert(ObjectIdentifier(object)).inserted { level.append(object) }
        }
        while !level.isEmpty, seen.count <= registry.setDeletionThreshold {
            let byEntity = Dictionary(grouping: level) { $0.entity.index }
            level = []
            for (entity, objects) in byEntity.sorted(by: { $0.key < $1.key }) {
                for relationship in registry.model.entities[entity].relationships {
                    guard try loadDestinations(of: objects, relationship, limit: registry.setDeletionThreshold) else {
                        continue
                    }
                    guard relationship.deleteRule.deletesDestinations else { continue }
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
    private func loadPairs(_ places: [Survey.Place], _ events: ArraySlice<ChangeSet>) throws(StoreError) {
        var wanted: [Set<Pair>] = Array(repeating: [], count: registry.pairs.count)
        for place in places {
            let operation = events[place.event].operations[place.operation]
            guard let object = registry.known(operation.entity, operation.identity), !object.isNew else { continue }
            for change in operation.relationships {
                let relationship = registry.model.entities[operation.entity].relationships[change.relationship]
                guard case .join(let table, let isOwner) = relationship.storage else { continue }
                for identity in change.change.identities {
                    guard let other = registry.known(relationship.destinationIndex, identity), !other.isNew
                    else { continue }
                    let (owner, destination) = isOwner ? (object, other) : (other, object)
                    wanted[table].insert(Pair(owner: owner.pk, destination: destination.pk))
                    if registry.pairs[table].join.isOwnInverse {
                        wanted[table].insert(Pair(owner: destination.pk, destination: owner.pk))
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
        try reader.load([.existingLinks(table: table, Array(wanted))]) { _, answer in
            if case .link(let pair, let places) = answer { pairs[table].noteStored(pair, places) }
        }
        for pair in wanted { pairs[table].noteAbsent(pair) }
    }

    /// Returns whether a link exists; `isNew` says that an end is new, so that the store cannot have it.
    func pairState(_ pair: Pair, table: Int, isNew: Bool) throws(StoreError) -> JoinTableRegistry.State {
        if let known = pairs[table].state(pair) { return known }
        if isNew {
            pairs[table].noteAbsent(pair)
        } else {
            try loadPairStates([pair], table: table)
        }
        return pairs[table].state(pair) ?? JoinTableRegistry.State(original: false, current: false)
    }
}

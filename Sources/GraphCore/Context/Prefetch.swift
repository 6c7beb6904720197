/// Reads the objects that a chunk's events will ask for, in one look-up per entity and per relationship.
///
/// Correctness does not depend on it: objects that were not foreseen are read when an event asks for them.
package struct Prefetch {
    let registry: ObjectRegistry

    package init(registry: ObjectRegistry) { self.registry = registry }

    func load(_ events: ArraySlice<PackedEvent>) throws(StoreError) {
        let survey = Survey(events, registry)
        try loadNamed()
        var questions = LinkQuestions(registry)
        questions.ask(holders: uniqueValues(events))
        if registry.hasOrder { askForPlaces(events, &questions) }
        try loadLinks(survey, events, &questions)
    }

    /// The findings of one pass over the events, which names their identities to the registry. Few events replace
    /// destinations, delete, or change links in join tables: the steps for these take only the operations that do.
    struct Survey {
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

        init(_ events: ArraySlice<PackedEvent>, _ registry: ObjectRegistry) {
            for event in events.indices {
                let operations = events[event].operations
                guard let first = operations.baseAddress else { continue }
                for index in operations.indices {
                    take(first + index, Place(event: event, operation: index), registry)
                }
            }
        }

        private mutating func take(_ operation: OperationPointer, _ place: Place, _ registry: ObjectRegistry) {
            if operation.pointee.kind == .truncate {
                // It names no object, and its place has none.
                let root = registry.roots[operation.pointee.entity]
                registry.names.beginOperation()
                return registry.names.append(registry.byIdentity[root].place(of: operation.pointee.identity))
            }
            if operation.pointee.kind == .delete { deletions.append(place) }
            let (replaces, links) = registry.name(operation, in: registry.names)
            if replaces { replacements.append(place) }
            if links { self.links.append(place) }
        }
    }

    // MARK: Objects and tombstones

    /// Reads the objects and the tombstones of identities, which stand at the position of their root.
    package func load(_ identities: [some Collection<Value>]) throws(StoreError) {
        for (entity, identities) in identities.enumerated() {
            for identity in identities { registry.byIdentity[entity].name(identity) }
        }
        // A placeholder's own event may still be older than the deletion of its predecessor.
        let placeholders = identities.enumerated().map { entity, identities in
            identities.filter { identity in
                registry.byIdentity[entity].tombstone(of: identity) == nil
                    && registry.byIdentity[entity][identity]?.state.isPlaceholder ?? false
            }
        }
        let arena = registry.nextArena
        try loadNamed(placeholders.map { $0.map { arena.pack($0) } })
        withExtendedLifetime(arena) {}
    }

    /// Reads the objects and the tombstones of the identities that were named to the registry, all in one plan.
    ///
    /// - Parameter known: further identities whose tombstones are wanted, at the position of their root.
    private func loadNamed(_ known: [[PackedValue]] = []) throws(StoreError) {
        var plan: [ReadRequest] = []
        var buried: [(root: Int, identities: [PackedValue])] = []
        for entity in registry.byIdentity.indices {
            let named = registry.byIdentity[entity].takeNamed()
            if !named.isEmpty { plan.append(.rows(entity: entity, .identities(named))) }
            let identities = known.isEmpty ? named : named + known[entity]
            if registry.storeHasTombstones, !identities.isEmpty { buried.append((entity, identities)) }
        }
        if !buried.isEmpty { plan.append(.tombstones(buried)) }
        try registry.reader.load(plan, in: registry.nextArena) { _, answer in
            switch answer {
            case .row(let row): registry.register(row)
            case .tombstone(let root, let identity, let tombstone): registry.note(tombstone, root, identity)
            case .link, .place: break
            }
        }
    }

    /// Reads who holds the unique values that events give to objects.
    package func loadUniqueHolders(_ event: ChangeSet) throws(StoreError) {
        let packed = PackedEvents([event], registry.model)
        defer { withExtendedLifetime(packed) {} }
        try registry.loadHolders(uniqueValues(packed.events[...]))
    }

    /// Returns the unique values that objects will have, each event's values put upon those before.
    private func uniqueValues(_ events: ArraySlice<PackedEvent>) -> [ObjectRegistry.Unique] {
        if registry.model.uniquenessConstraints.isEmpty { return [] }
        struct Key: Hashable {
            let root: Int
            let identity: Value
        }
        var values: [Key: [Value]] = [:]
        var wanted: Set<ObjectRegistry.Unique> = []
        for event in events {
            for operation in event.operations where operation.kind == .upsert {
                let entity = registry.model.entities[operation.entity]
                let identity = operation.identity.value
                let known = registry.known(operation.entity, identity)
                let own = known.map { $0.entity.isKind(of: entity) ? $0.entity : entity } ?? entity
                if own.uniquenessConstraints.isEmpty { continue }
                let key = Key(root: entity.rootIndex, identity: identity)
                var expected = values[key] ?? known?.state.values.array ?? own.defaults
                if known?.state.isPlaceholder == true, values[key] == nil {
                    for slot in expected.indices where expected[slot].isNull { expected[slot] = own.defaults[slot] }
                }
                expected[entity.identitySlot] = identity
                for attribute in operation.attributes { expected[attribute.slot] = attribute.value.value }
                for link in operation.links {
                    let relationship = entity.relationships[link.relationship]
                    guard let slot = relationship.slot, case .one(let identity) = link.change else { continue }
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
        return Array(wanted)
    }

    /// Asks for the last places of the ordered relationships that events add to.
    private func askForPlaces(_ events: ArraySlice<PackedEvent>, _ questions: inout LinkQuestions) {
        var owners: [RelationshipKey: [ContextObject]] = [:]
        func want(_ relationship: Relationship, _ object: ContextObject?) {
            guard let object, relationship.isOrdered else { return }
            let key = RelationshipKey(entity: relationship.entityIndex, relationship: relationship.index)
            owners[key, default: []].append(object)
        }
        for event in events {
            for operation in event.operations where operation.kind == .upsert {
                for link in operation.links {
                    let relationship = registry.model.entities[operation.entity].relationships[link.relationship]
                    want(relationship, registry.known(operation.entity, operation.identity))
                    guard let inverse = registry.model.inverse(of: relationship), inverse.isOrdered else { continue }
                    link.change.forEachIdentity {
                        want(inverse, registry.known(relationship.destinationIndex, $0))
                    }
                }
            }
        }
        for (key, objects) in owners {
            questions.ask(
                placesIn: registry.model.entities[key.entity].relationships[key.relationship], of: objects)
        }
    }

    private struct RelationshipKey: Hashable {
        let entity: Int
        let relationship: Int
    }

    // MARK: Links

    /// Reads the links and destinations that the events will ask for.
    ///
    /// Over a network each load is a round trip. So one load asks for all that follows from the named objects. Rows behind
    /// links come with the next level of a deletion.
    private func loadLinks(
        _ survey: Survey, _ events: ArraySlice<PackedEvent>, _ questions: inout LinkQuestions
    ) throws(StoreError) {
        for (key, owners) in replacedOwners(survey.replacements, events) {
            let relationship = registry.model.entities[key.entity].relationships[key.relationship]
            questions.ask(owners, relationship, limit: registry.maximumListedDestinations)
        }
        var level = deletedObjects(survey.deletions, events)
        var seen = Set(level.map { ObjectIdentifier($0) })
        let pairs = changedPairs(survey.links, events)
        repeat {
            // Beyond the threshold the deletions ask by themselves.
            let isListed = seen.count <= registry.setDeletionThreshold
            let cascades = isListed ? ask(for: level, &questions) : []
            questions.ask(pairs: pairs)
            try questions.load()
            if cascades.contains(where: \.leadsOverLinks) { try questions.load() }
            level = []
            for cascade in cascades where !questions.exceed(cascade.question) {
                for object in cascade.objects {
                    let found = (try? registry.destinations(of: object, cascade.relationship)) ?? []
                    level += found.filter { seen.insert(ObjectIdentifier($0)).inserted }
                }
            }
        } while !level.isEmpty
        // A list with too many links was not read, so its links are asked for one by one.
        questions.ask(pairs: pairs)
        try questions.load()
    }

    private func replacedOwners(
        _ places: [Survey.Place], _ events: ArraySlice<PackedEvent>
    ) -> [RelationshipKey: [ContextObject]] {
        var owners: [RelationshipKey: [ContextObject]] = [:]
        for place in places {
            let operation = events[place.event].operations[place.operation]
            guard let owner = registry.known(operation.entity, operation.identity) else { continue }
            for link in operation.links {
                guard case .replace = link.change else { continue }
                let key = RelationshipKey(entity: operation.entity, relationship: link.relationship)
                owners[key, default: []].append(owner)
            }
        }
        return owners
    }

    /// Returns the objects that the events delete, each once.
    private func deletedObjects(_ places: [Survey.Place], _ events: ArraySlice<PackedEvent>) -> [ContextObject] {
        var seen: Set<ObjectIdentifier> = []
        return places.compactMap { place in
            let operation = events[place.event].operations[place.operation]
            guard let object = registry.known(operation.entity, operation.identity), !object.isNew else { return nil }
            return seen.insert(ObjectIdentifier(object)).inserted ? object : nil
        }
    }

    /// A relationship over which a deletion goes on.
    private struct Cascade {
        let objects: [ContextObject]
        let relationship: Relationship
        let question: Int?

        /// Whether the destinations are known only once the rows behind the links are read.
        var leadsOverLinks: Bool {
            if case .join = relationship.storage { true } else { false }
        }
    }

    /// Asks for the destinations of a level of objects that a deletion reaches, and returns where it goes on.
    private func ask(for level: [ContextObject], _ questions: inout LinkQuestions) -> [Cascade] {
        var cascades: [Cascade] = []
        let byEntity = Dictionary(grouping: level) { $0.entity.index }
        for (entity, objects) in byEntity.sorted(by: { $0.key < $1.key }) {
            for relationship in registry.model.entities[entity].relationships {
                let question = questions.ask(objects, relationship, limit: registry.setDeletionThreshold)
                guard relationship.deleteRule.deletesDestinations else { continue }
                cascades.append(Cascade(objects: objects, relationship: relationship, question: question))
            }
        }
        return cascades
    }

    /// Returns the links that events add or remove one by one, by their join tables.
    private func changedPairs(_ places: [Survey.Place], _ events: ArraySlice<PackedEvent>) -> [Set<Pair>] {
        var wanted: [Set<Pair>] = Array(repeating: [], count: registry.pairs.count)
        for place in places {
            let operation = events[place.event].operations[place.operation]
            guard let object = registry.known(operation.entity, operation.identity), !object.isNew else { continue }
            for link in operation.links {
                let relationship = registry.model.entities[operation.entity].relationships[link.relationship]
                guard case .join(let table, let isOwner) = relationship.storage else { continue }
                link.change.forEachIdentity { identity in
                    guard let other = registry.known(relationship.destinationIndex, identity), !other.isNew
                    else { return }
                    let (owner, destination) = isOwner ? (object, other) : (other, object)
                    wanted[table].insert(Pair(owner: owner.pk, destination: destination.pk))
                    if registry.pairs[table].join.isOwnInverse {
                        wanted[table].insert(Pair(owner: destination.pk, destination: owner.pk))
                    }
                }
            }
        }
        return wanted
    }
}

// Objects whose entity is found out bit by bit, and the order of ordered relationships.
extension EventApplier {
    /// Makes an object one of an entity below its own, where an event or a reference names it by that.
    ///
    /// Events come in any order, so an object has the most special entity that any of them has named. Two entities beside
    /// each other contradict each other.
    package func narrow(_ object: ContextObject, to entity: Entity) throws(EventFailure) {
        if object.entity.isKind(of: entity) { return }
        try checkKind(of: object, entity)
        let former = object.entity
        willChange(object)
        note(.entity(object, former))
        object.entity = entity
        for attribute in entity.attributes where !former.isKind(of: registry.model.entities[attribute.entityIndex]) {
            if attribute.derivation?.aggregatedRelationship != nil {
                object[attribute.slot] = attribute.initialDerivedValue
            } else if !object.state.isPlaceholder, !attribute.isDerived {
                object[attribute.slot] = attribute.defaultValue
            }
        }
        if !entity.uniquenessConstraints.isEmpty { registry.noteUniqueValues(of: object) }
        if object.state.isPlaceholder { return }
        if entity.isAbstract { throw abstract(entity) }
        for relationship in entity.relationships[former.relationships.count...] where relationship.hasCountLimits {
            countChecks.append((object, relationship))
        }
    }

    /// Checks that an entity is the object's own, above it or below it.
    func checkKind(of object: ContextObject, _ entity: Entity) throws(EventFailure) {
        if object.entity === entity || object.entity.isKind(of: entity) || entity.isKind(of: object.entity) { return }
        throw EventFailure(
            code: "entity.mismatch",
            "The object is a \(object.entity.name), the event takes it for a \(entity.name). All entities "
                + "below \(registry.model.root(of: entity).name) share identities, so correct the identity or the entity"
        )
    }

    package func abstract(_ entity: Entity) -> EventFailure {
        let names = entity.subentityIndexes.map { registry.model.entities[$0] }.filter { !$0.isAbstract }.map(\.name)
        return EventFailure(
            code: "entity.abstract",
            "\(entity.name) is abstract, so there are no objects of it alone; send an event of "
                + "\(names.isEmpty ? "a sub-entity" : names.joined(separator: " or "))")
    }

    // MARK: Order

    /// Brings the destinations of an ordered relationship into an order; the same order changes nothing.
    package func order(_ object: ContextObject, _ relationship: Relationship, _ wanted: [ContextObject]) throws {
        var seen: Set<Int64> = []
        let wanted = wanted.filter { seen.insert($0.pk).inserted }
        let current = try registry.destinations(
            of: object, relationship, readingAtMost: registry.maximumListedDestinations + wanted.count)
        if current.map(\.pk) == wanted.map(\.pk) { return }
        willChange(object)
        registry.orderedLists.insert(registry.linkKey(object, relationship))
        for (place, destination) in wanted.enumerated() where destination.isAlive {
            try setPlace(Int64(place), of: destination, in: relationship, object)
        }
        registry.noteTaken(below: Int64(wanted.count), in: relationship, of: object)
    }

    /// Puts destinations behind all others, in their order. Objects that are not linked stay away.
    package func moveToEnd(
        _ destinations: [ContextObject], of relationship: Relationship, _ object: ContextObject
    ) throws {
        for destination in destinations {
            try setPlace(
                try registry.takePlace(in: relationship, of: object), of: destination, in: relationship, object)
        }
    }

    private func setPlace(
        _ place: Int64, of destination: ContextObject, in relationship: Relationship, _ object: ContextObject
    ) throws {
        switch relationship.storage {
        case .column: return
        case .inverseColumn(let slot):
            guard let position = relationship.positionSlot, destination.state.values[slot] == .integer(object.pk),
                destination.state.values[position] != .integer(place)
            else { return }
            willChange(destination)
            destination[position] = .integer(place)
        case .join(let table, let isOwner):
            let pair =
                isOwner
                ? Pair(owner: object.pk, destination: destination.pk)
                : Pair(owner: destination.pk, destination: object.pk)
            let state = try registry.pairState(pair, table: table, isNew: object.isNew || destination.isNew)
            var places = state.places
            if isOwner { places.destination = place } else { places.owner = place }
            if !state.current || places == state.places { return }
            note(.pair(table: table, pair, state))
            registry.pairs[table].setPlaces(pair, places)
        }
    }

    /// Puts a new link behind the others in the lists of both ends, as far as those are ordered.
    package func place(_ pair: Pair, table: Int, _ owner: ContextObject, _ destination: ContextObject)
        throws(StoreError)
    {
        let join = registry.pairs[table].join
        guard join.ordersDestinations || join.ordersOwners else { return }
        // Of a relationship that is its own inverse, the pair may stand the other way round.
        let (owner, destination) = owner.pk == pair.owner ? (owner, destination) : (destination, owner)
        var places = PairPlaces()
        if join.ordersDestinations {
            let relationship = registry.model.entities[join.ownerEntity].relationships[join.ownerRelationship]
            places.destination = try registry.takePlace(in: relationship, of: owner)
        }
        if join.ordersOwners, let back = join.destinationRelationship {
            let relationship = registry.model.entities[join.destinationEntity].relationships[back]
            places.owner = try registry.takePlace(in: relationship, of: destination)
        }
        registry.pairs[table].setPlaces(pair, places)
    }
}

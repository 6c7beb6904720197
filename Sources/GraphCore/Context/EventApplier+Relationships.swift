// An event's changes of relationships, and of their inverses.
extension EventApplier {
    /// The destination of a reference.
    private enum Reference {
        case object(ContextObject)
        /// The object was deleted, and the event is older than that.
        indirect case gone(Tombstone)
    }

    /// - Parameter place: the place of the identity.
    private func resolve(
        _ identity: PackedValue, at place: Int, _ relationship: Relationship, at time: Int64?
    ) throws -> Reference {
        let destination = registry.model.entities[relationship.destinationIndex]
        let identities = registry.byIdentity[destination.rootIndex]
        let known = identities.object(at: place)
        if let known, known.isAlive {
            if known.entity !== destination { try narrow(known, to: destination) }
            return .object(known)
        }
        if let tombstone = identities.tombstone(at: place)?.current {
            // A mention alone brings no deleted object back, unless it is known to be newer than the deletion.
            guard let time, let deleted = tombstone.time, time > deleted else {
                return .gone(tombstone)
            }
        }
        if relationship.onMissing == .reject {
            throw EventFailure(
                code: "reference.missing",
                "\(relationship.name) refers to a \(destination.name) that has not arrived; send it first, or let the "
                    + "model say 'onMissing: placeholder'")
        }
        registry.placeholderCount += 1
        return .object(create(entity: destination, identity: identity, at: place, replacing: known))
    }

    /// Returns the tombstone of a deletion that takes the object with it, or nil. The caller deletes the object once the
    /// event's other changes are made, as they would have been before the deletion.
    ///
    /// - Parameter places: the places of the identities that the change names; afterwards those behind them.
    func apply(
        _ change: PackedOperation.Change, _ places: inout UnsafePointer<Int32>, to relationship: Relationship,
        of object: ContextObject, at time: Int64?
    ) throws -> Tombstone? {
        switch change {
        case .one(let identity) where identity.isNull: try setDestination(nil, relationship, of: object)
        case .one(let identity):
            let place = Int(places[0])
            places += 1
            switch try resolve(identity, at: place, relationship, at: time) {
            case .object(let destination): try setDestination(destination, relationship, of: object)
            case .gone(let tombstone): return try lead(object, relationship, toGone: tombstone)
            }
        case .replace(let identities):
            let wanted = try existing(identities, &places, relationship, at: time)
            let keys = Set(wanted.map(\.pk))
            for old in try replaced(object, relationship) where !keys.contains(old.pk) {
                try unlink(object, relationship, old)
            }
            for destination in wanted { try link(object, relationship, destination) }
            if relationship.isOrdered { try order(object, relationship, wanted) }
        case .edit(let add, let remove):
            for destination in try existing(add, &places, relationship, at: time) {
                try link(object, relationship, destination)
            }
            let identities = registry.byIdentity[registry.roots[relationship.destinationIndex]]
            for _ in remove {
                let known = identities.object(at: Int(places[0]))
                places += 1
                // An unknown object has no link.
                guard let known, known.isAlive else { continue }
                try unlink(object, relationship, known)
            }
        }
        return nil
    }

    /// The destinations that a list does not have.
    func lost(
        _ change: PackedOperation.Change, _ relationship: Relationship, _ object: ContextObject
    ) throws -> [ContextObject] {
        guard case .replace(let identities) = change else { return [] }
        let kept = Set(identities.map(\.value))
        return try replaced(object, relationship).filter { !kept.contains($0.identity) }
    }

    /// Deletes objects that their owner's list has lost.
    func deleteLost(_ lost: [ContextObject], at time: Int64?) throws {
        do {
            try delete(lost.filter(\.isAlive), at: time)
        } catch is LargeDeletion {
            throw EventFailure(
                code: "relationship.too_large",
                "The objects that the list has lost take too many others along. Send a deletion for each of them")
        }
    }

    /// The destinations that a list replaces; a set that memory should not hold is refused.
    private func replaced(_ object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        do {
            return try registry.destinations(of: object, relationship, limit: registry.maximumListedDestinations)
        } catch is ObjectRegistry.TooManyDestinations {
            throw EventFailure(
                code: "relationship.too_large",
                "\(relationship.name) has more than \(registry.maximumListedDestinations) objects; a list cannot replace "
                    + "them. Send {\"add\": […], \"remove\": […]} instead")
        }
    }

    /// Resolves a list of destinations, without the deleted ones.
    private func existing(
        _ identities: UnsafeBufferPointer<PackedValue>, _ places: inout UnsafePointer<Int32>,
        _ relationship: Relationship, at time: Int64?
    ) throws -> [ContextObject] {
        var found: [ContextObject] = []
        for identity in identities {
            let place = Int(places[0])
            places += 1
            if case .object(let each) = try resolve(identity, at: place, relationship, at: time) { found.append(each) }
        }
        return found
    }

    /// Gives an object that refers to a deleted one the effect that the deletion would have had, had the event come in time.
    /// If that is the object's deletion, the result is the tombstone.
    private func lead(
        _ object: ContextObject, _ relationship: Relationship, toGone tombstone: Tombstone
    ) throws -> Tombstone? {
        let destination = registry.model.entities[relationship.destinationIndex]
        let rule = relationship.inverseIndex.map { destination.relationships[$0].deleteRule }
        switch rule?.lateReference {
        case .deletesSource: return tombstone
        case .refuses:
            throw EventFailure(
                code: "reference.deleted",
                "\(relationship.name) refers to a deleted \(destination.name), whose deletion the rule "
                    + "'\(rule?.rawValue ?? "")' would have refused; send the \(destination.name) again first")
        case .clears, nil:
            try setDestination(nil, relationship, of: object)
            return nil
        }
    }

    /// Leads a to-one relationship to another object and keeps its inverse true.
    package func setDestination(
        _ destination: ContextObject?, _ relationship: Relationship, of object: ContextObject
    ) throws {
        guard case .column(let slot) = relationship.storage else { return }
        let stored = object.state.values.packed(slot)
        let new = destination.map { PackedValue.integer($0.pk) } ?? .null
        if stored == new { return }
        let old = stored.integer
        willChange(object)
        object.set(new, at: slot)
        if !object.entity.uniquenessConstraints.isEmpty { registry.noteUniqueValues(of: object) }
        guard let inverse = inverse(of: relationship) else { return }
        if let place = inverse.positionSlot {
            object[place] =
                try destination.map { .integer(try registry.takePlace(in: inverse, of: $0)) } ?? .null
        }
        if case .column(let inverseSlot) = inverse.storage {
            try exchangePartners(of: object, relationship, inverseSlot, old: old, new: destination)
            return
        }
        if let destination {
            registry.noteMember(object.pk, of: ObjectRegistry.LinkKey(inverse, of: destination.pk))
            if inverse.hasCountLimits { countChecks.append((destination, inverse)) }
        }
        if inverse.minimumCount > 0, let pk = old,
            let previous = try registry.object(entity: relationship.destinationIndex, pk: pk)
        {
            countChecks.append((previous, inverse))
        }
    }

    /// Keeps a one-to-one relationship mutual: the former partners of both ends lose their references.
    func exchangePartners(
        of object: ContextObject, _ relationship: Relationship, _ inverseSlot: Int, old: Int64?, new: ContextObject?
    ) throws {
        guard case .column(let slot) = relationship.storage else { return }
        if let pk = old,
            let previous = try registry.object(entity: relationship.destinationIndex, pk: pk),
            previous.isAlive, previous.state.values.packed(inverseSlot).integer == object.pk
        {
            willChange(previous)
            previous[inverseSlot] = .null
        }
        guard let new else { return }
        if let pk = new.state.values.packed(inverseSlot).integer, pk != object.pk,
            let rival = try registry.object(entity: object.entity.index, pk: pk), rival.isAlive
        {
            willChange(rival)
            rival[slot] = .null
        }
        willChange(new)
        new[inverseSlot] = .integer(object.pk)
        if !new.entity.uniquenessConstraints.isEmpty { registry.noteUniqueValues(of: new) }
    }

    package func inverse(of relationship: Relationship) -> Relationship? {
        registry.model.inverse(of: relationship)
    }

    package func link(_ object: ContextObject, _ relationship: Relationship, _ destination: ContextObject) throws {
        switch relationship.storage {
        case .column: return
        case .inverseColumn:
            if let inverse = inverse(of: relationship) { try setDestination(object, inverse, of: destination) }
        case .join(let table, let isOwner):
            try setPair(true, table: table, isOwner: isOwner, object, relationship, destination)
        }
    }

    package func unlink(_ object: ContextObject, _ relationship: Relationship, _ destination: ContextObject) throws {
        switch relationship.storage {
        case .column: return
        case .inverseColumn(let slot):
            if destination.state.values.packed(slot).integer == object.pk, let inverse = inverse(of: relationship) {
                try setDestination(nil, inverse, of: destination)
            }
        case .join(let table, let isOwner):
            try setPair(false, table: table, isOwner: isOwner, object, relationship, destination)
        }
    }

    func setPair(
        _ isLinked: Bool, table: Int, isOwner: Bool, _ object: ContextObject, _ relationship: Relationship,
        _ destination: ContextObject
    ) throws {
        let (owner, other) = isOwner ? (object, destination) : (destination, object)
        try setPair(Pair(owner: owner.pk, destination: other.pk))
        // A relationship that is its own inverse keeps each link in both directions.
        if registry.pairs[table].join.isOwnInverse, owner.pk != other.pk {
            try setPair(Pair(owner: other.pk, destination: owner.pk))
        }

        func setPair(_ pair: Pair) throws {
            let state = try registry.pairState(pair, table: table, isNew: owner.isNew || other.isNew)
            if state.current == isLinked { return }
            note(.pair(table: table, pair, state))
            registry.pairs[table].set(pair, isLinked)
            if isLinked, registry.hasOrder { try place(pair, table: table, owner, other) }
            willChange(object)
            // Without an inverse the destination does not change.
            if relationship.inverseIndex != nil { willChange(destination) }
            if relationship.hasCountLimits { countChecks.append((object, relationship)) }
            if let inverse = inverse(of: relationship), inverse.hasCountLimits {
                countChecks.append((destination, inverse))
            }
        }
    }
}

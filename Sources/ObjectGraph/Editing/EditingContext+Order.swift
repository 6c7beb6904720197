import GraphCore

// The order of ordered relationships, from memory to a save.
extension EditingContext {
    /// The objects whose destinations stayed and stand in another order, where the destinations' columns hold it.
    func reorderedKeys() -> Set<ObjectKey> {
        if !registry.hasOrder { return [] }
        var keys: Set<ObjectKey> = []
        for row in registry.listed where row.isAlive && !row.isNew {
            forEachPlace(of: row) { relationship, _, slot, place in
                guard row.keeps(slot), !row.keeps(place),
                    case .integer(let pk) = row.state.values[slot]
                else { return }
                keys.insert(ObjectKey(entity: registry.roots[relationship.destinationIndex], pk: pk))
            }
        }
        return keys
    }

    /// Tells whether an object's place in somebody's list is not the one it was read with.
    func hasMoved(_ row: ContextObject) -> Bool {
        var hasMoved = false
        if registry.hasOrder {
            forEachPlace(of: row) { _, _, _, place in
                if !row.keeps(place) { hasMoved = true }
            }
        }
        return hasMoved
    }

    /// Calls `body` with each to-one relationship whose inverse has an order, the inverse, and the slots of both.
    func forEachPlace(of row: ContextObject, _ body: (Relationship, Relationship, Int, Int) -> Void) {
        for relationship in row.entity.relationships {
            guard let slot = relationship.slot, let inverse = model.inverse(of: relationship),
                let place = inverse.positionSlot
            else { continue }
            body(relationship, inverse, slot, place)
        }
    }

    private struct ListKey: Hashable {
        let owner: ObjectKey
        let entity: Int
        let relationship: Int
    }

    private struct ListChange {
        let relationship: Relationship
        var added: [(place: Int64, pk: Int64)] = []
        var isReordered = false
    }

    /// Gathers the lists whose destinations were added or moved; of a list that was only added to, what was added.
    func changedOrders() throws -> [EditSet.Order] {
        if !registry.hasOrder { return [] }
        var lists: [ListKey: ListChange] = [:]
        func note(_ owner: ObjectKey, _ relationship: Relationship, _ pk: Int64, _ place: Int64?, isNew: Bool) {
            let key = ListKey(owner: owner, entity: relationship.entityIndex, relationship: relationship.index)
            var change = lists[key] ?? ListChange(relationship: relationship)
            if isNew { change.added.append((place ?? .max, pk)) } else { change.isReordered = true }
            lists[key] = change
        }
        for row in registry.listed where row.isAlive && registry.known(row.entity.index, pk: row.pk) === row {
            forEachPlace(of: row) { relationship, inverse, slot, place in
                let isNew = row.isNew || !row.keeps(slot)
                guard isNew || !row.keeps(place),
                    case .integer(let pk) = row.state.values[slot]
                else { return }
                let owner = ObjectKey(entity: registry.roots[relationship.destinationIndex], pk: pk)
                note(owner, inverse, row.pk, row.state.values[place].integer, isNew: isNew)
            }
        }
        for pairs in registry.pairs {
            let join = pairs.join
            let (owner, destination) = (model.entities[join.ownerEntity], model.entities[join.destinationEntity])
            for (pair, state) in pairs.changes where state.current {
                if join.ordersDestinations, state.isChanged || state.movesDestination {
                    note(
                        ObjectKey(entity: owner.rootIndex, pk: pair.owner), owner.relationships[join.ownerRelationship],
                        pair.destination, state.places.destination, isNew: state.isChanged)
                }
                if join.ordersOwners, let back = join.destinationRelationship, state.isChanged || state.movesOwner {
                    note(
                        ObjectKey(entity: destination.rootIndex, pk: pair.destination),
                        destination.relationships[back], pair.owner, state.places.owner, isNew: state.isChanged)
                }
            }
        }
        return try lists.sorted { left, right in
            (left.key.owner.entity, left.key.owner.pk, left.key.entity, left.key.relationship)
                < (right.key.owner.entity, right.key.owner.pk, right.key.entity, right.key.relationship)
        }.compactMap { try order($0.key, $0.value) }
    }

    private func order(_ key: ListKey, _ change: ListChange) throws -> EditSet.Order? {
        guard let owner = registry.known(key.owner.entity, pk: key.owner.pk), owner.isAlive else { return nil }
        var seen: Set<Int64> = []
        let added = change.added.sorted { ($0.place, $0.pk) < ($1.place, $1.pk) }.map(\.pk).filter {
            seen.insert($0).inserted
        }
        func order(_ destinations: [Int64], isWhole: Bool) -> EditSet.Order {
            EditSet.Order(
                owner: key.owner, relationship: change.relationship, destinations: destinations, isWhole: isWhole)
        }
        let wasOrdered = registry.orderedLists.contains(registry.linkKey(owner, change.relationship))
        if !change.isReordered, !wasOrdered { return order(added, isWhole: false) }
        let all = try currentDestinations(of: owner, change.relationship).map(\.pk)
        // Added ones may have been put before others that kept their places.
        return change.isReordered || all.suffix(added.count) != added[...]
            ? order(all, isWhole: true) : order(added, isWhole: false)
    }
}

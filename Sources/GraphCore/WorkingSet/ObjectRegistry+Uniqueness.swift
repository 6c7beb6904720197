/// Two objects that a uniqueness constraint forbids beside each other.
struct UniquenessConflict {
    let constraint: UniquenessConstraint
    /// The object that came later: the one that was checked.
    let object: ContextObject
    /// The object that has the values already.
    let other: ContextObject
}

// Values that no two objects may share.
extension ObjectRegistry {
    /// Returns the conflicts of an object with others of its hierarchy, in the store or in the chunk: the first of each
    /// constraint.
    ///
    /// The one place where conflicts are detected. It looks up the values that no prefetch foresaw.
    ///
    /// - Parameter before: values that had no conflict, so that those which are the same need no look, or nil.
    func uniquenessConflicts(
        of object: ContextObject, since before: SlotValues? = nil
    ) throws(StoreError) -> [UniquenessConflict] {
        var conflicts: [UniquenessConflict] = []
        for constraint in object.entity.uniquenessConstraints {
            if let before, constraint.slots.allSatisfy({ before.agrees(with: object.state.values, at: $0) }) {
                continue
            }
            guard let key = uniqueKey(object.state.values, constraint) else { continue }
            if !loadedUnique.contains(key) { try loadHolders([key]) }
            let other = holder(of: key, constraint) { $0 !== object }
            if let other { conflicts.append(UniquenessConflict(constraint: constraint, object: object, other: other)) }
        }
        return conflicts
    }

    /// Returns a known object that has some unique values now, or nil.
    ///
    /// Objects stay noted under former values, and under constraints of an entity that an undone event made them.
    func holder(
        of key: Unique, _ constraint: UniquenessConstraint, where isWanted: (ContextObject) -> Bool
    ) -> ContextObject? {
        byUnique[key]?.first { object in
            isWanted(object) && object.isAlive && isUnder(constraint, object)
                && uniqueKey(object.state.values, constraint) == key
        }
    }

    package func isUnder(_ constraint: UniquenessConstraint, _ object: ContextObject) -> Bool {
        object.entity.isKind(of: model.entities[constraint.entityIndex])
    }

    /// Returns the values that a constraint is on, or nil where one is null: nulls do not collide.
    package func uniqueKey(_ values: some SlotReadable, _ constraint: UniquenessConstraint) -> Unique? {
        var parts: [Value] = []
        parts.reserveCapacity(constraint.slots.count)
        for slot in constraint.slots {
            // A reference without inverse to what the chunk deletes is as good as null.
            if readsNull(values[slot], slot, model.entities[constraint.entityIndex]) { return nil }
            parts.append(values[slot])
        }
        return Unique(constraint: constraint.index, values: parts)
    }

    /// Notes an object under its unique values; former values may stay noted.
    package func noteUniqueValues(of object: ContextObject) {
        for constraint in object.entity.uniquenessConstraints {
            guard let key = uniqueKey(object.state.values, constraint) else { continue }
            if byUnique[key]?.last !== object { byUnique[key, default: []].append(object) }
        }
    }
}

// Places in ordered relationships.
extension ObjectRegistry {
    /// Returns the place behind all others in an ordered relationship of an object, and takes it.
    func takePlace(in relationship: Relationship, of owner: ContextObject) throws(StoreError) -> Int64 {
        try loadPlaces(in: relationship, of: [owner])
        let key = linkKey(owner, relationship)
        let place = nextPlaces[key] ?? 0
        nextPlaces[key] = Self.behind(place)
        return place
    }

    /// Returns the next place. Behind the greatest number, which only another program writes, objects share a place.
    private static func behind(_ place: Int64) -> Int64 { place == .max ? .max : place + 1 }

    /// Notes that places below a number are taken: a new one comes behind them.
    func noteTaken(below place: Int64, in relationship: Relationship, of owner: ContextObject) {
        let key = linkKey(owner, relationship)
        nextPlaces[key] = max(nextPlaces[key] ?? 0, place)
    }

    /// Returns the keys of the stored ones among some owners whose greatest places are not known, and notes that they are
    /// asked for.
    func ownersWithUnreadPlaces(_ owners: [ContextObject], in relationship: Relationship) -> [Int64] {
        let unknown = owners.filter { nextPlaces[linkKey($0, relationship)] == nil }
        for owner in unknown { nextPlaces[linkKey(owner, relationship)] = 0 }
        return Array(Set(unknown.filter { !$0.isNew }.map(\.pk)))
    }

    /// Notes the greatest place that the store has in an ordered relationship of an owner.
    func noteGreatestPlace(_ greatest: Int64, in relationship: Relationship, of owner: Int64) {
        nextPlaces[LinkKey(relationship, of: owner)] = Self.behind(greatest)
    }
}

import GraphCore

// Values that have to be unique, after the conflicts with what others saved are resolved.
extension SaveMerge {
    /// Makes the new objects, or merges them into objects that have their identity or unique values already.
    ///
    /// - Returns: the conflicts that the policy `error` refuses.
    func insertObjects() throws -> [MergeConflict] {
        var refused: [MergeConflict] = []
        for edit in insertions {
            let known = registry.known(edit.object.entity.index, edit.object.identity)
            let collisions = try collisions(of: edit, known)
            guard let first = collisions.first else {
                try insert(edit, known)
                continue
            }
            try resolve(edit, first, collisions, &refused)
        }
        return refused
    }

    /// The new objects. An object whose unique values are links comes behind the objects that the links may lead to.
    private var insertions: [EditSet.Edit] {
        if model.uniquenessConstraints.isEmpty { return edits.inserted }
        func isBound(_ edit: EditSet.Edit) -> Bool {
            edit.object.entity.uniquenessConstraints.contains { constraint in
                constraint.slots.contains { edit.object.entity.relationship(at: $0) != nil }
            }
        }
        return edits.inserted.filter { !isBound($0) } + edits.inserted.filter(isBound)
    }

    struct Collision {
        let holder: ContextObject
        /// The slots that together have to be unique.
        let slots: [Int]
    }

    /// Returns the objects that have the identity or a unique value of another one.
    private func collisions(of edit: EditSet.Edit, _ known: ContextObject?) throws -> [Collision] {
        let object = edit.object
        let own = ownPlaceholder(of: object, known)
        var found: [Collision] = []
        if own == nil, let holder = known, holder.isAlive, !willBeDeleted(holder) {
            found.append(Collision(holder: holder, slots: [object.entity.identitySlot]))
        }
        if object.entity.uniquenessConstraints.isEmpty { return found }
        return try found + collisions(try translated(object), object.entity, except: own)
    }

    /// Returns the placeholder that stands for a new object: it is the object itself, which has arrived now.
    private func ownPlaceholder(of object: ContextObject, _ known: ContextObject?) -> ContextObject? {
        guard let known, known.isAlive, known.state.isPlaceholder, canBecome(known, object.entity),
            !willBeDeleted(known)
        else { return nil }
        return known
    }

    /// Tells whether an object may turn out to be a new one of an entity, above its own or below it.
    ///
    /// A placeholder of an abstract entity needs an insertion of an entity below: there are no objects of its own.
    func canBecome(_ object: ContextObject, _ entity: Entity) -> Bool {
        entity.isKind(of: object.entity) || object.entity.isKind(of: entity) && !object.entity.isAbstract
    }

    /// Returns the values of one of the context's objects, with links to the store's objects. Links to unsaved objects keep
    /// the context's own keys, which nobody holds.
    private func translated(_ object: ContextObject) throws -> [Value] {
        var values = object.state.values.array
        for constraint in object.entity.uniquenessConstraints {
            for slot in constraint.slots {
                guard let relationship = object.entity.relationship(at: slot), case .integer(let pk) = values[slot],
                    let found = try target(entity: relationship.destinationIndex, pk)
                else { continue }
                values[slot] = .integer(found.pk)
            }
        }
        return values
    }

    /// Returns the values that one of the writer's objects will have once the links are set.
    private func expected(_ object: ContextObject) -> [Value] {
        var values = object.state.values.array
        for (slot, value) in plannedLinks[ObjectIdentifier(object)] ?? [:] {
            values[slot] = value
            guard let relationship = object.entity.relationship(at: slot), case .integer(let pk) = value else {
                continue
            }
            let key = ObjectKey(entity: registry.roots[relationship.destinationIndex], pk: pk)
            if let found = targets[key] { values[slot] = .integer(found.pk) }
        }
        return values
    }

    /// Notes the unique values that an object will have by its links.
    func claim(_ object: ContextObject) {
        guard let slots = plannedLinks[ObjectIdentifier(object)].map({ Set($0.keys) }) else { return }
        let constraints = object.entity.uniquenessConstraints.filter { !slots.isDisjoint(with: $0.slots) }
        if constraints.isEmpty { return }
        let values = expected(object)
        for constraint in constraints {
            if let key = registry.uniqueKey(values, constraint) { claimed[key, default: []].append(object) }
        }
    }

    private func collisions(
        _ values: [Value], _ entity: Entity, except own: ContextObject?
    ) throws -> [Collision] {
        try entity.uniquenessConstraints.compactMap { constraint in
            guard let key = registry.uniqueKey(values, constraint) else { return nil }
            try registry.loadHolders([key])
            let holder = ((registry.byUnique[key] ?? []) + (claimed[key] ?? [])).first {
                $0 !== own && $0.isAlive && !willBeDeleted($0) && registry.isUnder(constraint, $0)
                    && registry.uniqueKey(expected($0), constraint) == key
            }
            return holder.map { Collision(holder: $0, slots: constraint.slots) }
        }
    }

    /// Makes a new object, or turns the placeholder into it that the store knows by its identity.
    private func insert(_ edit: EditSet.Edit, _ known: ContextObject?) throws {
        let object = edit.object
        let made: ContextObject
        if let placeholder = ownPlaceholder(of: object, known) {
            made = placeholder
            applier.willChange(made)
            try applier.narrow(made, to: object.entity)
        } else {
            made = registry.makeObject(entity: object.entity, identity: object.identity)
            applier.noteCreated(made, replaced: known)
        }
        // Relationships are led to what the store has.
        for slot in object.entity.editableAttributes { made[slot] = object[slot] }
        targets[ObjectKey(object)] = made
        // An entity below has defaults of its own.
        makeOwn(made) { object.entity.attributes.hasAttribute(at: $0) }
        // An unset property keeps the value that a placeholder got from its inverses.
        for link in object.entity.linkColumns where object.isGiven(link.slot) {
            set(link.slot, object.state.values[link.slot], of: made)
        }
        claim(made)
    }

    private func resolve(
        _ edit: EditSet.Edit, _ collision: Collision, _ all: [Collision], _ refused: inout [MergeConflict]
    ) throws {
        var policy = edits.policy(of: edit)
        if case .custom(let closure) = policy {
            switch try closure(try conflict(edit, collision)) {
            case .policy(let chosen): policy = chosen
            case .values where !canBecome(collision.holder, edit.object.entity): policy = .error
            case .values(let values):
                let written = try slots(values, edit.object.entity)
                try merge(edit, into: collision.holder, written, .custom)
                return
            }
        }
        if case .lastWriterWins(let attribute) = policy { policy = try winner(edit, collision, by: attribute) }
        // Objects of entities beside each other cannot become one.
        if case .overwrite = policy {
        } else if !canBecome(collision.holder, edit.object.entity) {
            policy = .error
        }
        let given = edit.slots.filter { !collision.slots.contains($0) }
        switch policy {
        case .error, .custom, .lastWriterWins: refused.append(try conflict(edit, collision))
        case .objectTrump: try merge(edit, into: collision.holder, values(edit, given), .context)
        case .storeTrump:
            // The links of the holder that this save makes are not set yet.
            let held = expected(collision.holder)
            let empty = given.filter { held[$0].isNull }
            try merge(edit, into: collision.holder, values(edit, empty), .store)
        case .rollback: try merge(edit, into: collision.holder, [:], .store, completes: false)
        case .overwrite:
            for other in all {
                willDelete(other.holder)
                try noteDisplaced(other.holder, by: edit)
            }
            try insert(edit, registry.known(edit.object.entity.index, edit.object.identity))
        }
    }

    /// Returns the policy that lets the object win whose attribute is later.
    private func winner(
        _ edit: EditSet.Edit, _ collision: Collision, by attribute: String?
    ) throws -> MergePolicy {
        let slot = try MergeDecision.decidingSlot(attribute, edit.object.entity)
        let isLater = MergeDecision.isLater(
            edit.object.state.values[slot], than: collision.holder.state.values[slot],
            edit.object.entity.attributes[slot].type)
        return isLater ? .objectTrump : .storeTrump
    }

    private func values(_ edit: EditSet.Edit, _ slots: [Int]) -> [Int: Value] {
        Dictionary(uniqueKeysWithValues: slots.map { ($0, edit.object.state.values[$0]) })
    }

    /// Lets an object that is there already stand for a new one, and gives it some of its values.
    private func merge(
        _ edit: EditSet.Edit, into holder: ContextObject, _ values: [Int: Value], _ winner: MergeDecision.Winner,
        completes: Bool = true
    ) throws {
        applier.willChange(holder)
        // An object that led to the new object now leads to this one.
        try applier.narrow(holder, to: edit.object.entity)
        for slot in edit.slots where values[slot] != nil || winner == .store {
            if edit.object.state.values.agrees(with: holder.state.values, at: slot) { continue }
            let taken = values[slot] == nil ? MergeDecision.Winner.store : winner == .custom ? .custom : .context
            try note(.uniqueness, edit, holder, slot, taken)
        }
        targets[ObjectKey(edit.object)] = holder
        if completes, holder.state.isPlaceholder {
            // The look-up of unique values has read no tombstone, and an object that has arrived has none.
            try registry.loadTombstones(of: [holder])
            makeOwn(holder) { values[$0] != nil }
        }
        set(values, of: holder)
        claim(holder)
    }

    /// Looks at the objects of the store whose changes claim unique values of others.
    ///
    /// Two rows cannot become one, so where the context should win they are refused all the same, but for `overwrite`.
    func claimUniqueValues() throws -> [MergeConflict] {
        var refused: [MergeConflict] = []
        for update in updates where update.target.isAlive {
            if update.target.entity.uniquenessConstraints.isEmpty { continue }
            for collision in try collisions(expected(update.target), update.target.entity, except: update.target)
            where collision.slots.contains(where: { update.values[$0] != nil }) {
                try resolve(update, collision, &refused)
            }
        }
        return refused
    }

    private func resolve(_ update: Update, _ collision: Collision, _ refused: inout [MergeConflict]) throws {
        var policy = edits.policy(of: update.edit)
        if case .custom(let closure) = policy {
            switch try closure(try conflict(update.edit, collision)) {
            case .policy(let chosen): policy = chosen
            case .values(let values):
                let given = try slots(values, update.target.entity)
                for slot in Set(update.edit.slots).union(given.keys).sorted() {
                    let winner = given[slot] == nil ? MergeDecision.Winner.store : .custom
                    try note(.uniqueness, update.edit, update.target, slot, winner)
                }
                // The store's values stay for all other properties.
                drop(update)
                if !given.isEmpty, update.meetsPlaceholder { makeOwn(update.target) { given[$0] != nil } }
                set(given, of: update.target)
                claim(update.target)
                update.values = given
                return
            }
        }
        switch policy {
        case .storeTrump:
            for slot in collision.slots where update.values[slot] != nil {
                if update.target.entity.attributes.hasAttribute(at: slot) {
                    update.target[slot] = update.target.original[slot]
                }
                dropLink(slot, of: update.target)
                try note(.uniqueness, update.edit, update.target, slot, .store)
            }
        case .rollback:
            for slot in update.edit.slots { try note(.uniqueness, update.edit, update.target, slot, .store) }
            drop(update)
        case .overwrite:
            willDelete(collision.holder)
            try noteDisplaced(collision.holder, by: update.edit)
        default: refused.append(try conflict(update.edit, collision))
        }
    }
}

import GraphCore

/// Carries the changes of an editing context over to the writer's objects, as the store has them now.
///
/// It resolves conflicts on the way. Links, inverses, delete rules and validation work as they do for events: see
/// ``EventApplier``.
final class SaveMerge {
    let edits: EditSet
    let registry: ObjectRegistry
    let applier: EventApplier
    let time: Int64
    /// The writer's objects that stand for the context's own.
    var targets: [ObjectKey: ContextObject] = [:]
    var notes: [ConflictNote] = []
    /// The changes of objects that the store has, after the conflicts were resolved.
    var updates: [Update] = []
    /// The objects to delete.
    var toDelete: [ContextObject] = []
    /// The objects that were deleted, with the objects that delete rules reached from them.
    var deleted: [ContextObject] = []
    private var links: [(object: ContextObject, slot: Int, value: Value)] = []
    /// The same by object and slot.
    private(set) var plannedLinks: [ObjectIdentifier: [Int: Value]] = [:]
    /// Objects by unique values that they will have once their links are set.
    var claimed: [ObjectRegistry.Unique: [ContextObject]] = [:]

    /// The changes of one object of the store.
    final class Update {
        let edit: EditSet.Edit
        let target: ContextObject
        var values: [Int: Value]
        /// Whether a placeholder arrives where the context has completed it: not if a policy drops the changes.
        let completes: Bool

        init(_ edit: EditSet.Edit, _ target: ContextObject, _ values: [Int: Value], completes: Bool = true) {
            self.edit = edit
            self.target = target
            self.values = values
            self.completes = completes
        }

        /// Whether the target is still a placeholder and the context's object is not.
        var meetsPlaceholder: Bool { target.state.isPlaceholder && !edit.object.state.isPlaceholder }
    }

    init(_ edits: EditSet, registry: ObjectRegistry, applier: EventApplier, time: Int64) {
        self.edits = edits
        self.registry = registry
        self.applier = applier
        self.time = time
    }

    var model: ObjectModel { registry.model }

    /// Changes the writer's objects.
    ///
    /// Example: a context clears a member's e-mail address and inserts a member with it. It also moves a chat's messages
    /// to another chat, and deletes the first chat. Another order would refuse or lose a part of this. Attributes come
    /// before insertions, so that the address is free. Links come after insertions, so that each destination exists.
    /// Deletions come after links, so that the rule Cascade does not reach messages that have moved. Validation comes
    /// last, because a rule may be broken on the way.
    ///
    /// - Throws: ``EditingError``, ``StoreError``; what a policy throws. Nothing is written then.
    func run() throws {
        let threshold = registry.setDeletionThreshold
        // The context has seen the reach of its deletions; the store must not carry them out half-way.
        registry.setDeletionThreshold = .max
        defer { registry.setDeletionThreshold = threshold }
        applier.begin()
        try load()
        try meetChanges()
        let count = edits.inserted.count + edits.updated.count
        targets.reserveCapacity(count)
        applier.journal.reserveCapacity(count + edits.links.count)
        registry.listed.reserveCapacity(count)
        try setAttributes()
        let refused = try insertObjects() + claimUniqueValues()
        if !refused.isEmpty { throw EditingError(conflicts: refused, isUniqueness: true) }
        try setLinks()
        try setOrders()
        try deleteObjects()
        try validate()
    }

    // MARK: Looking up

    private func load() throws {
        registry.reserve(edits.inserted.lazy.map(\.object.entity))
        var keys: [Set<Int64>] = Array(repeating: [], count: model.entities.count)
        func note(_ entity: Int, _ pk: Int64) { if pk > 0 { keys[entity].insert(pk) } }
        for edit in [edits.updated, edits.deleted].joined() { note(edit.object.entity.index, edit.object.pk) }
        var linkCount = 0
        for edit in [edits.inserted, edits.updated].joined() {
            for link in edit.object.entity.linkColumns {
                guard case .integer(let pk) = edit.object.state.values[link.slot] else { continue }
                linkCount += 1
                note(link.destination, pk)
            }
        }
        links.reserveCapacity(linkCount)
        for link in edits.links {
            let join = model.joinTables[link.table]
            note(join.ownerEntity, link.pair.owner)
            note(join.destinationEntity, link.pair.destination)
        }
        for (entity, pks) in keys.enumerated() { try registry.load(entity: entity, primaryKeys: Array(pks)) }
        // The stored objects with the same identities and unique values: the events' own look-ups find them.
        let prefetch = Prefetch(registry: registry)
        var identities: [[Value]] = Array(repeating: [], count: model.entities.count)
        for edit in [edits.inserted, edits.updated].joined() {
            identities[edit.object.entity.rootIndex].append(edit.object.identity)
        }
        try prefetch.load(identities)
        if !model.uniquenessConstraints.isEmpty { try prefetch.loadUniqueHolders(ChangeSet(foreseen())) }
        for (table, links) in Dictionary(grouping: edits.links, by: \.table) {
            let pairs = links.map(\.pair).filter { $0.owner > 0 && $0.destination > 0 }
            try registry.loadPairStates(pairs.filter { registry.pairs[table].state($0) == nil }, table: table)
        }
    }

    private func foreseen() -> [ObjectOperation] {
        (edits.inserted + edits.updated).map { edit in
            let entity = edit.object.entity
            var operation = ObjectOperation(.upsert, entity: entity.index, identity: edit.object.identity)
            operation.attributes = entity.constraintSlots.map {
                ObjectOperation.AttributeValue(slot: $0, value: edit.object.state.values[$0])
            }
            return operation
        }
    }

    /// Returns the writer's object of one of the context's keys, or nil where it is gone.
    func target(entity: Int, _ pk: Int64) throws -> ContextObject? {
        if let known = targets[ObjectKey(entity: registry.roots[entity], pk: pk)] { return known.isAlive ? known : nil }
        guard pk > 0, let found = try registry.object(entity: entity, pk: pk), found.isAlive else { return nil }
        return found
    }

    // MARK: Conflicts with what others saved

    private func meetChanges() throws {
        var refused: [MergeConflict] = []
        for edit in edits.updated { try resolve(edit, &refused) }
        try meetDeletions(&refused)
        if !refused.isEmpty { throw EditingError(conflicts: refused, isUniqueness: false) }
    }

    private func resolve(_ edit: EditSet.Edit, _ refused: inout [MergeConflict]) throws {
        let object = edit.object
        let byIdentity = registry.known(object.entity.index, object.identity)
        // An object that was deleted and made again has another row, and is the same object for the context that changes it.
        guard let row = registry.known(object.entity.index, pk: object.pk) ?? byIdentity, row.isAlive else {
            return try meetLoss(edit, placeholder: nil, &refused)
        }
        // A reference to a deleted object makes a placeholder; for the context the object is as deleted as before.
        if row.state.isPlaceholder, !object.wasPlaceholder, canBecome(row, object.entity) {
            return try meetLoss(edit, placeholder: row, &refused)
        }
        if row.state.isPlaceholder, object.entity.isKind(of: row.entity) { try applier.narrow(row, to: object.entity) }
        // A placeholder of an abstract entity stays one until an object of an entity below arrives.
        guard row.entity.isKind(of: object.entity), object.state.isPlaceholder || !row.entity.isAbstract else {
            // Somebody made another object of the identity, which cannot stand for this one.
            refused.append(
                try conflict(
                    .deletedInStore, edit,
                    MergeDecision(
                        entity: object.entity, snapshot: object.original.array, local: object.state.values.array,
                        stored: object.original.array, changedHere: edit.slots)))
            return
        }
        targets[ObjectKey(object)] = row
        let decision = MergeDecision(
            entity: object.entity, snapshot: object.original.array, local: object.state.values.array,
            stored: row.original.array,
            changedHere: edit.slots)
        guard decision.isConflict else {
            updates.append(Update(edit, row, decision.localValues))
            return
        }
        switch try outcome(of: decision, edit) {
        case .refused, .asked: refused.append(try conflict(.changed, edit, decision))
        case .written(let values, let won):
            updates.append(Update(edit, row, values, completes: !values.isEmpty))
            for (slot, winner) in won { try note(.changed, edit, row, slot, winner) }
        }
    }

    /// Returns the outcome under the policy of an edit, which may ask the program.
    private func outcome(of decision: MergeDecision, _ edit: EditSet.Edit) throws -> MergeDecision.Outcome {
        let outcome = try decision.outcome(edits.policy(of: edit))
        guard case .asked(let closure) = outcome else { return outcome }
        switch try closure(try conflict(.changed, edit, decision)) {
        case .policy(let policy): return try decision.outcome(policy)
        case .values(let values):
            let written = try slots(values, edit.object.entity)
            return .written(written, notes: written.keys.sorted().map { ($0, .custom) })
        }
    }

    // MARK: Values

    private func setAttributes() throws {
        for update in updates {
            applier.willChange(update.target)
            if update.completes, update.meetsPlaceholder {
                // The context has given the properties of its entity their defaults.
                makeOwn(update.target) { update.edit.object.entity.attributes.hasAttribute(at: $0) }
            }
            set(update.values, of: update.target)
        }
        for update in updates { claim(update.target) }
    }

    /// Sets attributes at once and keeps to-one relationships for later, when all destinations are there.
    func set(_ values: [Int: Value], of target: ContextObject) {
        for (slot, value) in values.sorted(by: { $0.key < $1.key }) { set(slot, value, of: target) }
        registry.noteUniqueValues(of: target)
    }

    /// Sets one attribute, or keeps a to-one relationship for later; the caller notes unique values.
    func set(_ slot: Int, _ value: Value, of target: ContextObject) {
        guard target.entity.attributes.hasAttribute(at: slot) else {
            links.append((target, slot, value))
            // They are asked for where values have to be unique.
            if !target.entity.uniquenessConstraints.isEmpty {
                plannedLinks[ObjectIdentifier(target), default: [:]][slot] = value
            }
            return
        }
        target[slot] = value
    }

    /// Makes an object one that has arrived, with the defaults of the properties that are not known.
    func makeOwn(_ target: ContextObject, isKnown: (Int) -> Bool) {
        target.arrive(isKnown: isKnown)
        registry.noteUniqueValues(of: target)
        for relationship in target.entity.countedRelationships { applier.countChecks.append((target, relationship)) }
    }

    /// Drops the changes of one object, as if it had none.
    func drop(_ update: Update) {
        for slot in update.target.entity.editableSlots where update.target.entity.attributes.hasAttribute(at: slot) {
            update.target[slot] = update.target.original[slot]
        }
        for slot in plannedLinks[ObjectIdentifier(update.target)]?.keys.sorted() ?? [] {
            dropLink(slot, of: update.target)
        }
        update.target.state.isPlaceholder = update.target.wasPlaceholder
        update.values = [:]
    }

    /// Lets a to-one relationship be as it was.
    func dropLink(_ slot: Int, of target: ContextObject) {
        guard plannedLinks[ObjectIdentifier(target)]?.removeValue(forKey: slot) != nil else { return }
        links.removeAll { $0.object === target && $0.slot == slot }
    }

    /// Deletes an object at the end of the save. It is listed at once: the history has its deletion before the insertion
    /// of another object of its identity.
    func willDelete(_ object: ContextObject) {
        applier.willChange(object)
        toDelete.append(object)
    }

    func willBeDeleted(_ object: ContextObject) -> Bool { toDelete.contains { $0 === object } }

    // MARK: Links

    private func setLinks() throws {
        for (object, slot, value) in links where object.isAlive {
            guard let relationship = object.entity.relationship(at: slot) else { continue }
            var destination: ContextObject?
            // A reference to an object that another writer deleted is empty.
            if case .integer(let pk) = value { destination = try target(entity: relationship.destinationIndex, pk) }
            try applier.setDestination(destination, relationship, of: object)
        }
        for link in edits.links {
            let join = model.joinTables[link.table]
            guard let owner = try target(entity: join.ownerEntity, link.pair.owner),
                let destination = try target(entity: join.destinationEntity, link.pair.destination)
            else { continue }
            let relationship = model.entities[join.ownerEntity].relationships[join.ownerRelationship]
            if link.isLinked {
                try applier.link(owner, relationship, destination)
            } else {
                try applier.unlink(owner, relationship, destination)
            }
        }
        for check in edits.countChecks {
            if let object = try target(entity: check.object.entity, check.object.pk),
                object.entity.isKind(of: model.entities[check.relationship.entityIndex])
            {
                applier.countChecks.append((object, check.relationship))
            }
        }
    }

    // MARK: Validation

    private func validate() throws {
        applier.callValidators()
        let failures =
            try applier.failures(
                of: registry.listed, counts: applier.countChecks, deleted: deleted, checksUniqueness: true)
            + applier.failures.details
        if !failures.isEmpty { throw EditingError(failures) }
    }

    // MARK: Outcome

    /// The saved state of the context's objects; asked after the rows are written.
    func outcome() -> EditOutcome {
        var outcome = EditOutcome(targets: targets)
        outcome.result.inserted.reserveCapacity(edits.inserted.count)
        for object in registry.listed {
            // The context knows no others that are new.
            if object.isAlive, !object.isNew { outcome.others[ObjectKey(object)] = object }
            switch Saver.changeKind(object) {
            case .insert: outcome.result.inserted.append(ManagedObjectID(object))
            case .update: outcome.result.updated.append(ManagedObjectID(object))
            case .delete: outcome.result.deleted.append(ManagedObjectID(object))
            case nil: break
            }
        }
        return outcome
    }
}

extension MergeDecision {
    /// The context's values of the properties that it changed.
    var localValues: [Int: Value] { Dictionary(uniqueKeysWithValues: changedHere.map { ($0, local[$0]) }) }
}

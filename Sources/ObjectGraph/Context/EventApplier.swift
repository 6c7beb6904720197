/// Applies events to the objects in memory, one after the other, each whole or not at all.
///
/// The result does not depend on where chunks begin and end: every event is checked when it is applied, as if it were
/// saved alone.
final class EventApplier {
    let registry: ObjectRegistry
    let validators: Validators
    var journal: [JournalEntry] = []
    private var eventNumber = 0
    /// The conflicts of the applied events that a policy resolved, until they are saved.
    var notes: [ConflictNote] = []
    private var notesBefore = 0
    /// How many placeholders there were before the event.
    private var placeholdersBefore = 0
    /// The objects whose relationships with count limits the event changed.
    var countChecks: [(object: ContextObject, relationship: Relationship)] = []
    /// The rules that the event breaks, as far as they are known.
    var failures = ValidationFailures()
    var failedRules: Set<FailedRule> = []

    enum JournalEntry {
        case state(ContextObject, ContextObject.State)
        case created(ContextObject, replaced: ContextObject?)
        case pair(table: Int, Pair, wasLinked: Bool)
        case tombstone(entity: Int, identity: Value, ObjectRegistry.TombstoneEntry?)
    }

    /// An event that turned out to change nothing.
    private struct Stale: Error {}

    init(registry: ObjectRegistry, validators: Validators? = nil) {
        self.registry = registry
        self.validators = validators ?? .none(registry.model)
    }

    /// Applies an event.
    ///
    /// - Throws: ``LargeDeletion`` where a deletion has to be carried out in the store (nothing was changed then), or
    ///   ``StoreError``.
    func apply(_ event: GraphEvent) throws -> EventOutcome {
        begin()
        do {
            if let root = event.operations.last, isStale(root) { return .stale }
            for operation in event.operations { try apply(operation) }
            try validateTouched()
            return .applied
        } catch is Stale {
            undo()
            return .stale
        } catch let failure as EventFailure {
            undo()
            return .failed(failure)
        } catch let failures as ValidationFailures {
            undo()
            return .failed(EventFailure(failures))
        } catch {
            undo()
            throw error
        }
    }

    /// Begins an event: what it changes from here on can be undone.
    func begin() {
        eventNumber += 1
        placeholdersBefore = registry.placeholderCount
        notesBefore = notes.count
        journal.removeAll(keepingCapacity: true)
        countChecks.removeAll(keepingCapacity: true)
        if failures.isEmpty { return }
        failures = ValidationFailures()
        failedRules.removeAll()
    }

    private func apply(_ operation: Operation) throws {
        switch operation.kind {
        case .upsert: try upsert(operation)
        case .delete: try delete(operation)
        }
    }

    // MARK: Journal

    /// Notes an object's state before the event's first change to it.
    func willChange(_ object: ContextObject) {
        if object.journaledBy == eventNumber { return }
        object.journaledBy = eventNumber
        journal.append(.state(object, object.state))
        registry.list(object)
    }

    func setTombstone(_ tombstone: Tombstone?, entity: Int, identity: Value) {
        let known = registry.tombstones[entity][identity]
        journal.append(.tombstone(entity: entity, identity: identity, known))
        registry.tombstones[entity][identity] = ObjectRegistry.TombstoneEntry(
            stored: known?.stored, current: tombstone, isChanged: true)
    }

    func undo() {
        registry.placeholderCount = placeholdersBefore
        notes.removeLast(notes.count - notesBefore)
        for entry in journal.reversed() {
            switch entry {
            case .state(let object, let state):
                object.state = state
            case .created(let object, let replaced):
                object.state.isVoid = true
                registry.byKey[object.entity.index][object.pk] = nil
                registry.byIdentity[object.entity.index][object.identity] = replaced
            case .pair(let table, let pair, let wasLinked):
                registry.pairs[table].set(pair, wasLinked)
            case .tombstone(let entity, let identity, let entry):
                registry.tombstones[entity][identity] = entry
            }
        }
        journal.removeAll(keepingCapacity: true)
    }

    func create(entity: Entity, identity: Value) -> ContextObject {
        let replaced = registry.byIdentity[entity.index][identity]
        let object = registry.makeObject(entity: entity, identity: identity)
        noteCreated(object, replaced: replaced)
        return object
    }

    /// Notes that the event made an object.
    func noteCreated(_ object: ContextObject, replaced: ContextObject? = nil) {
        object.journaledBy = eventNumber
        journal.append(.created(object, replaced: replaced))
    }

    // MARK: Upsert

    private func upsert(_ operation: Operation) throws {
        // A nested object may be older than what is known of it; only the event's own object makes the event stale.
        if isStale(operation) { return }
        let entity = registry.model.entities[operation.entity]
        guard entity.mergePolicy != nil else { return try upsert(operation, entity) }
        if let operation = try meetUniqueValues(operation, entity) { try upsert(operation, entity) }
    }

    private func upsert(_ operation: Operation, _ entity: Entity) throws {
        let object: ContextObject
        if let known = registry.byIdentity[operation.entity][operation.identity], known.isAlive {
            object = known
            willChange(object)
        } else {
            object = create(entity: entity, identity: operation.identity)
        }
        if object.state.isPlaceholder { complete(object) }
        for attribute in operation.attributes where attribute.slot != entity.identitySlot {
            // What the store computes no event can state.
            if entity.attributes[attribute.slot].isDerived { continue }
            entity.attributes[attribute.slot].check(attribute.value, entity: entity.name) { note($0, of: object) }
            object.state.values[attribute.slot] = attribute.value
            if entity.attributes[attribute.slot].isUnique { registry.noteUniqueValue(of: object, slot: attribute.slot) }
        }
        if let slot = entity.versionSlot, !operation.version.isNull { object.state.values[slot] = operation.version }
        for change in operation.relationships where object.isAlive {
            try apply(change.change, to: entity.relationships[change.relationship], of: object, operation)
        }
    }

    /// Turns a placeholder into an object of its own event: defaults are set, its tombstone is lifted.
    func complete(_ object: ContextObject) {
        object.state.isPlaceholder = false
        for (slot, value) in object.entity.defaults.enumerated() where !value.isNull && object.state.values[slot].isNull
        {
            object.state.values[slot] = value
        }
        registry.noteUniqueValues(of: object)
        // A placeholder is exempt from counts, the object it becomes is not.
        for relationship in object.entity.relationships where relationship.hasCountLimits {
            countChecks.append((object, relationship))
        }
        if registry.tombstones[object.entity.index][object.identity]?.current != nil {
            setTombstone(nil, entity: object.entity.index, identity: object.identity)
        }
    }

    // MARK: Relationships

    /// What a reference to an object leads to.
    private enum Reference {
        case object(ContextObject)
        /// The object was deleted, and the event is older than that.
        case gone(Tombstone)
    }

    private func resolve(
        _ identity: Value, _ relationship: Relationship, _ operation: Operation
    ) throws -> Reference {
        let destination = registry.model.entities[relationship.destinationIndex]
        if let known = registry.byIdentity[destination.index][identity], known.isAlive { return .object(known) }
        if let tombstone = registry.tombstones[destination.index][identity]?.current {
            // A mention alone brings no deleted object back, unless it is known to be newer than the deletion.
            guard let time = operation.time, let deleted = tombstone.time, time > deleted else {
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
        return .object(create(entity: destination, identity: identity))
    }

    private func apply(
        _ change: RelationshipChange, to relationship: Relationship, of object: ContextObject, _ operation: Operation
    ) throws {
        switch change {
        case .one(let identity):
            if identity.isNull { return try setDestination(nil, relationship, of: object) }
            switch try resolve(identity, relationship, operation) {
            case .object(let destination): try setDestination(destination, relationship, of: object)
            case .gone(let tombstone): try lead(object, relationship, toGone: tombstone)
            }
        case .replace(let identities):
            let wanted = try existing(identities, relationship, operation)
            let keys = Set(wanted.map(\.pk))
            for old in try replaced(object, relationship) where !keys.contains(old.pk) {
                try unlink(object, relationship, old)
            }
            for destination in wanted { try link(object, relationship, destination) }
        case .edit(let add, let remove):
            for destination in try existing(add, relationship, operation) {
                try link(object, relationship, destination)
            }
            for identity in remove {
                // What is not known is not linked either.
                guard let known = registry.byIdentity[relationship.destinationIndex][identity], known.isAlive else {
                    continue
                }
                try unlink(object, relationship, known)
            }
        }
    }

    /// The destinations that a list replaces; a set that memory should not hold is refused.
    private func replaced(_ object: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        do {
            return try registry.destinations(of: object, relationship, limit: ObjectRegistry.maximumListedDestinations)
        } catch is ObjectRegistry.TooManyDestinations {
            throw EventFailure(
                code: "relationship.too_large",
                "\(relationship.name) has more than \(ObjectRegistry.maximumListedDestinations) objects; a list cannot replace "
                    + "them. Send {\"add\": […], \"remove\": […]} instead")
        }
    }

    /// Resolves a list of destinations; those that were deleted are left out.
    private func existing(
        _ identities: [Value], _ relationship: Relationship, _ operation: Operation
    ) throws -> [ContextObject] {
        try identities.compactMap { identity in
            if case .object(let found) = try resolve(identity, relationship, operation) { return found }
            return nil
        }
    }

    /// Does to an object that refers to a deleted one what the deletion would have done, had the event come in time.
    private func lead(_ object: ContextObject, _ relationship: Relationship, toGone tombstone: Tombstone) throws {
        let destination = registry.model.entities[relationship.destinationIndex]
        switch relationship.inverseIndex.map({ destination.relationships[$0].deleteRule }) {
        case .cascade:
            if isCreatedByThisEvent(object) { throw Stale() }
            try delete([object], at: tombstone.time)
        case .deny:
            throw EventFailure(
                code: "reference.deleted",
                "\(relationship.name) refers to a deleted \(destination.name), whose deletion the rule 'deny' would have "
                    + "refused; send the \(destination.name) again first")
        case .nullify, .noAction, nil:
            try setDestination(nil, relationship, of: object)
        }
    }

    /// Tells whether the event itself made the object; one that an earlier event of the chunk made is as good as stored.
    private func isCreatedByThisEvent(_ object: ContextObject) -> Bool {
        journal.contains {
            if case .created(let created, _) = $0 { return created === object }
            return false
        }
    }

    /// Leads a to-one relationship to another object and keeps its inverse true.
    func setDestination(_ destination: ContextObject?, _ relationship: Relationship, of object: ContextObject) throws {
        guard case .column(let slot) = relationship.storage else { return }
        let old = object.state.values[slot]
        let new: Value = destination.map { .integer($0.pk) } ?? .null
        if old == new { return }
        willChange(object)
        object.state.values[slot] = new
        guard let inverse = inverse(of: relationship) else { return }
        if case .column(let inverseSlot) = inverse.storage {
            try exchangePartners(of: object, relationship, inverseSlot, old: old, new: destination)
            return
        }
        if let destination {
            let key = ObjectRegistry.LinkKey(
                entity: destination.entity.index, relationship: inverse.index, pk: destination.pk)
            registry.noteMember(object.pk, of: key)
            if inverse.hasCountLimits { countChecks.append((destination, inverse)) }
        }
        if inverse.minimumCount > 0, case .integer(let pk) = old,
            let previous = try registry.object(entity: relationship.destinationIndex, pk: pk)
        {
            countChecks.append((previous, inverse))
        }
    }

    /// Keeps a one-to-one relationship mutual: whoever held either end before lets go of it.
    private func exchangePartners(
        of object: ContextObject, _ relationship: Relationship, _ inverseSlot: Int, old: Value, new: ContextObject?
    ) throws {
        guard case .column(let slot) = relationship.storage else { return }
        if case .integer(let pk) = old,
            let previous = try registry.object(entity: relationship.destinationIndex, pk: pk),
            previous.isAlive, previous.state.values[inverseSlot] == .integer(object.pk)
        {
            willChange(previous)
            previous.state.values[inverseSlot] = .null
        }
        guard let new else { return }
        if case .integer(let pk) = new.state.values[inverseSlot], pk != object.pk,
            let rival = try registry.object(entity: object.entity.index, pk: pk), rival.isAlive
        {
            willChange(rival)
            rival.state.values[slot] = .null
        }
        willChange(new)
        new.state.values[inverseSlot] = .integer(object.pk)
    }

    func inverse(of relationship: Relationship) -> Relationship? {
        relationship.inverseIndex.map { registry.model.entities[relationship.destinationIndex].relationships[$0] }
    }

    func link(_ object: ContextObject, _ relationship: Relationship, _ destination: ContextObject) throws {
        switch relationship.storage {
        case .column: return
        case .inverseColumn:
            if let inverse = inverse(of: relationship) { try setDestination(object, inverse, of: destination) }
        case .join(let table, let isOwner):
            try setPair(true, table: table, isOwner: isOwner, object, relationship, destination)
        }
    }

    func unlink(_ object: ContextObject, _ relationship: Relationship, _ destination: ContextObject) throws {
        switch relationship.storage {
        case .column: return
        case .inverseColumn(let slot):
            if destination.state.values[slot] == .integer(object.pk), let inverse = inverse(of: relationship) {
                try setDestination(nil, inverse, of: destination)
            }
        case .join(let table, let isOwner):
            try setPair(false, table: table, isOwner: isOwner, object, relationship, destination)
        }
    }

    private func setPair(
        _ isLinked: Bool, table: Int, isOwner: Bool, _ object: ContextObject, _ relationship: Relationship,
        _ destination: ContextObject
    ) throws {
        let (owner, other) = isOwner ? (object, destination) : (destination, object)
        var wanted = [Pair(owner: owner.pk, destination: other.pk)]
        // A relationship that is its own inverse keeps each link in both directions.
        if registry.pairs[table].join.isOwnInverse, owner.pk != other.pk {
            wanted.append(Pair(owner: other.pk, destination: owner.pk))
        }
        for pair in wanted {
            let state = try registry.pairState(pair, table: table, isNew: owner.isNew || other.isNew)
            if state.current == isLinked { continue }
            journal.append(.pair(table: table, pair, wasLinked: state.current))
            registry.pairs[table].set(pair, isLinked)
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

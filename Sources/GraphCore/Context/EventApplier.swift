/// Applies events to the objects in memory, one after the other, each whole or not at all.
///
/// The result does not depend on where chunks begin and end: every event is checked when it is applied, as if it were
/// saved alone.
package final class EventApplier {
    package let registry: ObjectRegistry
    package let validators: Validators
    // Debug builds check the accesses to what every event uses, release builds do not: see ``ContextObject``.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    package var journal: [JournalEntry] = []
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    private var eventNumber = 0
    /// The conflicts of the applied events that a policy resolved, until they are saved.
    package var notes: [ConflictNote] = []
    private var notesBefore = 0
    /// How many placeholders there were before the event.
    private var placeholdersBefore = 0
    /// The objects whose relationships with count limits the event changed.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    var countChecks: [(object: ContextObject, relationship: Relationship)] = []
    /// The rules that the event breaks, as far as they are known.
    #if !DEBUG
    @exclusivity(unchecked)
    #endif
    package var failures = ValidationFailures()
    var failedRules: Set<FailedRule> = []

    package enum JournalEntry {
        case state(ContextObject, ContextObject.State)
        case created(ContextObject, replaced: ContextObject?)
        case pair(table: Int, Pair, JoinTableRegistry.State)
        case entity(ContextObject, Entity)
        case tombstone(entity: Int, identity: Value, ObjectRegistry.TombstoneEntry?)
    }

    init(registry: ObjectRegistry, validators: Validators? = nil) {
        self.registry = registry
        self.validators = validators ?? .none(registry.model)
    }

    /// Applies an event.
    ///
    /// - Throws: ``LargeDeletion`` where a deletion has to be carried out in the store (nothing was changed then), or
    ///   ``StoreError``.
    package func apply(_ event: ChangeSet) throws -> EventOutcome {
        begin()
        do {
            let isCurrent = try event.eventEnds.isEmpty ? applyOne(event.operations[...]) : applySeveral(event)
            if !isCurrent { return .stale }
            try validateTouched()
            return .applied
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
    package func begin() {
        eventNumber += 1
        placeholdersBefore = registry.placeholderCount
        notesBefore = notes.count
        journal.removeAll(keepingCapacity: true)
        countChecks.removeAll(keepingCapacity: true)
        if failures.isEmpty { return }
        failures = ValidationFailures()
        failedRules.removeAll()
    }

    /// Applies the operations of one event; returns false where it is stale.
    private func applyOne(_ operations: ArraySlice<ObjectOperation>) throws -> Bool {
        try operations.withUnsafeBufferPointer { operations in
            guard let first = operations.baseAddress, let last = operations.indices.last else { return true }
            let known = self.known(first + last)
            if isStale(first + last, known) { return false }
            if last == 0 {
                try apply(first, known)
            } else {
                for index in operations.indices {
                    // A nested object may be older than what is known of it; only the event's own object makes the event
                    // stale.
                    let known = self.known(first + index)
                    if !isStale(first + index, known) { try apply(first + index, known) }
                }
            }
            return true
        }
    }

    /// Applies each event of a record; returns false where all are stale.
    private func applySeveral(_ record: ChangeSet) throws -> Bool {
        var start = 0
        var isCurrent = false
        for end in record.eventEnds {
            if try applyOne(record.operations[start..<end]) { isCurrent = true }
            start = end
        }
        return isCurrent
    }

    private func known(_ operation: OperationPointer) -> ContextObject? {
        registry.known(operation.pointee.entity, operation.pointee.identity)
    }

    /// Applies an operation that is not stale.
    ///
    /// - Parameter known: the object of its identity, alive or not, or nil.
    private func apply(_ operation: OperationPointer, _ known: ContextObject?) throws {
        switch operation.pointee.kind {
        case .upsert: try upsert(operation, known)
        case .delete: try delete(operation.pointee, known)
        case .truncate:
            throw EventFailure(
                code: "delete.too_large",
                "The event truncates an entity besides other things; send the truncation alone")
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

    /// Notes something that undoing the event has to restore.
    package func note(_ entry: JournalEntry) { journal.append(entry) }

    func setTombstone(_ tombstone: Tombstone?, entity: Int, identity: Value) {
        let entity = registry.roots[entity]
        let known = registry.tombstones[entity][identity]
        journal.append(.tombstone(entity: entity, identity: identity, known))
        registry.tombstones[entity][identity] = ObjectRegistry.TombstoneEntry(
            stored: known?.stored, current: tombstone, isChanged: true)
    }

    package func undo() {
        registry.placeholderCount = placeholdersBefore
        notes.removeLast(notes.count - notesBefore)
        for entry in journal.reversed() {
            switch entry {
            case .state(let object, let state):
                object.state = state
            case .created(let object, let replaced):
                object.state.isVoid = true
                registry.byKey[object.entity.rootIndex][object.pk] = nil
                registry.byIdentity[object.entity.rootIndex][object.identity] = replaced
            case .pair(let table, let pair, let state):
                registry.pairs[table].set(pair, state.current)
                registry.pairs[table].setPlaces(pair, state.places)
            case .entity(let object, let entity):
                object.entity = entity
            case .tombstone(let entity, let identity, let entry):
                registry.tombstones[entity][identity] = entry
            }
        }
        journal.removeAll(keepingCapacity: true)
    }

    package func create(entity: Entity, identity: Value) -> ContextObject {
        create(entity: entity, identity: identity, replacing: registry.known(entity.index, identity))
    }

    /// - Parameter replaced: the dead object of the identity that the registry knows, or nil.
    package func create(entity: Entity, identity: Value, replacing replaced: ContextObject?) -> ContextObject {
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

    private func upsert(_ operation: OperationPointer, _ known: ContextObject?) throws {
        let entity = registry.model.entities[operation.pointee.entity]
        guard entity.mergePolicy != nil else { return try upsert(operation, entity, known) }
        // An event that mistakes the object's entity fails, even where another object holds its values.
        if let known, known.isAlive { try checkKind(of: known, entity) }
        if let passed = try meetUniqueValues(operation.pointee, entity) {
            try withUnsafePointer(to: passed) { try upsert($0, entity, self.known($0)) }
        }
    }

    private func upsert(_ operation: OperationPointer, _ entity: Entity, _ known: ContextObject?) throws {
        let object: ContextObject
        if let known, known.isAlive {
            object = known
            willChange(object)
            if object.entity !== entity { try narrow(object, to: entity) }
        } else {
            object = create(entity: entity, identity: operation.pointee.identity, replacing: known)
        }
        let isFirst = object.state.isPlaceholder
        if isFirst { try complete(object) }
        for attribute in operation.pointee.transients {
            // Nothing keeps the value; what the model forbids is an error all the same.
            let transient = entity.transientAttributes[attribute.slot]
            transient.check(attribute.value, entity: entity.name) { note($0, of: object) }
        }
        for index in operation.pointee.attributes.indices {
            let slot = operation.pointee.attributes[index].slot
            // The store computes a derived value, so no event states it.
            if slot == entity.identitySlot || entity.attributes[slot].isDerived { continue }
            let value = operation.pointee.attributes[index].value
            // Without a version any late event would apply. (A null for a required one is refused.)
            if slot == entity.versionSlot, value.isNull, !isFirst, entity.attributes[slot].isOptional { continue }
            entity.limitsBySlot[slot]?.check(value, of: entity) { note($0, of: object) }
            set(value, slot, of: object)
        }
        if let slot = entity.versionSlot, !operation.pointee.version.isNull {
            set(operation.pointee.version, slot, of: object)
        }
        if !object.entity.uniquenessConstraints.isEmpty { registry.noteUniqueValues(of: object) }
        var deletion: Tombstone?
        for index in operation.pointee.relationships.indices {
            let relationship = entity.relationships[operation.pointee.relationships[index].relationship]
            let tombstone = try apply(
                operation.pointee.relationships[index].change, to: relationship, of: object, at: operation.pointee.time)
            deletion = deletion ?? tombstone
        }
        if let deletion { try delete([object], at: deletion.time) }
    }

    /// Gives an object a value. The one that it has already copies nothing of a state that the journal holds too.
    private func set(_ value: Value, _ slot: Int, of object: ContextObject) {
        if object.state.values[slot] != value { object.state.values[slot] = value }
    }

    /// Turns a placeholder into an object of its own event: defaults are set, its tombstone is lifted.
    package func complete(_ object: ContextObject) throws(EventFailure) {
        if object.entity.isAbstract { throw abstract(object.entity) }
        object.arrive { _ in false }
        // A placeholder is exempt from counts, the object it becomes is not.
        for relationship in object.entity.countedRelationships { countChecks.append((object, relationship)) }
        if registry.tombstones[object.entity.rootIndex][object.identity]?.current != nil {
            setTombstone(nil, entity: object.entity.index, identity: object.identity)
        }
    }
}

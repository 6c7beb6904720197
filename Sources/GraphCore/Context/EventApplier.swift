/// Applies events to the objects in memory, one after the other, each whole or not at all.
///
/// The result does not depend on where chunks begin and end: every event is checked when it is applied, as if it were
/// saved alone.
package final class EventApplier {
    package let registry: ObjectRegistry
    package let validators: Validators
    package var journal: [JournalEntry] = []
    private var eventNumber = 0
    /// The conflicts of the applied events that a policy resolved, until they are saved.
    package var notes: [ConflictNote] = []
    private var notesBefore = 0
    /// How many placeholders there were before the event.
    private var placeholdersBefore = 0
    /// The objects whose relationships with count limits the event changed.
    package var countChecks: [(object: ContextObject, relationship: Relationship)] = []
    /// The rules that the event breaks, as far as they are known.
    package var failures = ValidationFailures()
    var failedRules: Set<FailedRule> = []

    package enum JournalEntry {
        case state(ContextObject, ContextObject.State)
        case created(ContextObject, replaced: ContextObject?)
        case pair(table: Int, Pair, JoinTableRegistry.State)
        case entity(ContextObject, Entity)
        case tombstone(entity: Int, identity: Value, ObjectRegistry.TombstoneEntry?)
    }

    package init(registry: ObjectRegistry, validators: Validators? = nil) {
        self.registry = registry
        self.validators = validators ?? .none(registry.model)
    }

    /// Applies an event.
    ///
    /// - Parameter first: the number of its first operation in the chunk.
    /// - Throws: ``LargeDeletion`` where a deletion has to be carried out in the store (nothing was changed then), or
    ///   ``StoreError``.
    func apply(_ event: PackedEvent, from first: Int) throws -> EventOutcome {
        begin()
        do {
            let isCurrent =
                try event.ends.isEmpty ? applyOne(event.operations, from: first) : applySeveral(event, first)
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
        // Emptying a short list as a whole takes longer.
        while journal.popLast() != nil {}
        if !countChecks.isEmpty { countChecks.removeAll(keepingCapacity: true) }
        if failures.isEmpty { return }
        failures = ValidationFailures()
        failedRules.removeAll()
    }

    /// Forgets the last event, which is not undone any more.
    func forget() {
        journal.removeAll(keepingCapacity: true)
        countChecks.removeAll(keepingCapacity: true)
    }

    /// Applies the operations of one event; returns false where it is stale.
    private func applyOne(_ operations: UnsafeBufferPointer<PackedOperation>, from number: Int) throws -> Bool {
        guard let first = operations.baseAddress, let last = operations.indices.last else { return true }
        let places = registry.names[number + last]
        let known = known(first + last, places)
        if isStale(first + last, places, known) { return false }
        if last == 0 {
            try apply(first, places, known)
        } else {
            for index in operations.indices {
                // A nested object may be older than its known version; only the event's own object makes the event stale.
                let places = registry.names[number + index]
                let known = self.known(first + index, places)
                if !isStale(first + index, places, known) { try apply(first + index, places, known) }
            }
        }
        return true
    }

    /// Applies each event of a record; returns false where all are stale.
    private func applySeveral(_ record: PackedEvent, _ first: Int) throws -> Bool {
        var start = 0
        var isCurrent = false
        for end in record.ends {
            let operations = UnsafeBufferPointer(rebasing: record.operations[start..<end])
            if try applyOne(operations, from: first + start) { isCurrent = true }
            start = end
        }
        return isCurrent
    }

    private func known(_ operation: OperationPointer, _ places: UnsafePointer<Int32>) -> ContextObject? {
        registry.byIdentity[registry.roots[operation.pointee.entity]].object(at: Int(places[0]))
    }

    /// Applies an operation that is not stale.
    ///
    /// - Parameters:
    ///   - places: the places of the identities that it names.
    ///   - known: the object of its identity, alive or not, or nil.
    private func apply(
        _ operation: OperationPointer, _ places: UnsafePointer<Int32>, _ known: ContextObject?
    ) throws {
        switch operation.pointee.kind {
        case .upsert: try upsert(operation, places, known)
        case .delete: try delete(operation, known)
        case .truncate:
            throw EventFailure(
                code: "delete.too_large",
                "The event truncates an entity besides other things; send the truncation alone")
        }
    }

    // MARK: Journal

    /// Notes an object's state before the event's first change to it.
    package func willChange(_ object: ContextObject) {
        if object.journaledBy == eventNumber { return }
        object.journaledBy = eventNumber
        journal.append(.state(object, object.snapshot()))
        registry.list(object)
    }

    /// Notes something that undoing the event has to restore.
    package func note(_ entry: JournalEntry) { journal.append(entry) }

    package func setTombstone(_ tombstone: Tombstone?, entity: Int, identity: Value) {
        let entity = registry.roots[entity]
        let known = registry.byIdentity[entity].tombstone(of: identity)
        journal.append(.tombstone(entity: entity, identity: identity, known))
        registry.byIdentity[entity].setTombstone(
            ObjectRegistry.TombstoneEntry(stored: known?.stored, current: tombstone, isChanged: true), of: identity)
    }

    package func undo() {
        registry.placeholderCount = placeholdersBefore
        notes.removeLast(notes.count - notesBefore)
        for entry in journal.reversed() {
            switch entry {
            case .state(let object, let state):
                object.restore(state)
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
                registry.byIdentity[entity].setTombstone(entry, of: identity)
            }
        }
        journal.removeAll(keepingCapacity: true)
    }

    package func create(entity: Entity, identity: Value) -> ContextObject {
        let replaced = registry.known(entity.index, identity)
        let object = registry.makeObject(entity: entity, identity: identity)
        noteCreated(object, replaced: replaced)
        return object
    }

    /// - Parameters:
    ///   - place: the place of the identity.
    ///   - replaced: the dead object of the identity that the registry knows, or nil.
    func create(
        entity: Entity, identity: PackedValue, at place: Int, replacing replaced: ContextObject?
    ) -> ContextObject {
        let object = registry.makeObject(entity: entity, identity: identity, at: place)
        noteCreated(object, replaced: replaced)
        return object
    }

    /// Notes that the event made an object.
    package func noteCreated(_ object: ContextObject, replaced: ContextObject? = nil) {
        object.journaledBy = eventNumber
        journal.append(.created(object, replaced: replaced))
    }

    // MARK: Upsert

    private func upsert(
        _ operation: OperationPointer, _ places: UnsafePointer<Int32>, _ known: ContextObject?
    ) throws {
        let entity = registry.model.entities[operation.pointee.entity]
        guard let policy = entity.mergePolicy.flatMap({ MergePolicy(named: $0) }) else {
            return try upsert(operation, places, entity, known)
        }
        // An event that mistakes the object's entity fails, even where another object holds its values.
        if let known, known.isAlive { try checkKind(of: known, entity) }
        switch try meetUniqueValues(operation.pointee, entity, policy) {
        case .unchanged: try upsert(operation, places, entity, known)
        case .refused: break
        case .changed(let passed):
            let packed = PackedEvents([ChangeSet(passed)], registry.model)
            let names = OperationNames()
            defer { withExtendedLifetime((packed, names)) {} }
            guard let passed = packed.events.first?.operations.baseAddress else { return }
            // It may name other objects.
            _ = registry.name(passed, in: names)
            try upsert(passed, names[0], entity, self.known(passed, names[0]))
        }
    }

    private func upsert(
        _ operation: OperationPointer, _ places: UnsafePointer<Int32>, _ entity: Entity, _ known: ContextObject?
    ) throws {
        let object: ContextObject
        if let known, known.isAlive {
            object = known
            // An object that stays as it is needs no note; a program's checks are asked about it all the same.
            if object.state.isPlaceholder || !validators.isEmpty { willChange(object) }
            if object.entity !== entity { try narrow(object, to: entity) }
        } else {
            object = create(
                entity: entity, identity: operation.pointee.identity, at: Int(places[0]), replacing: known)
        }
        let isFirst = object.state.isPlaceholder
        if isFirst { try complete(object, at: Int(places[0])) }
        for attribute in operation.pointee.transients {
            // Nothing keeps the value; a value that the model forbids is an error all the same.
            let transient = entity.transientAttributes[attribute.slot]
            transient.check(attribute.value.value, entity: entity.name) { note($0, of: object) }
        }
        for attribute in operation.pointee.attributes {
            let slot = attribute.slot
            // The store computes a derived value, so no event states it.
            if slot == entity.identitySlot || entity.attributes[slot].isDerived { continue }
            // Without a version any late event would apply. (A null for a required one is refused.)
            if slot == entity.versionSlot, attribute.value.isNull, !isFirst, entity.attributes[slot].isOptional {
                continue
            }
            if !attribute.isWithinLimits {
                entity.limitsBySlot[slot]?.check(attribute.value.value, of: entity) { note($0, of: object) }
            }
            set(attribute.value, slot, of: object)
        }
        if let slot = entity.versionSlot, !operation.pointee.version.isNull {
            set(operation.pointee.version, slot, of: object)
        }
        if !object.entity.uniquenessConstraints.isEmpty { registry.noteUniqueValues(of: object) }
        try applyRelationships(operation, places + 1, entity, object)
    }

    private func applyRelationships(
        _ operation: OperationPointer, _ places: UnsafePointer<Int32>, _ entity: Entity, _ object: ContextObject
    ) throws {
        var places = places
        var deletion: Tombstone?
        var lost: [ContextObject] = []
        for link in operation.pointee.links {
            let relationship = entity.relationships[link.relationship]
            if link.deletesLost { lost += try self.lost(link.change, relationship, object) }
            let tombstone = try apply(
                link.change, &places, to: relationship, of: object, at: operation.pointee.time)
            deletion = deletion ?? tombstone
        }
        if !lost.isEmpty { try deleteLost(lost, at: operation.pointee.time) }
        if let deletion { try delete([object], at: deletion.time) }
    }

    /// Gives an object a value; the one that it has already changes nothing.
    private func set(_ value: PackedValue, _ slot: Int, of object: ContextObject) {
        if object.state.values.packed(slot) == value { return }
        willChange(object)
        object.set(value, at: slot)
    }

    /// Turns a placeholder into an object of its own event: defaults are set, its tombstone is lifted.
    ///
    /// - Parameter place: the place of its identity, where it is known.
    package func complete(_ object: ContextObject, at place: Int? = nil) throws(EventFailure) {
        if object.entity.isAbstract { throw abstract(object.entity) }
        object.arrive { _ in false }
        // A placeholder is exempt from counts, the object it becomes is not.
        for relationship in object.entity.countedRelationships { countChecks.append((object, relationship)) }
        let identities = registry.byIdentity[object.entity.rootIndex]
        if !identities.hasTombstones { return }
        let tombstone = place.map { identities.tombstone(at: $0) } ?? identities.tombstone(of: object.identity)
        if tombstone?.current != nil {
            setTombstone(nil, entity: object.entity.index, identity: object.identity)
        }
    }
}

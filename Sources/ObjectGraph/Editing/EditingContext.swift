import Foundation
import GraphCore

/// A scratch pad of objects: read, change, insert and delete them, then save all of it or none.
///
/// The counterpart of Core Data's NSManagedObjectContext. Contexts of one process save through one ``WriterContext``,
/// and so share its lease. Each has its own objects and snapshots. It sees the others' changes when it
/// saves or refreshes. A context is confined to the isolation that made it.
///
/// Memory: a context holds all rows that it has read until the next ``save()``, ``rollback()`` or ``refreshAll()``. Then the
/// rows remain whose ``ManagedObject`` the program holds. After ``reset()`` none remain.
public final class EditingContext {
    /// How a context works.
    public struct Options {
        /// The author of saves, for the history; nil for the writer's author.
        public var author: String?
        /// The context's name, for the history and the notes of conflicts.
        public var name: String?
        /// The policy where others changed the same objects, and neither the entity nor ``mergePolicies`` has one.
        public var mergePolicy = MergePolicy.error
        /// Policies by the names of entities; they go before the model's policies.
        public var mergePolicies: [String: MergePolicy] = [:]
        /// The number of groups of changes that can be undone; 0 for no undo.
        public var undoLevels = 100
        /// The number of objects that one deletion may reach in memory.
        public var maximumDeletionCount = 10_000
        /// The hooks around the objects' life.
        public var hooks = EditingHooks()

        /// Makes options with their defaults.
        public init() {}
    }

    /// The writer that saves the context's changes.
    public let writer: WriterContext
    /// How the context works; may be changed at any time.
    public var options: Options {
        didSet { registry.setDeletionThreshold = options.maximumDeletionCount }
    }
    package let registry: ObjectRegistry
    let applier: EventApplier
    private var handles = HandleTable()

    /// The unsaved changes besides the registry's objects.
    package struct Pending {
        /// The objects to delete, before the delete rules are applied to them.
        package var deletions: [ObjectKey] = []
        /// The deleted objects with the reason for each, once the delete rules are applied.
        package var deleted = DeletionOrigins()
        var countChecks: [CountCheck] = []
    }

    struct CountCheck {
        let object: ObjectKey
        let relationship: Relationship
    }

    package var pending = Pending()
    var undoStack = UndoStack()
    /// The refusals of typed objects' properties that are not settled yet.
    var refusals = Refusals()
    /// Counts edits, so that hooks are known to have changed nothing.
    var editCount = 0

    /// The model of the context's store.
    public var model: ObjectModel { registry.model }

    /// Makes a context that reads a writer's store and saves through the writer.
    ///
    /// - Throws: ``StoreError`` where the store cannot be read.
    public init(_ writer: WriterContext, options: Options = Options()) throws(StoreError) {
        self.writer = writer
        self.options = options
        registry = ObjectRegistry(
            try writer.store.storage.makeRowReader(), model: writer.store.model,
            setDeletionThreshold: options.maximumDeletionCount, keepsObjectsApart: true)
        registry.nextKeys = registry.roots.map { _ in ManagedObjectID.firstTemporaryKey }
        applier = EventApplier(registry: registry)
    }

    // MARK: Objects

    /// Returns the handle of an object, the same one as long as somebody holds it.
    package func handle(_ id: ManagedObjectID) -> ManagedObject {
        if let known = handles[id.key] { return known }
        let made = ManagedObject(context: self, id: id)
        handles.add(made)
        return made
    }

    package func handle(_ object: ContextObject) -> ManagedObject { handle(ManagedObjectID(object)) }

    /// Returns the handle of an object, if somebody holds it.
    func heldObject(_ id: ManagedObjectID) -> ManagedObject? { handles[id.key] }

    /// Returns the handles that somebody holds.
    func heldObjects() -> [ManagedObject] { handles.held() }

    /// Forgets all handles but these, that were held before, under the ids that they have now.
    func keepHandles(_ objects: [ManagedObject]) { handles.keep(objects) }

    /// Returns an object's row, reading it where the object is a fault.
    package func row(of object: ManagedObject) throws -> ContextObject {
        if object.context !== self {
            throw EditingError(
                .otherContext, "The object \(object.objectID) belongs to another context; pass its objectID instead")
        }
        let id = object.objectID
        if let known = registry.known(id.entityIndex, pk: id.pk) {
            if known.state.isVoid { throw EditingError.gone(id) }
            object.isOf(known.entity)
            object.deletedRow = nil
            return known
        }
        if let deleted = object.deletedRow { return deleted }
        if id.isTemporary { throw EditingError.gone(id) }
        try registry.load(
            entity: id.entityIndex, primaryKeys: object.batch.map { Array($0.neighbours(of: id.pk)) } ?? [id.pk])
        object.batch = nil
        guard let found = registry.known(id.entityIndex, pk: id.pk) else { throw EditingError.gone(id) }
        object.isOf(found.entity)
        return found
    }

    /// Returns an object's row in order to change it.
    func changeableRow(of object: ManagedObject) throws -> ContextObject {
        let row = try row(of: object)
        if !row.isAlive || row === object.deletedRow { throw EditingError.gone(object.objectID) }
        return row
    }

    /// Inserts a new object with its defaults and, where given, values of properties; or nothing, where one of them or
    /// the hook fails.
    ///
    /// - Parameters:
    ///   - entity: the entity's name, in any case of letters.
    ///   - identity: what addresses the object; nil for a new UUID, where the identity is a uuid or a text. It cannot be
    ///     changed later.
    ///   - values: by the properties' names; a relationship takes an object, or an array of objects.
    /// - Throws: ``EditingError``: `editing.unknown_entity`, `editing.unknown_property`, `editing.type`; what the hook
    ///   throws.
    @discardableResult
    public func insert(
        _ entity: String, identity: (any PropertyValue)? = nil, _ values: [String: (any PropertyValue)?] = [:]
    ) throws -> ManagedObject {
        guard let entity = model.entity(matching: entity) else { throw EditingError.unknownEntity(entity, model) }
        if entity.isAbstract {
            throw EditingError(
                .unknownEntity,
                "\(entity.name) is abstract: there are objects of its sub-entities only; insert one of those")
        }
        let given = identity ?? values[entity.identity.name] ?? entity.identity.generatedIdentity
        guard let identity = given.flatMap({ entity.identity.type.value(given: $0) }), !identity.isNull else {
            throw EditingError(
                .type, "A new \(entity.name) needs an identity: \(entity.identity.type.expectation)")
        }
        let named = values.filter { $0.key != entity.identity.name }.sorted { $0.key < $1.key }
        // All problems are reported before anything is made.
        let stored = try named.filter { entity.relationship(named: $0.key) == nil }.map {
            let attribute = try entity.attributeToSet($0.key)
            return (attribute, try storedValue($0.value, of: attribute, entity))
        }
        let links = try named.compactMap { name, value in
            try entity.relationship(named: name).map { ($0, try linkedObjects(value, $0, entity)) }
        }
        return try wholeOrNothing {
            let object = try insert(entity, identity)
            for (attribute, value) in stored { try assign(value, to: attribute, of: try changeableRow(of: object)) }
            for (relationship, objects) in links { try link(object, relationship, to: objects) }
            return object
        }
    }

    private func insert(_ entity: Entity, _ identity: Value) throws -> ManagedObject {
        var made: ContextObject?
        try perform {
            let object = applier.create(entity: entity, identity: identity)
            try applier.complete(object)
            made = object
        }
        guard let made else { throw EditingError.unknownEntity(entity.name, model) }
        let object = handle(made)
        try options.hooks.awakeFromInsert?(object)
        return object
    }

    /// Returns the object of an id as a fault, without asking the store.
    ///
    /// - Throws: ``EditingError`` with code `editing.unknown_entity` where the id is of another model.
    public func object(with id: ManagedObjectID) throws -> ManagedObject {
        guard id.entityIndex < model.entities.count, model.entities[id.entityIndex].name == id.entity else {
            throw EditingError.unknownEntity(id.entity, model)
        }
        return handle(id)
    }

    /// Returns the object that an identity addresses, one that is not saved included, or nil.
    ///
    /// - Throws: ``EditingError``: `editing.unknown_entity`, `editing.type`; ``StoreError``.
    public func object(_ entity: String, identity: any PropertyValue) throws -> ManagedObject? {
        guard let entity = model.entity(matching: entity) else { throw EditingError.unknownEntity(entity, model) }
        guard let identity = entity.identity.type.value(given: identity) else {
            throw EditingError(
                .type, "The identity of \(entity.name) is none of its type: \(entity.identity.type.expectation)")
        }
        if let known = registry.known(entity.index, identity), known.isAlive {
            return known.entity.isKind(of: entity) ? handle(known) : nil
        }
        var found: ContextObject?
        try registry.reader.row(of: entity.index, identity: identity) {
            let object = registry.register($0)
            if object.isAlive, object.entity.isKind(of: entity) { found = object }
        }
        return found.map(handle)
    }

    // MARK: Changes

    /// Carries out an edit: whole or not at all, and so that it can be undone.
    package func perform(_ body: () throws -> Void) throws {
        let before = pending
        do {
            let entries = try applier.edit(body)
            for check in applier.countChecks {
                pending.countChecks.append(
                    CountCheck(object: ObjectKey(check.object), relationship: check.relationship))
            }
            editCount += 1
            undoStack.record(entries, before: before, levels: options.undoLevels)
        } catch {
            pending = before
            throw EditingError.of(error)
        }
    }

    /// Makes an object one of its own: a placeholder that a program changes is complete.
    private func touch(_ row: ContextObject) throws {
        applier.willChange(row)
        if row.state.isPlaceholder { try applier.complete(row) }
    }

    package func set(_ name: String, _ value: (any PropertyValue)?, of object: ManagedObject) throws {
        let row = try changeableRow(of: object)
        if let relationship = row.entity.relationship(named: name) {
            return try link(object, relationship, to: try linkedObjects(value, relationship, row.entity))
        }
        let attribute = try row.entity.attributeToSet(name)
        try assign(try storedValue(value, of: attribute, row.entity), to: attribute, of: row)
        refusals.settle(attribute.name, of: object)
    }

    private func assign(_ stored: Value, to attribute: Attribute, of row: ContextObject) throws {
        if attribute.isTransient { return try hold(stored, attribute.slot, row) }
        let isKnown = !row.isNew || row.state.assignedSlots.contains(attribute.slot)
        // An equal value is no change: a hook may set the value that is there already.
        if row.state.values[attribute.slot] == stored, isKnown, !row.state.isPlaceholder { return }
        try perform {
            try touch(row)
            note(attribute.slot, of: row)
            row[attribute.slot] = stored
        }
    }

    private func storedValue(
        _ value: (any PropertyValue)?, of attribute: Attribute, _ entity: Entity
    ) throws(EditingError) -> Value {
        if attribute.isDerived || !attribute.isTransient && attribute.slot == entity.identitySlot {
            throw EditingError(
                .readOnly,
                attribute.isDerived
                    ? "\(entity.name).\(attribute.name) is computed by the store and cannot be set"
                    : "\(entity.name).\(attribute.name) addresses the object and cannot be changed; insert another")
        }
        guard let stored = attribute.type.value(given: value) else {
            throw .wrongType("\(entity.name).\(attribute.name)", attribute.type.expectation, given: value)
        }
        return stored
    }

    /// Holds a value that no save writes; it can be undone like others.
    private func hold(_ value: Value, _ slot: Int, _ row: ContextObject) throws {
        if row.state.transients[slot] == value { return }
        try perform {
            applier.willChange(row)
            row.state.transients[slot] = value
        }
    }

    private func note(_ slot: Int, of row: ContextObject) {
        if row.isNew { row.state.assignedSlots.insert(slot) }
    }

    package func lead(_ object: ManagedObject, _ relationship: Relationship, to destination: ManagedObject?) throws {
        let row = try changeableRow(of: object)
        let target = try destination.map { try self.destination($0, relationship) }
        try perform {
            try touch(row)
            if let slot = relationship.slot { note(slot, of: row) }
            try applier.setDestination(target, relationship, of: row)
        }
        refusals.settle(relationship.name, of: object)
    }

    package func add(_ destination: ManagedObject, to relationship: Relationship, of object: ManagedObject) throws {
        let row = try changeableRow(of: object)
        let target = try self.destination(destination, relationship)
        try perform {
            try touch(row)
            try applier.link(row, relationship, target)
        }
    }

    package func remove(_ destination: ManagedObject, from relationship: Relationship, of object: ManagedObject) throws
    {
        let row = try changeableRow(of: object)
        let target = try self.row(of: destination)
        // Its links went with it.
        if target === destination.deletedRow { return }
        try checkKind(of: target, relationship)
        try perform {
            try touch(row)
            try applier.unlink(row, relationship, target)
        }
    }

    package func replace(_ relationship: Relationship, of object: ManagedObject, with destinations: [ManagedObject])
        throws
    {
        let row = try changeableRow(of: object)
        let targets = try destinations.map { try destination($0, relationship) }
        let wanted = Set(targets.map(\.pk))
        let old = try currentDestinations(of: row, relationship)
        try perform {
            try touch(row)
            for other in old where !wanted.contains(other.pk) { try applier.unlink(row, relationship, other) }
            for target in targets { try applier.link(row, relationship, target) }
            if relationship.isOrdered { try applier.order(row, relationship, targets) }
        }
        refusals.settle(relationship.name, of: object)
    }

    func currentDestinations(of row: ContextObject, _ relationship: Relationship) throws -> [ContextObject] {
        do {
            return try registry.destinations(
                of: row, relationship,
                readingAtMost: max(options.maximumDeletionCount, registry.maximumListedDestinations))
        } catch is ObjectRegistry.TooManyDestinations {
            throw EditingError(
                .tooLarge,
                "\(row.entity.name).\(relationship.name) has too many objects to be listed; fetch them by a request with a "
                    + "limit instead")
        }
    }

    package func destinations(of object: ManagedObject, _ relationship: Relationship) throws -> [ManagedObject] {
        let found = try currentDestinations(of: try row(of: object), relationship)
        return (relationship.isOrdered ? found : found.sorted { $0.pk < $1.pk }).map(handle)
    }

    /// Marks an object for deletion; the delete rules are applied by ``processPendingChanges()`` or the save.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func delete(_ object: ManagedObject) throws {
        // No save lacks the values that a deleted object refused, also where another context deleted it.
        refusals.settle(object)
        let row = try row(of: object)
        if row === object.deletedRow { return }
        let key = ObjectKey(row)
        if !row.isAlive || pending.deletions.contains(key) { return }
        try perform { pending.deletions.append(key) }
    }
}

extension Entity {
    /// Returns the attribute of a name, transient ones too.
    func attributeToSet(_ name: String) throws(EditingError) -> Attribute {
        guard let attribute = attribute(named: name) ?? transientAttribute(named: name) else {
            throw EditingError.unknownProperty(name, "attribute", self)
        }
        return attribute
    }
}

extension Attribute {
    /// A new identity, or nil where the type has none that is sure to be unique.
    var generatedIdentity: Value? {
        switch type {
        case .uuid: Value(UUID())
        case .string: .text(UUID().uuidString.lowercased())
        default: nil
        }
    }
}

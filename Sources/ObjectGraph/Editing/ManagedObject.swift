import GraphCore

/// An object of an ``EditingContext``: a handle by which its properties are read and set.
///
/// An object whose row is not in memory is a *fault*. Its first use reads the row, and the rows of other faults of the
/// same fetch. Use an object only where its context is used, and pass ``objectID`` elsewhere.
public final class ManagedObject {
    /// The context that the object belongs to.
    public let context: EditingContext
    /// The object's name in the store; temporary until its first save.
    public internal(set) var objectID: ManagedObjectID
    package var batch: FaultBatch?
    /// The row as it was last known, where the context has taken up that another writer deleted it.
    var deletedRow: ContextObject?
    /// The typed view on the object, as long as somebody holds it.
    weak var view: (any ObjectView)?

    init(context: EditingContext, id: ManagedObjectID) {
        self.context = context
        objectID = id
    }

    /// The object's own entity; of a fault, as far as it is known.
    public var entity: Entity { (known ?? deletedRow)?.entity ?? context.model.entities[objectID.entityIndex] }

    /// Notes that the object is of a more special entity than was known.
    package func isOf(_ entity: Entity) {
        if objectID.entityIndex != entity.index { objectID = ManagedObjectID(entity, objectID.pk) }
    }

    // MARK: State

    /// Tells whether the object's values are still to be read.
    public var isFault: Bool { known == nil && deletedRow == nil }
    /// Tells whether the next save inserts the object.
    public var isInserted: Bool { known.map { $0.isNew && $0.isAlive } ?? false }
    /// Tells whether the next save changes the object.
    public var isUpdated: Bool { known.map { !$0.isNew && $0.isAlive && context.isChanged($0) } ?? false }
    /// Tells whether the next save deletes the object, or the context has taken up that another writer did.
    public var isDeleted: Bool { known.map { context.willBeDeleted($0) } ?? (deletedRow != nil) }
    /// Tells whether the object has changes that are not saved.
    public var hasChanges: Bool { isInserted || isUpdated || known != nil && isDeleted }
    /// Tells whether the object was mentioned, but has not arrived; setting a property completes it.
    public var isPlaceholder: Bool { get throws { try context.row(of: self).state.isPlaceholder } }

    private var known: ContextObject? { context.registry.known(objectID.entityIndex, pk: objectID.pk) }

    /// The object's identity in stored form.
    ///
    /// - Throws: ``EditingError`` with code `editing.object_gone`; ``StoreError``.
    public var identity: Value { get throws { try context.row(of: self).identity } }

    /// The values that differ from those last read or saved: attributes, and the identities of to-one destinations.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func changedValues() throws -> [String: Value] {
        let row = try context.row(of: self)
        return try context.values(of: row, row.state.values, slots: context.changedSlots(row))
    }

    /// The values last read or saved, or those a new object began with; of properties that can be set, without to-many.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func committedValues() throws -> [String: Value] {
        let row = try context.row(of: self)
        var named = try context.values(of: row, row.original, slots: row.entity.editableSlots)
        named[row.entity.identity.name] = row.identity
        return named
    }

    // MARK: Attributes

    /// An attribute's value in stored form; of a derived one, as the store last had it; of a transient one, as this
    /// context has it.
    ///
    /// - Throws: ``EditingError`` with code `editing.unknown_property` or `editing.object_gone`; ``StoreError``.
    public subscript(name: String) -> Value {
        get throws {
            let row = try context.row(of: self)
            if let attribute = row.entity.attribute(named: name) { return row.state.values[attribute.slot] }
            guard let attribute = row.entity.transientAttribute(named: name) else {
                throw EditingError.unknownProperty(name, "attribute", row.entity)
            }
            return row.state.transients[attribute.slot] ?? attribute.defaultValue
        }
    }

    /// Returns a property's value as a Swift type; nil where it has none.
    ///
    ///     let date = try message.value("sentAt", as: Date.self)
    ///
    /// - Throws: as the subscript; `editing.type` where the attribute's values are none of the type.
    public func value<Content: AttributeValue>(_ name: String, as type: Content.Type) throws -> Content? {
        let stored = try self[name]
        guard let attribute = entity.attribute(named: name) ?? entity.transientAttribute(named: name) else {
            throw EditingError.unknownProperty(name, "attribute", entity)
        }
        return try attribute.type.read(stored, as: type, property: "\(entity.name).\(name)")
    }

    /// Sets a property; nil clears it. A text is read as the attribute's type, so a date may be `"2026-01-02"`.
    /// A to-one relationship takes an object, a to-many one an array of objects.
    ///
    /// Limits are checked when the context saves. The context holds a transient attribute until the object is
    /// refreshed or released. No save writes it, and setting it is no change.
    ///
    /// - Throws: ``EditingError`` with code `editing.unknown_property`, `editing.read_only` for identities and derived
    ///   attributes, `editing.type`, `editing.object_gone`; ``StoreError``.
    public func set(_ name: String, _ value: (any PropertyValue)?) throws { try context.set(name, value, of: self) }

    // MARK: Relationships

    /// Returns the destination of a to-one relationship, or nil.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func object(_ name: String) throws -> ManagedObject? {
        try context.destinations(of: self, try relationship(name, isToMany: false)).first
    }

    /// Returns the destinations of a to-many relationship: in their order where it is ordered, else by primary key.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func objects(_ name: String) throws -> [ManagedObject] {
        try context.destinations(of: self, try relationship(name, isToMany: true))
    }

    /// Leads a to-one relationship to an object, or nowhere; the inverse follows at once.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func setObject(_ name: String, _ object: ManagedObject?) throws {
        try context.lead(self, try relationship(name, isToMany: false), to: object)
    }

    /// Replaces the destinations of a to-many relationship; the inverses follow at once.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func setObjects(_ name: String, _ objects: [ManagedObject]) throws {
        try context.replace(try relationship(name, isToMany: true), of: self, with: objects)
    }

    /// Adds a destination to a to-many relationship; the inverse follows at once.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func add(_ object: ManagedObject, to name: String) throws {
        try context.add(object, to: try relationship(name, isToMany: true), of: self)
    }

    /// Puts a destination at a place of an ordered relationship, counted without it; the inverse follows at once.
    ///
    /// - Parameters:
    ///   - object: the destination.
    ///   - name: the relationship's name.
    ///   - index: 0 for the first place; a place behind the last is the last.
    /// - Throws: ``EditingError``, with code `editing.type` where the relationship has no order; ``StoreError``.
    public func insert(_ object: ManagedObject, into name: String, at index: Int) throws {
        let relationship = try relationship(name, isToMany: true)
        guard relationship.isOrdered else {
            throw EditingError(.type, "\(entity.name).\(name) has no order; add the object instead")
        }
        var objects = try context.destinations(of: self, relationship).filter { $0.objectID != object.objectID }
        objects.insert(object, at: min(max(0, index), objects.count))
        try context.replace(relationship, of: self, with: objects)
    }

    /// Removes a destination from a to-many relationship; the inverse follows at once.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func remove(_ object: ManagedObject, from name: String) throws {
        try context.remove(object, from: try relationship(name, isToMany: true), of: self)
    }

    private func relationship(_ name: String, isToMany: Bool) throws -> Relationship {
        let entity = try context.row(of: self).entity
        guard let found = entity.relationship(named: name), found.isToMany == isToMany else {
            throw EditingError.unknownProperty(name, isToMany ? "to-many relationship" : "to-one relationship", entity)
        }
        return found
    }
}

/// The objects of one fetch, so that touching a fault reads its neighbours too.
package final class FaultBatch {
    /// The most objects that are read at once.
    static let maximumSize = 512

    let pks: [Int64]
    package let size: Int
    private let positions: [Int64: Int]

    init(pks: [Int64], size: Int) {
        self.pks = pks
        self.size = size
        positions = Dictionary(pks.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the keys that are read when one of them is touched.
    func neighbours(of pk: Int64) -> ArraySlice<Int64> {
        let start = positions[pk] ?? 0
        return pks[start..<min(start + size, pks.count)]
    }
}

extension ManagedObject: PropertyValue {
    /// The object's identity; an empty list, which is no value, for an object that is gone.
    public var predicateExpression: FetchPredicate.Expression {
        guard let identity = try? identity else { return .list([]) }
        return .literal(Literal(Literal.Content(identity, entity.identity.type)))
    }
}

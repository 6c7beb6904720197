import GraphCore

/// Copies of one snapshot's objects, with the objects that key paths of relationships lead to. They are not tied to the
/// store.
public struct ObjectSnapshot: Sendable {
    /// An object as the snapshot has it.
    public struct Object: Sendable, CustomStringConvertible {
        /// The object's entity.
        public let entity: Entity
        /// The object's name in the store, by which an editing context finds it too.
        public let objectID: ManagedObjectID
        /// Tells whether the object was mentioned, but has not arrived.
        public let isPlaceholder: Bool
        package let values: [Value]

        package init(_ row: StoredRow) {
            entity = row.entity
            objectID = ManagedObjectID(row.entity, row.pk)
            isPlaceholder = row.isPlaceholder
            values = row.values
        }

        /// An attribute's value in stored form, or nil where the entity has no such attribute.
        public subscript(name: String) -> Value? {
            entity.attribute(named: name).map { values[$0.slot] }
        }

        /// Returns an attribute's value as a Swift type; nil where it has none.
        ///
        /// - Throws: ``EditingError``: `editing.unknown_property`; `editing.type` where the attribute's values are none
        ///   of the type.
        public func value<Content: AttributeValue>(_ name: String, as type: Content.Type) throws -> Content? {
            guard let attribute = entity.attribute(named: name) else {
                throw EditingError.unknownProperty(name, "attribute", entity)
            }
            return try attribute.type.read(values[attribute.slot], as: type, property: "\(entity.name).\(name)")
        }

        /// The attributes as people read them: dates as ISO-8601, uuids with hyphens.
        public var description: String {
            "\(entity.name)(\(AttributeType.listing(entity.attributes.map { ($0.name, $0.type, .value(values[$0.slot])) })))"
        }

        /// The object's identity in stored form.
        public var identity: Value { values[entity.identitySlot] }
    }

    /// A relationship of an object.
    private struct Link: Hashable {
        let object: ManagedObjectID
        let relationship: Int
    }

    /// The objects that the request asked for, in its order.
    public internal(set) var objects: [Object] = []
    private var destinations: [Link: [Object]] = [:]

    /// Returns the destinations of a relationship of an object, by primary key; nil where no key path led there.
    public func objects(_ relationship: String, of object: Object) -> [Object]? {
        guard let found = object.entity.relationship(named: relationship) else { return nil }
        return destinations[Link(object: object.objectID, relationship: found.index)]
    }

    /// Returns the destination of a to-one relationship of an object; nil where there is none, or no key path led there.
    public func object(_ relationship: String, of object: Object) -> Object? {
        objects(relationship, of: object)?.first
    }

    fileprivate mutating func note(_ found: [Object], of object: Object, _ relationship: Relationship) {
        destinations[Link(object: object.objectID, relationship: relationship.index)] = found
    }
}

extension ReadContext {
    /// Returns the objects of a request, with the destinations of relationship key paths such as `messages.sender`. Each step
    /// takes one query for up to 512 objects, and two over a join table.
    ///
    /// The request's `properties` have no effect.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``EditingError`` where a key path does not,
    ///   ``StoreError``.
    public func fetch(_ request: FetchRequest, prefetch: [String]) throws -> ObjectSnapshot {
        var wanted = request
        wanted.properties = []
        let checked = try wanted.checked(with: model)
        let paths = try prefetch.map { try RelationshipPath($0, from: checked.entity, in: model) }
        var pks: [Int64] = []
        try fetch(checked) { object in
            pks.append(object.pk)
            return true
        }
        var snapshot = ObjectSnapshot()
        let found = try objects(checked.entity, pks)
        snapshot.objects = pks.compactMap { found[$0] }
        for path in paths {
            var level = snapshot.objects
            for step in path.steps { level = try follow(step, from: level) { snapshot.note($1, of: $0, step) } }
        }
        return snapshot
    }

    private func objects(_ entity: Entity, _ pks: [Int64]) throws -> [Int64: ObjectSnapshot.Object] {
        let rows = try session.storedRows(entity, primaryKeys: pks)
        return Dictionary(rows.map { ($0.pk, ObjectSnapshot.Object($0)) }) { first, _ in first }
    }

    /// Reads the destinations of many objects at once and returns them, each once, in order.
    private func follow(
        _ relationship: Relationship, from objects: [ObjectSnapshot.Object],
        each: (ObjectSnapshot.Object, [ObjectSnapshot.Object]) -> Void
    ) throws -> [ObjectSnapshot.Object] {
        var destinations: [Int64: [ObjectSnapshot.Object]] = [:]
        if let slot = relationship.slot, !relationship.isToMany {
            let keys = objects.compactMap { $0.values[slot].integer }
            let found = try self.objects(model.entities[relationship.destinationIndex], Set(keys).sorted())
            for object in objects {
                destinations[object.objectID.pk] = object.values[slot].integer.flatMap { found[$0] }.map { [$0] }
            }
        } else {
            for (owner, row) in try session.destinations(relationship, of: objects.map(\.objectID.pk)) {
                destinations[owner, default: []].append(ObjectSnapshot.Object(row))
            }
        }
        var seen: Set<Int64> = []
        var next: [ObjectSnapshot.Object] = []
        for object in objects {
            let found = destinations[object.objectID.pk] ?? []
            each(object, found)
            next += found.filter { seen.insert($0.objectID.pk).inserted }
        }
        return next
    }
}

extension ObjectRegistry {
    /// Reads the destinations of many objects at once and returns them, each once, in order.
    package func follow(_ relationship: Relationship, from objects: [ContextObject]) throws -> [ContextObject] {
        try loadDestinations(of: objects, relationship, limit: nil)
        var seen: Set<ObjectIdentifier> = []
        var next: [ContextObject] = []
        for object in objects {
            var found = try destinations(of: object, relationship)
            if !relationship.isOrdered { found.sort { $0.pk < $1.pk } }
            next += found.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
        return next
    }
}

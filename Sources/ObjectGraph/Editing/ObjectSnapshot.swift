/// Objects of one snapshot, with those that relationship key paths lead from them to: copies, not tied to the store.
public struct ObjectSnapshot: Sendable {
    /// An object as the snapshot has it.
    public struct Object: Sendable, CustomStringConvertible {
        /// The object's entity.
        public let entity: Entity
        /// The object's name in the store, by which an editing context finds it too.
        public let objectID: ManagedObjectID
        /// Tells whether the object was mentioned, but has not arrived.
        public let isPlaceholder: Bool
        let values: [Value]

        init(_ object: ContextObject) {
            entity = object.entity
            objectID = ManagedObjectID(object)
            isPlaceholder = object.state.isPlaceholder
            values = object.state.values
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

    mutating func note(_ found: [ContextObject], of object: ContextObject, _ relationship: Relationship) {
        destinations[Link(object: ManagedObjectID(object), relationship: relationship.index)] = found.map { Object($0) }
    }
}

extension ReadContext {
    /// Returns the objects that a request asks for, with those that relationship key paths such as `messages.sender`
    /// lead to; each step takes one query, two over a join table, and up to 512 objects.
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
        let registry = ObjectRegistry(try rowReader(), model: model, setDeletionThreshold: .max)
        try registry.load(entity: checked.entity.index, primaryKeys: pks)
        let roots = pks.compactMap { registry.known(checked.entity.index, pk: $0) }
        var snapshot = ObjectSnapshot()
        snapshot.objects = roots.map { ObjectSnapshot.Object($0) }
        for path in paths {
            var level = roots
            for step in path.steps {
                level = try registry.follow(step, from: level) { snapshot.note($1, of: $0, step) }
            }
        }
        return snapshot
    }
}

extension ObjectRegistry {
    /// Reads the destinations of many objects at once and returns them, each once, in order.
    func follow(
        _ relationship: Relationship, from objects: [ContextObject],
        each: (ContextObject, [ContextObject]) -> Void = { _, _ in }
    ) throws -> [ContextObject] {
        _ = try Prefetch(registry: self).loadDestinations(of: objects, relationship, limit: nil)
        var seen: Set<ObjectIdentifier> = []
        var next: [ContextObject] = []
        for object in objects {
            var found = try destinations(of: object, relationship)
            if !relationship.isOrdered { found.sort { $0.pk < $1.pk } }
            each(object, found)
            next += found.filter { seen.insert(ObjectIdentifier($0)).inserted }
        }
        return next
    }
}

import GraphCore

extension FetchRequest {
    /// Makes a request for the objects of a typed class, for pages, batches and plans.
    ///
    /// - Throws: ``FetchPredicateError`` if a key path does not lead to a declared property.
    public init<Object: TypedObject>(
        _ type: Object.Type, where condition: TypedPredicate<Object> = .constant(true),
        sort: [TypedSort<Object>] = [], limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) throws(FetchPredicateError) {
        let predicate = try condition.predicate
        self.init(type.entityName)
        if predicate != .constant(true) { self.condition = .tree(predicate) }
        var keys: [String] = []
        for key in sort { keys.append(try key.result.get()) }
        self.sort = keys
        self.limit = limit
        self.offset = offset
        self.includesSubentities = includesSubentities
    }
}

// Typed objects of a snapshot of the store.
extension ReadContext {
    /// Returns the objects of a class that match a condition.
    ///
    /// - Throws: ``ModelError`` if the class does not fit the model, ``FetchPredicateError`` if a key path does not lead to
    ///   a declared property, ``StoreError``.
    public func fetch<Object: TypedObject>(
        _ type: Object.Type, where condition: TypedPredicate<Object> = .constant(true),
        sort: [TypedSort<Object>] = [], limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true
    ) throws -> [Snapshot<Object>] {
        try model.use(type)
        let request = try FetchRequest(
            type, where: condition, sort: sort, limit: limit, offset: offset, includesSubentities: includesSubentities)
        return try fetch(request).map { Snapshot($0) }
    }

    /// Returns the number of objects of a class that match a condition.
    ///
    /// - Throws: as ``fetch(_:where:sort:limit:offset:includesSubentities:)``.
    public func count<Object: TypedObject>(
        _ type: Object.Type, where condition: TypedPredicate<Object> = .constant(true), includesSubentities: Bool = true
    ) throws -> Int {
        try model.use(type)
        return try count(try FetchRequest(type, where: condition, includesSubentities: includesSubentities))
    }

    /// Returns the object with an identity, or nil.
    ///
    /// - Throws: as ``fetch(_:where:sort:limit:offset:includesSubentities:)``; ``FetchPredicateError`` with code
    ///   `predicate.type` if the identity has another type.
    public func object<Object: TypedObject>(
        _ type: Object.Type, id: some AttributeValue
    ) throws -> Snapshot<Object>? {
        let identity = try model.entity(of: type).identity
        return try first(type, FetchPredicate(identity.name, .equal, id.predicateExpression))
    }

    /// Returns the destination of a to-one relationship, or nil.
    ///
    /// - Throws: as ``fetch(_:where:sort:limit:offset:includesSubentities:)``.
    public func destination<Object: TypedObject, Destination: TypedObject>(
        of object: Snapshot<Object>, _ path: KeyPath<Object, Destination?>
    ) throws -> Snapshot<Destination>? {
        let (relationship, destination) = try relationship(path, Destination.self, of: object.fetched.entity)
        guard let identity = object.fetched[relationship.name], !identity.isNull else { return nil }
        return try first(
            Destination.self,
            FetchPredicate(
                destination.identity.name, .equal,
                .literal(Literal(Literal.Content(identity, destination.identity.type)))))
    }

    /// Returns the destinations of a to-many relationship, in their order or else by primary key.
    ///
    /// - Parameters:
    ///   - object: the owner of the relationship.
    ///   - path: the relationship.
    ///   - condition: the condition; without it, all destinations match.
    ///   - sort: the order, which replaces an ordered relationship's own.
    ///   - limit: the maximum number of objects.
    /// - Throws: as ``fetch(_:where:sort:limit:offset:includesSubentities:)``; ``FetchPredicateError`` with code
    ///   `predicate.unsupported` if the relationship has no inverse.
    public func destinations<Object: TypedObject, Destination: TypedObject>(
        of object: Snapshot<Object>, _ path: KeyPath<Object, [Destination]>,
        where condition: TypedPredicate<Destination> = .constant(true), sort: [TypedSort<Destination>] = [],
        limit: Int? = nil
    ) throws -> [Snapshot<Destination>] {
        let (relationship, _) = try relationship(path, Destination.self, of: object.fetched.entity)
        guard let inverse = model.inverse(of: relationship) else {
            throw FetchPredicateError(
                .unsupported, "\(Object.self).\(relationship.name) has no inverse to find its objects by", at: nil,
                remedy: "Fetch its identities by a request with the property '\(relationship.name)'")
        }
        let isLinked = TypedPredicate<Destination>(
            FetchPredicate(
                inverse.name, .equal, object.identityExpression, quantifier: inverse.isToMany ? .any : nil))
        return try fetch(Destination.self, where: isLinked && condition, sort: sort, limit: limit)
    }

    private func relationship(
        _ path: AnyKeyPath, _ type: TypedObject.Type, of entity: Entity
    ) throws -> (Relationship, Entity) {
        guard let root = Swift.type(of: path).rootType as? TypedObject.Type,
            case let names = try KeyPathProbe.path(path, of: root).names, names.count == 1,
            let found = entity.relationship(named: names[0])
        else {
            throw FetchPredicateError(
                .unsupported, "The key path leads over several relationships", at: nil,
                remedy: "Name a relationship of \(entity.name) itself")
        }
        return (found, try model.entity(of: type))
    }

    private func first<Object: TypedObject>(_ type: Object.Type, _ predicate: FetchPredicate) throws -> Snapshot<
        Object
    >? {
        try fetch(type, where: TypedPredicate(predicate), limit: 1).first
    }
}

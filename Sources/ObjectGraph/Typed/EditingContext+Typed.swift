// Typed objects of a context.
extension EditingContext {
    // MARK: Objects

    /// Returns the typed object of an object, the same one as long as somebody holds it.
    ///
    /// - Throws: ``ModelError`` where the class does not fit the model; ``EditingError`` with code `editing.type` where the
    ///   object is of an entity that the class does not stand for.
    public func typed<Object: TypedObject>(as type: Object.Type, _ object: ManagedObject) throws -> Object {
        let entity = try model.entity(of: type)
        guard object.entity.isKind(of: entity) else {
            throw EditingError(.type, "The object \(object.objectID) is no \(entity.name)")
        }
        return typed(type, object)
    }

    /// Returns the typed object of an object whose class is known to fit.
    func typed<Object: TypedObject>(_ type: Object.Type, _ object: ManagedObject) -> Object {
        if let known = object.typedObject as? Object { return known }
        // An object of a sub-entity is one of the class that was named for it.
        let own = model.classes.type(of: object.entity) as? Object.Type
        let made = (own ?? type).init(TypedObject.Backing(content: .managed(object)))
        object.typedObject = made
        return made
    }

    /// Inserts a new object with its defaults and an identity.
    ///
    /// - Throws: ``ModelError`` where the class does not fit the model; otherwise as
    ///   ``insert(_:identity:_:)``.
    @discardableResult
    public func insert<Object: TypedObject>(
        _ type: Object.Type, id: some AttributeValue
    ) throws -> Object {
        typed(type, try insert(try model.entity(of: type).name, identity: id))
    }

    /// Inserts a new object with its defaults and a new UUID for its identity, which is a uuid or a text.
    ///
    /// - Throws: as ``insert(_:id:)``.
    @discardableResult
    public func insert<Object: TypedObject>(_ type: Object.Type) throws -> Object {
        typed(type, try insert(try model.entity(of: type).name))
    }

    /// Returns the object that an identity addresses, one that is not saved included, or nil.
    ///
    /// - Throws: ``ModelError`` where the class does not fit the model, ``EditingError``, ``StoreError``.
    public func object<Object: TypedObject>(_ type: Object.Type, id: some AttributeValue) throws -> Object? {
        let entity = try model.entity(of: type)
        guard let found = try object(entity.name, identity: id), found.entity.isKind(of: entity) else {
            return nil
        }
        return typed(type, found)
    }

    /// Marks an object for deletion; the delete rules are applied by ``processPendingChanges()`` or the save.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func delete(_ object: TypedObject) throws { try delete(try object.managed()) }

    /// Reads an object anew.
    ///
    /// - Throws: as ``refresh(_:mergeChanges:)``.
    public func refresh(_ object: TypedObject, mergeChanges: Bool) throws {
        try refresh(try object.managed(), mergeChanges: mergeChanges)
    }

    // MARK: Fetching

    /// Returns the objects of a class that a condition is true of; see
    /// ``fetch(_:batchSize:prefetch:includesPendingChanges:)``.
    ///
    /// - Parameters:
    ///   - type: the class.
    ///   - condition: which objects; without it all.
    ///   - sort: the order, the first key most important.
    ///   - limit: the greatest number of objects.
    ///   - offset: how many objects are passed over.
    ///   - includesSubentities: whether objects of subclasses are among them.
    ///   - batchSize: nil to read all rows at once; otherwise touching an object reads this many.
    ///   - prefetch: relationships whose objects are read with one query each.
    /// - Throws: ``ModelError`` where the class does not fit the model, ``FetchPredicateError`` where a key path leads to no
    ///   declared property, ``StoreError``.
    public func fetch<Object: TypedObject>(
        _ type: Object.Type, where condition: TypedPredicate<Object> = .constant(true),
        sort: [TypedSort<Object>] = [], limit: Int? = nil, offset: Int = 0, includesSubentities: Bool = true,
        batchSize: Int? = nil, prefetch: [PartialKeyPath<Object>] = []
    ) throws -> [Object] {
        try model.use(type)
        let request = try FetchRequest(
            type, where: condition, sort: sort, limit: limit, offset: offset, includesSubentities: includesSubentities)
        let paths = try prefetch.map { try KeyPathProbe.path($0, of: type).names.joined(separator: ".") }
        return try fetch(request, batchSize: batchSize, prefetch: paths).map { typed(type, $0) }
    }

    // MARK: Refusals

    /// Carries out the reading of a property and keeps what it throws.
    func reading<Result>(
        _ name: String, of object: ManagedObject, else fallback: @autoclosure () -> Result,
        _ body: () throws -> Result
    ) -> Result {
        do {
            return try body()
        } catch {
            refusals.note(error, .read, name, of: object)
            return fallback()
        }
    }

    /// Carries out the setting of a property and keeps what it throws.
    func setting(_ name: String, of object: ManagedObject, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            refusals.note(error, .set, name, of: object)
        }
    }

    /// Throws the first of what reading or setting properties of typed objects has refused.
    ///
    /// A refused setting is kept, and each later call and each ``save()`` throws it again, until the property is set to
    /// a value that it takes, the object is refreshed or deleted, or the context is rolled back or reset. A refused
    /// reading is forgotten once it was thrown: it loses no change.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func checkRefusals() throws {
        if let first = refusals.take() { throw first }
    }

    /// Calls `body` and throws at once what reading or setting properties of typed objects refuses in it.
    ///
    /// What `body` has done until then stays, as one step for ``undo()``. What is thrown here is forgotten, as that of
    /// ``ManagedObject/set(_:_:)`` is: no later save throws it again.
    ///
    /// - Throws: ``EditingError``, ``StoreError``; what `body` throws.
    public func checking<Result>(_ body: () throws -> Result) throws -> Result {
        try checkRefusals()
        let result = try undoGroup(body)
        if let first = refusals.takeAll() { throw first }
        return result
    }
}

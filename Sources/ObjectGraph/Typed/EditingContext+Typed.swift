import GraphCore

// Typed objects of a context.
extension EditingContext {
    // MARK: Objects

    /// Returns the typed object of an object: the same one while the program has a reference to it.
    ///
    /// - Throws: ``ModelError`` if the class does not fit the model; ``EditingError`` with code `editing.type` if the
    ///   object is of another entity.
    public func typed<Object: TypedObject>(as type: Object.Type, _ object: ManagedObject) throws -> Object {
        let entity = try model.entity(of: type)
        guard object.entity.isKind(of: entity) else {
            throw EditingError(.type, "The object \(object.objectID) is no \(entity.name)")
        }
        return typed(type, object)
    }

    /// Returns the typed object of an object, without checking the class.
    func typed<Object: TypedObject>(_ type: Object.Type, _ object: ManagedObject) -> Object {
        if let known = object.view as? Object { return known }
        // An object of a sub-entity has the class that is registered for it.
        let own = model.classes.type(of: object.entity) as? Object.Type
        let made = (own ?? type).init(TypedObject.Backing(content: .managed(object)))
        object.view = made
        return made
    }

    /// Inserts a new object with its defaults and an identity.
    ///
    /// - Throws: ``ModelError`` if the class does not fit the model; otherwise as
    ///   ``insert(_:identity:_:)``.
    @discardableResult
    public func insert<Object: TypedObject>(
        _ type: Object.Type, id: some AttributeValue
    ) throws -> Object {
        typed(type, try insert(try model.entity(of: type).name, identity: id))
    }

    /// Inserts a new object with its defaults and a new UUID as its identity, whose type is UUID or string.
    ///
    /// - Throws: as ``insert(_:id:)``.
    @discardableResult
    public func insert<Object: TypedObject>(_ type: Object.Type) throws -> Object {
        typed(type, try insert(try model.entity(of: type).name))
    }

    /// Returns the object with an identity, unsaved objects included, or nil.
    ///
    /// - Throws: ``ModelError`` if the class does not fit the model, ``EditingError``, ``StoreError``.
    public func object<Object: TypedObject>(_ type: Object.Type, id: some AttributeValue) throws -> Object? {
        let entity = try model.entity(of: type)
        guard let found = try object(entity.name, identity: id), found.entity.isKind(of: entity) else {
            return nil
        }
        return typed(type, found)
    }

    /// Marks an object for deletion. ``processPendingChanges()`` or the save applies the delete rules.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func delete(_ object: TypedObject) throws { try delete(try object.managed()) }

    /// Reads an object again.
    ///
    /// - Throws: as ``refresh(_:mergeChanges:)``.
    public func refresh(_ object: TypedObject, mergeChanges: Bool) throws {
        try refresh(try object.managed(), mergeChanges: mergeChanges)
    }

    // MARK: Fetching

    /// Returns the objects of a class that match a condition; see
    /// ``fetch(_:batchSize:prefetch:includesPendingChanges:)``.
    ///
    /// - Parameters:
    ///   - type: the class.
    ///   - condition: the condition; without it, all objects match.
    ///   - sort: the order, the first key most important.
    ///   - limit: the maximum number of objects.
    ///   - offset: the number of objects to skip.
    ///   - includesSubentities: whether to return objects of subclasses too.
    ///   - batchSize: nil to read all rows at once; otherwise the first use of an object reads this many rows.
    ///   - prefetch: relationships whose objects to read, with one query each.
    /// - Throws: ``ModelError`` if the class does not fit the model, ``FetchPredicateError`` if a key path does not lead to
    ///   a declared property, ``StoreError``.
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

    /// Reads a property and keeps the error that the reading throws.
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

    /// Sets a property and keeps the error that the setting throws.
    func setting(_ name: String, of object: ManagedObject, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            refusals.note(error, .set, name, of: object)
        }
    }

    /// Throws the first error that reading or setting properties of typed objects has caused.
    ///
    /// The context keeps the error of a refused setting, and each later call and each ``save()`` throws it again. The
    /// error ends with a valid value, with a refresh or deletion of the object, or with a rollback or reset of the
    /// context. The context throws the error of a refused reading once, because no change was lost.
    ///
    /// - Throws: ``EditingError``, ``StoreError``.
    public func checkRefusals() throws {
        if let first = refusals.take() { throw first }
    }

    /// Calls `body`, and then throws the first error that reading or setting properties of typed objects caused in it.
    ///
    /// The changes of `body` stay, as one step for ``undo()``. No later save throws the errors again, as with
    /// ``ManagedObject/set(_:_:)``.
    ///
    /// - Throws: ``EditingError``, ``StoreError``; errors of `body`.
    public func checking<Result>(_ body: () throws -> Result) throws -> Result {
        try checkRefusals()
        let result = try undoGroup(body)
        if let first = refusals.takeAll() { throw first }
        return result
    }
}

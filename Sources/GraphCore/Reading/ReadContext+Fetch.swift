extension ReadContext {
    /// Returns the objects that a request asks for.
    ///
    /// A program that repeats a request checks it once with ``FetchRequest/checked(with:)``.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func fetch(_ request: FetchRequest) throws -> [FetchedObject] {
        try session.objects(try ready(ofObjects(checked(request))))
    }

    /// Returns the objects that a checked request asks for.
    ///
    /// - Throws: ``StoreError``; ``FetchPredicateError`` where the request is one for rows, or leads over too many
    ///   relationships.
    public func fetch(_ request: CheckedFetchRequest) throws -> [FetchedObject] {
        try session.objects(try ready(ofObjects(request)))
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``, and what `each` throws.
    public func fetch(_ request: FetchRequest, each: (FetchedObject) throws -> Bool) throws {
        try fetch(try checked(request), each: each)
    }

    /// Calls `each` with one object after the other, until it returns false; one object is in memory at a time.
    ///
    /// - Throws: as `fetch(_:)`, and what `each` throws.
    public func fetch(_ request: CheckedFetchRequest, each: (FetchedObject) throws -> Bool) throws {
        try session.objects(try ready(ofObjects(request)), withOrder: false) { object, _ in try each(object) }
    }

    /// Calls `each` with the place of one object after the other in the request's order.
    ///
    /// - Throws: as `fetch(_:)`, and what `each` throws.
    package func positions(_ request: CheckedFetchRequest, each: (FetchPosition) throws -> Void) throws {
        try session.objects(try ready(ofObjects(request)), withOrder: true) { object, order in
            try each(FetchPosition(pk: object.pk, values: order))
            return true
        }
    }

    /// Returns an object's values as a JSON object, or nil if the object is gone.
    ///
    /// - Throws: ``StoreError``.
    public func objectJSON(entity name: String, identity: Value) throws -> String? {
        guard let entity = model.entity(matching: name) else { return nil }
        let wanted: FetchPredicate.Expression =
            identity.integer.map { .number($0) } ?? .text(entity.identity.type.text(of: identity))
        let isSame = FetchPredicate(entity.identity.name, .equal, wanted)
        guard let object = try fetch(FetchRequest(name, matching: isSame)).first else { return nil }
        var json = ""
        object.appendJSON(to: &json)
        return json
    }

    // MARK: Pages

    /// Returns one page of objects, and the position after it.
    ///
    /// The position holds while objects come and go: the next page begins behind the last object of this one, whatever
    /// happened before it. See docs/reference/fetching.md.
    ///
    /// - Throws: as `fetch(_:)`.
    public func page(_ request: FetchRequest) throws -> FetchedPage { try page(try checked(request)) }

    /// Returns one page of objects, and the position after it.
    ///
    /// - Throws: as `fetch(_:)`.
    public func page(_ request: CheckedFetchRequest) throws -> FetchedPage {
        var wider = try ready(ofObjects(request))
        // One more tells whether there is more.
        wider.limit = request.limit.map { $0 == .max ? $0 : $0 + 1 }
        var objects: [FetchedObject] = []
        var last: [Value] = []
        var hasMore = false
        try session.objects(wider, withOrder: true) { object, order in
            if objects.count == request.limit {
                hasMore = true
                return false
            }
            objects.append(object)
            last = order
            return true
        }
        guard hasMore, let object = objects.last else { return FetchedPage(objects: objects, next: nil) }
        let position = FetchPosition(pk: object.pk, values: last)
        return FetchedPage(objects: objects, next: request.cursorText(at: position))
    }

    /// Returns the objects that a request asks for, each with its place in the request's order.
    ///
    /// - Throws: as `fetch(_:)`.
    package func placedObjects(
        _ request: CheckedFetchRequest
    ) throws -> [(object: FetchedObject, position: FetchPosition)] {
        var objects: [(object: FetchedObject, position: FetchPosition)] = []
        try session.objects(try ready(ofObjects(request)), withOrder: true) { object, order in
            objects.append((object, FetchPosition(pk: object.pk, values: order)))
            return true
        }
        return objects
    }

    // MARK: Rows

    /// Returns the rows that a request asks for: dictionaries of its properties, grouped and without repeats where it
    /// says so.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func rows(_ request: FetchRequest) throws -> [FetchedRow] { try rows(try checked(request)) }

    /// Returns the rows that a checked request asks for.
    ///
    /// - Throws: ``StoreError``; ``FetchPredicateError`` where the request leads over too many relationships, or a property
    ///   is a list.
    public func rows(_ request: CheckedFetchRequest) throws -> [FetchedRow] {
        if let list = request.shape.columns.first(where: \.isToMany) {
            throw FetchPredicateError(
                .unsupported, "'\(list.name)' is a list, rows have single values", at: nil,
                remedy: "Use \(list.name).@count, or fetch objects")
        }
        return try session.rows(try ready(request))
    }

    /// Returns the number of objects or rows that a request asks for, with regard to its limit and offset, not its
    /// cursor.
    ///
    /// - Throws: ``FetchPredicateError`` where the request does not fit the model, ``StoreError``.
    public func count(_ request: FetchRequest) throws -> Int { try count(try checked(request)) }

    /// Returns the number of objects or rows that a checked request asks for, with regard to its limit and offset, not
    /// its cursor.
    ///
    /// - Throws: ``StoreError``.
    public func count(_ request: CheckedFetchRequest) throws -> Int {
        let total = try session.count(try ready(request))
        return min(max(0, total - request.offset), request.limit ?? .max)
    }

    // MARK: Checking

    private func checked(_ request: FetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        if let requests { return try requests.checked(request, model) }
        return try request.checked(with: model)
    }

    /// Returns a request with its time; positions in a request mean what they mean in its own model.
    package func ready(_ request: consuming CheckedFetchRequest) throws(StoreError) -> CheckedFetchRequest {
        guard request.model === model else {
            throw StoreError(
                .modelMismatch, "The fetch request was checked with another model",
                remedy: "Check it with the store's own model")
        }
        request.now = request.time
        return request
    }

    func ofObjects(_ request: consuming CheckedFetchRequest) throws(FetchPredicateError) -> CheckedFetchRequest {
        if request.isOfRows {
            throw FetchPredicateError(
                .unsupported, "The request asks for rows, not for objects", at: nil,
                remedy: "Read its rows, or leave out groups, aggregates and 'distinct'")
        }
        return request
    }
}

import GraphCore

extension WriterContext {
    /// Sets attributes of many objects inside the store, in a transaction of its own. It first commits the applied
    /// chunks.
    ///
    /// - Throws: ``FetchPredicateError`` if the request does not fit the model, ``BatchError`` if a rule refuses,
    ///   ``StoreError``. The store is then unchanged.
    public func execute(_ request: BatchUpdateRequest) throws -> BatchResult {
        let checked = try request.objects.checked(with: store.model)
        // An abstract entity has no objects but placeholders, which an update leaves alone.
        let entities = checked.entities.filter { !$0.isAbstract }
        return try batch(resultKind: request.resultKind, entities: entities) { history, tally in
            (try session.sets.update(request, checked, work(history), into: &tally), 0)
        }
    }

    /// Deletes many objects inside the store by the delete rules, in a transaction of its own. It first commits the
    /// applied chunks.
    ///
    /// Objects of sub-entities are deleted too, unless `objects.includesSubentities` is false. Each deleted object leaves
    /// a tombstone with the time of the request, so older events change nothing.
    ///
    /// - Throws: ``FetchPredicateError`` if the request does not fit the model, ``StoreError``, ``BatchError`` if a delete
    ///   rule or a minimum count refuses. The store is then unchanged.
    public func execute(_ request: BatchDeleteRequest) throws -> BatchResult {
        let checked = try request.objects.checked(with: store.model)
        return try batch(resultKind: request.resultKind, entities: checked.entities) { history, tally in
            (try session.sets.delete(checked, work(history), into: &tally), 0)
        }
    }

    /// Inserts rows, or changes the objects that they match, in a transaction of its own. It first commits the applied
    /// chunks. A few hundred rows are in memory at a time.
    ///
    /// The rules of events apply: defaults, limits, uniqueness, relationships and their inverses, derived attributes.
    /// The first row that breaks a rule refuses the whole request.
    ///
    /// - Throws: ``FetchPredicateError`` if the request does not fit the model, ``StoreError``, errors of the rows'
    ///   closure, ``BatchError`` with the number of a refused row. The store is then unchanged.
    public func execute(_ request: BatchInsertRequest) throws -> BatchResult {
        var insertion = try BatchInsertion(request, model: store.model)
        return try batch(resultKind: request.resultKind, entities: [insertion.entity]) { history, tally in
            var staleCount = 0
            while let events = try insertion.nextEvents(session) {
                var run = ChunkRun()
                let packed = PackedEvents(events, store.model)
                try applyTogether(packed, 0..<packed.count, history, &tally, &run)
                staleCount += try insertion.staleCount(run.outcomes)
            }
            let own = insertion.entity.index
            return (tally.count(.insert, entity: own) + tally.count(.update, entity: own), staleCount)
        }
    }

    // MARK: The transaction

    private func batch(
        resultKind: BatchResultKind, entities: [Entity],
        _ body: (HistoryWriter, inout ChangeTally) throws -> (count: Int, staleCount: Int)
    ) throws -> BatchResult {
        var tally = ChangeTally(entityCount: store.model.entities.count)
        var refusal: (any Error)?
        var counts = (count: 0, staleCount: 0)
        var token: Int64?
        // No chunk of events and no editing context writes between.
        try exclusively {
            try commitChunks()
            do {
                try undoingOnFailure("carry the batch request out") {
                    try beginIfNeeded()
                    do {
                        token = try carryOut(body, &counts, &tally)
                    } catch {
                        refusal = Self.refusal(error)
                        throw error
                    }
                }
                try commit()
            } catch {
                throw refusal ?? error
            }
        }
        let objects = resultKind == .objects ? try changedObjects(token, entities) : []
        return BatchResult(
            count: resultKind == .status ? 0 : counts.count, changes: tally, token: token, objects: objects,
            staleCount: counts.staleCount)
    }

    /// Returns the token of the written transaction, or nil.
    private func carryOut(
        _ body: (HistoryWriter, inout ChangeTally) throws -> (count: Int, staleCount: Int),
        _ counts: inout (count: Int, staleCount: Int), _ tally: inout ChangeTally
    ) throws -> Int64? {
        let history = HistoryWriter(
            session, time: options.now(), author: options.author, context: options.name, source: nil,
            nextChange: nextChange)
        counts = try body(history, &tally)
        let token = try history.close()
        if let token { savedToken = token }
        try restart()
        return token
    }

    /// The error for the caller; the store's own errors pass unchanged.
    private static func refusal(_ error: any Error) -> any Error {
        switch error {
        case let failures as ValidationFailures: return BatchError(failures)
        case let error as StoreError where error.code == .constraint:
            return BatchError(
                .refused, error.message, remedy: "Values that have to be unique would not be: nothing was changed")
        default: return error
        }
    }

    /// The objects of a request's entity that a transaction changed.
    private func changedObjects(_ token: Int64?, _ entities: [Entity]) throws -> [ObjectReference] {
        guard let token else { return [] }
        let names = Set(entities.map(\.name))
        var objects: [ObjectReference] = []
        var index: Int? = 0
        while let start = index {
            let page = try store.read { try $0.transaction(token, from: start, limit: HistoryRange.maximumCount) }
            objects += page?.changes.filter { names.contains($0.entity) }.map(\.object) ?? []
            index = page?.nextIndex
        }
        return objects
    }
}

/// Turns the rows of a batch insertion into events, a chunk at a time.
struct BatchInsertion {
    let entity: Entity
    private let model: ObjectModel
    private let nextRow: () throws -> [String: BatchInsertRequest.Content]?
    /// The attribute by which rows match objects, and the entity within which its values are unique.
    private let matching: (attribute: Attribute, holders: Entity)?
    /// The rows that were read and are no events yet.
    private var rows: [[String: BatchInsertRequest.Content]] = []
    private var rowCount = 0

    private static let chunkSize = 500

    init(_ request: BatchInsertRequest, model: ObjectModel) throws {
        guard let entity = model.entity(matching: request.entity) else {
            throw FetchPredicateError(
                .unknownEntity, "The model has no entity '\(request.entity)'", at: nil,
                remedy: ClosestName.remedy(request.entity, among: model.entities.map(\.name)))
        }
        if entity.isAbstract {
            throw BatchError(
                .invalid, "\(entity.name) is abstract: there are no objects of it",
                remedy: "Name one of its sub-entities")
        }
        self.entity = entity
        self.model = model
        nextRow = request.nextRow
        if let name = request.matching, name != entity.identity.name {
            guard let attribute = entity.attribute(named: name),
                let constraint = entity.uniquenessConstraints.first(where: { $0.slots == [attribute.slot] })
            else {
                throw BatchError(
                    .invalid, "\(entity.name) has no unique attribute '\(name)'",
                    remedy: "Match by the identity, or by an attribute that is unique by itself")
            }
            matching = (attribute, model.entities[constraint.entityIndex])
        } else {
            matching = nil
        }
    }

    /// Returns the next chunk, or nil at the end. A chunk ends before a row whose object depends on the rows before.
    mutating func nextEvents(_ reader: any RowReader) throws -> [ChangeSet]? {
        while rows.count < Self.chunkSize, let row = try nextRow() { rows.append(row) }
        if rows.isEmpty { return nil }
        var matched = MatchedIdentities(
            try identities(of: rows, reader), rowsMayBeStale: entity.versionSlot != nil)
        var events: [ChangeSet] = []
        for row in rows {
            guard let identity = identity(row, &matched) else { break }
            rowCount += 1
            events.append(ChangeSet(try operation(row, identity)))
        }
        rows.removeFirst(events.count)
        return events
    }

    /// Returns the number of stale rows.
    ///
    /// - Throws: ``BatchError`` for the first row that a rule refused.
    func staleCount(_ outcomes: [EventOutcome]) throws -> Int {
        var count = 0
        for (index, outcome) in outcomes.enumerated() {
            switch outcome {
            case .applied: break
            case .stale: count += 1
            case .failed(let failure):
                throw BatchError(
                    .refused, failure.description, remedy: "Nothing was inserted; correct the row",
                    failures: failure.details, row: rowCount - outcomes.count + index + 1)
            }
        }
        return count
    }

    /// The identities of the objects that have the rows' values of the matching attribute.
    private func identities(
        of rows: [[String: BatchInsertRequest.Content]], _ reader: any RowReader
    ) throws(StoreError) -> [Value: Value] {
        guard let (matching, holders) = matching else { return [:] }
        var values: Set<Value> = []
        for row in rows {
            if let value = stored(row, matching), !value.isNull { values.insert(value) }
        }
        var known: [Value: Value] = [:]
        let arena = ValueArena()
        defer { withExtendedLifetime(arena) {} }
        try reader.rows(of: entity.index, .values(values.map { arena.pack($0) }, slot: matching.slot)) { row in
            // Entities beside each other may share the column, and the value.
            if !row.entity.isKind(of: holders) { return }
            known[row.values[matching.slot]] = row.values[entity.identitySlot]
        }
        return known
    }

    private func operation(
        _ row: [String: BatchInsertRequest.Content], _ identity: Value
    ) throws -> ObjectOperation {
        guard !identity.isNull else {
            throw BatchError(
                .refused, "\(entity.name).\(entity.identity.name) is missing", remedy: "Give each row its identity",
                row: rowCount)
        }
        var operation = ObjectOperation(.upsert, entity: entity.index, identity: identity)
        for (name, content) in row.sorted(by: { $0.key < $1.key }) { try add(content, name, to: &operation) }
        return operation
    }

    /// Returns the identity of a row's object: the object with the row's value of the matching attribute, or the
    /// identity in the row.
    ///
    /// A row without an identity gets a random UUID if the identity is a UUID. Otherwise the result is null, because the
    /// row may have lost its identity. It is nil where the rows before have to be applied first.
    private func identity(
        _ row: [String: BatchInsertRequest.Content], _ matched: inout MatchedIdentities
    ) -> Value? {
        var given = Value.null
        if let value = stored(row, entity.identity) { given = value }
        if given.isNull, entity.identity.type == .uuid { given = .blob(UUIDText.random()) }
        guard let matching = matching?.attribute, let value = stored(row, matching) else { return given }
        return matched.identity(of: value, given: given)
    }

    private func add(_ content: BatchInsertRequest.Content, _ name: String, to operation: inout ObjectOperation) throws
    {
        if let attribute = entity.attribute(named: name) {
            guard case .literal(let given) = content, let value = attribute.type.value(given: given) else {
                let kind = if case .literal(let given) = content { given.kind } else { "a list" }
                throw BatchError(
                    .refused, "\(entity.name).\(name) takes \(attribute.type.expectation), and was given \(kind)",
                    remedy: "Give a value of that type", row: rowCount)
            }
            operation.attributes.append(ObjectOperation.AttributeValue(slot: attribute.slot, value: value))
            if attribute.slot == entity.versionSlot { operation.version = value }
        } else if let relationship = entity.relationship(named: name) {
            operation.relationships.append(
                ObjectOperation.RelationshipValue(
                    relationship: relationship.index, change: try change(content, relationship)))
        } else {
            throw FetchPredicateError(
                .unknownProperty, "\(entity.name) has no property '\(name)'", at: nil,
                remedy: ClosestName.remedy(name, among: entity.propertyNames))
        }
    }

    /// The stored form of a row's value of an attribute, or nil if the value does not have the type.
    private func stored(_ row: [String: BatchInsertRequest.Content], _ attribute: Attribute) -> Value? {
        guard case .literal(let given)? = row[attribute.name] else { return nil }
        return attribute.type.value(given: given)
    }

    private func change(
        _ content: BatchInsertRequest.Content, _ relationship: Relationship
    ) throws(BatchError) -> RelationshipChange {
        let type = model.entities[relationship.destinationIndex].identity.type
        switch content {
        case .literal(let given) where !relationship.isToMany:
            if let identity = type.value(given: given) { return .one(identity) }
        case .list(let given) where relationship.isToMany:
            let identities = given.compactMap { type.value(given: $0) }
            if identities.count == given.count { return .replace(identities) }
        default: break
        }
        throw BatchError(
            .refused,
            "\(entity.name).\(relationship.name) takes "
                + (relationship.isToMany ? "a list of objects or identities" : "an object or an identity")
                + ": \(type.expectation)",
            remedy: "Give a to-one relationship a value, a to-many one destinations", row: rowCount)
    }
}

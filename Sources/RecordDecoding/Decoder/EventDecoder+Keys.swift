import GraphCore

/// Records without a value, and what their keys say.
extension EventDecoder {
    /// Decodes the deletion of the object that the key of a record without value names.
    func decodeDeletionByKey(_ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        if record.key?.isEmpty ?? true { throw Self.noKey }
        guard let route = tombstoneRoute(record) else { throw Self.unclearKey }
        usage?.count(route)
        if route.isDrop { return skipped(.drop) }
        if let program = route.program { return try decode(nil, by: program, route, record) }
        let found = try deletedIdentity(record, route.entity, route, missing: Self.noKey)
        return ChangeSet(ObjectOperation(.delete, entity: route.entity.index, identity: found))
    }

    /// Returns the identity of the object that the key of a deletion names.
    ///
    /// - Parameter missing: the error of a key that is empty.
    func deletedIdentity(
        _ record: SourceRecord, _ entity: Entity, _ route: Route?, missing: DecodeError
    ) throws(DecodeError) -> Value {
        try record.withPlainKey { key throws(DecodeError) in
            guard let key, !key.isEmpty else { throw missing }
            if let route, let expressed = try expressedIdentity(key, route, record) { return expressed }
            return try keyIdentity(key, entity, route, parser)
        }
    }

    /// Returns the identity that a template or a variable gives, whose paths begin at the fields of a key that is JSON.
    ///
    /// It is nil where the route's identity is a single path, the record's number or the model's attribute.
    private func expressedIdentity(
        _ key: UnsafeRawBufferPointer, _ route: Route, _ record: SourceRecord
    ) throws(DecodeError) -> Value? {
        guard let identity = route.identity, identity.path == nil, identity.variable != .row else { return nil }
        let found: Value
        if case .json(let fields, let schema)? = RecordKey(key, parser), fields.kind == .object {
            found = try routedIdentity(route, scope(record, root: fields, schema: schema), nil)
        } else {
            found = try routedIdentity(route, scope(record, root: try emptyObject()), nil)
        }
        if found.isNull { throw RecordKey.wrong(for: route.entity) }
        return found
    }

    /// Returns an object without members, in the memory of the record's parser.
    func emptyObject() throws(DecodeError) -> JSONValue {
        let result = Self.empty.withUnsafeBytes { bytes in Result { () throws(DecodeError) in try parse(bytes) } }
        return try result.get()
    }

    private static let empty = Array("{}".utf8)

    static let noKey = DecodeError(
        code: "decode.null", "The record has neither a value nor a key, so it says nothing. Check its producer")

    static let unclearKey = DecodeError(
        code: "decode.null",
        "The record has no value, and its key alone does not tell which entity it deletes. Give the topic "
            + "'format: json' and one route, or send an event that says so")

    /// The only route that takes a record by its topic and headers; others look at fields that a null value has not.
    private func tombstoneRoute(_ record: SourceRecord) -> Route? {
        if routes.count == 1 { return routes.first.flatMap { $0.takes(record, fields: nil) ? $0 : nil } }
        let fitting = routes.filter { $0.each == nil && takesByHeaders($0, record) }
        guard let first = fitting.first else { return nil }
        return fitting.count == 1 || fitting.allSatisfy { $0.deletesLike(first) } ? first : nil
    }

    /// Tells whether a route takes a record whose type, where the route asks for one, a header states.
    private func takesByHeaders(_ route: Route, _ record: SourceRecord) -> Bool {
        guard route.takes(record, fields: nil) else { return false }
        guard let type = route.type else { return true }
        guard case .header(let name)? = route.typeField?.variable else { return false }
        return record.headers.last { $0.isNamed(name) }?.value?.elementsEqual(type.utf8) ?? false
    }

    /// Returns the identity that a key states: as a text, as a number, or as an object's field. That field is the
    /// identity's, or the only one.
    ///
    /// - Parameter parser: reads a key that is JSON.
    func keyIdentity(
        _ key: UnsafeRawBufferPointer, _ entity: Entity, _ route: Route?, _ parser: JSONParser
    ) throws(DecodeError) -> Value {
        let table = route?.properties ?? objects.columns[entity.index]
        guard let part = RecordKey(key, parser)?.part(naming: entity, route?.identity, table) else {
            throw RecordKey.wrong(for: entity)
        }
        if case .json(let json, let schema?) = part {
            let logical = LogicalType(schema)
            if let found = identity(json, logical, entity, route) { return found }
            if logical.governs(json) { throw RecordKey.wrong(for: entity) }
        }
        guard let text = part.text, !text.isEmpty else { throw RecordKey.wrong(for: entity) }
        let identity =
            route.map { $0.identityValue(text: text, integer: Int64(text)) } ?? entity.identityValue(fromText: text)
        guard let identity else { throw RecordKey.wrong(for: entity) }
        return identity
    }
}

import ObjectGraph

/// Records without a value, and what their keys say.
extension EventDecoder {
    /// Decodes the deletion of the object that the key of a record without value names.
    ///
    /// - Parameter identity: reads the key, as the format of the one route that fits has it.
    func decodeDeletionByKey(
        _ record: SourceRecord, identity: (UnsafeRawBufferPointer, Route) throws(DecodeError) -> Value
    ) throws(DecodeError) -> ChangeSet {
        if record.key?.isEmpty ?? true { throw Self.noKey }
        guard let route = tombstoneRoute(record) else { throw Self.unclearKey }
        usage?.count(route)
        if route.isDrop { return skipped(.drop) }
        if let program = route.program { return try decode(nil, by: program, record) }
        let found = try record.withPlainKey { key throws(DecodeError) in
            guard let key, !key.isEmpty else { throw Self.noKey }
            if let expressed = try expressedIdentity(key, route, record) { return expressed }
            return try identity(key, route)
        }
        return ChangeSet(ObjectOperation(.delete, entity: route.entity.index, identity: found))
    }

    /// Returns the identity that a template or a variable gives, whose paths begin at the fields of a key that is JSON.
    ///
    /// It is nil where the route's identity is a single path, the record's number or the model's attribute.
    func expressedIdentity(
        _ key: UnsafeRawBufferPointer, _ route: Route, _ record: SourceRecord
    ) throws(DecodeError) -> Value? {
        guard let identity = route.identity, identity.path == nil, identity.variable != .row else { return nil }
        let fields = (try? parser.parse(key).root).map { Self.unwrapped($0) }
        let root: JSONValue
        var schema: JSONValue?
        if let fields, fields.payload.kind == .object {
            root = fields.payload
            schema = fields.schema
        } else {
            let result = Self.empty.withUnsafeBytes { bytes in Result { () throws(DecodeError) in try parse(bytes) } }
            root = try result.get()
        }
        let found = try routedIdentity(route, scope(record, root: root, schema: schema), nil)
        if found.isNull { throw Self.wrongKey(route.entity) }
        return found
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
        let fitting = routes.filter { takesByHeaders($0, record) }
        guard let first = fitting.first else { return nil }
        return fitting.count == 1 || fitting.allSatisfy { $0.deletesLike(first) } ? first : nil
    }

    /// Tells whether a route takes a record whose type, where the route asks for one, a header states.
    private func takesByHeaders(_ route: Route, _ record: SourceRecord) -> Bool {
        guard route.takes(record, fields: nil) else { return false }
        guard let type = route.type else { return true }
        guard case .header(let name)? = route.typeField?.variable else { return false }
        return record.headers.last { $0.name == name }?.value?.elementsEqual(type.utf8) ?? false
    }

    /// Returns the identity that a key of Kafka Connect states. The key is a value, or a struct with the identity's
    /// field or with a single field. It stands as JSON, with or without the schema wrapper, or as plain text.
    func keyIdentity(
        _ key: UnsafeRawBufferPointer, _ entity: Entity, _ route: Route?, _ table: ObjectDecoder.PropertyTable
    ) throws(DecodeError) -> Value {
        let text: String?
        // A number that is the whole key may be a text's: 1e3 is another text than 1000.
        if let root = try? parser.parse(key).root, [.object, .string].contains(root.kind) {
            let (payload, schema) = Self.unwrapped(root)
            let value = Self.keyValue(payload, schema, route, table)
            if let (json, schema) = value, let schema {
                let found = self.identity(json, LogicalType(schema), entity, route)
                if let found { return found }
            }
            text = value.flatMap { $0.json.string ?? $0.json.int64.map { String($0) } }
        } else {
            text = String(validating: key, as: UTF8.self)
        }
        guard let text, !text.isEmpty else { throw Self.wrongKey(entity) }
        let identity =
            route.map { $0.identityValue(text: text, integer: Int64(text)) } ?? entity.identityValue(fromText: text)
        guard let identity else { throw Self.wrongKey(entity) }
        return identity
    }

    /// Returns the value in a key that identifies an object, with its schema.
    private static func keyValue(
        _ payload: JSONValue, _ schema: JSONValue?, _ route: Route?, _ table: ObjectDecoder.PropertyTable
    ) -> (json: JSONValue, schema: JSONValue?)? {
        guard payload.kind == .object else { return (payload, schema) }
        if let path = route?.identity?.path, let value = payload.member(at: path) {
            return (value, SchemaFields.schema(at: path, in: schema))
        }
        for (key, value) in payload.members {
            let isIdentity = if case .identity? = table.properties[utf8: key] { true } else { false }
            if isIdentity || payload.count == 1 { return (value, SchemaFields.schema(of: key, in: schema)) }
        }
        return nil
    }

    static func wrongKey(_ entity: Entity) -> DecodeError {
        DecodeError(
            code: "decode.identity",
            "The record's key names the \(entity.name) to delete; it has to be \(entity.identity.type.expectation)")
    }
}

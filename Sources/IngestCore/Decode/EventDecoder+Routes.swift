import ObjectGraph

/// Records that routes make events of: plain JSON, and that of Kafka Connect.
extension EventDecoder {
    func decodeRouted(
        _ root: JSONValue, _ record: SourceRecord, schema: JSONValue? = nil
    ) throws(DecodeError) -> ChangeSet {
        for route in routes {
            let type = route.typeField.isEmpty ? nil : root.member(at: route.typeField)?.string
            guard route.takes(type: type), route.takes(record, fields: root) else { continue }
            if route.isDrop { return skipped(.drop) }
            // Without a field for it the event has no time: when a record was sent says nothing of its object.
            let time = try time(of: root, route)
            guard let data = root.member(at: route.data) else {
                throw DecodeError(
                    code: "decode.envelope",
                    "The record has no '\(route.data.joined(separator: "."))', where its route looks for the data")
            }
            return try decode(
                data, route, type: type, time: time, record, root: root, schema: route.data.isEmpty ? schema : nil)
        }
        throw DecodeError(code: "decode.no_route", "No route takes this record. Add a route for its type")
    }

    /// Takes the schema wrapper of Kafka Connect's JSON converter off, where there is one.
    static func unwrapped(_ root: JSONValue) -> (payload: JSONValue, schema: JSONValue?) {
        guard root.count == 2, let schema = root.member("schema"), let payload = root.member("payload") else {
            return (root, nil)
        }
        return (payload, schema)
    }

    /// The time that a route finds in a record, or nil where it names no field or the field is null.
    func time(of root: JSONValue, _ route: Route) throws(DecodeError) -> Int64? {
        guard !route.timeField.isEmpty, let value = root.member(at: route.timeField), !value.isNull else { return nil }
        guard let stored = route.values.value(value, for: .date) else {
            throw DecodeError(
                code: "decode.type",
                "The event's time, \(route.timeField.joined(separator: ".")), has to be "
                    + route.values.expectation(.date))
        }
        return stored.integer
    }

    /// Decodes the data of a record that a route takes.
    func decode(
        _ data: JSONValue, _ route: Route, type: String?, time: Int64?, _ record: SourceRecord, root: JSONValue? = nil,
        subject: String? = nil, schema: JSONValue? = nil
    ) throws(DecodeError) -> ChangeSet {
        if route.isDrop { return skipped(.drop) }
        if let filter = route.filter, !filter.holds(for: root ?? data) { return skipped(.filter) }
        let verb = route.verb ?? type.flatMap { EventType.verb(of: $0)?.verb } ?? .upsert
        var circumstances = ObjectDecoder.Circumstances(time: time, values: route.values)
        let identity = try routedIdentity(route, root ?? data, record, subject)
        if route.isPlain, !format.takesNumbersForTexts {
            var event = ChangeSet([])
            _ = try objects.decode(
                data, entity: route.entity, kind: verb, circumstances, table: route.properties, identity: identity,
                into: &event.operations)
            complete(&event, route)
            return event
        }
        circumstances.takesNumbersForTexts = format.takesNumbersForTexts
        let row = ObjectDecoder.Row(
            entity: route.entity, kind: verb, circumstances: circumstances, table: route.properties,
            schema: SchemaFields(schema))
        return try decode(data, row, route, root: root ?? data, identity: identity)
    }

    /// Decodes a row that a route takes, with all that the route asks for.
    func decode(
        _ data: JSONValue, _ row: ObjectDecoder.Row, _ route: Route, root: JSONValue, identity: Value
    ) throws(DecodeError) -> ChangeSet {
        var event = ChangeSet([])
        var (operation, splits) = try objects.read(data, row, connect: connect, into: &event.operations)
        if operation.identity.isNull { operation.identity = identity }
        for field in route.fields {
            guard let value = root.member(at: field.path) else { continue }
            try objects.assign(
                value, to: field.property, named: field.name, .plain, row, connect, &operation, into: &event.operations)
        }
        if operation.kind == .upsert { operation.setMissing(route.defaults) }
        complete(&operation, route)
        try objects.finish(&operation, entity: row.entity, row.circumstances)
        if operation.kind == .upsert {
            for split in splits {
                try decode(split, route.splits[split.index], of: &operation, row, into: &event.operations)
            }
        }
        event.operations.append(operation)
        return event
    }

    /// Gives the event's own object the route's constants, and its prefix where the model's attribute identifies it.
    private func complete(_ event: inout ChangeSet, _ route: Route) {
        guard var operation = event.operations.popLast() else { return }
        complete(&operation, route)
        event.operations.append(operation)
    }

    private func complete(_ operation: inout ObjectOperation, _ route: Route) {
        if operation.kind == .upsert { operation.attributes += route.constants }
        if route.identity == nil, route.identityPrefix != nil, !operation.identity.isNull {
            let text = route.entity.identity.type.text(of: operation.identity)
            operation.identity = route.identityValue(text: text, integer: nil) ?? operation.identity
        }
    }

    // MARK: Identities

    func routedIdentity(
        _ route: Route, _ root: JSONValue, _ record: SourceRecord, _ subject: String?
    ) throws(DecodeError) -> Value {
        switch route.identity {
        case .row:
            // A row that was sent through a topic carries its number; other records count as their place does.
            let number = root.member(named: RowDecoder.numberMember)?.int64
            return route.rowIdentity(number ?? record.place.rowNumber) ?? .null
        case .field(let field):
            guard let value = root.member(at: route.identityPath) else { return .null }
            let text = value.string ?? value.int64.map { String($0) }
            guard let text, let identity = route.identityValue(text: text, integer: value.int64) else {
                throw DecodeError(
                    code: "decode.identity",
                    "'\(field)' names the \(route.entity.name); it has to be \(route.entity.identity.type.expectation)")
            }
            return identity
        case nil: return subject.flatMap { route.entity.identityValue(fromText: $0) } ?? .null
        }
    }

    // MARK: Splits

    /// Makes objects of an array's elements, and links them with the record's object.
    private func decode(
        _ pending: ObjectDecoder.PendingSplit, _ split: RouteSplit, of parent: inout ObjectOperation,
        _ parentRow: ObjectDecoder.Row, into operations: inout [ObjectOperation]
    ) throws(DecodeError) {
        guard pending.array.kind == .array || pending.array.isNull else {
            throw DecodeError(
                code: "decode.relationship",
                "'\(split.field)' is split into \(split.entity.name) objects; it has to be an array of objects")
        }
        let parentText = model.entities[parent.entity].identity.type.text(of: parent.identity)
        let items = SchemaFields(pending.schema?.member("items"))
        var identities: [Value] = []
        for element in pending.array.elements {
            let row = ObjectDecoder.Row(
                entity: split.entity, kind: .upsert, circumstances: parentRow.circumstances, table: split.table,
                schema: items)
            var (operation, _) = try objects.read(element, row, connect: connect, into: &operations)
            if let identity = try split.identity(of: element, number: identities.count + 1, parent: parentText) {
                operation.identity = identity
            } else if split.identityPrefix != nil, !operation.identity.isNull {
                let text = split.entity.identity.type.text(of: operation.identity)
                operation.identity = try split.prefixed(text, parent: parentText)
            }
            operation.attributes += split.constants
            operation.setMissing(split.defaults)
            try objects.finish(&operation, entity: split.entity, row.circumstances)
            if case .fromElement(let index) = split.link {
                operation.relationships.append(.init(relationship: index, change: .one(parent.identity)))
            }
            identities.append(operation.identity)
            operations.append(operation)
        }
        guard case .fromParent(let index) = split.link, split.replaces || !identities.isEmpty else { return }
        let change: RelationshipChange = split.replaces ? .replace(identities) : .edit(add: identities, remove: [])
        parent.relationships.append(.init(relationship: index, change: change))
    }
}

extension ObjectOperation {
    /// Sets attributes that the record did not state, or stated as null.
    mutating func setMissing(_ defaults: [AttributeValue]) {
        for value in defaults {
            let stated = attributes.last { $0.slot == value.slot }?.value
            if stated?.isNull ?? true { attributes.append(value) }
        }
    }
}

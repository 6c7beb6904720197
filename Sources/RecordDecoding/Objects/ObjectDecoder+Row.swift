import GraphCore

extension ObjectDecoder {
    /// Describes a flat object before it is read: the row of a table, or a record that a route takes.
    struct Row {
        /// The entity of the object, or one above it that the object's own `_entity` lies below.
        var entity: Entity
        var kind: ObjectOperation.Kind
        var circumstances: Circumstances
        let table: PropertyTable
        /// The schemas of the fields, where the record brings them.
        var schema: SchemaFields?
    }

    /// An array that is to be taken apart when the object's identity is known.
    struct PendingSplit {
        let index: Int
        let array: JSONValue
        let schema: JSONValue?
    }

    /// Reads an object without nested names of the model's own: its operation is not checked and not appended yet.
    func read(
        _ json: JSONValue, _ row: Row, connect: ConnectValues, into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> (operation: ObjectOperation, splits: [PendingSplit]) {
        guard json.kind == .object else {
            throw DecodeError(code: "decode.type", "The data of a \(row.entity.name) has to be a JSON object")
        }
        var row = row
        let expected = row.entity
        row.entity = try ownEntity(json, expected)
        var operation = ObjectOperation(row.kind, entity: row.entity.index, identity: .null)
        operation.time = row.circumstances.time
        var splits: [PendingSplit] = []
        var faults = FieldFaults()
        for (key, value) in json.members {
            let schema = row.schema?.schema(of: key)
            let isAbsent = row.circumstances.leavesOutUnavailable && UnavailableMark.stands(in: value)
            if row.table.splits.count > 0, let indexes = row.table.splits[utf8: key] {
                for index in indexes where !isAbsent {
                    splits.append(PendingSplit(index: index, array: value, schema: schema))
                }
                continue
            }
            let own = row.table.properties[utf8: key] ?? property(key, of: row.entity, below: expected, in: columns)
            guard let property = own else {
                if row.table.ignoresUnknown || row.kind == .delete { continue }
                try faults.add(unknown(JSONValue.text(key), row.entity))
                continue
            }
            if isAbsent || row.kind == .delete && !Self.counts(property, in: row.entity) { continue }
            do throws(DecodeError) {
                try assign(
                    value, to: property, named: JSONValue.text(key), schema, row, connect, &operation, into: &operations
                )
            } catch {
                try faults.add(error)
            }
        }
        try faults.check()
        return (operation, splits)
    }

    /// Tells whether a property counts in a deletion: the identity and the version.
    private static func counts(_ property: Property, in entity: Entity) -> Bool {
        switch property {
        case .identity: true
        case .attribute(let slot): slot == entity.versionSlot
        case .relationship, .transient, .ignored: false
        }
    }

    /// Gives an operation the value of one field, which means what its schema says.
    func assign(
        _ json: JSONValue, to property: Property, named name: @autoclosure () -> String, _ schema: JSONValue?,
        _ row: Row, _ connect: ConnectValues, _ operation: inout ObjectOperation,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) {
        let entity = row.entity
        if case .ignored = property { return }
        let logical = schema.map { LogicalType($0) } ?? .plain
        switch property {
        case .ignored: return
        case .identity:
            operation.identity = try identity(json, entity: entity, named: name(), logical, row, connect)
        case .attribute(let slot):
            let stored = try value(json, entity.attributes[slot], named: name(), logical, row, connect)
            if slot == entity.versionSlot { operation.version = stored }
            if row.kind == .upsert { operation.attributes.append(.init(slot: slot, value: stored)) }
        case .transient(let slot):
            let stored = try value(json, entity.transientAttributes[slot], named: name(), logical, row, connect)
            if row.kind == .upsert { operation.transients.append(.init(slot: slot, value: stored)) }
        case .relationship(let index):
            if row.kind == .delete { return }
            let relationship = entity.relationships[index]
            let isScalar = logical == .scaledDecimal || ![.object, .array, .null].contains(json.kind)
            let change: RelationshipChange
            if isScalar, !relationship.isToMany, !isNull(json, row, name()) {
                let destination = model.entities[relationship.destinationIndex]
                change = .one(try identity(json, entity: destination, named: name(), logical, row, connect))
            } else if let schema {
                change = try self.change(json, relationship, schema, named: name(), row, connect, into: &operations)
            } else {
                change = try self.change(json, relationship, row.circumstances, name(), into: &operations)
            }
            operation.relationships.append(.init(relationship: index, change: change))
        }
    }

    /// Tells whether a value is null, or a text that stands for it; the texts of a field of the form `text` are values.
    private func isNull(_ json: JSONValue, _ row: Row, _ name: @autoclosure () -> String) -> Bool {
        guard row.circumstances.values.isNull(json) else { return false }
        if json.isNull || row.table.forms.isEmpty { return true }
        guard case .form(.text)? = row.table.forms[name()] else { return true }
        return false
    }

    /// - Throws: ``DecodeError`` where the value does not fit the attribute.
    private func value(
        _ json: JSONValue, _ attribute: Attribute, named name: @autoclosure () -> String, _ logical: LogicalType,
        _ row: Row, _ connect: ConnectValues
    ) throws(DecodeError) -> Value {
        if let stored = value(json, attribute.type, named: name(), logical, row, connect) { return stored }
        throw wrongType(
            json, attribute, row.entity, row.circumstances, name(),
            expectation: row.table.forms[name()]?.expectation(attribute.type) ?? logical.expectation(attribute.type))
    }

    private func value(
        _ json: JSONValue, _ type: AttributeType, named name: @autoclosure () -> String, _ logical: LogicalType,
        _ row: Row,
        _ connect: ConnectValues
    ) -> Value? {
        if row.circumstances.values.rules != nil, isNull(json, row, name()) { return .null }
        if !row.table.forms.isEmpty, let form = row.table.forms[name()] {
            if form.isJSON, json.kind == .string {
                return connect.value(json, .json, for: type, row.circumstances.values)
            }
            if let value = form.value(json, for: type) { return value }
        }
        if logical == .plain {
            if let value = row.circumstances.values.value(json, for: type) { return value }
            return row.circumstances.takesTexts ? Self.textValue(json, for: type) : nil
        }
        return connect.value(json, logical, for: type, row.circumstances.values)
    }

    private func identity(
        _ json: JSONValue, entity: Entity, named name: @autoclosure () -> String, _ logical: LogicalType, _ row: Row,
        _ connect: ConnectValues
    ) throws(DecodeError) -> Value {
        if let value = value(json, entity.identity.type, named: name(), logical, row, connect), !value.isNull {
            return value
        }
        if logical.governs(json) { throw wrongIdentity(json, entity, row.circumstances, name()) }
        return try identity(json, entity: entity, row.circumstances, name())
    }

    /// Returns the change that objects and arrays mean, where the record brings their schema.
    private func change(
        _ json: JSONValue, _ relationship: Relationship, _ schema: JSONValue, named name: @autoclosure () -> String,
        _ row: Row, _ connect: ConnectValues, into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> RelationshipChange {
        let destination = model.entities[relationship.destinationIndex]
        if !relationship.isToMany, json.kind == .object {
            return .one(try reference(json, destination, schema, named: name(), row, connect, into: &operations))
        }
        guard relationship.isToMany, json.kind == .array, let items = schema.member("items") else {
            return try change(json, relationship, row.circumstances, name(), into: &operations)
        }
        var identities: [Value] = []
        for element in json.elements {
            identities.append(
                try reference(element, destination, items, named: name(), row, connect, into: &operations))
        }
        return .replace(identities)
    }

    /// An identity, or a nested object, whose fields have the schemas of its struct.
    private func reference(
        _ json: JSONValue, _ destination: Entity, _ schema: JSONValue, named name: @autoclosure () -> String,
        _ row: Row, _ connect: ConnectValues, into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> Value {
        let logical = LogicalType(schema)
        if json.kind != .object || logical == .scaledDecimal {
            return try identity(json, entity: destination, named: name(), logical, row, connect)
        }
        if json.count == 1, let only = json.member(named: destination.identity.name) {
            let inner = SchemaFields.schema(of: destination.identity.name.utf8, in: schema).map { LogicalType($0) }
            return try identity(only, entity: destination, named: name(), inner ?? .plain, row, connect)
        }
        let nested = Row(
            entity: destination, kind: .upsert, circumstances: row.circumstances, table: tables[destination.index],
            schema: SchemaFields(schema))
        var (operation, _) = try read(json, nested, connect: connect, into: &operations)
        try finish(&operation, row.circumstances)
        operations.append(operation)
        return operation.identity
    }

    /// Returns the value that a text of MySQL means, whose dates are of UTC and whose booleans are 0 and 1.
    private static func textValue(_ json: JSONValue, for type: AttributeType) -> Value? {
        if type == .date {
            return json.utf8.flatMap { Timestamp.microseconds(utf8: $0, assumesUTC: true) }.map { .integer($0) }
        }
        if type == .boolean, let number = json.int64 { return type.value(fromInteger: number) }
        if type == .string { return json.numberText.map { .text($0) } }
        return json.string.flatMap { $0.utf8.contains(0) ? nil : type.value(fromText: $0) }
    }
}

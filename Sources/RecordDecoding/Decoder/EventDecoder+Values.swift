import GraphCore

/// The values that expressions of routes and splits give.
extension EventDecoder {
    /// Gives an operation the fields, the added and the removed destinations of a route.
    func setFields(
        _ values: RouteValues, _ row: ObjectDecoder.Row, _ scope: RouteScope, _ operation: inout ObjectOperation,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) {
        var row = row
        row.entity = model.entities[operation.entity]
        for field in values.fields {
            if let path = field.expression.path {
                guard let value = scope.member(at: path) else { continue }
                try objects.assign(
                    value, to: field.property, named: field.name, scope.schema(at: path), row, connect, &operation,
                    into: &operations)
                continue
            }
            switch try field.expression.text(in: scope) {
            case .absent: continue
            case .null: try set(nil, field, row, scope, &operation)
            case .text(let text): try set(text, field, row, scope, &operation)
            }
        }
        if !values.edits.isEmpty, row.kind == .upsert { try edit(values.edits, scope, &operation) }
    }

    private func set(
        _ text: String?, _ field: RouteValues.Field, _ row: ObjectDecoder.Row, _ scope: RouteScope,
        _ operation: inout ObjectOperation
    ) throws(DecodeError) {
        switch field.property {
        case .attribute(let slot):
            let attribute = row.entity.attributes[slot]
            let value = try value(text, field, attribute, row, scope)
            if slot == row.entity.versionSlot { operation.version = value }
            if row.kind == .upsert { operation.attributes.append(.init(slot: slot, value: value)) }
        case .relationship(let index) where row.kind == .upsert:
            let destination = model.entities[row.entity.relationships[index].destinationIndex]
            let value = try value(text, field, destination.identity, row, scope)
            operation.relationships.append(.init(relationship: index, change: .one(value)))
        default: break
        }
    }

    private func value(
        _ text: String?, _ field: RouteValues.Field, _ attribute: Attribute, _ row: ObjectDecoder.Row,
        _ scope: RouteScope
    ) throws(DecodeError) -> Value {
        guard let text else { return .null }
        if field.expression.variable == .timestamp, attribute.type == .date {
            return scope.record.timestampMilliseconds.flatMap { TimeUnit.milliseconds.microseconds($0) }
                .map { .integer($0) } ?? .null
        }
        if let form = row.table.forms[field.name], let value = form.value(text: text, for: attribute.type) {
            return value
        }
        if !text.utf8.contains(0), let value = row.circumstances.values.value(text: text, for: attribute.type) {
            return value
        }
        let expectation =
            row.table.forms[field.name]?.expectation(attribute.type)
            ?? row.circumstances.values.expectation(attribute.type)
        throw DecodeError(
            code: "decode.type",
            "\(row.entity.name).\(field.name), which '\(field.expression.source)' gives, has to be \(expectation)"
                + (attribute.isSecret ? "" : ", not \(DecodeError.shownValue(text))"))
    }

    /// Adds destinations to relationships, and removes some.
    private func edit(
        _ edits: [RouteValues.Edit], _ scope: RouteScope, _ operation: inout ObjectOperation
    ) throws(DecodeError) {
        for relationship in Set(edits.map(\.relationship.index)).sorted() {
            var add: [Value] = []
            var remove: [Value] = []
            for edit in edits where edit.relationship.index == relationship {
                let identities = try identities(edit, scope)
                if edit.isRemoval { remove += identities } else { add += identities }
            }
            if add.isEmpty, remove.isEmpty { continue }
            operation.relationships.append(
                .init(relationship: relationship, change: .edit(add: add, remove: remove)))
        }
    }

    /// Returns the identities that an expression names: one, or an array's.
    private func identities(_ edit: RouteValues.Edit, _ scope: RouteScope) throws(DecodeError) -> [Value] {
        let destination = model.entities[edit.relationship.destinationIndex]
        func identity(_ text: String) throws(DecodeError) -> Value {
            if let value = destination.identityValue(fromText: text) { return value }
            throw DecodeError(
                code: "decode.identity",
                "'\(edit.expression.source)' names a \(destination.name) of \(edit.name); it has to be "
                    + destination.identity.type.expectation)
        }
        if let path = edit.expression.path, let array = scope.member(at: path), array.kind == .array {
            try elements.add(array.count)
            let schema = SchemaFields.schema(at: path, in: scope.schema)?.member("items")
            var identities: [Value] = []
            for element in array.elements {
                guard case .text(let text) = try RouteScope.text(of: element, schema, scope.values, path.text) else {
                    continue
                }
                identities.append(try identity(text))
            }
            return identities
        }
        guard case .text(let text) = try edit.expression.text(in: scope) else { return [] }
        return [try identity(text)]
    }
}

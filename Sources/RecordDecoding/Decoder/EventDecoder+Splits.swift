import GraphCore

/// Objects inside of records: arrays, maps and single objects that splits make objects of.
extension EventDecoder {
    /// Makes the objects of splits, and links them with the object around them.
    func decode(
        _ found: [ObjectDecoder.PendingSplit], _ splits: [RouteSplit], of parent: inout ObjectOperation,
        _ circumstances: ObjectDecoder.Circumstances, _ scope: RouteScope, into operations: inout [ObjectOperation]
    ) throws(DecodeError) {
        for pending in found {
            let split = splits[pending.index]
            var inner = scope
            inner.parent = model.entities[parent.entity].identity.type.text(of: parent.identity)
            var identities: [Value] = []
            func take(_ element: JSONValue) throws(DecodeError) {
                inner.base = element
                if let filter = split.filter, !filter.holds(for: element, schema: inner.schema) { return }
                let identity = try decode(inner, split, circumstances, of: parent.identity, into: &operations)
                identities.append(identity)
            }
            let value = pending.array
            inner.schema = Self.elementSchema(value, split, pending.schema)
            try elements.add(value.kind == .object && !split.isMap ? 1 : value.count)
            switch value.kind {
            case .null: break
            case .array where !split.isMap:
                for (index, element) in value.elements.enumerated() {
                    inner.number = index + 1
                    try take(element)
                }
            case .object where split.isMap:
                for (index, (key, element)) in value.members.enumerated() {
                    (inner.number, inner.name) = (index + 1, key)
                    try take(element)
                }
            case .object:
                inner.number = 1
                try take(value)
            default: throw wrongKind(split, value)
            }
            try link(identities, split, to: &parent)
        }
    }

    /// Returns the schema of the elements of an array or a map, or of the one object in its place.
    private static func elementSchema(_ value: JSONValue, _ split: RouteSplit, _ schema: JSONValue?) -> JSONValue? {
        switch value.kind {
        case .object where split.isMap: schema.flatMap { $0.member("values") ?? $0 }
        case .object: schema
        default: schema?.member("items")
        }
    }

    private func wrongKind(_ split: RouteSplit, _ value: JSONValue) -> DecodeError {
        DecodeError(
            code: "decode.relationship",
            "'\(split.field)' is split into \(split.entity.name) objects; it has to be "
                + "\(split.isMap ? "an object of objects" : "an array of objects"), not \(ObjectDecoder.article(value))"
        )
    }

    /// Links the object around the elements with those, where the link is its own.
    private func link(
        _ identities: [Value], _ split: RouteSplit, to parent: inout ObjectOperation
    ) throws(DecodeError) {
        switch split.link {
        case .fromParent(let index):
            guard split.replaces || !identities.isEmpty else { return }
            let change: RelationshipChange =
                split.replaces ? .replace(identities) : .edit(add: identities, remove: [])
            var value = ObjectOperation.RelationshipValue(relationship: index, change: change)
            value.deletesLost = split.deletesLost
            parent.relationships.append(value)
        case .oneFromParent(let index):
            if identities.count > 1 {
                throw DecodeError(
                    code: "decode.relationship",
                    "'\(split.field)' leads to one \(split.entity.name); send one, not \(identities.count)")
            }
            parent.relationships.append(.init(relationship: index, change: .one(identities.first ?? .null)))
        case .fromElement, .manyFromElement: break
        }
    }

    /// Makes the object of one element, and returns its identity.
    private func decode(
        _ scope: RouteScope, _ split: RouteSplit, _ circumstances: ObjectDecoder.Circumstances, of parent: Value,
        into operations: inout [ObjectOperation]
    ) throws(DecodeError) -> Value {
        let row = ObjectDecoder.Row(
            entity: split.entity, kind: .upsert, circumstances: circumstances, table: split.table,
            schema: SchemaFields(scope.schema))
        var operation = ObjectOperation(.upsert, entity: split.entity.index, identity: .null)
        operation.time = circumstances.time
        var inner: [ObjectDecoder.PendingSplit] = []
        let isScalar = scope.base.kind != .object || scope.schema.map { LogicalType($0) } == .scaledDecimal
        if !isScalar || !split.takesScalars {
            (operation, inner) = try objects.read(scope.base, row, connect: connect, into: &operations)
        }
        try setFields(split.made, row, scope, &operation, into: &operations)
        if let identity = try split.identity(in: scope) {
            operation.identity = identity
        } else if split.identityPrefix != nil, !operation.identity.isNull {
            let text = split.entity.identity.type.text(of: operation.identity)
            operation.identity = try split.prefixed(text, parent: scope.parent)
        }
        split.made.complete(&operation)
        try objects.finish(&operation, circumstances)
        switch split.link {
        case .fromElement(let index): operation.relationships.append(.init(relationship: index, change: .one(parent)))
        case .manyFromElement(let index):
            operation.relationships.append(.init(relationship: index, change: .edit(add: [parent], remove: [])))
        case .fromParent, .oneFromParent: break
        }
        for index in split.splits.indices where split.splits[index].path.onlyKey == nil {
            let path = split.splits[index].path
            guard let array = scope.member(at: path) else { continue }
            inner.append(ObjectDecoder.PendingSplit(index: index, array: array, schema: scope.schema(at: path)))
        }
        if !inner.isEmpty { try decode(inner, split.splits, of: &operation, circumstances, scope, into: &operations) }
        operations.append(operation)
        return operation.identity
    }
}

import GraphCore

/// Records that routes make events of: plain JSON, and Kafka Connect's JSON.
extension EventDecoder {
    /// Returns the view that expressions have of a record, or of the row in it.
    func scope(_ record: SourceRecord, root: JSONValue, schema: JSONValue? = nil) -> RouteScope {
        RouteScope(
            record, root: root, schema: schema, keys: keys, values: values,
            leavesOutUnavailable: format.leavesOutUnavailable)
    }

    /// Returns the circumstances of a record's objects: what its format and its route know of values.
    func circumstances(time: Int64?, _ route: Route?) -> ObjectDecoder.Circumstances {
        ObjectDecoder.Circumstances(
            time: time, values: route?.values ?? values,
            takesNumbersForTexts: format.takesNumbersForTexts || format.takesColumns, takesTexts: format.takesTexts,
            leavesOutUnavailable: format.leavesOutUnavailable)
    }

    func decodeRouted(
        _ root: JSONValue, _ record: SourceRecord, schema: JSONValue? = nil
    ) throws(DecodeError) -> ChangeSet {
        let scope = scope(record, root: root, schema: schema)
        guard let (index, type) = try takingRoute(scope) else {
            throw DecodeError(code: "decode.no_route", "No route takes this record. Add a route for its type")
        }
        let route = routes[index]
        if let path = route.each, let array = root.member(at: path) {
            usage?.count(route)
            return try decodeElements(of: array, record)
        }
        usage?.count(route, scope, fields: scope, data: root.member(at: route.data))
        return try decodeRouted(route, type: type, scope)
    }

    /// Returns the first route that takes a record, with the record's type; nil where none does.
    func takingRoute(_ scope: RouteScope) throws(DecodeError) -> (index: Int, type: String?)? {
        for (index, route) in routes.enumerated() {
            let type = try route.type(in: scope)
            guard route.takes(type: type), route.takes(scope.record, fields: scope.root, schema: scope.rootSchema)
            else { continue }
            if let path = route.each, scope.root.member(at: path)?.kind != .array { continue }
            return (index, type)
        }
        return nil
    }

    /// Decodes a record that is an array of events, each by its own route. One that fails makes the record fail.
    func decodeElements(of array: JSONValue, _ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        try joined(array, place: { "Element \($0) of the record" }) { element throws(DecodeError) in
            try decodeRouted(try object(element), record)
        }
    }

    /// Joins the events of an array's elements into the events of one record. An element without operations adds none.
    ///
    /// - Parameter place: names an element by its number, from 1, in the error of one that fails.
    func joined(
        _ array: JSONValue, place: (Int) -> String, _ decode: (JSONValue) throws(DecodeError) -> ChangeSet
    ) throws(DecodeError) -> ChangeSet {
        try elements.add(array.count)
        var changes = ChangeSet([])
        var number = 0
        for element in array.elements {
            number += 1
            do throws(DecodeError) {
                changes.operations += try decode(element).operations
            } catch {
                throw DecodeError(
                    code: error.code, "\(place(number)): \(error.message)", isRetriable: error.isRetriable)
            }
            let end = changes.operations.count
            if end > changes.eventEnds.last ?? 0 { changes.eventEnds.append(end) }
        }
        if changes.operations.isEmpty { return skipped(skipReason ?? .filter) }
        skipReason = nil
        if changes.eventEnds.count == 1 { changes.eventEnds = [] }
        return changes
    }

    /// Decodes a record that a route takes.
    private func decodeRouted(
        _ route: Route, type: String?, _ scope: RouteScope
    ) throws(DecodeError) -> ChangeSet {
        if route.isDrop { return skipped(.drop) }
        if let program = route.program {
            if !route.filterHolds(in: scope) {
                return skipped(.filter)
            }
            return try decode(scope.root, by: program, route, scope.record)
        }
        // Without a field for it the event has no time: when a record was sent says nothing of its object.
        let time = try time(route, scope)
        guard let data = scope.root.member(at: route.data) else {
            throw DecodeError(
                code: "decode.envelope", "The record has no '\(route.data.text)', where its route looks for the data")
        }
        return try decode(data, route, type: type, time: time, scope)
    }

    /// The time that a route finds in a record, or nil where it names no field or the field is null.
    func time(_ route: Route, _ scope: RouteScope) throws(DecodeError) -> Int64? {
        guard let field = route.timeField else { return nil }
        let stored: Value?
        let shown: String
        var number: Double?
        var expectation: String?
        if let path = field.path {
            guard let value = scope.member(at: path), !scope.values.isNull(value) else { return nil }
            let logical = scope.logicalType(at: path)
            stored = connect.value(value, logical, for: .date, route.values)
            expectation = logical.expectation(.date)
            (shown, number) = (ObjectDecoder.shown(value), value.double)
        } else if field.variable == .timestamp {
            return scope.record.timestampMilliseconds.flatMap { TimeUnit.milliseconds.microseconds($0) }
        } else {
            guard case .text(let text) = try field.text(in: scope) else { return nil }
            stored = route.values.value(text: text, for: .date)
            (shown, number) = (DecodeError.shownValue(text), Double(text))
        }
        if let stored { return stored.integer }
        let keys = field.paths.flatMap(\.steps)
        let isSecret = route.entity.attributes.contains { $0.isSecret && keys.contains(.key(Array($0.name.utf8))) }
        throw DecodeError(
            code: "decode.type",
            "The event's time, \(field.source), has to be \(expectation ?? route.values.expectation(.date))"
                + (isSecret ? "" : ", not \(shown)")
                + (expectation == nil
                    ? route.values.datesRemedy(for: isSecret ? nil : number).map { ". \($0)" } ?? "" : ""))
    }

    /// Decodes the data of a record that a route takes.
    func decode(
        _ data: JSONValue, _ route: Route, type: String?, time: Int64?, _ scope: RouteScope, subject: String? = nil
    ) throws(DecodeError) -> ChangeSet {
        if route.isDrop { return skipped(.drop) }
        if !route.filterHolds(in: scope) {
            return skipped(.filter)
        }
        let verb = route.verb ?? type.flatMap { EventType.verb(of: $0)?.verb } ?? .upsert
        let circumstances = circumstances(time: time, route)
        let identity = try routedIdentity(route, scope, subject)
        var event = ChangeSet([])
        if route.isPlain, !circumstances.takesNumbersForTexts {
            _ = try objects.decode(
                data, entity: route.entity, kind: verb, circumstances, keys: route.properties.properties,
                identity: identity, into: &event.operations)
            complete(&event, route)
        } else {
            let row = ObjectDecoder.Row(
                entity: route.entity, kind: verb, circumstances: circumstances, table: route.properties,
                schema: SchemaFields(SchemaFields.schema(at: route.data, in: scope.schema)))
            event = try decode(data, row, route, scope, fields: scope, identity: identity)
        }
        if !route.also.isEmpty { try decode(route.also, type: type, time: time, scope, into: &event) }
        return event
    }

    /// Makes the further objects of a record, before the event's own.
    func decode(
        _ routes: [Route], type: String?, time: Int64?, _ scope: RouteScope, into event: inout ChangeSet
    ) throws(DecodeError) {
        var further: [ObjectOperation] = []
        for route in routes {
            let type = try route.type(in: scope) ?? type
            guard route.takes(type: type),
                route.takes(scope.record, fields: scope.root, schema: scope.rootSchema),
                let data = scope.member(at: route.data), !data.isNull
            else { continue }
            usage?.count(route, scope, fields: scope, data: data)
            try elements.add(1)
            let time = try self.time(route, scope) ?? time
            // The verb of a type is about the event's own object.
            further += try decode(data, route, type: nil, time: time, scope).operations
        }
        event.operations.insert(contentsOf: further, at: 0)
        if !event.operations.isEmpty { skipReason = nil }
    }

    /// Decodes a row that a route takes, with all that the route asks for.
    ///
    /// - Parameters:
    ///   - scope: the row, where splits begin.
    ///   - fields: where the paths of `fields` begin.
    func decode(
        _ data: JSONValue, _ row: ObjectDecoder.Row, _ route: Route, _ scope: RouteScope, fields: RouteScope,
        identity: Value
    ) throws(DecodeError) -> ChangeSet {
        var event = ChangeSet([])
        var (operation, splits) = try objects.read(data, row, connect: connect, into: &event.operations)
        if operation.identity.isNull { operation.identity = identity }
        try setFields(route.made, row, fields, &operation, into: &event.operations)
        complete(&operation, route, &event.operations)
        try objects.finish(&operation, row.circumstances)
        if operation.kind == .upsert, !route.splits.isEmpty {
            for index in route.splits.indices where !splits.contains(where: { $0.index == index }) {
                let path = route.splits[index].path
                if route.data.isEmpty, path.onlyKey != nil { continue }
                guard let array = scope.member(at: path) else { continue }
                splits.append(
                    ObjectDecoder.PendingSplit(index: index, array: array, schema: scope.schema(at: path)))
            }
            try decode(splits, route.splits, of: &operation, row.circumstances, scope, into: &event.operations)
        }
        event.operations.append(operation)
        return event
    }

    /// Gives the event's own object the route's values, and the route's prefix where the model's attribute identifies
    /// the object.
    private func complete(_ event: inout ChangeSet, _ route: Route) {
        guard var operation = event.operations.popLast() else { return }
        complete(&operation, route, &event.operations)
        event.operations.append(operation)
    }

    func complete(_ operation: inout ObjectOperation, _ route: Route, _ nested: inout [ObjectOperation]) {
        if operation.kind == .upsert { route.made.complete(&operation) }
        guard let prefix = route.identityPrefix else { return }
        if route.identity == nil, !operation.identity.isNull {
            let text = route.entity.identity.type.text(of: operation.identity)
            operation.identity = route.identityValue(text: text, integer: nil) ?? operation.identity
        }
        for index in operation.relationships.indices
        where route.prefixedReferences.contains(operation.relationships[index].relationship) {
            prefixReferences(&operation.relationships[index], of: route.entity, prefix, &nested)
        }
    }

    // MARK: Identities

    /// Returns the identity that a value stands for by its schema, or nil where the schema says no more than JSON.
    func identity(_ json: JSONValue, _ logical: LogicalType, _ entity: Entity, _ route: Route?) -> Value? {
        let type = entity.identity.type
        guard logical != .plain, let value = connect.value(json, logical, for: type, route?.values ?? values),
            !value.isNull
        else { return nil }
        return route?.identityPrefix.map { entity.identityValue(fromText: $0 + type.text(of: value)) } ?? value
    }

    func routedIdentity(
        _ route: Route, _ scope: RouteScope, _ subject: String?
    ) throws(DecodeError) -> Value {
        guard let identity = route.identity else {
            return subject.flatMap { route.entity.identityValue(fromText: $0) } ?? .null
        }
        let text: String?
        var integer: Int64?
        if let path = identity.path {
            guard let value = scope.member(at: path), !scope.values.isNull(value) else { return .null }
            let logical = scope.logicalType(at: path)
            if let found = self.identity(value, logical, route.entity, route) { return found }
            integer = value.int64
            text = logical.governs(value) ? nil : value.string ?? value.wholeNumberText
        } else if identity.variable == .row {
            integer = scope.rowNumber
            text = String(scope.rowNumber)
        } else if identity.variable == .key(.root) {
            return try scope.record.withPlainKey { key throws(DecodeError) in
                guard let key, !key.isEmpty else { return .null }
                return try keyIdentity(key, route.entity, route, keys.parser)
            }
        } else {
            let scope = try scope.naming(route.entity, by: identity, route.properties)
            guard case .text(let found) = try identity.text(in: scope) else { return .null }
            text = found
        }
        guard let text, let value = route.identityValue(text: text, integer: integer) else {
            throw DecodeError(
                code: "decode.identity",
                "'\(identity.source)' names the \(route.entity.name); it has to be "
                    + route.entity.identity.type.expectation)
        }
        return value
    }
}

extension EventDecoder {
    /// Puts a route's prefix before the identities that a relationship names. The objects that the record nests there
    /// get it too.
    private func prefixReferences(
        _ link: inout ObjectOperation.RelationshipValue, of entity: Entity, _ prefix: String,
        _ nested: inout [ObjectOperation]
    ) {
        let destination = model.entities[entity.relationships[link.relationship].destinationIndex]
        func prefixed(_ value: Value) -> Value {
            if value.isNull { return value }
            return destination.identityValue(fromText: prefix + destination.identity.type.text(of: value)) ?? value
        }
        let named = Set(link.change.identities)
        for index in nested.indices
        where named.contains(nested[index].identity) && model.entities[nested[index].entity].isKind(of: destination) {
            nested[index].identity = prefixed(nested[index].identity)
        }
        switch link.change {
        case .one(let value): link.change = .one(prefixed(value))
        case .replace(let values): link.change = .replace(values.map(prefixed))
        case .edit(let add, let remove): link.change = .edit(add: add.map(prefixed), remove: remove.map(prefixed))
        }
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

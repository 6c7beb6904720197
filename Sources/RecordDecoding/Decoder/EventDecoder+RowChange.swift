import GraphCore

/// A change of one row of a database's table, as a tool for change data capture states it.
struct RowChange {
    enum Kind: Equatable {
        case upsert, delete, truncate
        /// An operation that the format does not know: the error of a record that no route drops.
        case unknown(DecodeError)
    }

    let kind: Kind
    /// The row: after an upsert, before a deletion; nil where the change does not hold it.
    let row: JSONValue?
    /// The former values of the columns that an update changed; nil where the change does not hold them.
    var former: JSONValue?
    /// The record's value, where the paths of `fields` and `timeField` begin.
    let envelope: JSONValue
    /// When the database committed the change, in microseconds since 1970 UTC, or nil.
    var time: Int64?
    var table: String?
    /// The table behind its schema's or database's name.
    var qualifiedTables: [String] = []
    /// The schema of the row, where the record brings one.
    var schema: JSONValue?
    var envelopeSchema: JSONValue?
    /// Why a change without a row is no event.
    let missingRow: DecodeError

    /// Names the table behind its schema or database too.
    mutating func name(in space: String?) {
        if let space, let table { qualifiedTables.append("\(space).\(table)") }
    }

    fileprivate func isOf(_ wanted: String) -> Bool {
        (table.map(wanted.hasSameBytes) ?? false) || qualifiedTables.contains(where: wanted.hasSameBytes)
    }
}

/// A format whose records state changes of rows. Their fields are columns.
protocol RowChangeFormat: RecordFormat {}

extension RowChangeFormat {
    var takesColumns: Bool { true }

    /// A null value follows a deletion, for compaction alone.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        decoder.skipped(.tombstone)
    }
}

/// Changes of rows, whatever envelope they came in.
extension EventDecoder {
    /// Decodes a change of a row by the route that takes it, or by the name of its table.
    func decode(_ change: RowChange, _ record: SourceRecord) throws(DecodeError) -> ChangeSet {
        var change = change
        let fields = change.row?.kind == .object ? change.row : nil
        let route = routes.first { route in
            route.table.map(change.isOf) ?? true && route.takes(type: change.table)
                && route.takes(record, fields: fields, schema: change.schema)
        }
        let envelope = scope(record, root: change.envelope, schema: change.envelopeSchema)
        if let route {
            usage?.count(
                route, fields.map { scope(record, root: $0) } ?? envelope, fields: envelope, data: fields)
            if route.isDrop { return skipped(.drop) }
            // Of a deleted row the database may tell no more than the key, so a deletion meets no filter.
            if change.kind == .upsert, let filter = route.filter, let fields,
                !filter.holds(for: fields, schema: change.schema)
            {
                return skipped(.filter)
            }
            if let time = try time(route, envelope) { change.time = time }
        }
        if case .unknown(let error) = change.kind { throw error }
        if change.kind == .truncate {
            var operation = ObjectOperation(.truncate, entity: try entity(of: change, route).index, identity: .null)
            operation.time = change.time
            return ChangeSet(operation)
        }
        guard let fields else {
            guard change.kind == .delete, change.row == nil else { throw change.missingRow }
            return try decodeDeletionByKey(change, route, record)
        }
        return try decode(fields, change, route, envelope)
    }

    private func decode(
        _ fields: JSONValue, _ change: RowChange, _ route: Route?, _ envelope: RouteScope
    ) throws(DecodeError) -> ChangeSet {
        let entity = try entity(of: change, route)
        let circumstances = circumstances(time: change.time, route)
        let row = ObjectDecoder.Row(
            entity: entity, kind: change.kind == .delete ? .delete : route?.verb ?? .upsert,
            circumstances: circumstances,
            table: route?.properties ?? objects.columns[entity.index], schema: SchemaFields(change.schema))
        if let route {
            let scope = scope(envelope.record, root: fields, schema: change.schema)
            let identity = try routedIdentity(route, scope, nil)
            var event = try decode(fields, row, route, scope, fields: envelope, identity: identity)
            try deleteFormer(change, row, route, scope, of: &event)
            if change.kind == .upsert, !route.also.isEmpty {
                try decode(route.also, type: nil, time: change.time, scope, into: &event)
            }
            return event
        }
        var event = ChangeSet([])
        var (operation, _) = try objects.read(fields, row, connect: connect, into: &event.operations)
        try objects.finish(&operation, circumstances)
        event.operations.append(operation)
        try deleteFormer(change, row, nil, envelope, of: &event)
        return event
    }

    /// Where an update changed the row's identity, deletes the object that had the former one.
    private func deleteFormer(
        _ change: RowChange, _ row: ObjectDecoder.Row, _ route: Route?, _ scope: RouteScope, of event: inout ChangeSet
    ) throws(DecodeError) {
        guard let former = change.former, former.kind == .object, let own = event.operations.last, own.kind == .upsert
        else { return }
        var row = row
        row.kind = .delete
        var nested: [ObjectOperation] = []
        var (operation, _) = try objects.read(former, row, connect: connect, into: &nested)
        // The version of the row as it was would make the deletion stale.
        operation.version = .null
        if let route {
            var scope = scope
            scope.former = former
            if route.identity != nil { operation.identity = try routedIdentity(route, scope, nil) }
            complete(&operation, route, &nested)
        }
        if operation.identity.isNull || operation.identity == own.identity { return }
        try objects.finish(&operation, row.circumstances)
        event.operations.insert(operation, at: 0)
    }

    private func entity(of change: RowChange, _ route: Route?) throws(DecodeError) -> Entity {
        if let route { return route.entity }
        guard let table = change.table else {
            throw DecodeError(
                code: "decode.envelope",
                "The change event names no table and no route takes it. Add a route with 'entity'")
        }
        return model.entities[try tables.resolve(table)]
    }

    /// The key names what a deletion deletes where the event does not hold the row.
    private func decodeDeletionByKey(
        _ change: RowChange, _ route: Route?, _ record: SourceRecord
    ) throws(DecodeError) -> ChangeSet {
        if record.key?.isEmpty ?? true { throw Self.unnamedDeletion }
        let entity = try entity(of: change, route)
        let identity = try deletedIdentity(record, entity, route, missing: Self.unnamedDeletion)
        var operation = ObjectOperation(.delete, entity: entity.index, identity: identity)
        operation.time = change.time
        try objects.finish(&operation, ObjectDecoder.Circumstances(time: change.time))
        return ChangeSet(operation)
    }

    private static let unnamedDeletion = DecodeError(
        code: "decode.envelope",
        "The deletion has no row, and the record has no key that names it. Plain lines of a file have no keys: take the records "
            + "with 'kcat -C -J', or read the topic with 'replay --topic'. Or let the database send the old row, in PostgreSQL "
            + "with REPLICA IDENTITY FULL")
}

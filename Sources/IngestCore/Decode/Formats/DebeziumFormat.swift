import ObjectGraph

extension EventFormat {
    /// Debezium change events, with or without the schema wrapper.
    public static let debezium = EventFormat("debezium", DebeziumFormat())
}

/// Debezium's change events: an envelope with the row before and after, the operation, and where it comes from.
///
/// Source: Debezium's documentation of its connectors, "Data change events".
struct DebeziumFormat: RecordFormat {
    let takesColumns = true

    /// The members of an envelope besides its rows, copied out of the parser's memory.
    private struct Change {
        var isDeletion: Bool
        var isTruncation = false
        var time: Int64?
        var table: String?
        /// The table behind its schema's or database's name.
        var qualifiedTables: [String] = []

        func isOf(_ wanted: String) -> Bool { table == wanted || qualifiedTables.contains(wanted) }
    }

    /// A null value follows a deletion, for compaction alone.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        decoder.skipped(.tombstone)
    }

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.parse(value)
        if root.isNull { return decoder.skipped(.tombstone) }
        let (envelope, schema) = EventDecoder.unwrapped(try decoder.object(root))
        // A null payload is a null value in the wrapper: the tombstone behind a deletion.
        if envelope.isNull { return decoder.skipped(.tombstone) }
        var change = try Self.change(envelope)
        let side: StaticString = change.isDeletion ? "before" : "after"
        let row = envelope.member(side).flatMap { $0.isNull ? nil : $0 }
        let fields = row?.kind == .object ? row : nil
        let route = decoder.routes.first { route in
            route.table.map(change.isOf) ?? true && route.takes(type: change.table)
                && route.takes(record, fields: fields)
        }
        if let route {
            if route.isDrop { return decoder.skipped(.drop) }
            // Of a deleted row the database may tell no more than the key, so a deletion meets no filter.
            if !change.isDeletion, let filter = route.filter, let fields, !filter.holds(for: fields) {
                return decoder.skipped(.filter)
            }
            if let time = try decoder.time(of: envelope, route) { change.time = time }
        }
        if change.isTruncation {
            var operation = ObjectOperation(
                .truncate, entity: try entity(of: change, route, decoder).index, identity: .null)
            operation.time = change.time
            return ChangeSet(operation)
        }
        guard let fields else {
            guard change.isDeletion, row == nil else { throw Self.noRow(side) }
            return try decodeDeletionByKey(change, route, record, decoder)
        }
        let rowSchema = SchemaFields(SchemaFields.schema(of: side, in: schema))
        return try decode(fields, change, route, envelope, record, rowSchema, decoder)
    }

    private func decode(
        _ fields: JSONValue, _ change: Change, _ route: Route?, _ envelope: JSONValue, _ record: SourceRecord,
        _ schema: SchemaFields?, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let entity = try entity(of: change, route, decoder)
        let circumstances = ObjectDecoder.Circumstances(
            time: change.time, values: route?.values ?? ValueDecoding(), takesNumbersForTexts: true)
        let row = ObjectDecoder.Row(
            entity: entity, kind: change.isDeletion ? .delete : route?.verb ?? .upsert, circumstances: circumstances,
            table: route?.properties ?? decoder.columns[entity.index], schema: schema, leavesOutUnavailable: true)
        if let route {
            let identity = try decoder.routedIdentity(route, fields, record, nil)
            return try decoder.decode(fields, row, route, root: envelope, identity: identity)
        }
        var event = ChangeSet([])
        var (operation, _) = try decoder.objects.read(fields, row, connect: decoder.connect, into: &event.operations)
        try decoder.objects.finish(&operation, entity: entity, circumstances)
        event.operations.append(operation)
        return event
    }

    private func entity(
        of change: Change, _ route: Route?, _ decoder: EventDecoder
    ) throws(DecodeError) -> Entity {
        if let route { return route.entity }
        guard let table = change.table else {
            throw DecodeError(
                code: "decode.envelope",
                "The change event's 'source' names no table and no route takes it. Add a route with 'entity'")
        }
        return decoder.model.entities[try decoder.tables.resolve(table)]
    }

    private static func noRow(_ side: StaticString) -> DecodeError {
        DecodeError(
            code: "decode.envelope",
            "The change event has no object in '\(side)'. Events of the MongoDB connector are not supported; let the others "
                + "send whole rows")
    }

    // MARK: Envelopes

    private static func change(_ envelope: JSONValue) throws(DecodeError) -> Change {
        guard envelope.kind == .object, let text = envelope.member("op")?.string else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no change event of Debezium: it has no text 'op'. For rows that the transform ExtractNewRecordState "
                    + "has taken out of their envelope use 'format: connect'")
        }
        var change: Change
        switch text {
        case "c", "u", "r": change = Change(isDeletion: false)
        case "d": change = Change(isDeletion: true)
        case "t": change = Change(isDeletion: true, isTruncation: true)
        default:
            throw DecodeError(
                code: "decode.operation",
                "The change event's 'op' \(DecodeError.shown(text)) is none of c, r, u, d and t. Let the connector leave "
                    + "such events out, or add a route with 'verb: drop'")
        }
        let source = envelope.member("source")
        change.time = source.flatMap(time) ?? time(envelope)
        guard let source else { return change }
        change.table = source.member("table")?.string ?? source.member("collection")?.string
        if let table = change.table {
            for name in ["schema", "db"] {
                if let space = source.member(named: name)?.string { change.qualifiedTables.append("\(space).\(table)") }
            }
        }
        return change
    }

    /// The time that a part of an envelope states, in microseconds; a zero of an old connector's snapshot is none.
    private static func time(_ part: JSONValue) -> Int64? {
        if let time = part.member("ts_us")?.int64, time > 0 { return time }
        guard let time = part.member("ts_ms")?.int64, time > 0 else { return nil }
        return TimeUnit.milliseconds.microseconds(time)
    }

    // MARK: Deletions without a row

    /// The key names what a deletion deletes where the event does not hold the row.
    private func decodeDeletionByKey(
        _ change: Change, _ route: Route?, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        guard let key = record.key, !key.isEmpty else { throw Self.noRow("before") }
        let entity = try entity(of: change, route, decoder)
        let identity = try decoder.keyIdentity(key, entity, route, route?.properties ?? decoder.columns[entity.index])
        var operation = ObjectOperation(.delete, entity: entity.index, identity: identity)
        operation.time = change.time
        try decoder.objects.finish(&operation, entity: entity, ObjectDecoder.Circumstances(time: change.time))
        return ChangeSet(operation)
    }
}

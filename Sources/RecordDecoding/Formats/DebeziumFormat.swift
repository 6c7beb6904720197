import GraphCore

extension EventFormat {
    /// Debezium change events, with or without the schema wrapper.
    public static let debezium = EventFormat("debezium", DebeziumFormat())
}

/// Debezium's change events: an envelope with the row before and after, the operation, and where it comes from.
///
/// Source: Debezium's documentation of its connectors, "Data change events".
struct DebeziumFormat: RowChangeFormat {
    let leavesOutUnavailable = true

    var tool: ChangeEventTool? {
        ChangeEventTool(
            name: "Debezium", page: "docs/how-to/debezium.md",
            wrote: {
                $0.hasTexts("op") && ($0.member("source")?.kind == .object || $0.member("after")?.kind == .object)
            },
            table: { $0.member("source")?.member("table")?.string })
    }

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.parse(value)
        if root.isNull { return decoder.skipped(.tombstone) }
        let (envelope, schema) = SchemaFields.unwrapped(try decoder.object(root))
        // A null payload is a null value in the wrapper: the tombstone behind a deletion.
        if envelope.isNull { return decoder.skipped(.tombstone) }
        guard let kind = try Self.kind(envelope) else { return decoder.skipped(.control) }
        let side: StaticString = kind == .upsert ? "after" : "before"
        let source = envelope.member("source")
        var change = RowChange(
            kind: kind, row: envelope.member(side).flatMap { $0.isNull ? nil : $0 }, envelope: envelope,
            missingRow: Self.noRow(side))
        change.time = source.flatMap(Self.time) ?? Self.time(envelope)
        change.table = source?.member("table")?.string ?? source?.member("collection")?.string
        change.name(in: source?.member("schema")?.string)
        change.name(in: source?.member("db")?.string)
        change.envelopeSchema = schema
        change.schema = SchemaFields.schema(of: "\(side)".utf8, in: schema)
        return try decoder.decode(change, record)
    }

    private static func noRow(_ side: StaticString) -> DecodeError {
        DecodeError(
            code: "decode.envelope",
            "The change event has no object in '\(side)'. Events of the MongoDB connector are not supported; let the others "
                + "send whole rows")
    }

    // MARK: Envelopes

    /// Returns the effect of an envelope on its row.
    ///
    /// It is nil for messages of the database's log and for the marks of transactions, which have no row.
    private static func kind(_ envelope: JSONValue) throws(DecodeError) -> RowChange.Kind? {
        guard envelope.kind == .object, let text = envelope.member("op")?.string else {
            if let status = envelope.member("status")?.string, ["BEGIN", "END"].contains(status),
                envelope.member("id")?.string != nil
            {
                return nil
            }
            throw DecodeError(
                code: "decode.envelope",
                "This is no change event of Debezium: it has no text 'op'. For rows that the transform ExtractNewRecordState "
                    + "has taken out of their envelope use 'format: connect'")
        }
        switch text {
        case "c", "u", "r": return .upsert
        case "d": return .delete
        case "t": return .truncate
        case "m": return nil
        default:
            return .unknown(
                DecodeError(
                    code: "decode.operation",
                    "The change event's 'op' \(DecodeError.shown(text)) is none of c, r, u, d, t and m. Let the connector "
                        + "leave such events out, or add a route with 'verb: drop'"))
        }
    }

    /// The time that a part of an envelope states, in microseconds; a zero of an old connector's snapshot is none.
    private static func time(_ part: JSONValue) -> Int64? {
        if let time = part.member("ts_us")?.int64, time > 0 { return time }
        guard let time = part.member("ts_ms")?.int64, time > 0 else { return nil }
        return TimeUnit.milliseconds.microseconds(time)
    }
}

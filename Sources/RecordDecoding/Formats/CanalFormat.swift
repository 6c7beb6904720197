import GraphCore

extension EventFormat {
    /// Flat messages of Canal.
    package static let canal = EventFormat("canal", CanalFormat())
}

/// Canal's flat messages of MySQL: rows of texts in the array `data`, the operation in `type`.
///
/// Source: Canal's documentation of its Kafka output, `FlatMessage`.
struct CanalFormat: RowChangeFormat {
    let takesTexts = true

    var tool: ChangeEventTool? {
        ChangeEventTool(
            name: "Canal",
            wrote: { $0.hasTexts("database", "table", "type") && $0.member("isDdl")?.kind == .boolean },
            table: { $0.member("table")?.string })
    }

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.object(try decoder.parse(value))
        guard let type = root.member("type")?.string?.uppercased() else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no flat message of Canal: it has no text 'type'. Set 'canal.mq.flatMessage' to true, or check the format"
            )
        }
        let kind: RowChange.Kind
        switch type {
        case "INSERT", "UPDATE": kind = .upsert
        case "DELETE": kind = .delete
        case "TRUNCATE": return try decoder.decode(change(.truncate, nil, root), record)
        default:
            if root.member("isDdl")?.bool == true || type == "QUERY" { return decoder.skipped(.control) }
            let error = DecodeError(
                code: "decode.operation",
                "The message's 'type' \(DecodeError.shown(type)) is none of INSERT, UPDATE, DELETE and TRUNCATE. Add a route "
                    + "with 'verb: drop', or let Canal leave such messages out")
            return try decoder.decode(change(.unknown(error), nil, root), record)
        }
        guard let rows = root.member("data"), rows.kind == .array else { throw Self.missingRow }
        // The former values of each row stand at its place in another array.
        // An object, as the message is, has no elements.
        var former = (root.member("old") ?? root).elements.makeIterator()
        return try decoder.joined(rows, place: { "Row \($0) of the message" }) { row throws(DecodeError) in
            var change = change(kind, row, root)
            change.former = former.next()
            return try decoder.decode(change, record)
        }
    }

    private static let missingRow = DecodeError(
        code: "decode.envelope", "The message of Canal has no array of rows in 'data'. Let Canal send flat messages")

    private func change(_ kind: RowChange.Kind, _ row: JSONValue?, _ root: JSONValue) -> RowChange {
        var change = RowChange(kind: kind, row: row, envelope: root, missingRow: Self.missingRow)
        let time = root.member("es")?.int64 ?? root.member("ts")?.int64
        change.time = time.flatMap { TimeUnit.milliseconds.microseconds($0) }
        change.table = root.member("table")?.string
        change.name(in: root.member("database")?.string)
        return change
    }
}

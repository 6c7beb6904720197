import ObjectGraph

extension EventFormat {
    /// Change events of Maxwell.
    package static let maxwell = EventFormat("maxwell", MaxwellFormat())
}

/// Maxwell's change events of MySQL: the row in `data`, the operation in `type`.
///
/// Source: Maxwell's documentation, "Output Format".
struct MaxwellFormat: RowChangeFormat {
    let takesTexts = true

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.object(try decoder.parse(value))
        guard let type = root.member("type")?.string else {
            throw DecodeError(
                code: "decode.envelope", "This is no change event of Maxwell: it has no text 'type'. Check the format")
        }
        let kind: RowChange.Kind
        switch type {
        case "insert", "update", "bootstrap-insert": kind = .upsert
        case "delete": kind = .delete
        case "bootstrap-start", "bootstrap-complete", "table-create", "table-alter", "table-drop", "database-create",
            "database-alter", "database-drop":
            return decoder.skipped(.control)
        default:
            kind = .unknown(
                DecodeError(
                    code: "decode.operation",
                    "The change event's 'type' \(DecodeError.shown(type)) is none that Maxwell's documentation names. Add a "
                        + "route with 'verb: drop', or let Maxwell leave such events out"))
        }
        var change = RowChange(
            kind: kind, row: root.member("data").flatMap { $0.isNull ? nil : $0 }, envelope: root,
            missingRow: DecodeError(
                code: "decode.envelope",
                "The change event of Maxwell has no object in 'data'. Let Maxwell send whole rows"))
        change.time = root.member("ts")?.int64.flatMap { TimeUnit.seconds.microseconds($0) }
        change.table = root.member("table")?.string
        change.name(in: root.member("database")?.string)
        change.former = root.member("old")
        return try decoder.decode(change, record)
    }
}

import GraphCore

extension EventFormat {
    /// Messages of AWS Database Migration Service.
    package static let dms = EventFormat("dms", DMSFormat())
}

/// Messages of AWS DMS with a Kafka target: the row in `data`, the operation in `metadata`.
///
/// Source: AWS DMS's user guide, "Using Apache Kafka as a target", message format.
struct DMSFormat: RowChangeFormat {
    let takesTexts = true

    var tool: ChangeEventTool? {
        ChangeEventTool(
            name: "AWS DMS",
            wrote: { $0.member("metadata")?.hasTexts("record-type", "operation") == true },
            table: { $0.member("metadata")?.member("table-name")?.string })
    }

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.object(try decoder.parse(value))
        guard let metadata = root.member("metadata"), let operation = metadata.member("operation")?.string else {
            throw DecodeError(
                code: "decode.envelope",
                "This is no message of AWS DMS: it has no text 'metadata.operation'. Check the format, and that the task writes "
                    + "JSON")
        }
        if metadata.member("record-type")?.string == "control" { return decoder.skipped(.control) }
        let kind: RowChange.Kind
        switch operation {
        case "load", "insert", "update": kind = .upsert
        case "delete": kind = .delete
        default:
            kind = .unknown(
                DecodeError(
                    code: "decode.operation",
                    "The message's 'metadata.operation' \(DecodeError.shown(operation)) is none of load, insert, update and "
                        + "delete. Add a route with 'verb: drop'"))
        }
        var change = RowChange(
            kind: kind, row: root.member("data").flatMap { $0.isNull ? nil : $0 }, envelope: root,
            missingRow: DecodeError(
                code: "decode.envelope", "The message of AWS DMS has no object in 'data'. Let the task send whole rows")
        )
        let time = metadata.member("commit-timestamp")?.utf8 ?? metadata.member("timestamp")?.utf8
        change.time = time.flatMap { Timestamp.microseconds(utf8: $0, assumesUTC: true) }
        change.table = metadata.member("table-name")?.string
        change.name(in: metadata.member("schema-name")?.string)
        change.former = root.member("before-image")
        return try decoder.decode(change, record)
    }
}

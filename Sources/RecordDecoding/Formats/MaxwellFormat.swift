import GraphCore

extension EventFormat {
    /// Change events of Maxwell.
    package static let maxwell = EventFormat("maxwell", MaxwellFormat())
}

/// Maxwell's change events of MySQL: the row in `data`, the operation in `type`.
///
/// Source: Maxwell's documentation, "Output Format".
struct MaxwellFormat: RowChangeFormat {
    let takesTexts = true

    var tool: ChangeEventTool? {
        ChangeEventTool(
            name: "Maxwell",
            wrote: { $0.hasTexts("database", "table", "type") && $0.member("data")?.kind == .object },
            table: { $0.member("table")?.string })
    }

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try Self.withNulls(try decoder.object(try decoder.parse(value)), decoder)
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

    /// Gives the row a null for each column that `old` names and `data` lacks: Maxwell without `output_nulls` leaves
    /// columns out that have become null.
    private static func withNulls(_ root: JSONValue, _ decoder: EventDecoder) throws(DecodeError) -> JSONValue {
        guard let old = root.member("old"), let data = root.member("data"), data.kind == .object else { return root }
        let missing = old.members.filter { data.member(utf8: $0.key) == nil }
        if missing.isEmpty { return root }
        var row = Array("{".utf8)
        for (key, _) in missing {
            JSONValue.appendString(key, to: &row)
            row += ":null,".utf8
        }
        // The columns of the row follow the nulls.
        if data.count == 0 { row.removeLast() }
        row += data.serialized().dropFirst()
        var output = Array("{".utf8)
        for (key, value) in root.members where !UnsafeRawBufferPointer(key).hasSameBytes(as: "data") {
            JSONValue.appendString(key, to: &output)
            output.append(UInt8(ascii: ":"))
            value.serialize(into: &output)
            output.append(UInt8(ascii: ","))
        }
        output += "\"data\":".utf8
        output += row
        output.append(UInt8(ascii: "}"))
        let result = output.withUnsafeBytes { bytes in
            Result { () throws(DecodeError) in try decoder.parse(bytes) }
        }
        return try result.get()
    }
}

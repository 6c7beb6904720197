import GraphCore

extension EventFormat {
    /// JSON as Kafka Connect's converter writes it, with or without the schema wrapper; routes name its fields.
    public static let connect = EventFormat("connect", ConnectFormat())
}

/// Records of Kafka Connect's JSON converter, with the schema wrapper or without.
///
/// Source: Kafka's `JsonConverter`.
struct ConnectFormat: RecordFormat {
    let needsRoutes = true
    let takesNumbersForTexts = true
    /// Rows that a transform has taken out of Debezium's envelope have its marks too.
    let leavesOutUnavailable = true

    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet {
        let root = try decoder.parse(value)
        if root.isNull { return try decodeTombstone(record, decoder) }
        let (payload, schema) = SchemaFields.unwrapped(try decoder.object(root))
        if payload.isNull { return try decodeTombstone(record, decoder) }
        guard payload.kind == .object else {
            throw DecodeError(
                code: "decode.envelope",
                "The record's 'payload' has to be an object, not \(ObjectDecoder.article(payload))")
        }
        return try decoder.decodeRouted(payload, record, schema: schema)
    }

    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet {
        try decoder.decodeDeletionByKey(record)
    }
}

import ObjectGraph

/// How the records of a topic or file say what they are.
///
/// A format is a type beside this one and a line in ``EventFormat/recordFormat``. It turns a value into an event by way of
/// the decoder's routes, and says what a record without a value means.
protocol RecordFormat: Sendable {
    /// Whether only routes can name the entity of a record.
    var needsRoutes: Bool { get }
    /// Whether the names in records are those of columns, which are folded to find the properties.
    var takesColumns: Bool { get }
    /// Whether a number may stand for a text, as in a column that was a number once.
    var takesNumbersForTexts: Bool { get }

    /// Decodes a value of JSON.
    ///
    /// - Throws: ``DecodeError``.
    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet

    /// Decodes a record without a value: a tombstone of a log that is compacted.
    ///
    /// - Throws: ``DecodeError``.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet
}

extension RecordFormat {
    var needsRoutes: Bool { false }
    var takesColumns: Bool { false }
    var takesNumbersForTexts: Bool { false }
}

extension EventFormat {
    /// The one list of formats.
    var recordFormat: any RecordFormat {
        switch self {
        case .cloudevents: CloudEventsFormat()
        case .json: RoutedFormat()
        case .debezium: DebeziumFormat()
        case .connect: ConnectFormat()
        }
    }
}

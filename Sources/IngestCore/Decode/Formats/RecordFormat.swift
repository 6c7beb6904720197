import ObjectGraph

/// How the records of a topic or file say what they are.
///
/// A format is a file beside this one and its line in ``EventFormat/allCases``. It turns a value into an event by way of
/// the decoder's routes, and says what a record without a value means.
protocol RecordFormat: Sendable {
    /// Whether only routes can name the entity of a record.
    var needsRoutes: Bool { get }
    /// Whether the names in records are those of columns, which are folded to find the properties.
    var takesColumns: Bool { get }
    /// Whether a number may stand for a text, as in a column that was a number once.
    var takesNumbersForTexts: Bool { get }
    /// Whether numbers, booleans and dates may be written as MySQL's texts, and booleans as 0 and 1.
    var takesTexts: Bool { get }
    /// Whether Debezium's mark of a value that it was not given stands for an absent one.
    var leavesOutUnavailable: Bool { get }

    /// Decodes a value of JSON.
    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet

    /// Decodes a record without a value: a tombstone of a log that is compacted.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet
}

extension RecordFormat {
    var needsRoutes: Bool { false }
    var takesColumns: Bool { false }
    var takesNumbersForTexts: Bool { false }
    var takesTexts: Bool { false }
    var leavesOutUnavailable: Bool { false }
}

/// Names the form of a topic's records or a file's lines.
public struct EventFormat: RawRepresentable, CaseIterable, Sendable, Equatable {
    /// The one list of formats; the first is that of topics and files that name none.
    public static let allCases: [EventFormat] = [
        .cloudevents, .json, .debezium, .connect, .maxwell, .canal, .dms,
    ]

    /// The format of topics and files that name none.
    public static let byDefault = allCases[0]

    /// The name in the configuration.
    public let rawValue: String
    let recordFormat: any RecordFormat

    init(_ name: String, _ recordFormat: any RecordFormat) {
        rawValue = name
        self.recordFormat = recordFormat
    }

    /// Finds a format by its name in the configuration.
    public init?(rawValue: String) {
        guard let format = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = format
    }

    /// Formats of one name are the same.
    public static func == (left: EventFormat, right: EventFormat) -> Bool { left.rawValue == right.rawValue }
}

import GraphCore

/// The form in which the records of a topic or file state their entity and change.
///
/// A format is a file in `Formats` and its line in ``EventFormat/allCases``. It turns a value into an event by way of
/// the decoder's routes, and says what a record without a value means.
protocol RecordFormat: Sendable {
    /// Whether only routes can name the entity of a record.
    var needsRoutes: Bool { get }
    /// Whether routes take a record's value as it stands, so that their programs may be given it ahead.
    var routesTakeWholeValue: Bool { get }
    /// Whether the names in records are names of columns, which are folded to find the properties.
    var takesColumns: Bool { get }
    /// Whether a number may stand for a text, as in a column that was a number once.
    var takesNumbersForTexts: Bool { get }
    /// Whether numbers, booleans and dates may be written as MySQL's texts, and booleans as 0 and 1.
    var takesTexts: Bool { get }
    /// Whether Debezium's mark of a value that it was not given stands for an absent one.
    var leavesOutUnavailable: Bool { get }

    /// The tool that writes such change events; nil for other formats.
    var tool: ChangeEventTool? { get }

    /// Decodes a value of JSON.
    func decode(
        _ value: UnsafeRawBufferPointer, _ record: SourceRecord, _ decoder: EventDecoder
    ) throws(DecodeError) -> ChangeSet

    /// Decodes a record without a value: a tombstone of a log that is compacted.
    func decodeTombstone(_ record: SourceRecord, _ decoder: EventDecoder) throws(DecodeError) -> ChangeSet
}

extension RecordFormat {
    var needsRoutes: Bool { false }
    var routesTakeWholeValue: Bool { false }
    var takesColumns: Bool { false }
    var takesNumbersForTexts: Bool { false }
    var takesTexts: Bool { false }
    var leavesOutUnavailable: Bool { false }
    var tool: ChangeEventTool? { nil }
}

/// A tool for change data capture, whose change events have a format of their own and need no inferred routes.
package struct ChangeEventTool: Sendable {
    /// The tool's name.
    package let name: String
    /// The page about its change events.
    package var page = "docs/reference/formats.md"
    /// Tells whether a record, without its schema wrapper, is a change event of the tool.
    package let wrote: @Sendable (JSONValue) -> Bool
    /// Returns the table that a change event names.
    package let table: @Sendable (JSONValue) -> String?
}

extension JSONValue {
    /// Whether each of the members is a text.
    func hasTexts(_ names: StaticString...) -> Bool { names.allSatisfy { member($0)?.kind == .string } }
}

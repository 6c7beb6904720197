import GraphCore

/// Something wrong with a record's place in its file. Such a record is not to be applied.
public enum RecordFault: Equatable, Sendable {
    /// There is no comma between this element and the one before.
    case missingComma
    /// There is nothing between two commas, or before the first.
    case missingElement
    /// This is what follows the end of the JSON array.
    case trailingContent
    /// The row has another number of fields than the header.
    case fieldCount(expected: Int, found: Int)
    /// Text follows the closing quote of a field.
    case textAfterQuote
    /// The file ends inside a quoted field: all that follows the quote is in it.
    case unclosedQuote

    /// The stable code, such as `record.comma`.
    public var code: String {
        switch self {
        case .missingComma: "record.comma"
        case .missingElement: "record.element"
        case .trailingContent: "record.trailing"
        case .fieldCount: "record.fields"
        case .textAfterQuote, .unclosedQuote: "record.quote"
        }
    }
}

extension RecordFault: CustomStringConvertible {
    /// The fault and its remedy.
    public var description: String {
        switch self {
        case .missingComma: "A comma is missing before this array element. Put one between the elements."
        case .missingElement: "An array element is missing. Remove the comma, or write null."
        case .trailingContent: "Something follows the JSON array. Put each array into a file of its own."
        case .fieldCount(let expected, let found):
            "The row has \(counted(found, "field")) and the header \(expected). "
                + "Quote the fields that hold a delimiter or a line break."
        case .textAfterQuote: "Text follows a closing quote. Write a quote inside a quoted field twice."
        case .unclosedQuote:
            "A quote that begins a field of this row is never closed, so the rest of the file is in that field. Close it, "
                + "or set 'quote: none' for a file whose fields are never quoted."
        }
    }
}

/// One record of a file. Its bytes are valid during the call that delivers it.
public struct FileRecord {
    /// The record's bytes without its line end; for an oversized record its first 64 KiB.
    public let value: UnsafeRawBufferPointer
    /// The 1-based number of the record in its file; a CSV file's header row has none.
    public let number: Int
    /// The 1-based line on which the record starts.
    public let line: Int
    /// Where the record starts, in bytes from the start of the decompressed content.
    public let byteOffset: Int
    /// The length of the whole record in bytes.
    public let totalBytes: Int
    /// Whether the record is longer than the reader's limit, so that `value` is only its beginning.
    public let isOversize: Bool
    /// The fault of the record's place in the file, if there is one.
    public let fault: RecordFault?
    /// A CSV row's fields; empty for JSON.
    public let fields: CSVFields
}

/// A record as a scanner found it: indexes in its window, places in the file.
struct ScannedRecord {
    var start: Int
    var availableBytes: Int
    var totalBytes: Int
    var byteOffset: Int
    var line: Int
    var fault: RecordFault?
}

/// A fault that ends the reading of a file, before the reader adds the path.
struct ScanError: Error {
    var kind: RecordFileError.Kind
    var line: Int
}

/// Cuts a window's bytes into records. Holds its state between calls, so that it sees each byte once.
protocol RecordScanner {
    /// Returns the next record, having moved the window's cursor behind it; nil where all bytes are scanned.
    mutating func scan(_ window: ByteWindow) throws(ScanError) -> ScannedRecord?
    /// Returns the record that is left at the end of the content; nil where none is.
    mutating func finish(_ window: ByteWindow) throws(ScanError) -> ScannedRecord?
    /// The fields of the record that was found last.
    func fields(of record: ScannedRecord, in window: ByteWindow) -> CSVFields
}

extension RecordScanner {
    func fields(of record: ScannedRecord, in window: ByteWindow) -> CSVFields { .none }
}

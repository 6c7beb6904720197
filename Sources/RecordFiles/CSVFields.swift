/// One field of a CSV row. Its bytes are valid during the call that delivers the row.
public struct CSVField {
    /// The field's UTF-8 bytes, quotes removed and doubled quotes undone.
    public let utf8: UnsafeBufferPointer<UInt8>
    /// Whether the field was written in quotes: an empty one is then an empty text and not an absent value.
    public let isQuoted: Bool

    /// Whether there is nothing between the delimiters, not even quotes.
    public var isAbsent: Bool { utf8.isEmpty && !isQuoted }

    /// The field as a string; nil where the bytes are not valid UTF-8.
    public var string: String? { String(validating: utf8, as: UTF8.self) }
}

/// The fields of a CSV row, in the order of the columns. Valid during the call that delivers the row.
///
/// A row with more fields than the header shows the fields that have a column; the record's fault has both counts.
public struct CSVFields: RandomAccessCollection {
    /// A field's place in the row, or in the memory where doubled quotes were undone.
    struct Span {
        var offset: UInt32
        var count: UInt32
        var isQuoted = false
        var hasDoubledQuotes = false
        var isUndone = false
    }

    let spans: [Span]
    let row: UnsafePointer<UInt8>?
    let undone: UnsafePointer<UInt8>?

    package static var none: CSVFields { CSVFields(spans: [], row: nil, undone: nil) }

    /// The first field's index: 0.
    public var startIndex: Int { 0 }

    /// The number of fields.
    public var endIndex: Int { spans.count }

    /// Whether the row has columns and nothing in any of them, as spreadsheets write rows that were never filled.
    package var isBlank: Bool { !isEmpty && allSatisfy(\.isAbsent) }

    /// The field of a column, counted from 0.
    public subscript(position: Int) -> CSVField {
        let span = spans[position]
        let base = span.isUndone ? undone : row
        let utf8 = UnsafeBufferPointer(
            start: base.map { $0 + Int(span.offset) }, count: base == nil ? 0 : Int(span.count))
        return CSVField(utf8: utf8, isQuoted: span.isQuoted)
    }
}

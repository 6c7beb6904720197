/// Cuts CSV rows (RFC 4180) and their fields.
///
/// `\n` or `\r\n` ends a row, except inside quotes; in a file of an old Mac it is `\r`. An empty line is no row: write `""` for an empty value in a file of
/// one column. A quote inside an unquoted field stands for itself.
struct CSVScanner: RecordScanner {
    private enum State {
        case fieldStart, unquoted, quoted
        /// Behind a quote in a quoted field: its end, or the first of a doubled quote.
        case quote
        /// Behind a quoted field and a carriage return.
        case quoteReturn
        /// In text that follows a quoted field, where none is allowed.
        case afterQuote
    }

    private let delimiter: UInt8
    private let quote: UInt8
    private let lineEnd: UInt8
    /// The number of columns; nil while the header row is read.
    var columnCount: Int?

    private var state = State.fieldStart
    private var line: Int
    private var lineBreaksInRow = 0
    private var isRowComplete = false
    private var hasTextAfterQuote = false
    /// The fields seen, which may be more than are kept.
    private var fieldCount = 0
    private var spans: [CSVFields.Span] = []
    private var field = CSVFields.Span(offset: 0, count: 0)
    private let undone = UndoneQuotes()

    /// The most columns that a header may have.
    static let maximumColumns = 16_384

    /// - Parameters:
    ///   - lineEnd: the byte that ends a row: `\n` or `\r`.
    ///   - line: the number of the first line that is scanned.
    init(delimiter: CSVDelimiter, quote: CSVQuote = .double, lineEnd: UInt8 = 0x0A, line: Int = 1) {
        (self.lineEnd, self.line) = (lineEnd, line)
        self.delimiter = delimiter.rawValue
        self.quote = quote.rawValue
    }

    mutating func scan(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        while window.cursor < window.end {
            if isRowComplete { beginRow() }
            guard let newline = scanRow(window) else { return nil }
            let record = endRow(window, at: newline)
            window.cursor = newline + 1
            if let record { return record }
            window.release(upTo: window.cursor)
        }
        return nil
    }

    mutating func finish(_ window: ByteWindow) throws(ScanError) -> ScannedRecord? {
        guard window.end > window.start else { return nil }
        let isUnclosed = state == .quoted
        var record = endRow(window, at: window.end)
        if isUnclosed { record?.fault = .unclosedQuote }
        if record == nil { window.release(upTo: window.end) }
        return record
    }

    func fields(of record: ScannedRecord, in window: ByteWindow) -> CSVFields {
        // A row of which only the beginning is delivered shows no fields: the last ones would be missing.
        guard record.availableBytes == record.totalBytes else { return .none }
        let row = UnsafePointer(window.base + record.start)
        guard spans.contains(where: \.hasDoubledQuotes) else { return CSVFields(spans: spans, row: row, undone: nil) }
        return undone.undo(spans, row: row, rowBytes: record.availableBytes, quote: quote)
    }

    /// Forgets the fields of the row before, which had to last until they were asked for.
    private mutating func beginRow() {
        isRowComplete = false
        fieldCount = 0
        spans.removeAll(keepingCapacity: true)
    }

    /// Returns the index of the byte that ends the row; nil where all bytes are scanned.
    private mutating func scanRow(_ window: ByteWindow) -> Int? {
        let base = window.base
        let end = window.end
        var cursor = window.cursor
        while cursor < end {
            let byte = base[cursor]
            switch state {
            case .fieldStart:
                let isQuoted = byte == quote && quote != 0
                beginField(at: cursor - window.start, isQuoted: isQuoted)
                // An unquoted byte is looked at again in its own state.
                if isQuoted { cursor += 1 }
                continue
            case .unquoted:
                cursor = Self.endOfText(base, cursor, end, delimiter, lineEnd)
                if cursor == end { continue }
                if base[cursor] == lineEnd { return cursor }
                endField(window, at: cursor)
            case .quoted:
                if byte == quote { state = .quote } else if byte == lineEnd { lineBreaksInRow += 1 }
            case .quote, .quoteReturn, .afterQuote:
                if byte == lineEnd { return cursor }
                stepAfterQuote(byte, window, at: cursor)
            }
            cursor += 1
        }
        window.cursor = end
        return nil
    }

    private static func endOfText(
        _ base: UnsafeMutablePointer<UInt8>, _ first: Int, _ end: Int, _ delimiter: UInt8, _ lineEnd: UInt8
    ) -> Int {
        var cursor = first
        while cursor < end, base[cursor] != delimiter, base[cursor] != lineEnd { cursor += 1 }
        return cursor
    }

    private mutating func beginField(at offset: Int, isQuoted: Bool) {
        field = CSVFields.Span(
            offset: UInt32(truncatingIfNeeded: offset + (isQuoted ? 1 : 0)), count: 0, isQuoted: isQuoted)
        state = isQuoted ? .quoted : .unquoted
    }

    private mutating func stepAfterQuote(_ byte: UInt8, _ window: ByteWindow, at index: Int) {
        switch (state, byte) {
        case (.quote, quote):
            field.hasDoubledQuotes = true
            state = .quoted
        case (_, delimiter): endField(window, at: index)
        case (.quote, 0x0D): state = .quoteReturn
        default:
            hasTextAfterQuote = true
            state = .afterQuote
        }
    }

    /// Keeps the field that ends before an index, unless it is beyond the columns. (A row that lost bytes has wrong
    /// fields, which are never shown.)
    private mutating func endField(_ window: ByteWindow, at index: Int) {
        fieldCount += 1
        let isEndedByQuote = state == .quote
        state = .fieldStart
        guard spans.count < columnCount ?? Self.maximumColumns else { return }
        let endOffset = index - window.start - (isEndedByQuote ? 1 : 0)
        field.count = UInt32(truncatingIfNeeded: max(0, endOffset - Int(field.offset)))
        spans.append(field)
    }

    /// Ends the row before an index and returns it; nil for an empty line.
    private mutating func endRow(_ window: ByteWindow, at newline: Int) -> ScannedRecord? {
        defer {
            line += 1 + lineBreaksInRow
            lineBreaksInRow = 0
            hasTextAfterQuote = false
            state = .fieldStart
            isRowComplete = true
        }
        var last = newline
        if last > window.start, state != .quoted, window.byte(before: last) == 0x0D { last -= 1 }
        guard last > window.start || fieldCount > 0 else { return nil }
        if state == .fieldStart { beginField(at: newline - window.start, isQuoted: false) }
        if state == .quoteReturn { state = .quote }
        endField(window, at: last)
        return window.record(endingAt: last, line: line, fault: fault())
    }

    private func fault() -> RecordFault? {
        if hasTextAfterQuote { return .textAfterQuote }
        guard let columnCount, fieldCount != columnCount else { return nil }
        return .fieldCount(expected: columnCount, found: fieldCount)
    }
}

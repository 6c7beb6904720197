/// Reads the beginning of a file: the byte order mark, the first byte, the header row.
extension RecordFileReader {
    /// The most bytes of the beginning that are looked at.
    private static let sniffedBytes = 4096

    static func skipByteOrderMark(_ window: ByteWindow, _ source: any ByteSource) throws(RecordFileError) {
        while window.end < 3 && !window.isAtEnd { try window.fill(from: source) }
        guard window.end >= 3, window.base[0] == 0xEF, window.base[1] == 0xBB, window.base[2] == 0xBF else { return }
        window.cursor = 3
        window.release(upTo: 3)
    }

    /// Returns the first byte that is not white space, leaving the window's cursor where it is.
    static func firstByte(_ window: ByteWindow, _ source: any ByteSource) throws(RecordFileError) -> UInt8? {
        try sniff(window, source) { bytes, _ in bytes.first { !JSONArrayScanner.isWhiteSpace($0) } }
    }

    /// Returns what the first bytes tell, leaving the window's cursor where it is.
    ///
    /// - Parameter answer: takes the bytes, and whether no more are looked at; nil asks for more.
    private static func sniff<Answer>(
        _ window: ByteWindow, _ source: any ByteSource, _ answer: (UnsafeRawBufferPointer, _ isLast: Bool) -> Answer?
    ) throws(RecordFileError) -> Answer? {
        let limit = min(sniffedBytes, window.maximumRecordBytes)
        while true {
            let bytes = UnsafeRawBufferPointer(start: window.base + window.start, count: window.end - window.start)
            let isLast = window.isAtEnd || bytes.count >= limit
            if let found = answer(bytes, isLast) { return found }
            if isLast { return nil }
            try window.fill(from: source)
        }
    }

    /// Tells whether the content begins as one JSON object over several lines: a brace alone on a line, then a key.
    static func isDocument(_ window: ByteWindow, _ source: any ByteSource) throws(RecordFileError) -> Bool {
        try sniff(window, source) { bytes, _ in beginsDocument(bytes) } ?? false
    }

    /// - Returns: nil where the bytes do not tell.
    private static func beginsDocument(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        var rest = bytes.drop(while: JSONArrayScanner.isWhiteSpace)
        guard let brace = rest.popFirst() else { return nil }
        guard brace == UInt8(ascii: "{") else { return false }
        rest = rest.drop { $0 != 0x0A && JSONArrayScanner.isWhiteSpace($0) }
        guard let end = rest.popFirst() else { return nil }
        guard end == 0x0A else { return false }
        return rest.first { !JSONArrayScanner.isWhiteSpace($0) }.map { $0 == UInt8(ascii: "\"") }
    }

    /// Returns the delimiter that the header row suggests, leaving the window's cursor where it is.
    static func usualDelimiter(
        _ window: ByteWindow, _ source: any ByteSource, _ quote: CSVQuote
    ) throws(RecordFileError) -> CSVDelimiter {
        let found: CSVDelimiter? = try sniff(window, source) { bytes, isLast in
            var isQuoted = false
            var hasSemicolon = false
            for (index, byte) in bytes.enumerated() {
                if byte == quote.rawValue, quote != .none { isQuoted.toggle() }
                if isQuoted { continue }
                if byte == CSVDelimiter.comma.rawValue { return .comma }
                if byte == CSVDelimiter.semicolon.rawValue { hasSemicolon = true }
                if byte == 0x0A, index > 0 { return hasSemicolon ? .semicolon : .comma }
            }
            return isLast ? hasSemicolon ? .semicolon : .comma : nil
        }
        return found ?? .comma
    }

    /// Reads the names of the columns out of a header row.
    static func columnNames(
        _ header: ScannedRecord, _ fields: CSVFields, path: String
    ) throws(RecordFileError) -> [String] {
        func fail(_ detail: String) -> RecordFileError {
            RecordFileError(.header, path: path, line: header.line, detail: detail)
        }
        if header.availableBytes < header.totalBytes { throw fail("it is too long") }
        if header.fault == .unclosedQuote { throw fail("a quoted name is not closed") }
        if header.fault != nil { throw fail("text follows a closing quote") }
        if fields.count >= CSVScanner.maximumColumns { throw fail("it has too many columns") }
        var names: [String] = []
        var numbers: [String: Int] = [:]
        for (index, field) in fields.enumerated() {
            guard let name = field.string else { throw fail("the name of column \(index + 1) is not UTF-8") }
            if !name.isEmpty, let first = numbers.updateValue(index + 1, forKey: name) {
                throw fail("columns \(first) and \(index + 1) have the same name")
            }
            names.append(name)
        }
        return names
    }
}

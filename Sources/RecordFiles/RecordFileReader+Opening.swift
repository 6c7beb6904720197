/// Reads the beginning of a file: the byte order mark, the first byte, the header row.
extension RecordFileReader {
    /// The most bytes of the beginning that are looked at.
    private static let sniffedBytes = 4096

    /// - Throws: ``RecordFileError`` where the content is of another encoding than UTF-8.
    static func skipByteOrderMark(
        _ window: ByteWindow, _ source: any ByteSource, _ path: String
    ) throws(RecordFileError) {
        while window.end < 3 && !window.isAtEnd { try window.fill(from: source) }
        if window.end >= 2 {
            let (first, second) = (window.base[0], window.base[1])
            // The marks of UTF-16 and UTF-32; and ASCII in either without a mark, for no record file has a NUL there.
            if [[0xFF, 0xFE], [0xFE, 0xFF]].contains([first, second]) || (first == 0) != (second == 0) {
                throw RecordFileError(.encoding, path: path)
            }
        }
        guard window.end >= 3, window.base[0] == 0xEF, window.base[1] == 0xBB, window.base[2] == 0xBF else { return }
        window.cursor = 3
        window.release(upTo: 3)
    }

    /// Returns the first byte that is not white space, leaving the window's cursor where it is.
    static func firstByte(_ window: ByteWindow, _ source: any ByteSource) throws(RecordFileError) -> UInt8? {
        try sniff(window, source) { bytes, _ in bytes.first { !JSONArrayScanner.isWhiteSpace($0) } }
    }

    /// Returns the answer that the first bytes give, and leaves the window's cursor where it is.
    ///
    /// - Parameter answer: takes the bytes, and whether no more are looked at; nil asks for more.
    private static func sniff<Answer>(
        _ window: ByteWindow, _ source: any ByteSource, _ answer: (UnsafeRawBufferPointer, _ isLast: Bool) -> Answer?
    ) throws(RecordFileError) -> Answer? {
        let limit = min(sniffedBytes, window.maximumRecordBytes)
        while true {
            // No more than the limit, whatever the window holds: the answer must not depend on the buffer's size.
            let bytes = UnsafeRawBufferPointer(
                start: window.base + window.start, count: min(window.end - window.start, limit))
            let isLast = window.isAtEnd || bytes.count == limit
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
        _ window: ByteWindow, _ source: any ByteSource, _ quote: CSVQuote, _ lineEnd: UInt8
    ) throws(RecordFileError) -> CSVDelimiter {
        let found: CSVDelimiter? = try sniff(window, source) { bytes, isLast in
            var isQuoted = false
            // Besides commas, the first of the list that stands in the row.
            var others: Set<UInt8> = []
            func other() -> CSVDelimiter {
                [.semicolon, .tab, .pipe].first { others.contains($0.rawValue) } ?? .comma
            }
            for (index, byte) in bytes.enumerated() {
                if byte == quote.rawValue, quote != .none { isQuoted.toggle() }
                if isQuoted { continue }
                if byte == CSVDelimiter.comma.rawValue { return .comma }
                if byte == lineEnd, index > 0 { return other() }
                if [.semicolon, .tab, .pipe].contains(CSVDelimiter(rawValue: byte)) { others.insert(byte) }
            }
            return isLast ? other() : nil
        }
        return found ?? .comma
    }

    /// Returns the byte that ends the lines of a CSV file. It is a carriage return where one is in sight outside of quotes,
    /// and no line feed.
    static func lineEnd(
        _ window: ByteWindow, _ source: any ByteSource, _ quote: CSVQuote
    ) throws(RecordFileError) -> UInt8 {
        let found: UInt8? = try sniff(window, source) { bytes, isLast in
            var isQuoted = false
            var hasReturn = false
            for byte in bytes {
                if byte == quote.rawValue, quote != .none { isQuoted.toggle() }
                if isQuoted { continue }
                if byte == 0x0A { return 0x0A }
                if byte == 0x0D { hasReturn = true }
            }
            return isLast ? hasReturn ? 0x0D : 0x0A : nil
        }
        return found ?? 0x0A
    }

    /// Reads the first line where it states the delimiter, as `sep=;` of Excel does, and passes over it.
    ///
    /// - Returns: nil where the first line is another one, and stays.
    static func statedDelimiter(
        _ window: ByteWindow, _ source: any ByteSource, _ lineEnd: UInt8, _ path: String
    ) throws(RecordFileError) -> CSVDelimiter? {
        let line: [UInt8]? = try sniff(window, source) { bytes, isLast in
            let line = bytes.prefix { $0 != lineEnd }
            if line.count > 8 { return [] }
            return line.count < bytes.count || isLast ? Array(line) : nil
        }
        guard let line else { return nil }
        // The line may stand in quotes, and end with the carriage return of `\r\n`.
        let text = line.filter { $0 != 0x0D && $0 != UInt8(ascii: "\"") }
        let key = String(decoding: text.prefix(4), as: UTF8.self).lowercased()
        guard text.count <= 5, key == "sep=" else { return nil }
        guard let delimiter = text.dropFirst(4).first.flatMap(CSVDelimiter.init) else {
            throw RecordFileError(
                .header, path: path, line: 1,
                detail: "the line 'sep=' states a delimiter other than comma, semicolon, tab and |")
        }
        window.cursor = min(window.start + line.count + 1, window.end)
        window.release(upTo: window.cursor)
        return delimiter
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
        let stated = Set(fields.compactMap(\.string))
        var numbers: [String: Int] = [:]
        for (index, field) in fields.enumerated() {
            guard var name = field.string else { throw fail("the name of column \(index + 1) is not UTF-8") }
            if !field.isQuoted, name.utf8.contains(0x0D) {
                throw fail("the name of column \(index + 1) has a carriage return: the lines end in several ways")
            }
            if !name.isEmpty, let first = numbers.updateValue(index + 1, forKey: name) {
                throw fail("columns \(first) and \(index + 1) have the same name")
            }
            // A name by the place, as of the index that a data frame writes.
            if name.isEmpty { name = NumberedNames.unused(NumberedNames.column(index + 1), stated) }
            names.append(name)
        }
        return names
    }
}

/// Reads the records of a file one after the other in bounded memory. The file holds JSON lines, a JSON array, or CSV,
/// each plain or compressed by gzip. Or it is a container file of Avro, whose records come as JSON lines. The content tells
/// gzip and Avro.
///
/// Use it from one thread. It delivers every record once, damaged ones included, with numbers from 1 on without gaps.
/// It throws a fault that ends the reading when its place is reached, after all records before it. For example:
///
///     let reader = try RecordFileReader(path: "events.jsonl.gz")
///     while try reader.next({ record in handle(record) }) {}
public final class RecordFileReader {
    /// The path as it was given; `-` is standard input.
    public let path: String
    /// The format, as given or as recognised.
    public let format: RecordFileFormat
    /// The names in the header row of a CSV file; empty for JSON and for an empty file.
    public private(set) var columns: [String] = []
    /// The number of the record that was delivered or skipped last; 0 before the first.
    public private(set) var recordNumber = 0
    /// The file's fingerprint when it was opened; nil for pipes and standard input.
    package let fingerprint: FileFingerprint?

    /// The size of the file on disk in bytes; nil for pipes and standard input.
    public var totalBytes: Int? { file.totalBytes }
    /// How many bytes were read from the file on disk so far, ahead of the records by at most a buffer.
    public var bytesRead: Int { file.bytesRead }

    private let file: FileByteSource
    private let source: any ByteSource
    private let window: ByteWindow
    private let prefix: [UInt8]
    private var scanner: any RecordScanner
    private var failure: RecordFileError?
    private var isFinished = false

    /// Opens a file and reads as far as it takes to know its format, and the header row of a CSV file.
    ///
    /// - Parameters:
    ///   - path: the file's path; `-` reads standard input.
    ///   - format: nil tells it by the path's extension, then by the first byte.
    ///   - delimiter: between CSV fields. If it is nil, a first line such as `sep=;` states it. Else it is a tab for `.tsv`, a
    ///     semicolon where the header row has one and no comma, and a comma for all else.
    ///   - quote: around CSV fields that hold delimiters.
    ///   - maximumRecordBytes: longer records are delivered cut to 64 KiB and marked; 64 bytes to 1 GiB.
    ///   - maximumDepth: the levels of a record's JSON; a record of Avro that is far deeper ends the reading.
    ///   - bufferBytes: the memory to start with; it grows to the longest record.
    /// - Throws: where the file cannot be read, or its header row cannot be used.
    public init(
        path: String, format: RecordFileFormat? = nil, delimiter: CSVDelimiter? = nil,
        quote: CSVQuote = .double, maximumRecordBytes: Int = 16 << 20, maximumDepth: Int = 64,
        bufferBytes: Int = 256 << 10
    ) throws(RecordFileError) {
        self.path = path
        file = try FileByteSource(path: path)
        let kept = try file.prefix(FileFingerprint.maximumBytes)
        prefix = kept ?? []
        fingerprint = kept.map { FileFingerprint($0) }
        let source: any ByteSource
        var format = format
        if AvroByteSource.recognizes(try file.peek(4)) {
            source = try AvroByteSource(
                file, path: path, maximumRecordBytes: maximumRecordBytes, maximumDepth: maximumDepth)
            format = .jsonLines
        } else if GzipByteSource.recognizes(try file.peek(2)) {
            source = try GzipByteSource(file: file)
        } else {
            source = file
        }
        self.source = source
        let window = ByteWindow(
            capacity: bufferBytes, maximumRecordBytes: min(max(maximumRecordBytes, 64), 1 << 30))
        self.window = window
        try Self.skipByteOrderMark(window, source, path)
        if let format = format ?? RecordFileFormat.fromExtension(of: path) {
            self.format = format
        } else {
            self.format = .fromContent(try Self.firstByte(window, source))
        }
        scanner =
            switch self.format {
            case .jsonLines: try Self.linesScanner(window, source, path)
            case .jsonArray: JSONArrayScanner()
            case .csv: try Self.rowScanner(window, source, path, delimiter, quote)
            }
        if self.format == .csv { try readHeader() }
    }

    private static func linesScanner(
        _ window: ByteWindow, _ source: any ByteSource, _ path: String
    ) throws(RecordFileError) -> JSONLinesScanner {
        if try isDocument(window, source) { throw RecordFileError(.document, path: path) }
        return JSONLinesScanner()
    }

    /// Makes the scanner of CSV: by the delimiter of the settings, of the file's own line, or of its beginning.
    private static func rowScanner(
        _ window: ByteWindow, _ source: any ByteSource, _ path: String, _ delimiter: CSVDelimiter?, _ quote: CSVQuote
    ) throws(RecordFileError) -> CSVScanner {
        let lineEnd = try lineEnd(window, source, quote)
        let stated = try statedDelimiter(window, source, lineEnd, path)
        let isTabbed = RecordFileFormat.fileExtension(of: path) == "tsv"
        let usual: CSVDelimiter =
            if let stated { stated } else if isTabbed { .tab } else {
                try usualDelimiter(window, source, quote, lineEnd)
            }
        return CSVScanner(delimiter: delimiter ?? usual, quote: quote, lineEnd: lineEnd, line: stated == nil ? 1 : 2)
    }

    /// Delivers the next record.
    ///
    /// The reader has moved on when the body is called: a record whose body throws is not delivered again.
    /// - Returns: false at the end of the file, when there was no record to deliver.
    /// - Throws: `RecordFileError`, again at each further call, or what the body throws.
    public func next(_ body: (FileRecord) throws -> Void) throws -> Bool {
        guard let found = try advance() else { return false }
        let value = UnsafeRawBufferPointer(start: window.base + found.start, count: found.availableBytes)
        try body(
            FileRecord(
                value: value, number: recordNumber, line: found.line, byteOffset: found.byteOffset,
                totalBytes: found.totalBytes, isOversize: found.availableBytes < found.totalBytes,
                fault: found.fault,
                fields: format == .csv ? scanner.fields(of: found, in: window) : .none))
        return true
    }

    /// Passes over records without delivering them, to resume behind the records that were read before.
    ///
    /// - Returns: how many there were to skip: fewer than asked for where the file ends.
    /// - Throws: ``RecordFileError``.
    public func skip(records count: Int) throws(RecordFileError) -> Int {
        var skipped = 0
        while skipped < count, try advance() != nil { skipped += 1 }
        return skipped
    }

    /// Whether this is the file that had that fingerprint, grown or not. True where there is nothing to compare.
    package func isSameFile(as earlier: FileFingerprint) -> Bool {
        guard fingerprint != nil else { return true }
        return FileFingerprint(prefix.prefix(earlier.byteCount)) == earlier
    }

    private func readHeader() throws(RecordFileError) {
        guard let header = try findRecord() else {
            isFinished = true
            return
        }
        columns = try Self.columnNames(header, scanner.fields(of: header, in: window), path: path)
        guard var rows = scanner as? CSVScanner else { return }
        rows.columnCount = columns.count
        scanner = rows
    }

    private func advance() throws(RecordFileError) -> ScannedRecord? {
        if let failure { throw failure }
        if isFinished { return nil }
        do throws(RecordFileError) {
            guard let record = try findRecord() else {
                isFinished = true
                return nil
            }
            recordNumber += 1
            return record
        } catch {
            var error = error
            error.recordNumber = recordNumber
            failure = error
            throw error
        }
    }

    private func findRecord() throws(RecordFileError) -> ScannedRecord? {
        window.release(upTo: window.cursor)
        while true {
            if let record = try scan(isAtEnd: false) { return record }
            if window.isAtEnd { return try scan(isAtEnd: true) }
            try window.fill(from: source)
        }
    }

    private func scan(isAtEnd: Bool) throws(RecordFileError) -> ScannedRecord? {
        do throws(ScanError) {
            return isAtEnd ? try scanner.finish(window) : try scanner.scan(window)
        } catch {
            throw RecordFileError(error.kind, path: path, line: error.line)
        }
    }
}

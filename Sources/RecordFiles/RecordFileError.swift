import GraphCore

/// Says why a record file cannot be read on, where, and what to do. It quotes nothing of the file's content.
public struct RecordFileError: CodedError, Equatable {
    /// The kinds of fault; the raw value is the stable code.
    public enum Kind: String, Sendable, CaseIterable {
        /// There is no file at the path.
        case missing = "file.missing"
        /// The file may not be opened, or is a directory.
        case unreadable = "file.unreadable"
        /// Reading failed.
        case read = "file.read"
        /// Memory was short.
        case memory = "file.memory"
        /// The compressed data ends too early.
        case gzipTruncated = "file.gzip.truncated"
        /// The compressed data is damaged, or its checksum is wrong.
        case gzipCorrupt = "file.gzip.corrupt"
        /// Something that is not gzip follows the compressed data.
        case gzipTrailing = "file.gzip.trailing"
        /// The container file of Avro ends too early.
        case avroTruncated = "file.avro.truncated"
        /// The container file of Avro is damaged.
        case avroCorrupt = "file.avro.corrupt"
        /// The blocks of the container file are compressed in a way that is not supported.
        case avroCodec = "file.avro.codec"
        /// The schema of the container file cannot be used.
        case avroSchema = "file.avro.schema"
        /// A JSON array was expected and something else found.
        case notAnArray = "file.array.missing"
        /// The file ends before its JSON array does.
        case unclosedArray = "file.array.unclosed"
        /// The header row of a CSV file cannot be used.
        case header = "file.header"
        /// The content is not UTF-8, but UTF-16 or UTF-32.
        case encoding = "file.encoding"
        /// The file is one JSON document over several lines.
        case document = "file.document"
    }

    /// The kind of fault.
    public var kind: Kind
    /// The file's path as it was given; `-` is standard input.
    public var path: String
    /// The 1-based line in the decompressed content, where it is known.
    public var line: Int?
    /// The number of the last record before the fault, where it is known; 0 where there was none.
    public var recordNumber: Int?
    /// The offset in bytes in the file on disk, for faults of reading and of compression.
    public var byteOffset: Int?
    /// The message of the operating system or of the header check.
    public var detail: String?

    /// Makes an error.
    public init(
        _ kind: Kind, path: String, line: Int? = nil, recordNumber: Int? = nil, byteOffset: Int? = nil,
        detail: String? = nil
    ) {
        self.kind = kind
        self.path = path
        self.line = line
        self.recordNumber = recordNumber
        self.byteOffset = byteOffset
        self.detail = detail
    }

    /// The stable code, such as `file.missing`.
    public var code: String { kind.rawValue }
}

extension RecordFileError {
    /// The path, and where in the file the fault is.
    public var location: String? {
        let name = path == "-" ? "standard input" : path
        var places: [String] = []
        if let line { places.append("line \(line)") }
        if let recordNumber { places.append("after record \(recordNumber)") }
        if let byteOffset { places.append("byte \(byteOffset) of the file") }
        return places.isEmpty ? name : "\(name) (\(places.joined(separator: ", ")))"
    }

    /// The fault, with what the operating system or the header check says.
    public var message: String { what + (detail.map { ": \($0)" } ?? "") }

    private var what: String {
        switch kind {
        case .missing: "there is no such file"
        case .unreadable: "the file cannot be opened"
        case .read: "reading failed"
        case .memory: "there was not enough memory"
        case .gzipTruncated: "the gzip data ends too early"
        case .gzipCorrupt: "the gzip data is damaged"
        case .gzipTrailing: "something that is not gzip follows the gzip data"
        case .avroTruncated: "the Avro file ends too early"
        case .avroCorrupt: "the Avro file is damaged"
        case .avroCodec: "the blocks of the Avro file have a codec other than null and deflate"
        case .avroSchema: "the schema in the Avro file cannot be used"
        case .notAnArray: "the content does not start with a JSON array"
        case .unclosedArray: "the file ends before its JSON array is closed"
        case .header: "the header row cannot be used"
        case .encoding: "the content is UTF-16 or UTF-32"
        case .document: "the content is a JSON document over several lines"
        }
    }

    /// The remedy.
    public var remedy: String {
        switch kind {
        case .missing: "Check the path"
        case .unreadable: "Name a file that this user may read"
        case .read: "Check the disk or the pipe, then start again; reading resumes after the last saved record"
        case .memory: "Give the process more memory, or lower the largest record's size"
        case .gzipTruncated: "Fetch or write the file again; the records before this place were read"
        case .gzipCorrupt: "Fetch or write the file again; the records before this place may be damaged too"
        case .gzipTrailing: "Cut what follows the gzip data; all records in it were read"
        case .avroTruncated: "Fetch or write the file again; the records before this place were read"
        case .avroCorrupt: "Fetch or write the file again; the records of the blocks before this place were read"
        case .avroCodec: "Write the file with the codec null or deflate"
        case .avroSchema: "Correct the schema, and write the file again"
        case .notAnArray: "Name the file's format, or give a file that holds one JSON array"
        case .unclosedArray: "Check that the file was written to its end; all records in it were read"
        case .header: "Give the file one row of distinct UTF-8 column names at its top"
        case .encoding: "Write the file as UTF-8: iconv -f UTF-16 -t UTF-8 FILE"
        case .document:
            "Write each record on one line: jq -c . FILE, or jq -c '.features[]' FILE for the elements of a list"
        }
    }
}

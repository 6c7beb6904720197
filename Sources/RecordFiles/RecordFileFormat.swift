/// How records are laid out in a file.
public enum RecordFileFormat: String, Sendable, CaseIterable {
    /// One JSON document a line.
    case jsonLines
    /// One JSON array of which each element is a record.
    case jsonArray
    /// RFC 4180: a header row, then a record a row.
    case csv

    /// Returns the format that a path's extension tells (`.gz` aside), or nil where the content has to be looked at.
    public static func fromExtension(of path: String) -> RecordFileFormat? {
        switch fileExtension(of: path) {
        case "jsonl", "ndjson": .jsonLines
        case "csv", "tsv": .csv
        default: nil
        }
    }

    /// Returns the format that the first bytes suggest: `[` an array, `{` or nothing JSON lines, all else CSV.
    static func fromContent(_ firstByte: UInt8?) -> RecordFileFormat {
        switch firstByte {
        case 0x5B: .jsonArray
        case 0x7B, nil: .jsonLines
        default: .csv
        }
    }

    /// Returns the lower-case extension, without gzip's.
    static func fileExtension(of path: String) -> String {
        var name = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasSuffix(".gz") { name.removeLast(3) }
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return String(name[name.index(after: dot)...])
    }
}

/// The character between the fields of a CSV row.
public enum CSVDelimiter: UInt8, Sendable, CaseIterable {
    case comma = 0x2C
    case semicolon = 0x3B
    case tab = 0x09
    case pipe = 0x7C
}

/// The character around the fields of a CSV row that hold delimiters, quotes or line breaks.
public enum CSVQuote: UInt8, Sendable, CaseIterable {
    case double = 0x22
    case single = 0x27
    /// No character; NUL, which no text holds, stands for it.
    case none = 0
}

import Foundation
import GraphCore
import KafkaClient

/// Where a record comes from: a partition's offset, or a file's record.
public struct RecordPlace: Sendable, Hashable, CustomStringConvertible {
    /// The topic's name, or `file:` and the file's path.
    public var topic: String
    /// The partition's number; 0 for a file.
    public var partition: Int32
    /// The record's offset, or its number in the file, counted from 1.
    public var offset: Int64
    /// The line of a file on which the record starts, counted from 1, or nil.
    public var line: Int?

    /// Makes a place; `line` is for records of files only.
    public init(topic: String, partition: Int32, offset: Int64, line: Int? = nil) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.line = line
    }

    /// The record's number in its source, counted from 1.
    var rowNumber: Int64 { line == nil ? offset + 1 : offset }

    /// The name of the replayed file, or nil.
    var fileName: String? { fileParts.last.map { String($0) } }

    /// The name of the folder around the replayed file, or nil.
    var folderName: String? { fileParts.dropLast().last.map { String($0) } }

    /// Whether the record comes from a file.
    var isOfFile: Bool { Self.file(ofTopic: topic) != nil }

    /// Returns the name under which the store keeps a file's position.
    package static func topic(ofFile path: String) -> String {
        topicPrefix + (path == "-" ? "-" : URL(fileURLWithPath: path).standardizedFileURL.path)
    }

    /// Returns the path of the file whose position is kept under a name; nil where that is a topic's.
    package static func file(ofTopic topic: String) -> String? {
        topic.hasPrefix(topicPrefix) ? String(topic.dropFirst(topicPrefix.count)) : nil
    }

    private static let topicPrefix = "file:"

    private var fileParts: [Substring] { Self.file(ofTopic: topic)?.split(separator: "/") ?? [] }

    /// The place as messages name it.
    public var description: String {
        if let line { return "\(topic) line \(line)" }
        return "\(topic)/\(partition) offset \(offset)"
    }
}

/// A record as a source delivers it; its bytes are valid only during the call that passes it.
public struct SourceRecord {
    /// Where the record comes from.
    public var place: RecordPlace
    /// The key's bytes, or nil for a null key.
    public var key: UnsafeRawBufferPointer?
    /// Reads a key that may name a schema of a registry; nil where it names none.
    var registeredKey: RegisteredKey?
    /// The value's bytes, or nil for a null value.
    public var value: UnsafeRawBufferPointer?
    /// The headers in the record's order; empty for files.
    public var headers: [RecordHeader] = []
    /// When the record was made or appended, in milliseconds since 1970 UTC, or nil where the source does not say.
    public var timestampMilliseconds: Int64?
    /// The value's full size; greater than `value.count` where the source cut an oversized record.
    public var totalBytes: Int
    /// The fault that the source found in the record, or nil.
    public var fault: DecodeError?

    /// Makes a whole record: its full size is the size of `value`, and it has no fault or headers.
    public init(place: RecordPlace, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?) {
        self.init(place: place, key: key, value: value, totalBytes: value?.count ?? 0, fault: nil)
    }

    package init(
        place: RecordPlace, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?, totalBytes: Int,
        fault: DecodeError?
    ) {
        self.place = place
        self.key = key
        self.value = value
        self.totalBytes = totalBytes
        self.fault = fault
    }

    /// The full size of the value, of the key and of the headers.
    package var wholeBytes: Int {
        headers.reduce(totalBytes + (key?.count ?? 0)) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }

    /// Calls `body` with the key: as JSON where a schema of a registry wrote it.
    ///
    /// - Throws: ``DecodeError``; retriable where the registry cannot be asked.
    package func withPlainKey<Result>(
        _ body: (UnsafeRawBufferPointer?) throws(DecodeError) -> Result
    ) throws(DecodeError) -> Result {
        guard let json = try registeredKey?.json() else { return try body(key) }
        return try Self.withBytes(json, body)
    }

    /// Calls `body` with the bytes of a key or value, which live for the call.
    package static func withBytes<Result, Failure: Error>(
        _ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let bytes else { return try body(nil) }
        let result: Swift.Result<Result, Failure> = bytes.withUnsafeBytes { buffer in
            do throws(Failure) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// Why a record is no event: a stable code and a description with a remedy.
///
/// Names that stand in the record are shown cut short. So are values that do not fit, unless the model marks the
/// attribute as a secret.
public struct DecodeError: CodedError, Equatable {
    /// The stable code, such as `decode.type`.
    public let code: String
    /// The fault and its remedy; of a value that does not fit the beginning, unless its attribute is a secret.
    public let message: String
    /// Whether the record is not at fault: it can be decoded later, and is no dead letter.
    public let isRetriable: Bool
    /// The message, which names the remedy.
    public var description: String { message }

    /// Makes an error; the message must not hold a value of an attribute that is a secret.
    public init(code: String, _ message: String, isRetriable: Bool = false) {
        self.code = code
        self.message = message
        self.isRetriable = isRetriable
    }

    package init(_ error: JSONError) {
        self.init(code: error.code, error.description)
    }

    /// Shows the beginning of a value: 24 characters, control characters left out.
    static func shownValue(_ text: String) -> String {
        let cleaned = text.unicodeScalars.lazy.filter { $0.properties.generalCategory != .control }.prefix(25)
        let begin = String(String.UnicodeScalarView(cleaned.prefix(24)))
        return cleaned.count > 24 ? "'\(begin)…'" : "'\(begin)'"
    }

    /// Shows a name that a record states: cut to 60 characters, control characters left out.
    package static func shown(_ name: String) -> String {
        let cleaned = name.unicodeScalars.filter { $0.properties.generalCategory != .control }
        let text = String(String.UnicodeScalarView(cleaned.prefix(60)))
        return cleaned.count > 60 ? "'\(text)…'" : "'\(text)'"
    }
}

extension RecordHeader {
    /// Tells whether the header has a name.
    package func isNamed(_ name: String) -> Bool { self.name.hasSameBytes(as: name) }
}

extension Attribute {
    /// Tells whether messages must not show values: the model's `info` has `secret: "true"`.
    var isSecret: Bool { info["secret"].map { ["true", "yes", "1"].contains($0.lowercased()) } ?? false }
}

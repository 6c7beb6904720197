import GraphCore

/// Says why bytes were refused as a JSON document, where, and what to do. It never quotes the document.
public struct JSONError: CodedError, Equatable {
    /// The kinds of fault; the raw value is the stable code.
    public enum Kind: String, Sendable, CaseIterable {
        /// There is no value at all.
        case empty = "json.empty"
        /// The document is longer than the parser's limit.
        case size = "json.size"
        /// The bytes are not valid UTF-8.
        case utf8 = "json.utf8"
        /// Arrays and objects are nested deeper than the parser's limit.
        case depth = "json.depth"
        /// The document ends before it is complete.
        case truncated = "json.truncated"
        /// A byte stands where JSON does not allow it.
        case syntax = "json.syntax"
        /// A string holds a bad escape or an unescaped control character.
        case string = "json.string"
        /// A number is malformed.
        case number = "json.number"
        /// Something follows the document.
        case trailing = "json.trailing"
    }

    /// The kind of value inside which a truncated document ends.
    public enum Place: String, Sendable {
        case object, array, string, literal, number
    }

    /// The kind of fault.
    public var kind: Kind
    /// The offset of the fault in bytes from the start of the document, where it is known.
    public var byteOffset: Int?
    /// The kind of value inside which a truncated document ends.
    public var place: Place?
    /// The limit that was passed: bytes for `size`, levels for `depth`.
    public var limit: Int?

    /// Makes an error.
    public init(_ kind: Kind, byteOffset: Int? = nil, place: Place? = nil, limit: Int? = nil) {
        self.kind = kind
        self.byteOffset = byteOffset
        self.place = place
        self.limit = limit
    }

    /// The stable code, such as `json.truncated`.
    public var code: String { kind.rawValue }

    /// Whether the same bytes may be accepted later, which they may not.
    public var isRetriable: Bool { false }
}

extension JSONError {
    /// One or two sentences: what, where, and what to do.
    public var description: String { "\(message)\(location.map { " at \($0)" } ?? ""). \(remedy)" }

    /// The offset of the fault.
    public var location: String? { byteOffset.map { "byte \($0)" } }

    private var limitText: String { limit.map(String.init) ?? "the limit" }

    /// The fault.
    public var message: String {
        switch kind {
        case .empty: "The record holds no JSON value"
        case .size: "The JSON document is longer than \(limitText) bytes"
        case .utf8: "The JSON document is not valid UTF-8"
        case .depth: "The JSON document nests arrays and objects deeper than \(limitText) levels"
        case .truncated: "The JSON document ends \(place.map { "inside \(Self.article($0))" } ?? "too early")"
        case .syntax: "The JSON document has a syntax error"
        case .string: "A JSON string holds a bad escape or an unescaped control character"
        case .number: "A JSON number is malformed"
        case .trailing: "Something follows the JSON document"
        }
    }

    private static func article(_ place: Place) -> String {
        switch place {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .literal: "true, false or null"
        case .number: "a number"
        }
    }

    /// The remedy.
    public var remedy: String {
        switch kind {
        case .empty: "Send one JSON document in each record."
        case .size: "Send smaller records, or raise the limit."
        case .utf8: "Have the producer encode text as UTF-8."
        case .depth: "Send flatter documents, or raise the limit."
        case .truncated: "Look for a size limit or an interrupted write on the producer's side."
        case .syntax: "Have the producer write the record with a JSON library."
        case .string: "Have the producer escape quotes, backslashes and control characters."
        case .number: "Have the producer write the record with a JSON library."
        case .trailing: "Send one JSON document in each record."
        }
    }
}

/// Why a schema or a record in Avro's binary encoding was refused.
public enum AvroError: Error, Hashable, Sendable {
    /// The schema is not one that Avro's specification allows; the text says why.
    case schema(String)
    /// The bytes end inside a value.
    case truncated
    /// Bytes follow the record.
    case trailing
    /// A number, length, index or text that Avro's encoding does not allow; the text says which.
    case invalid(String)
    /// One of ``AvroLimits`` is exceeded; the text says which.
    case limit(String)
}

extension AvroError {
    /// The fault in words, without anything of a record.
    public var reason: String {
        switch self {
        case .schema(let text): "the schema cannot be used: \(text)"
        case .truncated: "the bytes end inside a value"
        case .trailing: "bytes follow the record"
        case .invalid(let text): "a \(text) is not one of Avro's encoding"
        case .limit(let name): "a record or the schema is beyond the limit '\(name)'"
        }
    }
}

/// Bounds of the cost of a schema and of a record.
public struct AvroLimits: Hashable, Sendable {
    /// The bytes of a schema's JSON.
    public var schemaBytes = 1_048_576
    /// The types in a schema; each mention of a primitive type counts.
    public var schemaTypes = 10_000
    /// Values within values.
    public var depth = 64
    /// The bytes that a record writes.
    public var jsonBytes = 16_777_216
    /// The limits as they stand here.
    public init() {}
}

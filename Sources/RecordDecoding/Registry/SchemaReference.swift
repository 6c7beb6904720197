import GraphCore
import KafkaClient

/// Names the schema that wrote a key or a value.
///
/// Source: Confluent's "Formats, Serializers, and Deserializers", wire format.
enum SchemaReference: Hashable, Sendable, CustomStringConvertible {
    /// The schema's number in the registry.
    case number(UInt32)
    /// The schema's identifier, which is the same in each registry.
    case identifier(String)

    var description: String {
        switch self {
        case .number(let number): "schema \(number)"
        case .identifier(let identifier): "schema \(identifier)"
        }
    }

    /// The path at which the registry has the schema.
    var path: String {
        switch self {
        case .number(let number): "/schemas/ids/\(number)"
        case .identifier(let identifier): "/schemas/guids/\(identifier)"
        }
    }
}

/// A key or a value that names its schema.
///
/// A zero byte and four bytes of the schema's number stand before the content. Or a header holds the number or the
/// identifier.
package struct RegisteredContent {
    /// Says whether a record's key or its value is meant.
    enum Part {
        case key, value

        fileprivate var headerName: String {
            switch self {
            case .key: "__key_schema_id"
            case .value: "__value_schema_id"
            }
        }
    }

    let schema: SchemaReference
    /// The bytes that follow the schema's name in a header: the indexes of a Protobuf message, or none.
    let prefix: [UInt8]
    /// The bytes of the key or value without the schema's number.
    let content: UnsafeRawBufferPointer

    private static let numberBytes = 5
    private static let identifierBytes = 17

    /// Returns false where neither the bytes nor a header of a record can name a schema.
    @inline(__always)
    static func mayStand(in record: SourceRecord) -> Bool {
        !record.headers.isEmpty || record.value?.first == 0 || record.key?.first == 0
    }

    /// Returns nil where neither the bytes nor a header name a schema; no JSON begins with a zero byte.
    init?(_ bytes: UnsafeRawBufferPointer?, _ part: Part, _ headers: [RecordHeader]) {
        guard let bytes else { return nil }
        if !headers.isEmpty, let header = headers.last(where: { $0.isNamed(part.headerName) })?.value,
            let (schema, prefix) = Self.named(by: header)
        {
            (self.schema, self.prefix, content) = (schema, prefix, bytes)
            return
        }
        guard bytes.count >= Self.numberBytes, bytes[0] == 0 else { return nil }
        schema = .number(Self.number(bytes[1..<Self.numberBytes]))
        prefix = []
        content = UnsafeRawBufferPointer(rebasing: bytes[Self.numberBytes...])
    }

    private static func named(by header: [UInt8]) -> (SchemaReference, [UInt8])? {
        if header.first == 0, header.count >= numberBytes {
            return (.number(number(header[1..<numberBytes])), Array(header[numberBytes...]))
        }
        guard header.first == 1, let identifier = UUIDText.text(Array(header.dropFirst().prefix(identifierBytes - 1)))
        else { return nil }
        return (.identifier(identifier), Array(header[identifierBytes...]))
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

    /// Tells whether a header names a schema.
    package static func names(_ header: RecordHeader) -> Bool {
        [Part.key.headerName, Part.value.headerName].contains(header.name)
    }

    /// The bytes that the serialiser wrote for the schema to read.
    var bytes: [UInt8] { prefix + content }
}

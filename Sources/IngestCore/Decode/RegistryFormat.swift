import KafkaClient

/// The wire format of Confluent's schema registry: a zero byte, four bytes of the schema's number, then the content.
///
/// Of the registry's serialisers only the one for JSON Schema writes JSON behind them.
/// Source: Confluent's "Formats, Serializers, and Deserializers", wire format.
enum RegistryFormat {
    private static let headerBytes = 5

    /// Tells whether bytes begin as the wire format does; no JSON does.
    static func matches(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.count >= headerBytes && bytes[0] == 0 }

    /// The content behind the header.
    static func content(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[headerBytes...])
    }

    /// Tells whether a header holds the schema's number, as newer serialisers write it.
    static func isNamed(by headers: [RecordHeader]) -> Bool { headers.contains { $0.name == "__value_schema_id" } }

    /// Why bytes of the wire format are no event.
    static func refusal(_ bytes: UnsafeRawBufferPointer) -> DecodeError {
        let schema = matches(bytes) ? bytes[1..<headerBytes].reduce(0) { $0 << 8 | Int($1) } : nil
        return DecodeError(
            code: "decode.schema_registry",
            "The record is in the schema registry's wire format (\(schema.map { "schema \($0)" } ?? "with a header")) and "
                + "holds no JSON object: Avro/Protobuf "
                + "via schema registry is not supported. Let the producer write JSON, with the JSON converter or the JSON "
                + "Schema serialiser")
    }
}

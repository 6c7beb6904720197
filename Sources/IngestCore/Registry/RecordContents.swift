import ObjectGraph

/// Turns keys and values that name a schema of a registry into JSON.
///
/// Used by one thread.
final class RecordContents {
    private let registry: SchemaRegistry?
    private let parser: JSONParser

    /// Takes nil where no registry is configured: then only JSON can be read behind a schema's number.
    init(_ registry: SchemaRegistry?, limits: LimitConfiguration) throws(JSONError) {
        self.registry = registry
        parser = try JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
    }

    /// Passes on a record whose key and value are what their formats say, as JSON where a schema wrote them.
    ///
    /// - Throws: ``DecodeError``; retriable where the registry cannot be asked.
    func plain<Output>(
        _ record: SourceRecord, _ body: (SourceRecord) throws(DecodeError) -> Output
    ) throws(DecodeError) -> Output {
        let key = RegisteredContent(record.key, .key, record.headers)
        let value = RegisteredContent(record.value, .value, record.headers)
        if key == nil, value == nil { return try body(record) }
        // A record without a value says something by its key alone; other keys may have nothing to do with a registry.
        let keyJSON = try key.map { content throws(DecodeError) in try json(ofKey: content) } ?? nil
        let valueJSON = try value.map { content throws(DecodeError) in try json(of: content) }
        return try SourceRecord.withBytes(keyJSON) { key throws(DecodeError) in
            try SourceRecord.withBytes(valueJSON) { value throws(DecodeError) in
                var plain = record
                if let key { plain.key = key }
                if let value { plain.value = value }
                return try body(plain)
            }
        }
    }

    private func json(of content: RegisteredContent) throws(DecodeError) -> [UInt8] {
        if let registry { return try registry.schema(content.schema).json(of: content) }
        let bytes = content.bytes
        if let root = try? parser.parse(bytes).root, root.kind == .object { return bytes }
        throw DecodeError(
            code: "decode.schema_registry",
            "The record was written by \(content.schema) of a schema registry and holds no JSON object. Name the registry "
                + "in schemaRegistry.url")
    }

    /// Returns nil for a key that only begins as if it named a schema, such as a number in eight bytes.
    private func json(ofKey content: RegisteredContent) throws(DecodeError) -> [UInt8]? {
        guard let registry else {
            let bytes = content.bytes
            return (try? parser.parse(bytes)) == nil ? nil : bytes
        }
        if content.schema == .number(0) { return nil }
        do throws(DecodeError) {
            return try registry.schema(content.schema).json(of: content)
        } catch {
            if error.isRetriable { throw error }
            return nil
        }
    }
}

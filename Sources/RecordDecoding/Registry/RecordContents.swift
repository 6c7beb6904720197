import GraphCore

/// Turns keys and values that name a schema of a registry into JSON.
///
/// Used by one thread.
package final class RecordContents {
    private let registry: SchemaRegistry?
    private let parser: JSONParser

    /// Makes the contents' reader. Without a registry, nil, it reads only JSON behind a schema's number.
    package init(_ registry: SchemaRegistry?, limits: LimitConfiguration) {
        self.registry = registry
        parser = JSONParser(depthLimit: limits.maxDepth, maximumBytes: limits.maxRecordBytes)
    }

    /// Passes on a record whose value is what its format says, as JSON where a schema wrote it. Its key becomes so where
    /// it is read: ``SourceRecord/withPlainKey(_:)``.
    ///
    /// - Throws: ``DecodeError``; retriable where the registry cannot be asked.
    package func plain<Output>(
        _ record: SourceRecord, _ body: (SourceRecord) throws(DecodeError) -> Output
    ) throws(DecodeError) -> Output {
        let key = RegisteredContent(record.key, .key, record.headers)
        let value = RegisteredContent(record.value, .value, record.headers)
        if key == nil, value == nil { return try body(record) }
        let valueJSON = try value.map { content throws(DecodeError) in try json(of: content) }
        return try SourceRecord.withBytes(valueJSON) { value throws(DecodeError) in
            var plain = record
            if let value { plain.value = value }
            plain.registeredKey = key.map { content in
                RegisteredKey { () throws(DecodeError) in try self.json(ofKey: content) }
            }
            return try body(plain)
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
        if content.schema == .number(0) { return nil }
        guard let registry else {
            let bytes = content.bytes
            return (try? parser.parse(bytes)) == nil ? nil : bytes
        }
        do throws(DecodeError) {
            return try registry.schema(content.schema).json(of: content)
        } catch {
            if error.isRetriable { throw error }
            return nil
        }
    }
}

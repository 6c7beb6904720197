import GraphCore

/// The content of a record's key: the one reading of keys for all formats and expressions.
enum RecordKey {
    /// Bytes that are no JSON, and numbers, whose digits count as they are written: `1e3` is another text than `1000`.
    case text(String)
    /// A value of JSON without the schema wrapper, and its schema.
    case json(JSONValue, schema: JSONValue?)

    /// Reads a key; nil where the bytes are neither JSON nor UTF-8 text.
    ///
    /// The JSON lives until the parser's next parse.
    init?(_ key: UnsafeRawBufferPointer, _ parser: JSONParser) {
        let content = Self.trimmed(key)
        if Self.mayBeJSON(content, isTrimmed: content.count < key.count), let root = try? parser.parse(content).root {
            switch root.kind {
            case .object, .array, .string, .boolean, .null:
                let (payload, schema) = SchemaFields.unwrapped(root)
                self = .json(payload, schema: schema)
                return
            default:
                self = .text(String(decoding: content, as: UTF8.self))
                return
            }
        }
        guard let text = String(validating: key, as: UTF8.self) else { return nil }
        self = .text(text)
    }

    /// Tells whether bytes have to be parsed. Keys that are plain texts or numbers cost no parse.
    private static func mayBeJSON(_ content: UnsafeRawBufferPointer, isTrimmed: Bool) -> Bool {
        switch content.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): true
        case UInt8(ascii: "t"): content.hasSameBytes(as: "true")
        case UInt8(ascii: "f"): content.hasSameBytes(as: "false")
        case UInt8(ascii: "n"): content.hasSameBytes(as: "null")
        default: isTrimmed
        }
    }

    /// Returns the bytes without JSON's white space at either end.
    private static func trimmed(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D }
        guard let first = key.firstIndex(where: { !isSpace($0) }), let last = key.lastIndex(where: { !isSpace($0) })
        else { return key }
        return UnsafeRawBufferPointer(rebasing: key[first...last])
    }

    /// Returns the part of the key that names an object, or nil where several fields or none could.
    ///
    /// - Parameters:
    ///   - identity: the expression of the route's identity, whose path, if it is one, names the field.
    ///   - table: tells which fields stand for the identity, where no path does.
    func part(
        naming entity: Entity, _ identity: RouteExpression?, _ table: ObjectDecoder.PropertyTable
    ) -> RecordKey? {
        guard case .json(let payload, let schema) = self else { return self }
        if payload.kind != .object || schema.map({ LogicalType($0) }) == .scaledDecimal { return self }
        if let path = identity?.path {
            if let value = payload.member(at: path) {
                return .json(value, schema: SchemaFields.schema(at: path, in: schema))
            }
            // A template reads the fields that it names, and no other.
            if identity?.isTemplate ?? false { return nil }
        }
        for (name, value) in payload.members {
            if payload.count == 1 || Self.isIdentity(name, of: entity, identity, table) {
                return .json(value, schema: SchemaFields.schema(of: name, in: schema))
            }
        }
        return nil
    }

    private static func isIdentity(
        _ name: UnsafeBufferPointer<UInt8>, of entity: Entity, _ identity: RouteExpression?,
        _ table: ObjectDecoder.PropertyTable
    ) -> Bool {
        if case .identity? = table.properties[utf8: name] { return true }
        // With an expression the data's own attribute is no identity; a key has nothing else.
        return identity?.usesKey ?? false && entity.identity.name.utf8.elementsEqual(name)
    }

    /// The text that the content means: of a JSON string, of a number as it is written, or of a value with a schema.
    /// It is nil for all else.
    var text: String? {
        switch self {
        case .text(let text): text
        case .json(let json, let schema):
            ConnectValues.text(json, schema)
        }
    }

    /// The error of a key that names no object of an entity.
    static func wrong(for entity: Entity) -> DecodeError {
        DecodeError(
            code: "decode.identity",
            "The record's key names the \(entity.name); it has to be \(entity.identity.type.expectation), or an object whose "
                + "identity or only field is that. Or name the key's fields in the route's 'identity'")
    }
}

/// Reads the keys of records; the record's own parser holds its value meanwhile.
final class RecordKeys {
    let parser: JSONParser

    init(depthLimit: Int, maximumBytes: Int) {
        parser = JSONParser(depthLimit: depthLimit, maximumBytes: maximumBytes)
    }

    /// Returns the key as text, or the field of a key that is a JSON object.
    ///
    /// - Parameter values: tells which texts of fields stand for null.
    func text(
        _ key: UnsafeRawBufferPointer?, at path: RecordPath, _ values: ValueDecoding = ValueDecoding()
    ) throws(DecodeError) -> RouteExpression.Result {
        guard let key, !key.isEmpty else { return .absent }
        let found = RecordKey(key, parser)
        if !path.isEmpty {
            guard case .json(let payload, let schema)? = found, let value = payload.member(at: path, nulls: values)
            else { return .absent }
            return try RouteScope.text(
                of: value, SchemaFields.schema(at: path, in: schema), values, "$key.\(path.text)")
        }
        if case .json(let payload, _)? = found, payload.isNull { return .null }
        // An object or an array stands as it is written.
        if let text = found?.text ?? String(validating: key, as: UTF8.self) { return .text(text) }
        throw DecodeError(code: "decode.type", "The record's key has to be UTF-8 text")
    }
}

import CProtobuf

/// Why a schema or a message of Protobuf was refused.
public enum ProtobufError: Error, Hashable, Sendable {
    /// The schema cannot be compiled; the text says where and why.
    case schema(String)
    /// The schema has no message at the indexes that the bytes begin with.
    case noMessage
    /// The bytes are no message of their kind.
    case invalid
    /// One of ``ProtobufLimits`` is exceeded.
    case limit

    /// The fault in words, without anything of a message.
    public var reason: String {
        switch self {
        case .schema(let text): text
        case .noMessage: "the schema has no message at its indexes"
        case .invalid: "the bytes are no message of their kind"
        case .limit: "the message is too deep or too large"
        }
    }
}

/// Bounds of the cost of a message.
public struct ProtobufLimits: Hashable, Sendable {
    /// Messages within messages; a level of `google.protobuf.Struct` takes three.
    public var depth = 192
    /// The bytes that a message writes.
    public var jsonBytes = 16_777_216
    /// The memory that a message takes while it is read, in bytes.
    public var memoryBytes = 268_435_456
    /// The bytes of a schema's text.
    public var schemaBytes = 1_048_576

    /// The limits as they stand here.
    public init() {}
}

/// A schema that writes the messages of its kinds as JSON.
///
/// | Protobuf | JSON |
/// |---|---|
/// | message, map | object; fields have the names of the schema |
/// | field without presence | its value, the default where it was not sent |
/// | optional field, `oneof`, message | left out where it was not sent |
/// | repeated | array |
/// | enum | its name, or the number of one that the schema does not have |
/// | bytes | text in base64 |
/// | whole numbers | numbers, those of 64 bits too |
/// | NaN, infinity | the texts `"NaN"`, `"Infinity"`, `"-Infinity"` |
/// | `google.protobuf` types | as Protobuf's own JSON has them: timestamps, durations, structs and others; wrappers are the bare value |
///
/// Any thread may use it: what the pointer leads to does not change, and locks what it makes at first use.
public final class ProtobufSchema: @unchecked Sendable {
    private let schema: OpaquePointer
    private let limits: ProtobufLimits

    /// Compiles the text of a `.proto` file.
    ///
    /// - Parameters:
    ///   - text: the file.
    ///   - imports: the names and texts of the files that it imports; those under `google/protobuf` are known.
    ///   - limits: the bounds that keep a schema from exhausting the memory.
    /// - Throws: ``ProtobufError``.
    public init(
        text: String, imports: [(name: String, text: String)] = [], limits: ProtobufLimits = ProtobufLimits()
    ) throws(ProtobufError) {
        let files = imports + [("schema.proto", text)]
        if files.contains(where: { $0.text.utf8.count > limits.schemaBytes || $0.text.contains("\0") }) {
            throw .limit
        }
        var fault = [CChar](repeating: 0, count: 300)
        let compiled = Self.withPointers(files.map(\.name)) { names in
            Self.withPointers(files.map(\.text)) { texts in
                protobuf_schema_compile(names, texts, files.count, &fault, fault.count)
            }
        }
        guard let compiled else {
            throw .schema(String(decoding: fault.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        schema = compiled
        self.limits = limits
    }

    deinit { protobuf_schema_destroy(schema) }

    /// Returns the JSON of what a serialiser of the schema registry wrote: indexes that lead to the message's kind, and
    /// the message.
    ///
    /// - Throws: ``ProtobufError``.
    public func json(indexed bytes: [UInt8]) throws(ProtobufError) -> [UInt8] {
        var position = 0
        let count = try Self.number(bytes, &position)
        // A single zero stands for the first message of the file.
        if count == 0 { return try json(Array(bytes[position...]), at: [0]) }
        guard (1...Int64(limits.depth)).contains(count) else { throw .noMessage }
        var indexes: [Int32] = []
        for _ in 0..<count {
            guard let index = Int32(exactly: try Self.number(bytes, &position)) else { throw .noMessage }
            indexes.append(index)
        }
        return try json(Array(bytes[position...]), at: indexes)
    }

    /// - Parameter indexes: the place of the outermost message in the file, then of each one inside it.
    private func json(_ bytes: [UInt8], at indexes: [Int32]) throws(ProtobufError) -> [UInt8] {
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        let result = bytes.withUnsafeBytes { buffer in
            protobuf_schema_json(
                schema, indexes, indexes.count, buffer.baseAddress, buffer.count, Int32(clamping: limits.depth),
                limits.jsonBytes, limits.memoryBytes, &text, &size)
        }
        defer { protobuf_json_destroy(text) }
        switch result {
        case PROTOBUF_OK: return Array(UnsafeRawBufferPointer(start: text, count: size))
        case PROTOBUF_NO_MESSAGE: throw .noMessage
        case PROTOBUF_LIMIT: throw .limit
        default: throw .invalid
        }
    }

    /// Reads a number as zigzag in groups of seven bits.
    private static func number(_ bytes: [UInt8], _ position: inout Int) throws(ProtobufError) -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 63, by: 7) {
            guard position < bytes.count else { throw .invalid }
            let byte = bytes[position]
            position += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        }
        throw .invalid
    }

    /// Calls `body` with C strings, which live for the call.
    private static func withPointers<Result>(
        _ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        // One block of memory has all texts, each ended by a zero.
        var starts: [Int] = []
        var block: [CChar] = []
        for text in texts {
            starts.append(block.count)
            block += text.utf8CString
        }
        return block.withUnsafeBufferPointer { block in
            body(starts.map { start in block.baseAddress.map { $0 + start } })
        }
    }
}

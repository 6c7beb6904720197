import CSimdjson

/// Parses JSON documents, reusing its memory from one to the next.
///
/// Not thread-safe: use one for each thread. It skips a byte order mark before the document. It copies nothing out
/// until a caller asks for a value. So a document is only valid until the next `parse` of the same parser.
package final class JSONParser {
    /// The number of nested arrays and objects allowed; empty ones do not count.
    package let depthLimit: Int
    /// The longest document accepted, in bytes.
    package let maximumBytes: Int

    private let parser: OpaquePointer

    /// Makes a parser.
    ///
    /// - Parameters:
    ///   - depthLimit: nested arrays and objects allowed, 1 to 1,024 (other values are clamped).
    ///   - maximumBytes: the longest document accepted, in bytes; at most 4 GiB.
    package init(depthLimit: Int = 64, maximumBytes: Int = 16 << 20) {
        // Serialising recurses once per level: the upper bound keeps it far from the end of a small thread's stack.
        self.depthLimit = min(max(depthLimit, 1), 1024)
        self.maximumBytes = min(max(maximumBytes, 1), Int(UInt32.max))
        guard let parser = json_parser_create(self.depthLimit) else { Self.endOutOfMemory() }
        self.parser = parser
    }

    deinit {
        json_parser_destroy(parser)
    }

    /// Parses one document and calls the body with its value, which is valid until the body returns.
    ///
    /// The parser is sure to live until then, which it is not after a `parse` that was the last use of a local parser.
    package func withValue<Result>(
        of bytes: UnsafeRawBufferPointer, _ body: (JSONValue) throws -> Result
    ) throws -> Result {
        let root = try parse(bytes).root
        return try withExtendedLifetime(self) { try body(root) }
    }

    /// Parses one document. The bytes may be changed or freed as soon as this returns.
    ///
    /// - Returns: the document, valid until the next call and as long as the parser lives.
    /// - Throws: `JSONError` with the byte offset of the fault where it is known.
    package func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONDocument {
        let markBytes = Self.byteOrderMarkLength(bytes)
        let body = UnsafeRawBufferPointer(rebasing: bytes[markBytes...])
        guard body.count <= maximumBytes else { throw JSONError(.size, limit: maximumBytes) }
        guard let base = body.baseAddress, !body.isEmpty else { throw JSONError(.empty) }
        var tape: UnsafePointer<UInt64>?
        var strings: UnsafePointer<UInt8>?
        let status = json_parser_parse(
            parser, base.assumingMemoryBound(to: UInt8.self), body.count, &tape, &strings)
        guard status == 0, let tape, let strings else {
            throw failure(status, body, markBytes: markBytes)
        }
        // Word 0 is the root's own marker; the value follows.
        return JSONDocument(root: JSONValue(tape: tape, strings: strings, index: 1))
    }

    /// Parses the UTF-8 bytes of an array; see `parse(_:)`.
    package func parse(_ bytes: [UInt8]) throws(JSONError) -> JSONDocument {
        let result: Result<JSONDocument, JSONError> = bytes.withUnsafeBytes { buffer in
            do throws(JSONError) { return .success(try parse(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// The bytes that the parser has room for now: it grows with the records and shrinks after a huge one.
    var capacityBytes: Int { json_parser_capacity(parser) }

    private static func byteOrderMarkLength(_ bytes: UnsafeRawBufferPointer) -> Int {
        bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF ? 3 : 0
    }

    /// Ends the process, as Swift does where its own memory runs out: no caller may take the document for a bad one.
    private static func endOutOfMemory() -> Never { fatalError("There is no memory left to parse a JSON document") }

    private func failure(_ status: Int32, _ body: UnsafeRawBufferPointer, markBytes: Int) -> JSONError {
        var error: JSONError
        switch status {
        case json_error_empty(): error = JSONError(.empty)
        case json_error_capacity(): error = JSONError(.size, limit: maximumBytes)
        case json_error_memory(): Self.endOutOfMemory()
        case json_error_utf8(): error = JSONError(.utf8, byteOffset: UTF8Fault.firstOffset(in: body))
        default:
            var finder = JSONFaultFinder(bytes: body, depthLimit: depthLimit)
            // The library saw a fault, so a finder that sees none only means that the place is unknown.
            let unknown: JSONError.Kind = status == json_error_number() ? .number : .syntax
            error = finder.find() ?? JSONError(status == json_error_depth() ? .depth : unknown)
            // The bytes before the fault may be bad UTF-8, which is then the better explanation.
            if let offset = UTF8Fault.firstOffset(in: body), offset < error.byteOffset ?? .max {
                error = JSONError(.utf8, byteOffset: offset)
            }
        }
        if error.kind == .depth { error.limit = depthLimit }
        error.byteOffset = error.byteOffset.map { $0 + markBytes }
        return error
    }
}

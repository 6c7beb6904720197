/// The position after a fetched object in the order of its request: the object's sort values and primary key.
///
/// Its text is opaque: URL-safe base64 of a version byte, the request's fingerprint, the key and the values.
package struct FetchCursor: Sendable, Equatable {
    private static let version: UInt8 = 1
    private static let maximumBytes = 1_000_000

    package let fingerprint: UInt64
    package let pk: Int64
    package let values: [Value]

    init(fingerprint: UInt64, pk: Int64, values: [Value]) {
        self.fingerprint = fingerprint
        self.pk = pk
        self.values = values
    }

    /// Returns a 64-bit FNV-1a hash of the parts, which other requests are unlikely to share.
    package static func fingerprint(_ parts: [String]) -> UInt64 {
        // No text has this byte, so it separates the parts.
        parts.flatMap { Array($0.utf8) + [0xFF] }.fnv1a
    }

    // MARK: Text

    /// The cursor as text of letters, digits, `-` and `_`.
    package var text: String {
        var bytes = [Self.version]
        Self.append(fingerprint, to: &bytes)
        Self.append(UInt64(bitPattern: pk), to: &bytes)
        for value in values { Self.append(value, to: &bytes) }
        let text = Base64Text.text(bytes)
        return String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" })
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            append(UInt64(bitPattern: number), to: &bytes)
        case .double(let number):
            bytes.append(2)
            append(number.bitPattern, to: &bytes)
        case .text(let text):
            bytes.append(3)
            append(UInt64(text.utf8.count), to: &bytes)
            bytes += text.utf8
        case .blob(let blob):
            bytes.append(4)
            append(UInt64(blob.count), to: &bytes)
            bytes += blob
        }
    }

    /// Reads a cursor.
    ///
    /// - Parameter types: the types of the request's sort keys.
    /// - Throws: ``FetchPredicateError`` with code `predicate.cursor` if it is broken or of another request.
    init(_ text: String, fingerprint: UInt64, types: [ExpressionType]) throws(FetchPredicateError) {
        guard text.utf8.count <= Self.maximumBytes, let bytes = Self.bytes(text), bytes.first == Self.version else {
            throw Self.broken
        }
        var reader = Reader(bytes: bytes.dropFirst())
        guard let found = reader.number(), let pk = reader.number() else { throw Self.broken }
        guard found == fingerprint else {
            throw FetchPredicateError(
                .cursor, "The cursor belongs to another request", at: nil,
                remedy: "Use it with the same entity, condition and order, or begin without one")
        }
        var values: [Value] = []
        for type in types {
            guard let value = reader.value(), type.canGive(value) else { throw Self.broken }
            values.append(value)
        }
        guard reader.bytes.isEmpty else { throw Self.broken }
        self.init(fingerprint: found, pk: Int64(bitPattern: pk), values: values)
    }

    private static let broken = FetchPredicateError(
        .cursor, "The cursor is none", at: nil, remedy: "Use the text that a page ended with, or begin without one")

    private static func bytes(_ text: String) -> [UInt8]? {
        var standard = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        standard += String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Base64Text.bytes(standard)
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func number() -> UInt64? {
            guard bytes.count >= 8 else { return nil }
            let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            bytes = bytes.dropFirst(8)
            return number
        }

        mutating func value() -> Value? {
            guard let kind = bytes.popFirst() else { return nil }
            switch kind {
            case 0: return .null
            case 1: return number().map { .integer(Int64(bitPattern: $0)) }
            case 2: return number().map { .double(Double(bitPattern: $0)) }
            case 3:
                guard let content = content() else { return nil }
                return String(validating: content, as: UTF8.self).map { .text($0) }
            case 4: return content().map { .blob([UInt8]($0)) }
            default: return nil
            }
        }

        private mutating func content() -> ArraySlice<UInt8>? {
            guard let count = number(), count <= UInt64(bytes.count) else { return nil }
            let content = bytes.prefix(Int(count))
            bytes = bytes.dropFirst(Int(count))
            return content
        }
    }
}

extension ExpressionType {
    /// Tells whether an expression of the type can give a value. One that computes may leave the range of its type, so a
    /// whole number may be a real one, and a real one infinite.
    fileprivate func canGive(_ value: Value) -> Bool {
        guard case .value(let type) = self else { return value.isNull }
        return switch value {
        case .null: true
        case .integer: type == .boolean || type == .date || type.isNumeric && type != .decimal
        case .double(let number): !number.isNaN && (type == .date || type.isNumeric && type != .decimal)
        case .text(let text):
            type == .decimal ? DecimalText.canonical(text) == text : [.string, .uri, .transformable].contains(type)
        case .blob(let bytes): type == .binary || type == .uuid && bytes.count == 16
        }
    }
}

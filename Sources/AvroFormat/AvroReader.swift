struct AvroReader {
    let bytes: [UInt8]
    private var position = 0
    var remaining: Int { bytes.count - position }

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func byte() throws(AvroError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    /// A number as zigzag in groups of seven bits: at most ten bytes.
    mutating func long() throws(AvroError) -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let byte = try byte()
            guard shift < 63 || byte < 2 else { throw .invalid("number") }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
        }
        throw .invalid("number")
    }

    mutating func int() throws(AvroError) -> Int32 {
        guard let value = Int32(exactly: try long()) else { throw .invalid("number") }
        return value
    }

    mutating func length() throws(AvroError) -> Int {
        guard let length = Int(exactly: try long()), length >= 0 else { throw .invalid("length") }
        return length
    }

    mutating func take(_ count: Int) throws(AvroError) -> ArraySlice<UInt8> {
        guard count <= remaining else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func text() throws(AvroError) -> String {
        guard let text = String(validating: try take(try length()), as: UTF8.self) else { throw .invalid("text") }
        return text
    }

    /// The bits of a number of `count` bytes, the lowest first.
    mutating func bits(_ count: Int) throws(AvroError) -> UInt64 {
        try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

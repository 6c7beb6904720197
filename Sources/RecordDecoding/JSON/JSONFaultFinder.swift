/// Reads a refused document byte by byte to say where its fault is. Used on the error path only; it does not recurse.
struct JSONFaultFinder {
    private let bytes: UnsafeRawBufferPointer
    private let depthLimit: Int
    private var position = 0
    /// The open containers from the outside in: true for an object.
    private var open: [Bool] = []

    init(bytes: UnsafeRawBufferPointer, depthLimit: Int) {
        self.bytes = bytes
        self.depthLimit = depthLimit
    }

    private enum Expected {
        case value, valueOrArrayEnd, key, keyOrObjectEnd, separator
    }

    /// Returns the first fault, or nil where the document looks right.
    mutating func find() -> JSONError? {
        do throws(JSONError) {
            try readDocument()
            return nil
        } catch {
            return error
        }
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func readDocument() throws(JSONError) {
        var expected = Expected.value
        while true {
            skipWhiteSpace()
            if expected == .separator && open.isEmpty {
                if position < bytes.count { throw JSONError(.trailing, byteOffset: position) }
                return
            }
            guard let byte = current else {
                throw open.isEmpty ? JSONError(.empty) : truncated(open.last == true ? .object : .array)
            }
            expected = try step(byte, expected)
        }
    }

    private mutating func step(_ byte: UInt8, _ expected: Expected) throws(JSONError) -> Expected {
        switch (expected, byte) {
        case (.value, 0x7B), (.valueOrArrayEnd, 0x7B):
            try descend(isObject: true)
            return .keyOrObjectEnd
        case (.value, 0x5B), (.valueOrArrayEnd, 0x5B):
            try descend(isObject: false)
            return .valueOrArrayEnd
        case (.valueOrArrayEnd, 0x5D), (.keyOrObjectEnd, 0x7D): return ascend()
        case (.value, _), (.valueOrArrayEnd, _):
            try readScalar(byte)
            return .separator
        case (.key, 0x22), (.keyOrObjectEnd, 0x22):
            try readString()
            try readColon()
            return .value
        case (.separator, 0x2C):
            position += 1
            return open.last == true ? .key : .value
        case (.separator, 0x7D) where open.last == true: return ascend()
        case (.separator, 0x5D) where open.last == false: return ascend()
        default: throw JSONError(.syntax, byteOffset: position)
        }
    }

    private mutating func descend(isObject: Bool) throws(JSONError) {
        let start = position
        open.append(isObject)
        position += 1
        guard open.count > depthLimit else { return }
        // The library does not count an empty container.
        skipWhiteSpace()
        guard current == (isObject ? 0x7D : 0x5D) else {
            throw JSONError(.depth, byteOffset: start, limit: depthLimit)
        }
    }

    private mutating func ascend() -> Expected {
        open.removeLast()
        position += 1
        return .separator
    }

    private mutating func skipWhiteSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func readColon() throws(JSONError) {
        skipWhiteSpace()
        guard let byte = current else { throw truncated(.object) }
        guard byte == 0x3A else { throw JSONError(.syntax, byteOffset: position) }
        position += 1
    }

    private mutating func readScalar(_ byte: UInt8) throws(JSONError) {
        switch byte {
        case 0x22: try readString()
        case 0x74: try readLiteral("true")
        case 0x66: try readLiteral("false")
        case 0x6E: try readLiteral("null")
        case 0x2D, 0x30...0x39: try readNumber()
        default: throw JSONError(.syntax, byteOffset: position)
        }
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard let byte = current else { throw truncated(.literal) }
            guard byte == literal.utf8Start[offset] else { throw JSONError(.syntax, byteOffset: position) }
            position += 1
        }
    }

    private mutating func readString() throws(JSONError) {
        position += 1
        while let byte = current {
            switch byte {
            case 0x22:
                position += 1
                return
            case 0x00..<0x20: throw JSONError(.string, byteOffset: position)
            case 0x5C: try readEscape()
            default: position += 1
            }
        }
        throw truncated(.string)
    }

    private mutating func readEscape() throws(JSONError) {
        let start = position
        position += 1
        guard let byte = current else { throw truncated(.string) }
        position += 1
        switch byte {
        case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: return
        case 0x75: try readSurrogates(first: try readFourDigits(start), start)
        default: throw JSONError(.string, byteOffset: start)
        }
    }

    private mutating func readSurrogates(first: UInt32, _ start: Int) throws(JSONError) {
        guard (0xD800...0xDFFF).contains(first) else { return }
        guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == 0x5C, bytes[position + 1] == 0x75 else {
            if first < 0xDC00 && position >= bytes.count { throw truncated(.string) }
            throw JSONError(.string, byteOffset: start)
        }
        position += 2
        guard (0xDC00...0xDFFF).contains(try readFourDigits(start)) else { throw JSONError(.string, byteOffset: start) }
    }

    private mutating func readFourDigits(_ start: Int) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current else { throw truncated(.string) }
            let digit = HexDigit.value(byte)
            guard digit < 16 else { throw JSONError(.string, byteOffset: start) }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func readNumber() throws(JSONError) {
        let start = position
        if current == 0x2D { position += 1 }
        let hasLeadingZero = current == 0x30
        let integerDigits = try readDigits(start)
        if hasLeadingZero && integerDigits > 1 { throw JSONError(.number, byteOffset: start) }
        if current == 0x2E {
            position += 1
            _ = try readDigits(start)
        }
        if current == 0x65 || current == 0x45 {
            position += 1
            if current == 0x2B || current == 0x2D { position += 1 }
            _ = try readDigits(start)
        }
    }

    private mutating func readDigits(_ start: Int) throws(JSONError) -> Int {
        let first = position
        while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
        if position == first {
            throw position == bytes.count ? truncated(.number) : JSONError(.number, byteOffset: start)
        }
        return position - first
    }

    private func truncated(_ place: JSONError.Place) -> JSONError {
        JSONError(.truncated, byteOffset: bytes.count, place: place)
    }
}

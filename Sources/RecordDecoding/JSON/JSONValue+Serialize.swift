extension JSONValue {
    /// Appends the value as compact JSON text: no white space, members in their order, duplicates kept. Doubles have
    /// the shortest form that reads back as the same number, or else all their digits. Text is UTF-8 with only the
    /// necessary escapes.
    ///
    /// - Parameter quotesInexact: writes numbers that a double does not hold as texts.
    package func serialize(into output: inout [UInt8], quotesInexact: Bool = false) {
        switch kind {
        case .object: serializeObject(into: &output, quotesInexact)
        case .array: serializeArray(into: &output, quotesInexact)
        case .string: Self.appendString(stringBytes(at: index), to: &output)
        case .integer where quotesInexact && isGreatInteger, .unsignedInteger where quotesInexact,
            .double where quotesInexact && inexactDouble != nil:
            output.append(0x22)
            serialize(into: &output)
            output.append(0x22)
        case .integer: output.append(contentsOf: "\(Int64(bitPattern: tape[index + 1]))".utf8)
        case .unsignedInteger: output.append(contentsOf: "\(tape[index + 1])".utf8)
        case .double:
            if let text = inexactDouble {
                output.append(contentsOf: text)
            } else {
                output.append(contentsOf: "\(Double(bitPattern: tape[index + 1]))".utf8)
            }
        case .boolean: output.append(contentsOf: (mark == Mark.isTrue ? "true" : "false").utf8)
        case .null: output.append(contentsOf: "null".utf8)
        }
    }

    /// Returns the value as compact JSON text; see `serialize(into:)`.
    package func serialized() -> [UInt8] {
        var output: [UInt8] = []
        serialize(into: &output)
        return output
    }

    /// Whether the value is a whole number beyond 2^53 on either side, where doubles leave numbers out.
    private var isGreatInteger: Bool {
        Int64(bitPattern: tape[index + 1]).magnitude > 1 << 53
    }

    private func serializeObject(into output: inout [UInt8], _ quotesInexact: Bool) {
        output.append(0x7B)
        var isFirst = true
        for (key, value) in members {
            if !isFirst { output.append(0x2C) }
            isFirst = false
            Self.appendString(key, to: &output)
            output.append(0x3A)
            value.serialize(into: &output, quotesInexact: quotesInexact)
        }
        output.append(0x7D)
    }

    private func serializeArray(into output: inout [UInt8], _ quotesInexact: Bool) {
        output.append(0x5B)
        var isFirst = true
        for element in elements {
            if !isFirst { output.append(0x2C) }
            isFirst = false
            element.serialize(into: &output, quotesInexact: quotesInexact)
        }
        output.append(0x5D)
    }

    /// Appends UTF-8 text as a JSON string, with quotes and the necessary escapes.
    static func appendString(_ text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        output.append(0x22)
        guard let base = text.baseAddress else { return output.append(0x22) }
        var written = 0
        for position in 0..<text.count {
            let byte = base[position]
            guard byte < 0x20 || byte == 0x22 || byte == 0x5C else { continue }
            output.append(contentsOf: UnsafeBufferPointer(start: base + written, count: position - written))
            appendEscape(byte, to: &output)
            written = position + 1
        }
        output.append(contentsOf: UnsafeBufferPointer(start: base + written, count: text.count - written))
        output.append(0x22)
    }

    private static func appendEscape(_ byte: UInt8, to output: inout [UInt8]) {
        output.append(0x5C)
        switch byte {
        case 0x22, 0x5C: output.append(byte)
        case 0x08: output.append(0x62)
        case 0x09: output.append(0x74)
        case 0x0A: output.append(0x6E)
        case 0x0C: output.append(0x66)
        case 0x0D: output.append(0x72)
        default:
            output.append(contentsOf: [0x75, 0x30, 0x30, 0x30 + byte >> 4, HexDigit.lowercase(byte & 0xF)])
        }
    }
}

/// Hexadecimal digits as ASCII.
enum HexDigit {
    /// Returns the lower-case digit of a value from 0 to 15.
    static func lowercase(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// Returns the value of a digit of either case, or 255 where it is none.
    static func value(_ digit: UInt8) -> UInt8 {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: 255
        }
    }
}

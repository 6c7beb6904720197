/// Tells whether texts are JSON, without building values.
package enum JSONSyntax {
    /// The greatest depth of arrays and objects inside one another. SQLite's JSON functions, which readers use, have
    /// the same limit.
    static let maximumDepth = 1000

    /// Tells whether a text is one JSON value (RFC 8259) that is nested no deeper than ``maximumDepth``.
    package static func isValid(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var reader = JSONSyntaxReader(bytes: bytes)
            return reader.isDocument()
        }
    }
}

private struct JSONSyntaxReader {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// The open containers: true for an object, false for an array.
    private var open: [Bool] = []

    init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func isDocument() -> Bool {
        // A value after the other, without recursion: the text may come from anywhere.
        while true {
            skipSpace()
            guard let isComplete = value() else { return false }
            if !isComplete { continue }
            guard let isAtEnd = closeAll() else { return false }
            if isAtEnd { return position == bytes.count }
        }
    }

    /// Reads a value: true where it is complete, false where it opens an array or object, nil where there is none.
    private mutating func value() -> Bool? {
        switch byte {
        case UInt8(ascii: "{"): return opened(isObject: true, end: UInt8(ascii: "}"))
        case UInt8(ascii: "["): return opened(isObject: false, end: UInt8(ascii: "]"))
        case UInt8(ascii: "\""): return string() ? true : nil
        case UInt8(ascii: "t"): return take("true") ? true : nil
        case UInt8(ascii: "f"): return take("false") ? true : nil
        case UInt8(ascii: "n"): return take("null") ? true : nil
        default: return number() ? true : nil
        }
    }

    private mutating func opened(isObject: Bool, end: UInt8) -> Bool? {
        position += 1
        // An empty one counts as a level too.
        if open.count >= JSONSyntax.maximumDepth { return nil }
        skipSpace()
        if take(end) { return true }
        open.append(isObject)
        if isObject, !name() { return nil }
        return false
    }

    /// Goes on behind a value: true at the end of the text, false where another value has to come, nil for an error.
    private mutating func closeAll() -> Bool? {
        while true {
            skipSpace()
            guard let isObject = open.last else { return true }
            if take(UInt8(ascii: ",")) {
                skipSpace()
                return !isObject || name() ? false : nil
            }
            guard take(isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return nil }
            open.removeLast()
        }
    }

    private mutating func name() -> Bool {
        guard string() else { return false }
        skipSpace()
        return take(UInt8(ascii: ":"))
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ wanted: UInt8) -> Bool {
        guard byte == wanted else { return false }
        position += 1
        return true
    }

    private mutating func take(_ word: StaticString) -> Bool {
        for offset in 0..<word.utf8CodeUnitCount where !take(word.utf8Start[offset]) { return false }
        return true
    }

    private mutating func string() -> Bool {
        guard take(UInt8(ascii: "\"")) else { return false }
        while let byte {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): if !escape() { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    private mutating func escape() -> Bool {
        guard let byte else { return false }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return true
        case UInt8(ascii: "u"):
            for _ in 0..<4 {
                guard let digit = self.byte, (0x30...0x39).contains(digit) || (0x61...0x66).contains(digit | 0x20)
                else { return false }
                position += 1
            }
            return true
        default: return false
        }
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")), !digits() { return false }
        if take(UInt8(ascii: ".")), !digits() { return false }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            return digits()
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte, (0x30...0x39).contains(byte) { position += 1 }
        return position > start
    }
}

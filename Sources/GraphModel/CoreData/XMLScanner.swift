/// Reads the XML that Xcode writes models in: elements, attributes, comments, and no more.
///
/// Document types are refused, and with them entities other than XML's own five: nothing is expanded or fetched.
/// Foundation's parser would bind the statically linked program to libxml2 and what that needs.
struct XMLScanner {
    struct Failure: Error {
        let line: Int
        let message: String
    }

    static let maximumBytes = 16_777_216
    static let maximumDepth = 32

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a document and returns its root element.
    static func read(_ bytes: [UInt8]) throws(Failure) -> XMLElement {
        guard bytes.count <= maximumBytes else {
            throw Failure(line: 1, message: "it has more than \(maximumBytes) bytes")
        }
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        var scanner = XMLScanner(content)
        return try scanner.document()
    }

    private mutating func document() throws(Failure) -> XMLElement {
        try skipMiscellany()
        guard peek() == UInt8(ascii: "<") else { throw failure("an element was expected") }
        let root = try element(depth: 1)
        try skipMiscellany()
        guard position == bytes.count else { throw failure("there is something after the last element") }
        return root
    }

    // MARK: Characters

    private func failure(_ message: String) -> Failure { Failure(line: line, message: message) }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { wanted in
            position + wanted.count <= bytes.count
                && bytes[position..<position + wanted.count].elementsEqual(wanted)
        }
    }

    private mutating func advance(_ count: Int = 1) {
        for byte in bytes[position..<min(position + count, bytes.count)] where byte == 0x0A { line += 1 }
        position += count
    }

    private mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { advance() }
    }

    /// Skips white space, comments and processing instructions.
    private mutating func skipMiscellany() throws(Failure) {
        while true {
            skipSpace()
            if isAt("<!--") {
                try skip(to: "-->", from: 4)
            } else if isAt("<?") {
                try skip(to: "?>", from: 2)
            } else if isAt("<!DOCTYPE") {
                throw failure("a document type is not allowed in a model")
            } else {
                return
            }
        }
    }

    private mutating func skip(to end: StaticString, from start: Int) throws(Failure) {
        let begin = line
        advance(start)
        while !isAt(end) {
            if position >= bytes.count {
                throw Failure(line: begin, message: "an element, a comment or a text begins here and has no end")
            }
            advance()
        }
        advance(end.utf8CodeUnitCount)
    }

    // MARK: Elements

    private mutating func element(depth: Int) throws(Failure) -> XMLElement {
        guard depth <= Self.maximumDepth else { throw failure("elements are nested too deeply") }
        let begin = line
        advance()
        var element = XMLElement(name: try name(), line: begin)
        while true {
            skipSpace()
            if isAt("/>") {
                advance(2)
                return element
            }
            if peek() == UInt8(ascii: ">") {
                advance()
                break
            }
            let attribute = try attribute()
            guard element.attribute(attribute.name) == nil else {
                throw failure("the attribute '\(attribute.name)' stands twice")
            }
            element.attributes.append(attribute)
        }
        try content(of: &element, depth: depth)
        return element
    }

    private mutating func content(of element: inout XMLElement, depth: Int) throws(Failure) {
        while true {
            guard let byte = peek() else {
                throw Failure(line: element.line, message: "the element '\(element.name)' has no end")
            }
            if byte != UInt8(ascii: "<") {
                element.text += try text(until: UInt8(ascii: "<"))
            } else if isAt("</") {
                advance(2)
                let end = try name()
                skipSpace()
                guard end == element.name, peek() == UInt8(ascii: ">") else {
                    throw failure("'</\(end)>' does not end '<\(element.name)>' of line \(element.line)")
                }
                advance()
                element.text = element.text.trimmed
                return
            } else if isAt("<!--") {
                try skip(to: "-->", from: 4)
            } else if isAt("<?") {
                try skip(to: "?>", from: 2)
            } else {
                element.children.append(try self.element(depth: depth + 1))
            }
        }
    }

    private mutating func name() throws(Failure) -> String {
        let start = position
        while let byte = peek(), Self.isNameByte(byte) { advance() }
        guard start < position else { throw failure("a name was expected") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: ":"), 0x80...:
            true
        default: false
        }
    }

    private mutating func attribute() throws(Failure) -> XMLElement.Attribute {
        let begin = line
        let name = try name()
        skipSpace()
        guard peek() == UInt8(ascii: "=") else { throw failure("'=' was expected after '\(name)'") }
        advance()
        skipSpace()
        guard let quote = peek(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw failure("the value of '\(name)' has to stand in quotes")
        }
        advance()
        let value = try text(until: quote)
        guard peek() == quote else { throw Failure(line: begin, message: "the value of '\(name)' has no end") }
        advance()
        return XMLElement.Attribute(name: name, value: value, line: begin)
    }

    // MARK: Text

    private mutating func text(until end: UInt8) throws(Failure) -> String {
        var collected: [UInt8] = []
        while let byte = peek(), byte != end {
            if byte == UInt8(ascii: "&") {
                collected += try entity().utf8
            } else if byte == UInt8(ascii: "<") {
                throw failure("'<' was not expected here")
            } else {
                collected.append(byte)
                advance()
            }
        }
        guard let text = String(validating: collected, as: UTF8.self) else { throw failure("this is not UTF-8") }
        return text
    }

    private mutating func entity() throws(Failure) -> String {
        let end = bytes[position...].prefix(12).firstIndex(of: UInt8(ascii: ";"))
        guard let end else { throw failure("'&' begins no entity; write '&amp;'") }
        let name = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
        guard let text = Self.known[name] ?? Self.character(name) else {
            throw failure("the entity '&\(name);' is not known")
        }
        advance(end + 1 - position)
        return text
    }

    private static let known = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

    private static func character(_ name: String) -> String? {
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let code = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return code.flatMap { $0 == 0 ? nil : Unicode.Scalar($0) }.map { String($0) }
    }
}

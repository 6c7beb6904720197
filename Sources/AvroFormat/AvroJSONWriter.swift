import Foundation

struct AvroJSONWriter {
    let limit: Int
    private(set) var bytes: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    mutating func raw(_ text: String) throws(AvroError) {
        guard text.utf8.count <= limit - bytes.count else { throw .limit("jsonBytes") }
        bytes.append(contentsOf: text.utf8)
    }

    mutating func text(_ text: String) throws(AvroError) {
        try raw("\"")
        for byte in text.utf8 {
            guard bytes.count < limit else { throw .limit("jsonBytes") }
            switch byte {
            case 0x22, 0x5C: bytes.append(contentsOf: [0x5C, byte])
            case 0..<0x20:
                bytes.append(contentsOf: "\\u00".utf8)
                bytes.append(contentsOf: [byte >> 4, byte & 15].map(AvroText.hexDigit))
            default: bytes.append(byte)
            }
        }
        try raw("\"")
    }

    /// Writes base64. A line break follows one that looks like a number, so that no reader takes it for that.
    mutating func base64(_ source: ArraySlice<UInt8>) throws(AvroError) {
        guard source.count / 3 * 4 + 8 <= limit - bytes.count else { throw .limit("jsonBytes") }
        try raw("\"")
        let text = Data(source).base64EncodedString()
        bytes.append(contentsOf: text.utf8)
        try raw(Self.isNumber(text.utf8[...]) ? "\\n\"" : "\"")
    }

    /// Tells whether base64 is a number too, such as `1234` or `12e5`.
    private static func isNumber(_ text: Substring.UTF8View) -> Bool {
        func digits(_ text: Substring.UTF8View) -> Substring.UTF8View? {
            let rest = (text.first == 0x2B ? text.dropFirst() : text)
            let end = rest.drop { (0x30...0x39).contains($0) }
            return end.count < rest.count ? end : nil
        }
        guard let rest = digits(text) else { return false }
        guard let exponent = rest.first else { return true }
        return exponent | 0x20 == 0x65 && digits(rest.dropFirst())?.isEmpty ?? false
    }
}

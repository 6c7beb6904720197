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

    mutating func base64(_ source: ArraySlice<UInt8>) throws(AvroError) {
        guard source.count / 3 * 4 + 6 <= limit - bytes.count else { throw .limit("jsonBytes") }
        try raw("\"")
        bytes.append(contentsOf: Data(source).base64EncodedString().utf8)
        try raw("\"")
    }
}

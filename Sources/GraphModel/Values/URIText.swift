/// URIs as text.
enum URIText {
    /// Tells whether a text has only what a URI or a relative reference may hold, letters of other scripts included.
    ///
    /// Source: RFC 3986, section 2, and RFC 3987 for what is not ASCII.
    static func isReference(_ text: String) -> Bool {
        var bytes = text.utf8[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case 0x00...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
                return false
            case UInt8(ascii: "%"):
                guard let high = bytes.popFirst(), let low = bytes.popFirst(), isHexadecimal(high), isHexadecimal(low)
                else { return false }
            default: break
            }
        }
        return true
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }
}
